"""Write a loop that runs a known number of times as its body, so many times (only with target tosa, or named).

    i, h[1,8] = While(0, h0[1,8]; cond: i < 3; body: {h = Tanh(Add(h, Gather(x[3,8], i)));  i = i + 1})
    a[1,8] = Tanh(Add(h0, Gather(x, 0)));  b[1,8] = Tanh(Add(a, Gather(x, 1)));  h[1,8] = Tanh(Add(b, Gather(x, 2)))

No converter to TOSA writes loops. The condition of a TFLite WHILE is followed from trip to trip on the whole numbers
that are known: counters that begin at a constant, and sizes that are numbers. Each trip reads what the one before it
returns; what the loop returns has the same bits.

The trips may take 4096 nodes in all. Left as they are: loops whose condition an input decides, a loop in a body that
stays, and a body with random or custom operators or a state: several of them are not one that runs several times.
"""

from __future__ import annotations

from collections.abc import Iterator

from graphfix.graph.edits import Edit, Inline, Leave
from graphfix.graph.view import Node
from graphfix.operators.row import TFLITE

ON = frozenset({(TFLITE, "WHILE")})
CODE, NOT_TAKEN = "GF304", "GF305"
MOST_NODES = 4096


def plan(node: Node) -> Iterator[Edit]:
    """Put the trips of a loop in its place, where their count is known."""
    trips = node.trips
    if not node.operands or trips is None:
        return
    count = trips.number * trips.nodes
    if count > MOST_NODES:
        why = f"its {trips.number} trips take {count} nodes, and {MOST_NODES} are the most: bind a shorter length"
        yield Leave(None, why, NOT_TAKEN, "left", blocks=True)
        return
    yield Inline("body", CODE, trips.number)
