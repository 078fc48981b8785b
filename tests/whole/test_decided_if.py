"""A TFLite IF whose condition is known: its branch takes its place, proved for the value that decides it."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix import api, formats
from graphfix.results import Outcome
from models.builders.tflite.text import Signature, model, pack, tree

CHOOSING = """
k:bool[] = GREATER(rate:int32[], fast:const:int32[]{10})
t[2,3] = MUL(x[2,3], c:const[2,3])
w[2,3] = IF(k, t, then=yes, else=no)
y[2,3] = ADD(w, d:const[2,3])
subgraph yes:
n[2,3] = NEG(q[2,3])
p[2,3] = ABS(n)
subgraph no:
r[2,3] = MUL(s[2,3], e:const[2,3])
"""
BRANCHES = {"16": ["MUL", "NEG", "ABS", "ADD"], "8": ["MUL", "MUL", "ADD"]}


def file(folder: Path, text: str, name: str = "before", **options: object) -> Path:
    path = folder / f"{name}.tflite"
    path.write_bytes(model(text, **options))  # type: ignore[arg-type]  # the builder's own keywords
    return path


def decided(path: Path, rate: str = "16") -> Outcome:
    return api.fix_file(path, path.with_name("after.tflite"), target="tosa", values={"rate": rate})


def ops(path: Path) -> list[str]:
    return [node.op for node in formats.load(path).graphs[0].nodes]


@pytest.mark.ci
@pytest.mark.parametrize("rate", BRANCHES)
def test_the_branch_takes_the_operators_place(tmp_path: Path, rate: str) -> None:
    path, after = file(tmp_path, CHOOSING), tmp_path / "after.tflite"
    outcome = decided(path, rate)
    assert outcome.verdict is not None
    assert outcome.verdict.status == "proved"
    assert all(run.status == "equal" for run in outcome.verdict.runs)
    assert outcome.rewrites["inline-decided-branches"] == 1
    assert ops(after) == BRANCHES[rate]
    assert len(formats.load(after).graphs) == 1  # the branches go, and so does what decided between them
    again = api.fix_file(after, tmp_path / "again.tflite", target="tosa", values={"rate": rate})
    assert again.rewrites["inline-decided-branches"] == 0


@pytest.mark.ci
@pytest.mark.parametrize(("rate", "other"), [("16", "8"), ("8", "16")])
def test_it_is_not_proved_for_the_other_value(tmp_path: Path, rate: str, other: str) -> None:
    path, after = file(tmp_path, CHOOSING), tmp_path / "after.tflite"
    decided(path, rate)
    assert api.verify(path, after, values={"rate": rate}).status == "proved"
    for values in ({"rate": other}, {}):
        assert api.verify(path, after, values=values, proof="only").status != "proved"
    assert api.verify(path, after, values={"rate": other}).status == "different"


@pytest.mark.ci
@pytest.mark.parametrize(
    ("old", "new"),
    [("NEG(q", "ABS(q"), ("ABS(n)", "NEG(n)"), ("c:const[2,3]", "c:const[2,3]{2,2,2,2,2,2}"), ("t, then", "x, then")],
)
def test_a_fault_in_the_branch_is_seen(tmp_path: Path, old: str, new: str) -> None:
    assert old in CHOOSING
    path, after = file(tmp_path, CHOOSING), tmp_path / "after.tflite"
    wrong = file(tmp_path, CHOOSING.replace(old, new), "wrong")
    decided(wrong)
    assert api.verify(path, after, values={"rate": 16}, proof="only").status != "proved"


def test_a_constant_condition_decides_without_a_value(tmp_path: Path) -> None:
    text = CHOOSING.replace("rate:int32[]", "rate:const:int32[]{20}")
    path = file(tmp_path, text)
    outcome = api.fix_file(path, tmp_path / "after.tflite", target="tosa")
    assert outcome.verdict is not None
    assert outcome.verdict.status == "proved"
    assert ops(tmp_path / "after.tflite") == BRANCHES["16"]


def test_an_unknown_condition_leaves_it(tmp_path: Path) -> None:
    path = file(tmp_path, CHOOSING)
    api.fix_file(path, tmp_path / "after.tflite", target="tosa")
    assert "IF" in ops(tmp_path / "after.tflite")


@pytest.mark.ci
def test_a_branch_that_another_operator_runs_stays_for_it(tmp_path: Path) -> None:
    text = CHOOSING.replace("y[2,3] = ADD(w,", "v[2,3] = IF(flag:bool[], w, then=yes, else=no)\ny[2,3] = ADD(v,")
    path, after = file(tmp_path, text), tmp_path / "after.tflite"
    outcome = decided(path)
    assert outcome.verdict is not None
    assert outcome.verdict.status == "proved"
    assert ops(after) == ["MUL", "NEG", "ABS", "IF", "ADD"]
    assert len(formats.load(after).graphs) == 3


def test_a_branch_that_a_signature_calls_stays(tmp_path: Path) -> None:
    signatures = {
        "whole": Signature("main", {"x": "x", "rate": "rate"}, {"y": "y"}),
        "no": Signature("no", {"s": "s"}, {"r": "r"}),
    }
    path, after = file(tmp_path, CHOOSING, signatures=signatures), tmp_path / "after.tflite"
    outcome = decided(path)
    assert outcome.verdict is not None
    assert outcome.verdict.status == "proved"
    assert len(formats.load(after).graphs) == 3


@pytest.mark.ci
def test_names_in_the_branch_may_be_those_of_the_main_subgraph(tmp_path: Path) -> None:
    text = CHOOSING.replace("n[2,3] = NEG(q[2,3])\np[2,3] = ABS(n)", "t[2,3] = NEG(x[2,3])\nw[2,3] = ABS(t)")
    outcome = decided(file(tmp_path, text))
    assert outcome.verdict is not None
    assert outcome.verdict.status == "proved"
    assert ops(tmp_path / "after.tflite") == BRANCHES["16"]


def test_what_can_not_take_its_place_is_left_with_the_reason(tmp_path: Path) -> None:
    text = CHOOSING.replace("p[2,3] = ABS(n)", "v:variable[2,3]\np[2,3] = ADD(n, v)")
    path = file(tmp_path, text)
    reasons = [site.reason for site in api.check(path, target="tosa", values={"rate": 16}).sites if site.op == "IF"]
    assert "its branch holds a variable or a sparse constant" in reasons


def test_a_subgraph_that_is_still_run_may_not_be_missing(tmp_path: Path) -> None:
    path = file(tmp_path, CHOOSING)
    made = tree(CHOOSING)
    made.subgraphs = made.subgraphs[:-1]  # the IF names it
    cut = tmp_path / "cut.tflite"
    cut.write_bytes(pack(made))
    for values in ({}, {"rate": "16"}):
        assert api.verify(path, cut, values=values, proof="only").status != "proved"
