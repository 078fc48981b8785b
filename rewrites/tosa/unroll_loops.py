"""Replace a loop that runs a known number of times by copies of its body (only with target tosa, or named).

    i, h[1,8] = While(0, h0[1,8]; cond: i < 3; body: {h = Tanh(Add(h, Gather(x[3,8], i)));  i = i + 1})
    a[1,8] = Tanh(Add(h0, Gather(x, 0)));  b[1,8] = Tanh(Add(a, Gather(x, 1)));  h[1,8] = Tanh(Add(b, Gather(x, 2)))

No converter to TOSA writes loops. The number of trips of a TFLite WHILE or an ONNX Loop is known if its count and its
condition are known. The condition is computed for each trip from known integers, such as sizes that are numbers, and
counters that begin at a constant. Each trip reads the results of the trip before it, and all trips read the same
constants. A list that a Loop collects becomes a Concat of the results of its trips. A Scan of a known length reads its
parts by Gather.

Results have the same bits in runs without optimizations. In onnxruntime's default session the last bits may change if a
constant matrix is a state of an ONNX loop. In the loop the matrix is a computed value, in the unrolled model a
constant. onnxruntime packs constant matrices ahead of time, and then sums their products in a different order
(measured: 1e-7 to 2e-5). Such a site is marked as inexact; the verdict shows the difference in its line about runs with
optimizations.

All trips together may have at most 4096 nodes, including loops inside the loop. These loops are not changed:

- a loop whose condition depends on an input
- a loop in a body that stays
- a loop whose body contains random operators, custom operators or a state, because several copies of such a body do not
  compute the same as one body that runs several times
"""

from __future__ import annotations

from collections.abc import Iterator

from graphfix.graph.edits import Edit, Inline, Leave
from graphfix.graph.view import Node
from graphfix.operators.row import TFLITE

ON = frozenset({("", "Loop"), ("", "Scan"), (TFLITE, "WHILE")})
CODE, NOT_TAKEN = "GF304", "GF305"
MOST_NODES = 4096
FLOATS, MATRIX = frozenset({"float16", "float32", "float64"}), 2
INEXACT = (
    "onnxruntime's default session packs a matrix that was a state of the loop: its products may round differently"
)


def plan(node: Node) -> Iterator[Edit]:
    """Yield an edit that replaces the loop by its trips, if their number is known.

    If the trips have too many nodes, yield the reason instead.
    """
    trips = node.trips if node.graph.outer is None else None
    if not node.operands or trips is None:
        return
    count = trips.number * trips.nodes
    if count > MOST_NODES:
        why = f"its {trips.number} trips take {count} nodes, and {MOST_NODES} are the most: bind a shorter length"
        yield Leave(None, why, NOT_TAKEN, "left", blocks=True)
        return
    yield Inline("body", CODE, trips.number, INEXACT if _takes_matrices(node) else None)


def _takes_matrices(node: Node) -> bool:
    """Return whether a state of the loop, or an input of a Scan, is a constant matrix that a runtime may pack."""
    if node.domain == TFLITE:
        return False
    states = node.operands[2:] if node.op == "Loop" else node.operands
    constants = (value for value in states if value is not None and value.kind == "constant")
    return any(value.dtype in FLOATS and value.shape.ranked and value.shape.rank >= MATRIX for value in constants)
