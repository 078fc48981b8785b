"""A ReverseSequence of equal lengths as a Gather: plans, proofs, and what is computed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import graphfix
from graphfix.graph.edits import New, Numbers, Replace
from rewrites.tosa.reverse_sequence_to_gather import plan
from tests.support.notation import model, node
from tests.support.proved import unproved

if TYPE_CHECKING:
    from pathlib import Path

DONE = {
    "all steps": ("time_axis=0, batch_axis=1", "x[4,2,3]", "{4,4}", (3, 2, 1, 0), 0),
    "a part of the steps": ("time_axis=0, batch_axis=1", "x[4,2,3]", "{3,3}", (2, 1, 0, 3), 0),
    "one step": ("time_axis=0, batch_axis=1", "x[4,2,3]", "{1,1}", (0, 1, 2, 3), 0),
    "the batch in front": ("time_axis=1, batch_axis=0", "x[2,4]", "{4,4}", (3, 2, 1, 0), 1),
}


def text(attributes: str, data: str, lengths: str) -> str:
    return f"y{data[1:]} = ReverseSequence({data}, l:const:int64[2]{lengths}, {attributes})"


@pytest.mark.parametrize("case", DONE)
def test_equal_lengths_choose_the_steps(case: str) -> None:
    *given, places, axis = DONE[case]
    planned = node(text(*given))
    (edit,) = plan(planned)
    assert isinstance(edit, Replace)
    assert (edit.node.op, edit.node.attributes) == ("Gather", (("axis", axis),))
    assert edit.node.operands == (0, Numbers(places, (4,), "int64"))
    assert isinstance(edit.node, New)
    assert edit.inexact is None


KEPT = {
    "other lengths": text("time_axis=0, batch_axis=1", "x[4,2,3]", "{4,3}"),
    "longer than the steps": text("time_axis=0, batch_axis=1", "x[4,2,3]", "{5,5}"),
    "no length": text("time_axis=0, batch_axis=1", "x[4,2,3]", "{0,0}"),
    "lengths of the run": "y[4,2] = ReverseSequence(x[4,2], l:int64[2])",
    "steps of the run": text("time_axis=0, batch_axis=1", "x[N,2,3]", "{4,4}"),
}


@pytest.mark.parametrize("text", KEPT.values(), ids=KEPT)
def test_nothing_is_done(text: str) -> None:
    assert list(plan(node(text))) == []


@pytest.mark.ci
@pytest.mark.parametrize("case", DONE)
def test_the_gather_is_proved_and_computes_the_same(case: str, tmp_path: Path) -> None:
    before, after = tmp_path / "before.onnx", tmp_path / "after.onnx"
    attributes, data, lengths, *_ = DONE[case]
    before.write_bytes(model(text(attributes, data, lengths)).SerializeToString())
    outcome = graphfix.fix_file(before, after, target="tosa")
    assert outcome.rewrites["reverse-sequence-to-gather"] == 1
    assert outcome.verdict is not None
    assert outcome.verdict.status == "proved"
    assert all(run.status == "equal" for run in outcome.verdict.runs)
    assert [each.op for each in graphfix.load(after).graphs[0].nodes] == ["Gather"]


REVERSED = text("time_axis=0, batch_axis=1", "x[4,2,3]", "{3,3}")
GATHER = "y[4,2,3] = Gather(x[4,2,3], p:const:int64[4]{2,1,0,3}, axis=0)"


def proved(before: str, after: str) -> bool:
    one, two = (model(each).SerializeToString() for each in (before, after))
    return unproved(one, two) is None


def test_a_fault_in_the_steps_is_not_proved() -> None:
    assert proved(REVERSED, GATHER)
    for old, new in (("{2,1,0,3}", "{3,2,1,0}"), ("{2,1,0,3}", "{2,1,0,0}"), ("{2,1,0,3}", "{-2,1,0,3}")):
        assert not proved(REVERSED, GATHER.replace(old, new))


@pytest.mark.parametrize("lengths", ["{3,4}", "{4,4}", "{0,0}", "{-3,-3}"])
def test_other_lengths_are_not_that_gather(lengths: str) -> None:
    assert not proved(REVERSED.replace("{3,3}", lengths), GATHER)


def test_time_steps_are_the_first_axis_unless_something_else_is_stated() -> None:
    assert proved(REVERSED.replace(", time_axis=0, batch_axis=1", ""), GATHER)


def test_other_axes_are_not_that_gather() -> None:
    other = text("time_axis=1, batch_axis=0", "x[2,4,3]", "{3,3}")
    assert not proved(other, "y[2,4,3] = Gather(x[2,4,3], p:const:int64[2]{1,0}, axis=0)")
    assert proved(other, "y[2,4,3] = Gather(x[2,4,3], p:const:int64[4]{2,1,0,3}, axis=1)")


def test_lengths_that_differ_are_named_beforehand(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(model(KEPT["other lengths"]).SerializeToString())
    outcome = graphfix.check(path, target="tosa")
    assert [(site.code, site.status) for site in outcome.sites] == [("GF305", "left")]
