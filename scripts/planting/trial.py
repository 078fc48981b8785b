"""Try one fault: write it into a copy of the repository, and run tests there until one fails."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from planting import chosen, forks
from planting.kinds import Fault
from planting.record import Record, folders

LEFT_OUT = shutil.ignore_patterns(
    ".git", "__pycache__", ".*_cache", ".hypothesis", "zoo", "build", "dist", "site", "*.egg-info"
)
FIRST_SECONDS = 25.0
"""Tests that take so long together are run first; most faults are caught by them."""
FORK_SECONDS = 60.0
"""The limit of a fork; the tests that it runs take `FIRST_SECONDS` without a fault."""
PLUGINS = {chosen: "planted_choice.py", forks: "planted_forks.py"}
"""By plugin of pytest: the name of its copy."""
PASSED, FAILED, NO_TESTS = 0, 1, 5
"""Exit statuses of pytest."""


Tests = tuple[list[str], list[str] | None]
"""Files and folders for pytest, and the tests to choose of what they hold (None for all)."""


class Answer(NamedTuple):
    """What a run of pytest says."""

    status: int | None
    """The exit status; None if the run did not end in time."""
    failed: str
    """The test that failed, or the module that can't be imported; empty if pytest itself failed."""
    output: str


@dataclass(frozen=True)
class Trial:
    """What became of one fault."""

    module: str
    fault: Fault
    caught_by: str
    """The test that failed; empty if the fault survived."""
    note: str = ""
    seconds: float = 0.0


@dataclass(eq=False)
class Copy:
    """A copy of the repository in which faults are planted; its files are links but for modules with a fault."""

    root: Path
    folder: Path
    test_seconds: int
    """A test that takes longer fails, as one does that never ends."""
    broken: set[str] = field(default_factory=set)
    """Tests that fail without any fault."""
    sound: set[str] = field(default_factory=set)
    """Tests that pass without a fault."""
    _writes: int = 0

    def __post_init__(self) -> None:
        shutil.copytree(self.root, self.folder / "copy", ignore=LEFT_OUT, copy_function=_linked, symlinks=True)
        zoo = self.root / "models" / "zoo"
        if zoo.exists():
            (self.folder / "copy" / "models" / "zoo").symlink_to(zoo.resolve())
        (self.folder / "plugin").mkdir()
        for plugin in (chosen, forks):
            shutil.copy(plugin.__file__, self.folder / "plugin" / PLUGINS[plugin])

    def write(self, module: str, content: bytes) -> None:
        """Replace a module, with a time that no compiled module has."""
        path = self.folder / "copy" / module
        path.unlink()
        path.write_bytes(content)
        self._writes += 1
        stamp = time.time() + 10 * self._writes
        os.utime(path, (stamp, stamp))

    def run(self, tests: Tests, limit: float | None, *options: str, **variables: str) -> Answer:
        """Run tests until one fails, with further options of pytest and environment variables."""
        arguments, names = tests
        output, failed = self.folder / "output.txt", self.folder / "failed.txt"
        paths = map(str, (self.folder / "copy", self.folder / "plugin"))
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), chosen.FAILED: str(failed), **variables}
        for name in ("PYTHONDONTWRITEBYTECODE", "PYTEST_ADDOPTS"):
            environment.pop(name, None)
        if names is not None:
            environment[chosen.CHOSEN] = str(self.folder / "names.json")
            (self.folder / "names.json").write_text(json.dumps(names), encoding="utf-8")
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-x",
            "-q",
            "--tb=no",
            "-p",
            "planted_choice",
            "-p",
            "no:cacheprovider",
        ]
        command += ["--basetemp", str(self.folder / "base"), "--timeout", str(self.test_seconds), *options, *arguments]
        failed.write_text("", encoding="utf-8")
        with output.open("wb") as file:
            process = subprocess.Popen(
                command, cwd=self.folder / "copy", env=environment, stdin=subprocess.DEVNULL, stdout=file,
                stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
            try:
                status: int | None = process.wait(limit)
            except subprocess.TimeoutExpired:
                status = None
            finally:
                _end(process)
        text = output.read_text(encoding="utf-8", errors="replace")
        return Answer(status, failed.read_text(encoding="utf-8"), text)


def _linked(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process and those that it started in its session."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return
    finally:
        process.wait()


def caught_in_forks(copy: Copy, record: Record, asked: Sequence[tuple[str, Fault]], jobs: int) -> dict[int, Trial]:
    """Try faults in forks of one process that has collected their tests; return those that are caught, by index."""
    questions: list[forks.Asked] = []
    for number, (module, fault) in enumerate(asked):
        names = record.tests(copy.root, module, fault.line, in_function=True) if fault.in_function else []
        if names:
            tests = _within(record, names, FIRST_SECONDS)
            planted = fault.planted((copy.root / module).read_bytes()).decode()
            questions.append(forks.Asked(number=number, module=module, line=fault.line, planted=planted, tests=tests))
    if not questions:
        return {}
    asking, answers = copy.folder / "asked.json", copy.folder / "answers.json"
    asking.write_text(json.dumps(questions), encoding="utf-8")
    variables = {forks.ASKED: str(asking), forks.ANSWERS: str(answers), forks.JOBS: str(jobs)}
    files = sorted({name.partition("::")[0] for question in questions for name in question["tests"]})
    options = "-p", "planted_forks"
    answer = copy.run((files, None), None, *options, **variables, **{forks.SECONDS: str(FORK_SECONDS)})
    if not answers.is_file():
        raise RuntimeError(f"the tests don't run without a fault\n{answer.output[-2000:]}")
    caught = {int(number): name for number, name in json.loads(answers.read_text(encoding="utf-8")).items() if name}
    return {number: Trial(*asked[number], name, "in a fork") for number, name in caught.items()}


def tried(copy: Copy, record: Record, module: str, fault: Fault, limit: float) -> Trial:
    """Plant a fault, run tests in the order of their nearness until one fails, and take the fault out."""
    source = (copy.root / module).read_bytes()
    began, note = time.monotonic(), ""
    try:
        for tests in _stages(copy.root, record, module, fault, limit):
            left = limit - (time.monotonic() - began)
            copy.write(module, fault.planted(source))
            caught = _caught(copy, module, source, fault, tests, max(left, 1.0))
            if caught is None:
                note = f"not all its tests ended within {limit:.0f} s"
                break
            if caught:
                return Trial(module, fault, caught, "", time.monotonic() - began)
    finally:
        copy.write(module, source)
    return Trial(module, fault, "", note, time.monotonic() - began)


def _stages(root: Path, record: Record, module: str, fault: Fault, limit: float) -> Iterator[Tests]:
    """Yield the tests to run: the nearest, then the others that run the line, then others of the room."""
    rooms = folders(root, module)
    if not record.names:
        yield from (([room], None) for room in rooms)
        return
    names = record.tests(root, module, fault.line, in_function=fault.in_function)
    near = sorted(names, key=lambda name: not name.startswith(f"{rooms[0]}/"))
    first = _within(record, near, FIRST_SECONDS)
    rest = _within(record, near[len(first) :], limit)
    # processes that tests start are not seen in the record, nor are results that a cache kept from an earlier test
    ran = set(near)
    others = [name for room in rooms for name in record.seconds if name.startswith(f"{room}/") and name not in ran]
    for part in (first, rest, _within(record, others, limit / 4 if near else limit)):
        if part:
            yield list(dict.fromkeys(name.partition("::")[0] for name in part)), part


def _within(record: Record, names: Sequence[str], limit: float) -> list[str]:
    """Return the first tests, at least one, that take no longer than the limit together."""
    spent, found = 0.0, []
    for name in names:
        spent += record.seconds.get(name, 1.0)
        if found and spent > limit:
            break
        found.append(name)
    return found


def _caught(copy: Copy, module: str, source: bytes, fault: Fault, tests: Tests, limit: float) -> str | None:
    """Return the test that catches a fault, an empty text if none does, None if the tests don't end in time.

    A test counts if it passes without the fault.
    """
    while True:
        dropped = frozenset(copy.broken)
        answer = copy.run(_without(tests, dropped), limit, *[word for name in dropped for word in ("--deselect", name)])
        if answer.status is None:
            return None
        if answer.status in (PASSED, NO_TESTS):
            return ""
        if answer.failed in copy.sound:
            return answer.failed
        copy.write(module, source)
        if answer.failed:
            one = ([answer.failed.partition("::")[0]], [answer.failed] if "::" in answer.failed else None)
            clean = copy.run(one, limit, *(() if one[1] else ["--collect-only"]))
        else:
            clean = copy.run(_without(tests, dropped), limit, "--collect-only")
        if clean.status == PASSED:
            copy.sound.update({answer.failed} - {""})
            return answer.failed or f"pytest's start (exit status {answer.status})"
        if clean.status != FAILED or not answer.failed or answer.failed in dropped:
            raise RuntimeError(f"the tests don't run without a fault: {' '.join(tests[0])}\n{clean.output[-2000:]}")
        copy.broken.add(answer.failed)
        copy.write(module, fault.planted(source))


def _without(tests: Tests, dropped: Collection[str]) -> Tests:
    arguments, names = tests
    return arguments, None if names is None else [name for name in names if name not in dropped]
