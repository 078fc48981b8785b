"""Record which tests run which lines, and choose the tests of a fault by that record or by folders."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from planting.kinds import faults

OTHERS: dict[str, tuple[str, ...]] = {
    "graphfix/api": ("tests/whole", "tests/cli"),
    "graphfix/checker": ("tests/checker",),
    "graphfix/engine": ("tests/rewrites", "tests/targets"),
    "graphfix/formats": ("tests/rewrites", "tests/operators"),
    "graphfix/graph": ("tests/rewrites", "tests/formats"),
    "graphfix/operators": ("tests/graph", "tests/rewrites", "tests/formats"),
    "graphfix/results": ("tests/report", "tests/cli", "tests/api"),
    "graphfix/shapes": ("tests/formats", "tests/rewrites"),
    "graphfix/targets": ("tests/engine", "tests/rewrites"),
    "rewrites": ("tests/formats",),
}
"""Beside the folder of tests that has a room's own name, the folders that are likely to notice a fault of that room."""
WHOLE = "tests/whole"


def folders(root: Path, module: str) -> list[str]:
    """Return the folders of tests for a module, the nearest first, and last those that run the whole tool."""
    parts = Path(module.removeprefix("graphfix/")).parent.parts
    near = ["/".join(("tests", *parts[:end])) for end in range(len(parts), 0, -1)]
    other = [
        folder for room, test_folders in OTHERS.items() if module.startswith(f"{room}/") for folder in test_folders
    ]
    found = [folder for folder in dict.fromkeys((*near, *other, WHOLE)) if (root / folder).is_dir()]
    return found or ["tests"]


@dataclass(frozen=True)
class Record:
    """What a recorded run of the tests says."""

    seconds: dict[str, float] = field(default_factory=dict)
    """How long each test took, while lines were recorded."""
    sources: dict[str, str] = field(default_factory=dict)
    """The modules as they were."""
    lines: dict[str, dict[int, list[int]]] = field(default_factory=dict)
    """By module and line, the numbers of the tests that run the line."""
    names: list[str] = field(default_factory=list)
    """The tests by their numbers."""

    def tests(self, root: Path, module: str, line: int, *, in_function: bool) -> list[str]:
        """Return the tests that run a line.

        A line outside functions runs once a process, when its module is imported, so the tests that run any
        function of the module are returned for it.
        """
        by_line = self.lines.get(module, {})
        if in_function:
            then = _moved(self.sources.get(module, ""), (root / module).read_text(encoding="utf-8")).get(line)
            numbers: Iterable[int] = by_line.get(then, ()) if then is not None else ()
        else:
            inner = {fault.line for fault in faults(self.sources.get(module, "").encode()) if fault.in_function}
            numbers = {number for at in inner for number in by_line.get(at, ())}
        return sorted((self.names[number] for number in numbers), key=lambda name: (self.seconds.get(name, 9.0), name))


@cache
def _moved(before: str, after: str) -> dict[int, int]:
    """Return where each line of a module that has changed since was when the tests were recorded."""
    if before == after:
        return {line: line for line in range(1, before.count("\n") + 2)}
    blocks = difflib.SequenceMatcher(
        None, before.splitlines(), after.splitlines(), autojunk=False
    ).get_matching_blocks()
    return {block.b + at + 1: block.a + at + 1 for block in blocks for at in range(block.size)}


def keep(root: Path, coverage_file: Path, seconds_file: Path, file: Path, earlier_record: Record) -> None:
    """Write a record from the data of coverage.py, with a context a test, and from what is known already.

    What is known of a module that has changed since is left out.
    """
    from coverage import CoverageData

    data = CoverageData(str(coverage_file))
    data.read()
    names = dict.fromkeys(earlier_record.names)
    lines: dict[str, dict[int, set[str]]] = {}
    for measured in data.measured_files():
        found = data.contexts_by_lineno(measured)
        lines[_relative(root, measured)] = {line: set(_tests(contexts)) for line, contexts in found.items()}
        names |= dict.fromkeys(_tests(context for contexts in found.values() for context in contexts))
    sources = {module: (root / module).read_text(encoding="utf-8") for module in lines if (root / module).is_file()}
    for module, by_line in earlier_record.lines.items():
        if earlier_record.sources.get(module) == sources.setdefault(module, earlier_record.sources.get(module, "")):
            for line, tests in by_line.items():
                lines.setdefault(module, {}).setdefault(line, set()).update(
                    earlier_record.names[number] for number in tests
                )
    numbers = {name: number for number, name in enumerate(names)}
    content = {
        "seconds": earlier_record.seconds | json.loads(seconds_file.read_text(encoding="utf-8")),
        "sources": sources,
        "lines": {
            module: {line: sorted(numbers[name] for name in tests) for line, tests in by_line.items()}
            for module, by_line in lines.items()
        },
        "names": list(numbers),
    }
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(content), encoding="utf-8")


def _relative(root: Path, measured: str) -> str:
    path = Path(measured)
    return (path.relative_to(root) if path.is_relative_to(root) else path).as_posix()


def _tests(contexts: Iterable[str]) -> Iterator[str]:
    """Return the tests of contexts such as `tests/test_a.py::test_b|run`; the empty context is no test's."""
    return (name for context in contexts if (name := context.rpartition("|")[0]))


def kept(file: Path) -> Record:
    """Return the record in a file; an empty one if there is none."""
    if not file.is_file():
        return Record()
    content = json.loads(file.read_text(encoding="utf-8"))
    lines = {module: {int(at): tests for at, tests in by.items()} for module, by in content.pop("lines").items()}
    return Record(lines=lines, **content)
