"""Planted faults: which ones a module can have, and which of them a small package's tests catch."""

from __future__ import annotations

import json
import re
from pathlib import Path

import plant_faults
import pytest
from planting import record
from planting.kinds import faults, is_another

MODULE = '''"""A docstring: 1 < 2 and True."""

NAMES = frozenset({"Add", "Mul"})
FILE_LIMIT = 3
TABLE = {"a": NAMES, "b": NAMES}


def larger(a: int, b: int = 1) -> int | None:
    """Return the larger one, but for 0."""
    if a == 0:
        return None
    return a if a > b else b


def unused(value: object) -> str:
    if value is None:
        raise ValueError(f"{1 < 2} is " + str(1 < 2))
    return "".join([str(value), str(1)])


def sorted_pair(a: int, b: int) -> list[int]:
    return [min(a, b), max(a, b)]
'''
TESTS = """from toy.numbers import NAMES, larger, sorted_pair


def test_larger():
    assert larger(2) == larger(1, 2) == 2
    assert larger(0) is None


def test_one():
    assert larger(3, 1) == 3


def test_names():
    assert "Add" in NAMES and "Mul" in NAMES


def test_pair():
    assert sorted_pair(2, 1) == [1, 2]
"""
PLANTED = {
    ("element dropped", '"Add"', '"Mul"'),
    ("entry dropped", '"a": NAMES,', ""),
    ("comparison", "==", "!="),
    ("guard dropped", "a == 0", "False"),
    ("one more", "0", "1"),
    ("choice dropped", "a if a > b else b", "(b)"),
    ("comparison", ">", ">="),
    ("guard dropped", "value is None", "False"),
    ("min swapped", "min", "max"),
}


def toy(folder: Path, tests: str = TESTS) -> Path:
    for name, content in {"toy/__init__.py": "", "toy/numbers.py": MODULE, "tests/test_numbers.py": tests}.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(content)
    return folder


def test_faults_are_found_outside_messages_annotations_and_limits() -> None:
    found = faults(MODULE.encode())
    assert {(fault.kind, fault.before, fault.after) for fault in found} >= PLANTED
    skipped = {at for at, line in enumerate(MODULE.splitlines(), 1) if re.search("docstring|LIMIT|raise", line)}
    assert len(skipped) == 3
    assert not skipped & {fault.line for fault in found}
    assert all(is_another(fault, MODULE.encode()) for fault in found if fault.kind != "arguments swapped")
    for fault in found:
        assert MODULE.encode()[fault.start : fault.end].decode() == fault.before
    inside = {fault.line: fault.in_function for fault in found}
    assert (inside[3], inside[10]) == (False, True)


def test_a_guard_of_several_lines_is_where_its_condition_runs() -> None:
    found = faults(b"def f(a, b):\n    if (\n        a\n        or b\n    ):\n        return 1\n    return 2\n")
    assert {fault.line for fault in found if fault.kind == "guard dropped"} == {3}


SAME_AGAIN = {
    "how long it waits": ("process.wait(timeout=5)", {("statement dropped", "pass")}),
    "what is given anew": (
        "f(new and a)",
        {("statement dropped", "pass"), ("and/or", "((new) or (a))"), ("condition dropped", "((new))")},
    ),
    "which exceptions are suppressed, in another order": ("with suppress(OSError, ValueError): pass", set()),
    "the default of a protocol": ('def f(a=1):\n    """What it does."""', set()),
    "the default of a function": ("def f(a=1):\n    return a", {("one more", "2"), ("one less", "0")}),
    "how many processors there are": ("count = os.cpu_count() or 0", {("one more", "1")}),
    "a number that is asked whether it is 0": (
        "a = b if c.get(k, 1) else d",
        {("choice dropped", "(b)"), ("choice dropped", "(d)"), ("one less", "0")},
    ),
    "0 that is asked whether it is 0": ("while c.get(k, 0): pass", {("one more", "1")}),
    "a number that is compared": (
        "while c.get(k, 1) > d: pass",
        {("comparison", ">="), ("one more", "2"), ("one less", "0")},
    ),
}


@pytest.mark.parametrize(("line", "planted"), SAME_AGAIN.values(), ids=SAME_AGAIN)
def test_what_changes_no_result_is_no_fault(line: str, planted: set[tuple[str, str]]) -> None:
    assert {(fault.kind, fault.after) for fault in faults(line.encode())} == planted


@pytest.mark.ci
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (3, "caught by tests/test_numbers.py::test_names"),
        (10, "caught by tests/test_numbers.py::test_larger"),
        (16, "SURVIVED"),
    ],
)
def test_the_faults_of_a_line_are_caught_or_survive(
    line: int, expected: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    root = toy(tmp_path)
    arguments = ["--root", str(root), "--package", "toy", "--jobs", "2", "--file", str(tmp_path / "record.json")]
    status = plant_faults.main([*arguments, "--at", f"toy/numbers.py:{line}"])
    printed = capfd.readouterr().out
    ends = [text.strip() for text in printed.splitlines() if text.startswith("      ") and " - " not in text[:9]]
    assert {text for text in ends if not text.startswith("+ ")} == {expected}, printed
    assert status == (expected == "SURVIVED")
    assert (root / "toy" / "numbers.py").read_text() == MODULE


@pytest.mark.ci
@pytest.mark.parametrize("first", [[], ["test_always"]], ids=["", "behind a test that fails without a fault"])
def test_a_fault_in_a_function_is_tried_in_a_fork(
    first: list[str], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    root = toy(tmp_path, f"{TESTS}\n\ndef test_always():\n    assert larger(1) == 2\n")
    names = [f"tests/test_numbers.py::{name}" for name in (*first, "test_one", "test_larger")]
    known = {
        "seconds": {name: 0.01 * at for at, name in enumerate(names)},
        "sources": {"toy/numbers.py": MODULE},
        "lines": {"toy/numbers.py": {10: list(range(len(names)))}},
        "names": names,
    }
    (tmp_path / "record.json").write_text(json.dumps(known))
    arguments = ["--root", str(root), "--package", "toy", "--jobs", "2", "--file", str(tmp_path / "record.json")]
    assert plant_faults.main([*arguments, "--at", "toy/numbers.py:10"]) == 0
    printed = capfd.readouterr().out
    assert "caught by tests/test_numbers.py::test_larger" in printed
    assert ("(in a fork)" in printed) == (not first)
    assert (root / "toy" / "numbers.py").read_text() == MODULE


@pytest.mark.ci
def test_a_test_that_fails_without_a_fault_catches_none(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    root = toy(
        tmp_path, f"{TESTS}\n\ndef test_always():\n    assert larger(1) == 2\n".replace("def test_one", "def test_on")
    )
    arguments = ["--root", str(root), "--package", "toy", "--jobs", "1", "--file", str(tmp_path / "record.json")]
    assert plant_faults.main([*arguments, "--at", "toy/numbers.py:16"]) == 1
    assert "fails without a fault, and was left out: tests/test_numbers.py::test_always" in capfd.readouterr().out


def test_a_seed_draws_the_same_faults_again(tmp_path: Path) -> None:
    root = toy(tmp_path)
    drawn = [plant_faults.drawn(root, ["toy"], 5, seed) for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]
    assert len({fault.line for _, fault in drawn[0]}) == 5


def test_the_tests_of_a_line_are_those_that_ran_it(tmp_path: Path) -> None:
    root = toy(tmp_path)
    known = record.Record(
        seconds={"tests/a.py::slow": 2.0, "tests/a.py::fast": 0.1},
        sources={"toy/numbers.py": MODULE},
        lines={"toy/numbers.py": {10: [0, 1], 17: [0]}},
        names=["tests/a.py::slow", "tests/a.py::fast"],
    )
    assert known.tests(root, "toy/numbers.py", 10, in_function=True) == ["tests/a.py::fast", "tests/a.py::slow"]
    assert known.tests(root, "toy/numbers.py", 3, in_function=False) == ["tests/a.py::fast", "tests/a.py::slow"]
    (root / "toy" / "numbers.py").write_text(f"# moved\n{MODULE}")
    assert known.tests(root, "toy/numbers.py", 18, in_function=True) == ["tests/a.py::slow"]
    assert known.tests(root, "toy/numbers.py", 17, in_function=True) == []


def test_the_folders_of_a_module_are_its_rooms(tmp_path: Path) -> None:
    for folder in ("tests/formats/onnx", "tests/rewrites", "tests/whole"):
        (tmp_path / folder).mkdir(parents=True)
    found = record.folders(tmp_path, "graphfix/formats/onnx/infer/rules.py")
    assert found == ["tests/formats/onnx", "tests/formats", "tests/rewrites", "tests/whole"]


def test_a_record_of_more_tests_adds_to_the_one_that_is_kept(tmp_path: Path) -> None:
    coverage = pytest.importorskip("coverage", minversion="7.10")
    root, file, seconds = toy(tmp_path), tmp_path / "record.json", tmp_path / "seconds.json"
    known = record.Record()
    for name, line in (("tests/a.py::one", 10), ("tests/a.py::two", 10), ("tests/a.py::two", 16)):
        data = coverage.CoverageData(str(tmp_path / f"data-{name[-3:]}-{line}"))
        data.set_context(f"{name}|run")
        data.add_lines({str(root / "toy" / "numbers.py"): [line]})
        data.write()
        seconds.write_text(json.dumps({name: 1.0}))
        record.keep(root, Path(data.data_filename()), seconds, file, known)
        known = record.kept(file)
    asked = [known.tests(root, "toy/numbers.py", line, in_function=True) for line in (10, 16)]
    assert asked == [["tests/a.py::one", "tests/a.py::two"], ["tests/a.py::two"]]
    assert known.seconds.keys() == {"tests/a.py::one", "tests/a.py::two"}
    (root / "toy" / "numbers.py").write_text(f"{MODULE}# changed")
    record.keep(root, Path(data.data_filename()), seconds, file, known)
    changed = record.kept(file)
    assert changed.tests(root, "toy/numbers.py", 10, in_function=True) == []
    assert changed.tests(root, "toy/numbers.py", 16, in_function=True) == ["tests/a.py::two"]
