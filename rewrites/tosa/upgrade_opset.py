"""Rewrite an ONNX model of an older opset for opset 17 (ONNX only; only with target tosa, or where it is named).

    Unsqueeze(x[4], axes=[0])            opset 11     ->  Unsqueeze(x, [0])                          opset 17
    Softmax(x[2,3,4], axis=1)            opset 11     ->  Reshape(Softmax(Flatten(x, axis=1)), Shape(x))
    Upsample(x[1,3,4,4], [1,1,2,2])      opset 9      ->  Resize(x, , [1,1,2,2], asymmetric, floor)

Importers support only the operators of recent opsets. The opset belongs to the whole model, including bodies and
functions, so all nodes are rewritten or no node is. Each node is rewritten in its place: its name, its metadata,
quantization notes, stored shapes and payloads are not changed. If an operator changed in a way that can't be expressed
at opset 17, the model is not changed, and the reason is reported. Examples are a training BatchNormalization, a Scan of
opset 8, and a Softmax of unknown rank. A main graph that only calls functions is not upgraded.

onnx's own version converter is not used. It drops local functions, the metadata of nodes and graphs, and quantization
notes. It also writes an old Resize without its coordinates, which is wrong without a message.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from graphfix.graph.edits import Edit, Upgrade
from graphfix.graph.view import Graph, Node

VERSION = 17

CODE = "GF304"


def plan_model(graphs: Sequence[Graph]) -> Iterator[tuple[Node, Iterable[Edit]]]:
    """Yield the first standard operator of the main graph with the edit that upgrades the whole model."""
    nodes = (node for graph in graphs if graph.path == "main" for node in graph.nodes)
    first = next((node for node in nodes if not node.domain and node.operands), None)
    if first is not None and first.version < VERSION:
        yield first, [Upgrade(VERSION, CODE)]
