"""How many trips of a loop are written out: plans only, no format."""

from __future__ import annotations

import pytest

from graphfix.graph.edits import Inline, Leave
from graphfix.graph.view import Trips
from rewrites.tosa.unroll_loops import MOST_NODES, plan
from tests.support.notation import node

LOOP = "y[2] = tflite.WHILE(i:int32[], x[2])"


@pytest.mark.parametrize(
    "trips", [Trips(0, 3), Trips(1, 3), Trips(MOST_NODES, 1)], ids=["none", "one", "as many as may be"]
)
def test_trips_of_a_known_number_are_written_out(trips: Trips) -> None:
    one = node(LOOP)
    one.graph.read_trips = lambda _: trips
    assert list(plan(one)) == [Inline("body", "GF304", trips.number)]


@pytest.mark.parametrize(
    ("state", "is_inexact"),
    [("r:const[3,3]", True), ("r[3,3]", False), ("r:const[3]", False), ("r:const:int64[3,3]", False)],
    ids=["a constant matrix", "a computed one", "a constant vector", "whole numbers"],
)
def test_a_constant_matrix_that_is_a_state_is_said_to_be_packed(state: str, *, is_inexact: bool) -> None:
    one = node(f"y[2] = Loop(n:const:int64[], , x[2,3], {state})")
    one.graph.read_trips = lambda _: Trips(2, 3)
    (edit,) = plan(one)
    assert isinstance(edit, Inline)
    assert (edit.inexact is not None) is is_inexact


def test_too_many_nodes_are_left_with_the_reason() -> None:
    one = node(LOOP)
    one.graph.read_trips = lambda _: Trips(MOST_NODES // 2 + 1, 2)
    (left,) = plan(one)
    assert isinstance(left, Leave)
    assert left.blocks
    assert left.reason == "its 2049 trips take 4098 nodes, and 4096 are the most: bind a shorter length"


def test_a_loop_of_an_unknown_number_is_left() -> None:
    assert list(plan(node(LOOP))) == []


def test_a_loop_that_was_taken_apart_has_no_operands() -> None:
    one = node(LOOP)
    one.graph.read_trips = lambda _: Trips(1, 1)
    assert list(plan(one.reading(()))) == []
