"""A plugin of pytest that runs chosen tests, in a given order, and keeps how long each test takes.

`trial.py` copies this file into a folder by itself, so that it is found before pytest sets its own path.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path

import pytest

CHOSEN, SECONDS = "PLANTING_CHOSEN", "PLANTING_SECONDS"
"""Environment variables: a file of test ids to run, and the file to write seconds to; both JSON, both optional."""
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


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write the seconds of all tests, in the process that was started."""
    if SECONDS in os.environ and not hasattr(session.config, "workerinput"):
        Path(os.environ[SECONDS]).write_text(json.dumps(_seconds), encoding="utf-8")
