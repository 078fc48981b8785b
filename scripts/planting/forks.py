"""A plugin of pytest that tries faults in forks of the process that has collected the tests.

Most of the time of a trial goes into the start of pytest and the imports. Here both happen once. Each fault is planted
in a fork, which replaces the code of the module's functions, and runs the tests of the line until one fails. That test
catches the fault if it passes in a fork without the fault, behind the same tests. A fault outside of functions can't be
planted in this way, and tests of other processes do not see it; `trial.py` tries such faults again.

`trial.py` copies this file into a folder by itself, so that it is found before pytest sets its own path.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import CodeType, FunctionType
from typing import NamedTuple, TypedDict

import pytest

ASKED, ANSWERS, JOBS, SECONDS = "PLANTING_ASKED", "PLANTING_ANSWERS", "PLANTING_JOBS", "PLANTING_LIMIT"
"""Environment variables: the JSON file of the faults, the JSON file to write the answers to, how many forks run at
once, and after how many seconds a fork is ended."""
FunctionKey = tuple[str, str, int]
"""The file, the name and the first line of a function."""


class Asked(TypedDict):
    """A fault to try."""

    number: int
    module: str
    """The path from the folder of the tests."""
    line: int
    planted: str
    """The source of the module with the fault."""
    tests: list[str]


class Fork(NamedTuple):
    """A fork that is running."""

    answer: int
    """The end of a pipe from which the name of the test that failed is read."""
    began: float


_failed: list[str] = []


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Keep the name of a test that fails."""
    if report.failed:
        _failed.append(report.nodeid)


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Try the faults in place of running the tests, and write by number which test catches each."""
    if ASKED not in os.environ:
        return None
    items = {item.nodeid: item for item in session.items}
    functions = _functions(Path.cwd())
    sound: set[str] = set()
    answers: dict[int, str] = {}
    waiting = json.loads(Path(os.environ[ASKED]).read_text(encoding="utf-8"))
    running: dict[int, tuple[Fork, Asked]] = {}
    while waiting or running:
        while waiting and len(running) < int(os.environ[JOBS]):
            asked: Asked = waiting.pop(0)
            asked["tests"] = [name for name in asked["tests"] if name in items]
            pid, fork = _started(asked, items, functions)
            running[pid] = fork, asked
        for pid, (fork, asked) in list(running.items()):
            failed = _answer(pid, fork)
            if failed is not None:
                del running[pid]
                answers[asked["number"]] = failed if _is_sound(failed, asked, items, sound) else ""
        time.sleep(0.01)
    Path(os.environ[ANSWERS]).write_text(json.dumps(answers), encoding="utf-8")
    return True


def _functions(folder: Path) -> Mapping[FunctionKey, Sequence[FunctionType]]:
    """Return the functions whose code is in the folder."""
    gc.unfreeze()
    found: dict[FunctionKey, list[FunctionType]] = defaultdict(list)
    for each in gc.get_objects():
        if isinstance(each, FunctionType) and Path(each.__code__.co_filename).is_relative_to(folder):
            found[_key(each.__code__)].append(each)
    gc.freeze()
    return found


def _key(code: CodeType) -> FunctionKey:
    return code.co_filename, code.co_name, code.co_firstlineno


def _started(
    asked: Asked, items: Mapping[str, pytest.Item], functions: Mapping[FunctionKey, Sequence[FunctionType]] | None
) -> tuple[int, Fork]:
    """Start a fork that plants the fault, or no fault without functions, and runs the tests until one fails."""
    read, write = os.pipe()
    pid = os.fork()
    if pid:
        os.close(write)
        return pid, Fork(read, time.monotonic())
    status = 1
    try:
        os.setsid()
        silent = os.open(os.devnull, os.O_RDWR)
        os.dup2(silent, 1)
        os.dup2(silent, 2)
        _failed.clear()
        if functions is None or _plant(asked, functions):
            _run([items[name] for name in asked["tests"]])
        os.write(write, "".join(_failed[:1]).encode())
        status = 0
    finally:
        os._exit(status)


def _run(items: Sequence[pytest.Item]) -> None:
    for item, following in zip(items, [*items[1:], None], strict=True):
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if _failed:
            return


def _plant(asked: Asked, functions: Mapping[FunctionKey, Sequence[FunctionType]]) -> bool:
    """Replace the code of the module's functions; return whether that of the fault's line is replaced."""
    path = Path.cwd() / asked["module"]
    before, after = (
        compile(source, str(path), "exec", dont_inherit=True)
        for source in (path.read_text(encoding="utf-8"), asked["planted"])
    )
    done = False
    for old, new in _pairs(before, after):
        for function in functions.get(_key(old), ()):
            with suppress(ValueError):  # the fault changes which names of the function around it are read
                function.__code__ = new
                done = done or asked["line"] in {line for _, _, line in old.co_lines()} | {old.co_firstlineno}
    return done


def _pairs(old: CodeType, new: CodeType) -> Iterator[tuple[CodeType, CodeType]]:
    """Yield the functions of two versions of a module that belong together."""
    olds, news = ([each for each in code.co_consts if isinstance(each, CodeType)] for code in (old, new))
    if [each.co_name for each in olds] == [each.co_name for each in news]:
        for pair in zip(olds, news, strict=True):
            yield pair
            yield from _pairs(*pair)


def _answer(pid: int, fork: Fork) -> str | None:
    """Return the test that failed in a fork, an empty text if none did or the time is over; None while it runs."""
    ended = os.waitpid(pid, os.WNOHANG)[0]
    if not ended and time.monotonic() - fork.began < float(os.environ[SECONDS]):
        return None
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
    if not ended:
        os.waitpid(pid, 0)
        os.close(fork.answer)
        return ""
    with os.fdopen(fork.answer) as pipe:
        return pipe.read()


def _is_sound(failed: str, asked: Asked, items: Mapping[str, pytest.Item], sound: set[str]) -> bool:
    """Return whether a test passes without the fault, behind the tests that ran before it."""
    if not failed or failed not in asked["tests"]:
        return False
    if failed not in sound:
        tests = asked["tests"][: asked["tests"].index(failed) + 1]
        pid, fork = _started({**asked, "tests": tests}, items, None)
        clean = None
        while clean is None:
            time.sleep(0.01)
            clean = _answer(pid, fork)
        if clean:
            return False
        sound.add(failed)
    return True
