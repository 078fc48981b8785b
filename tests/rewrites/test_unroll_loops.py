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
