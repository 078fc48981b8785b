"""A plugin of pytest that runs chosen tests, in a given order, and writes which one failed and how long each one took.

`trial.py` copies this file into a folder by itself, so that it is found before pytest sets its own path.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path

import pytest

CHOSEN, SECONDS, FAILED = "PLANTING_CHOSEN", "PLANTING_SECONDS", "PLANTING_FAILED"
"""Environment variables, each optional: a JSON file of the test ids to run, the JSON file to write seconds to, and the
file to write the id of a test that fails to, or of a module that can't be imported."""
_seconds: Counter[str] = Counter()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the chosen tests alone, in their order; an id that no test has any more is skipped."""
    if CHOSEN in os.environ:
        order = json.loads(Path(os.environ[CHOSEN]).read_text(encoding="utf-8"))
        found = {item.nodeid: item for item in items}
        kept = [found.pop(name) for name in order if name in found]
        config.hook.pytest_deselected(items=list(found.values()))
        items[:] = kept


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Add a phase of a test to the seconds of the test."""
    _seconds[report.nodeid] += report.duration
    _note(report)


def pytest_collectreport(report: pytest.CollectReport) -> None:
    """Write which module can't be imported."""
    _note(report)


def _note(report: pytest.TestReport | pytest.CollectReport) -> None:
    if report.failed and FAILED in os.environ:
        Path(os.environ[FAILED]).write_text(report.nodeid, encoding="utf-8")


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write the seconds of all tests, in the process that was started."""
    if SECONDS in os.environ and not hasattr(session.config, "workerinput"):
        Path(os.environ[SECONDS]).write_text(json.dumps(_seconds), encoding="utf-8")
