"""Expand and Tile that a model has already: what is written how, plans only, no format."""

from __future__ import annotations

import pytest

from graphfix.graph.edits import Canonicalize, Edit, Fold, Leave, Lift
from graphfix.graph.view import UnrankedOperand
from graphfix.shapes.dim import Undecided
from rewrites.broadcasts.normalize_expand import plan
from tests.support.notation import node
from tests.support.shape_dialect import parse

DOES: dict[str, list[Edit]] = {
    "y[2,3,4] = Expand(x[4], s:const{2,3,4})": [Lift(0, (0, 1), "GF202")],
    "y[2,3,4] = Expand(x[2,1,4], s:const{3,1})": [Canonicalize(parse("[2, 3, 4]"))],
    "y[2,3,4] = Expand(x[3,1], s:const{2,1,4})": [Lift(0, (0,), "GF202"), Canonicalize(parse("[2, 3, 4]"))],
    "y[2,3] = Expand(x[2,1], s:const{1,3})": [Canonicalize(parse("[2, 3]"))],
    "y[2,4] = Expand(x[2,4], s:const{2,4})": [Fold()],
    "y[2,4] = Expand(x[2,4], s:const{1})": [Fold()],
    "y[N,4] = Expand(x[N,4], s:const{1,4})": [Fold()],
    "y[N,4] = Expand(x[N,4], s:int64[2]{N,4})": [Fold()],
    "y[1,1,4] = Expand(x[4], s:const{1,1,4})": [Lift(0, (0, 1), "GF202"), Fold()],
    "y[N,3,4] = Expand(x[3,4], s:int64[3])": [Lift(0, (0,), "GF202")],
    "y[3,4] = Tile(x[1,4], r:const{3,1})": [Canonicalize(parse("[3, 4]"))],
    "y[3,4] = Tile(x[3,4], r:const{1,1})": [Fold()],
    "y[N,4] = Tile(x[N,4], r:const{1,1})": [Fold()],
    "y[0,4] = Tile(x[1,4], r:const{0,1})": [Canonicalize(parse("[0, 4]"))],
    "y[2,3,4] = tflite.BROADCAST_TO(x[4], s:const{2,3,4})": [Lift(0, (0, 1), "GF202")],
    "y[2,4] = tflite.BROADCAST_TO(x[2,4], s:const{2,4})": [Fold()],
    "y[N,4] = tflite.BROADCAST_TO(x[N,4], s:int32[2]{N,4})": [Fold()],
    "y[1,4] = tflite.BROADCAST_TO(x[4], s:const{1,4})": [Lift(0, (0,), "GF202"), Fold()],
    "y[N,3,4] = tflite.BROADCAST_TO(x[3,4], s:int32[3])": [Lift(0, (0,), "GF202")],
    "y[3,4] = tflite.TILE(x[3,4], r:const{1,1})": [Fold()],
    "y[2,3,4] = tflite.STABLEHLO_BROADCAST_IN_DIM(x[2,4], broadcast_dimensions=(0,2))": [
        Lift(0, (1,), "GF202"),
        Canonicalize(parse("[2, 3, 4]")),
    ],
    "y[2,3,4] = tflite.STABLEHLO_BROADCAST_IN_DIM(x[], broadcast_dimensions=[])": [
        Lift(0, (0, 1, 2), "GF202"),
        Canonicalize(parse("[2, 3, 4]")),
    ],
    "y[2,3] = tflite.STABLEHLO_BROADCAST_IN_DIM(x[2,1], broadcast_dimensions=(0,1))": [Canonicalize(parse("[2, 3]"))],
    "y[2,3] = tflite.STABLEHLO_BROADCAST_IN_DIM(x[2,3], broadcast_dimensions=(0,1))": [Fold()],
    "y[N,3] = tflite.STABLEHLO_BROADCAST_IN_DIM(x[N,3], broadcast_dimensions=(0,1))": [Fold()],
    "y[N,1,3] = tflite.STABLEHLO_BROADCAST_IN_DIM(x[N,3], broadcast_dimensions=(0,2))": [
        Lift(0, (1,), "GF202"),
        Fold(),
    ],
}


@pytest.mark.parametrize(("text", "edits"), DOES.items(), ids=DOES)
def test_it_becomes_a_lift_and_an_expand_to_the_full_shape(text: str, edits: list[Edit]) -> None:
    assert list(plan(node(text))) == edits


NOTHING = {
    "the standard form already": "y[2,3,4] = Expand(x[1,1,4], s:const{2,3,4})",
    "the shape is computed and the ranks are equal": "y[N,M] = Expand(x[N,1], s:int64[2])",
    "the sizes may not fit: the node is what fails then": "y[4] = Expand(x[4], s:int64[1]{N})",
    "symbols: no number can be stated in full": "y[N,4] = Expand(x[N,1], s:const{1,4})",
    "a Tile that repeats two elements is no broadcast": "y[4] = Tile(x[2], r:const{2})",
    "one axis of the Tile is no broadcast": "y[4,3] = Tile(x[2,1], r:const{2,3})",
    "the repeats are computed": "y[?] = Tile(x[1], r:int64[1])",
    "a size that is not known may be more than one": "y[?] = Tile(x[N], r:const{3})",
    "other operators": "y[2] = Relu(x[2])",
    "other domains": "y[2] = my.Expand(x[1], s:const{2})",
    "BROADCAST_TO is TFLite's own stretch": "y[2,3] = tflite.BROADCAST_TO(x[1,3], s:const{2,3})",
    "BROADCAST_TO takes a 1 literally: it may fail": "y[N,4] = tflite.BROADCAST_TO(x[N,4], s:const{1,4})",
    "BROADCAST_TO whose stored result is another": "y[2,4] = tflite.BROADCAST_TO(x[1,4], s:const{1,4})",
    "BROADCAST_TO to fewer axes: it fails": "y[4,4] = tflite.BROADCAST_TO(x[4,4], s:const{4})",
    "BROADCAST_TO to sizes that may differ": "y[N,4] = tflite.BROADCAST_TO(x[N,4], s:int32[2]{M,4})",
    "BROADCAST_TO to a shape of which nothing is known": "y[N,4] = tflite.BROADCAST_TO(x[N,4], s:int32[2])",
    "TILE is TFLite's own stretch": "y[3,4] = tflite.TILE(x[1,4], r:const{3,1})",
}


@pytest.mark.parametrize("text", NOTHING.values(), ids=NOTHING)
def test_nothing_is_done(text: str) -> None:
    assert list(plan(node(text))) == []


IN_DIM = "tflite.STABLEHLO_BROADCAST_IN_DIM"


@pytest.mark.parametrize("axes", ["(1,0)", "(0,0)"])
def test_a_stretch_that_does_not_keep_the_order_of_axes_is_left_with_the_reason(axes: str) -> None:
    (edit,) = plan(node(f"y[3,2] = {IN_DIM}(x[2,3], broadcast_dimensions={axes})"))
    assert isinstance(edit, Leave)
    assert (edit.operand, edit.code, edit.status) == (0, "GF202", "left")
    assert f"axes {axes[1]},{axes[3]} of the result" in edit.reason


@pytest.mark.parametrize(
    "text",
    [
        f"y[N,3] = {IN_DIM}(x[1,3], broadcast_dimensions=(0,1))",
        f"y[2,3] = {IN_DIM}(x[3])",
        f"y[2,3] = {IN_DIM}(x[3], broadcast_dimensions=(0,1))",
        f"y[2,3] = {IN_DIM}(x[3], broadcast_dimensions=(2,))",
        f"y[2,3] = {IN_DIM}(x[3], broadcast_dimensions=(-1,))",
    ],
    ids=["a free size to stretch to", "no axes", "too many axes", "an axis beyond the result", "a negative axis"],
)
def test_a_stretch_by_axes_that_does_not_say_enough_is_undecided(text: str) -> None:
    with pytest.raises(Undecided, match=r"not all known|do not name an axis"):
        list(plan(node(text)))


def test_a_no_op_stretch_by_axes_whose_result_is_an_output_is_spelled_out() -> None:
    """It can't be bypassed there, and LiteRT has no kernel for it as it stands."""
    planned = node(f"y[2,3] = {IN_DIM}(x[2,3], broadcast_dimensions=(0,1))")
    result = planned.results[0]
    assert result is not None
    planned.graph.outputs.add(result)
    assert list(plan(planned)) == [Canonicalize(parse("[2, 3]"))]


@pytest.mark.parametrize("text", ["y[*] = Expand(x[3], s:int64[?])", "y[3] = Expand(x[*], s:const{3})"])
def test_a_rank_that_is_not_known_is_undecided(text: str) -> None:
    with pytest.raises(UnrankedOperand):
        list(plan(node(text)))
