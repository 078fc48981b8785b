"""A BROADCAST_TO of known sizes is written as a TILE; one of a free size, or without a result, is left."""

from __future__ import annotations

import pytest

from graphfix.graph.edits import Canonicalize, Edit, Lift
from graphfix.shapes.dim import Shape, Undecided
from rewrites.broadcasts.tile_for_broadcast_to import CODE, plan
from tests.support.notation import node

TO = Canonicalize(Shape((2, 3, 4)), CODE)
PLANS: dict[str, tuple[str, list[Edit]]] = {
    "one axis is lifted by two": ("x[4]", [Lift(0, (0, 1), CODE), TO]),
    "two axes are lifted by one": ("x[3,4]", [Lift(0, (0,), CODE), TO]),
    "the rank of the result needs no lift": ("x[1,3,1]", [TO]),
}


@pytest.mark.parametrize(("operand", "edits"), PLANS.values(), ids=PLANS)
def test_the_operand_is_lifted_to_the_rank_of_the_result(operand: str, edits: list[Edit]) -> None:
    assert list(plan(node(f"y[2,3,4] = tflite.BROADCAST_TO({operand}, s:int32[3])"))) == edits


@pytest.mark.parametrize(
    "text", ["y[N,4] = tflite.BROADCAST_TO(x[4], s:int32[2])", "y[2,4] = tflite.BROADCAST_TO(x[N], s:int32[2])"]
)
def test_a_free_size_leaves_it_undecided(text: str) -> None:
    with pytest.raises(Undecided, match="a TILE repeats by numbers"):
        list(plan(node(text)))
