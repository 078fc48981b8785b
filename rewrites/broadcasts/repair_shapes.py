"""Correct the shapes that the file stores and that are wrong.

    v[2,5] = Relu(x[2,3])               ->  v[2,3]
    v[1,3] = Relu(x[N,3])               ->  v[N,3]                           the input was made free afterwards
    v[3,2] = Compress(x[4,2], c)        ->  v[?]                             another rank; no rule gives the size

A stored shape is a `value_info` or the declaration of an output of an ONNX graph, or the shape of a TFLite tensor. It
is wrong where the operators give another rank, another number, or a size that varies with the inputs in the place of a
number. What the operators give is stored instead. A size that only follows from other stored shapes is left open, as
is a number beside a wrong one that follows from nothing. Names of sizes stay where they are not wrong.

No runtime needs stored shapes of computed values, but onnxruntime plans its memory by them: a wrong one is harmless
until another value of that shape is beside it. Then the model fails ("Shape mismatch attempting to re-use buffer").
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from graphfix.graph.edits import Edit, StateShape
from graphfix.graph.view import Graph, Node

CODE = "GF204"


def plan_model(graphs: Sequence[Graph]) -> Iterator[tuple[Node, Iterable[Edit]]]:
    """Yield an edit for each wrong stored shape, with the node that computes the value.

    The inputs of a body are computed by none: theirs come with the first node of the model.
    """
    first = next((node for graph in graphs for node in graph.nodes), None)
    for graph in graphs:
        for value, why in graph.misstated.items():
            node = value.producer or first
            if node is not None:
                yield node, [StateShape(value, why, CODE)]
