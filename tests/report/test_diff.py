"""`fix --diff`: a unified diff that patches the notation of the file into that of the result."""

from __future__ import annotations

import re
import time
from itertools import groupby
from pathlib import Path

import pytest

from graphfix.report.diff import diff_lines
from graphfix.results import Change, Outcome
from tests.support.asking import ask, listing
from tests.support.places import ROOT, committed_models, model_id

MODELS = ROOT / "models"
HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@ (.*)")


def outcome(*changes: Change) -> Outcome:
    return Outcome("fix", "m.onnx", "onnx", changes=changes, dry_run=True)


def nodes(path: Path, *options: str, capsys: pytest.CaptureFixture[str]) -> dict[str, list[str]]:
    """The notation of a file, by scope."""
    said = ask(capsys, "show", path, *options)
    assert said.status == 0
    found: dict[str, list[str]] = {}
    for line in said.out.partition("\n\n")[0].splitlines():
        if not line.startswith(" ") and line.endswith(":"):
            scope = found.setdefault(line[:-1], [])
        elif not line.startswith(("    input ", "    output ")):
            scope.append(line[4:])
    return {name: lines for name, lines in found.items() if lines}


def patched(before: dict[str, list[str]], diff: list[str]) -> dict[str, list[str]]:
    """A diff carried out, and every line that it names looked up."""
    after = {name: list(lines) for name, lines in before.items()}
    moved = dict.fromkeys(before, 0)
    for hunk in hunks(diff):
        head = HUNK.fullmatch(hunk[0])
        assert head is not None
        start, gone, come_at, come = (int(number) if number is not None else 1 for number in head.groups()[:4])
        old = [line[1:] for line in hunk[1:] if line[0] != "+"]
        new = [line[1:] for line in hunk[1:] if line[0] != "-"]
        assert (len(old), len(new)) == (gone, come)
        scope = after.setdefault(head[5], [])
        at = start - (gone > 0) + moved.setdefault(head[5], 0)
        assert at == come_at - (come > 0)
        assert scope[at : at + gone] == old
        scope[at : at + gone] = new
        moved[head[5]] += come - gone
    return {name: lines for name, lines in after.items() if lines}


def hunks(diff: list[str]) -> list[list[str]]:
    assert diff[:2] == [f"--- {diff[0][4:]}", f"+++ {diff[1][4:]}"]
    number = 0
    keyed = []
    for line in diff[2:]:
        number += line.startswith("@@")
        keyed.append((number, line))
    return [[line for _, line in lines] for _, lines in groupby(keyed, key=lambda pair: pair[0])]


PATCHED = [
    path
    for path in committed_models()
    if path.parent == MODELS or path.parent.name in ("bodies", "rfc", "legacy", "quantized")
]


@pytest.mark.alike(8)
@pytest.mark.parametrize("path", PATCHED, ids=model_id)
def test_the_diff_makes_the_notation_of_the_result(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], path: Path
) -> None:
    fixed = tmp_path / path.name
    if ask(capsys, "fix", path, "-o", fixed, "--no-verify").status not in (0, 4):
        assert ask(capsys, "fix", path, "--diff").status == 2
        return
    said = ask(capsys, "fix", path, "--diff")
    assert said.err == ""
    assert said.status == int(fixed.read_bytes() != path.read_bytes())
    before = bare(nodes(path, capsys=capsys))
    after = patched(before, said.out.splitlines()) if said.out else before
    assert sets(after) == sets(bare(nodes(fixed, capsys=capsys)))


def sets(scopes: dict[str, list[str]]) -> dict[str, list[str]]:
    """Without order, and without Constant nodes: the view has none that edits made."""
    return {name: sorted(line for line in lines if " = Constant()" not in line) for name, lines in scopes.items()}


def bare(scopes: dict[str, list[str]]) -> dict[str, list[str]]:
    return {name: list(map(without_elements, lines)) for name, lines in scopes.items()}


def without_elements(line: str) -> str:
    return re.sub(r"\]=(\[[^\]]*\]|[^,) ]+)", "]", re.sub(r"Constant\(\) = .*?(?=    #|$)", "Constant()", line))


@pytest.mark.parametrize("option", ["--dry-run", "--diff"])
@pytest.mark.parametrize("output", [[], ["-o", "f.onnx"], ["--in-place"]], ids=["none", "a file", "the input"])
def test_nothing_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, option: str, output: list[str]
) -> None:
    (tmp_path / "m.onnx").write_bytes((MODELS / "encoder.onnx").read_bytes())
    monkeypatch.chdir(tmp_path)
    before = listing(tmp_path)
    said = ask(capsys, "fix", "m.onnx", option, *output)
    assert (said.status, said.err) == (1, "")  # something would change
    assert listing(tmp_path) == before
    assert "26 operands" in said.out if option == "--dry-run" else said.out.startswith("--- m.onnx (before)\n")


@pytest.mark.parametrize("option", ["--dry-run", "--diff"])
def test_what_can_not_be_done_is_said_as_without(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], option: str
) -> None:
    path = MODELS / "rfc" / "incompatible.onnx"
    said = ask(capsys, "fix", path, option)
    assert (said.status, said.out) == (2, "")
    assert said.err == ask(capsys, "fix", path, "-o", tmp_path / "f.onnx").err
    assert ask(capsys, "fix", path, option, "-o", path).status == 2


def test_what_is_near_shares_a_hunk_and_what_is_far_does_not() -> None:
    same = [Change("main", f"n{at}", f"n{at}") for at in range(20)]
    changed = [Change("main", "old", "new")]
    near = list(diff_lines(outcome(*same[:5], *changed, *same[5:11], *changed, *same[11:])))
    assert near[2] == "@@ -3,14 +3,14 @@ main"
    far = [line for line in diff_lines(outcome(*same[:5], *changed, *same[5:12], *changed, *same[12:])) if "@@" in line]
    assert far == ["@@ -3,7 +3,7 @@ main", "@@ -11,7 +11,7 @@ main"]


@pytest.mark.parametrize(
    ("before", "behind", "ranges"),
    [(0, 0, "-1 +1"), (2, 1, "-1,4 +1,4"), (3, 3, "-1,7 +1,7"), (4, 4, "-2,7 +2,7"), (9, 9, "-7,7 +7,7")],
)
def test_three_lines_around_a_change_are_shown(before: int, behind: int, ranges: str) -> None:
    same = [Change("main", f"n{at}", f"n{at}") for at in range(before + behind)]
    lines = list(diff_lines(outcome(*same[:before], Change("main", "old", "new"), *same[before:])))
    assert lines[2] == f"@@ {ranges} @@ main"
    assert [line[1:] for line in lines[3:] if line[0] == " "] == [
        f"n{at}" for at in range(max(before - 3, 0), min(before + 3, before + behind))
    ]
    assert [line for line in lines[3:] if line[0] != " "] == ["-old", "+new"]


def test_nothing_is_said_where_nothing_changes() -> None:
    assert list(diff_lines(outcome(Change("main", "a", "a")))) == []


def test_a_graph_that_is_new_or_gone_has_an_empty_range() -> None:
    assert list(diff_lines(outcome(Change("new", None, "a"), Change("old", "b", None))))[2:] == [
        "@@ -0,0 +1 @@ new",
        "+a",
        "@@ -1 +0,0 @@ old",
        "-b",
    ]


def test_names_are_harmless() -> None:
    evil = "a\x1b[31m\n-b\u202e"
    lines = list(diff_lines(Outcome("fix", evil, "onnx", changes=[Change(evil, evil, "x"), Change(evil, "y", evil)])))
    assert all(line.isprintable() for line in lines)
    assert len(lines) == 7


@pytest.mark.ci
def test_the_time_grows_with_the_number_of_nodes() -> None:
    def seconds(number: int) -> float:
        changes = [Change("main", f"n{at}", f"n{at % 7}") for at in range(number)]
        begun = time.process_time()
        assert sum(1 for _ in diff_lines(outcome(*changes))) > number
        return time.process_time() - begun

    assert min(seconds(80_000) for _ in range(3)) < 16 * min(seconds(10_000) for _ in range(3))
