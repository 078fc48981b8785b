"""What some tests need and this machine lacks: those tests are left out, one line says why, or it is an error."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from functools import partial
from math import ceil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from _pytest.runner import runtestprotocol
from hypothesis import settings

from graphfix.results.files import toml_files
from graphfix.runtimes import pipes, process
from tests.support import warm
from tests.support.fixed_files import FixedFiles
from tests.support.needs import NEEDS, missing
from tests.support.places import ROOT
from tests.support.tiers import sampled

settings.register_profile("graphfix", deadline=None)  # a busy machine makes any test slow
settings.load_profile("graphfix")
TIERS = ("", "ci", "full")
"""The marks of the tiers, the smallest tier first (tests/support/tiers.py)."""
LEFT_OUT = pytest.StashKey[Counter[str]]()
"""Why tests were left out, and how many for each reason."""


def pytest_configure(config: pytest.Config) -> None:
    """Refuse to start where something is absent that the environment demands."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # a job in the background of a script ignores it, and so would the commands that tests start and interrupt
        signal.signal(signal.SIGINT, signal.default_int_handler)
    config.stash[LEFT_OUT] = Counter()
    gc.disable()  # until all tests are collected: none of them is garbage, and looking for it takes a fifth of the time
    for need in NEEDS:
        reason = need.absent()
        demanded = os.environ.get(need.variable)
        if reason and demanded:
            raise pytest.UsageError(f"{need.variable}={demanded}, and {reason}")
    if sys.dont_write_bytecode:
        _compile_once_for_children(config)


def _compile_once_for_children(config: pytest.Config) -> None:
    """Let child processes share a folder of bytecode where this one writes none: a start takes half as long."""
    folder = tempfile.TemporaryDirectory()
    config.add_cleanup(folder.cleanup)
    os.environ["PYTHONPYCACHEPREFIX"] = folder.name
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


@pytest.fixture(scope="session", autouse=True)
def _warm_runtimes() -> Iterator[None]:
    """Let the processes of runtimes and tools be forks of one that has them loaded."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pipes, "subprocess", SimpleNamespace(**vars(subprocess) | {"Popen": warm.started}))
        patch.setattr(
            process, "subprocess", SimpleNamespace(**vars(subprocess) | {"run": partial(warm.ran, warm.variables())})
        )
        yield


@pytest.fixture(scope="session", autouse=True)
def _own_settings_read_once() -> Iterator[None]:
    """Parse pyproject.toml once: each command that a test runs in this folder looks for options in it."""
    own, read = ROOT / "pyproject.toml", toml_files.table
    tables = read(own)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(toml_files, "table", lambda path: tables if Path.cwd() / path == own else read(path))
        yield


@pytest.fixture(scope="session")
def fixed(tmp_path_factory: pytest.TempPathFactory) -> FixedFiles:
    """Models as `fix` writes them."""
    return FixedFiles(tmp_path_factory.mktemp("fixed"))


# --- what is left out -------------------------------------------------------------------------------------------------


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Iterator[None]:
    """Refuse a test of two tiers, whatever `-m` chooses; then leave out what can't run here of what it has chosen."""
    _spread_alike(items)
    items[:] = _in_order(items)
    both = [item.nodeid for item in items if {"ci", "full"} <= {mark.name for mark in item.iter_markers()}]
    if both:
        raise pytest.UsageError(f"a test is of one tier, ci or full: {both[0]}")
    yield
    reasons = [missing(item) for item in items]
    config.stash[LEFT_OUT] = Counter(reason for reason in reasons if reason)
    left = [item for item, reason in zip(items, reasons, strict=True) if reason]
    if left:
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item, reason in zip(items, reasons, strict=True) if not reason]


def _spread_alike(items: list[pytest.Item]) -> None:
    """Leave one in N of the cases of a test that are alike (`alike(N)`) in their tier, and move the others to the next.

    Where some cases of the test are in a larger tier already, those stay there. The ones that are left are drawn by a
    fixed seed: taken in turn, an even N would leave out one of two targets.
    """
    cases: defaultdict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        if item.get_closest_marker("alike"):
            cases[item.nodeid.partition("[")[0]].append(item)
    for alike in cases.values():
        tiers = [next((each.name for each in item.iter_markers() if each.name in TIERS), "") for item in alike]
        smallest = min(tiers, key=TIERS.index)
        if smallest == TIERS[-1]:
            continue
        those = [item for item, tier in zip(alike, tiers, strict=True) if tier == smallest]
        share = those[0].get_closest_marker("alike").args[0]
        for item in set(those).difference(sampled(those, ceil(len(those) / share))):
            item.own_markers[:] = [each for each in item.own_markers if each.name != smallest]
            item.add_marker(TIERS[TIERS.index(smallest) + 1])


def _in_order(items: Iterable[pytest.Item]) -> list[pytest.Item]:
    """Order tests so that with `-n` no worker ends late, and few make the same.

    Those of whole models are slow and come first. Those that ask for the same fixed model stand together: one worker
    runs them, and fixes it once.
    """
    firsts: dict[object, int] = {}
    keys: dict[pytest.Item, tuple[bool, int]] = {}
    for at, item in enumerate(items):
        given = getattr(item, "callspec", None)
        model = given.params.get("path") if given and "fixed" in item.fixturenames else None
        place = at if model is None else firsts.setdefault(model, at)
        keys[item] = (not item.nodeid.startswith(("tests/whole/", "tests/tosa/")), place)
    return sorted(items, key=keys.__getitem__)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """With `-n`, let a worker send one report a test, in place of five messages: those took a tenth of the time."""
    if not hasattr(item.config, "workerinput"):
        return None
    for report in runtestprotocol(item, nextitem=nextitem, log=False):
        if report.when == "call" or not report.passed:
            item.ihook.pytest_runtest_logreport(report=report)
    return True


def pytest_collection_finish() -> None:
    """Look for garbage again, but not among the collected tests."""
    gc.freeze()
    gc.enable()


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Tell the process that started this one, with `-n`."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["left out"] = dict(session.config.stash[LEFT_OUT])


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:  # noqa: ANN401 -- pytest-xdist's, where that is installed
    """Take over what a worker has left out: all of them collect the same."""
    node.config.stash[LEFT_OUT] |= Counter(getattr(node, "workeroutput", {}).get("left out", {}))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say what was left out and why, in one line for each reason."""
    for reason, count in sorted(config.stash[LEFT_OUT].items()):
        what, _, why = reason.partition(": ")
        terminalreporter.write_line(f"{what}: {count} test{'s' * (count > 1)} not run: {why}")
