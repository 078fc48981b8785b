"""Correct wrong shapes that the file stores.

    v[2,5] = Relu(x[2,3])               ->  v[2,3]
    v[1,3] = Relu(x[N,3])               ->  v[N,3]                           the input was made free afterwards
    v[3,2] = Compress(x[4,2], c)        ->  v[?]                             another rank; no rule gives the size

A stored shape is a `value_info` or the declaration of an output of an ONNX graph, or the shape of a TFLite tensor. A
stored shape is wrong if the operators compute another rank, another number, or a size that varies with the inputs where
a number is stored. The computed shape is stored instead. A size that only follows from other stored shapes is left
open. A number beside a wrong number is left open, too, if it follows from nothing. Names of sizes stay unless they are
wrong.

No runtime needs the stored shapes of computed values, but onnxruntime plans its memory by them. A wrong shape is
harmless until another value of that shape is in use at the same time. Then the model fails ("Shape mismatch attempting
to re-use buffer").
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from graphfix.graph.edits import Edit, StateShape
from graphfix.graph.view import Graph, Node

CODE = "GF204"


def plan_model(graphs: Sequence[Graph]) -> Iterator[tuple[Node, Iterable[Edit]]]:
    """Yield an edit for each wrong stored shape, with the node that computes the value.

    No node computes the inputs of a body, so their edits come with the first node of the model.
    """
    first = next((node for graph in graphs for node in graph.nodes), None)
    for graph in graphs:
        for value, why in graph.misstated.items():
            node = value.producer or first
            if node is not None:
                yield node, [StateShape(value, why, CODE)]
