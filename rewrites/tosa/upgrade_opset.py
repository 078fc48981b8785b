"""State an ONNX model of an older opset at opset 17 (ONNX only; only with target tosa, or where it is named).

    Unsqueeze(x[4], axes=[0])            opset 11     ->  Unsqueeze(x, [0])                          opset 17
    Softmax(x[2,3,4], axis=1)            opset 11     ->  Reshape(Softmax(Flatten(x, axis=1)), Shape(x))
    Upsample(x[1,3,4,4], [1,1,2,2])      opset 9      ->  Resize(x, , [1,1,2,2], asymmetric, floor)

Importers know the operators of recent opsets only. The opset belongs to the whole model, bodies and functions included,
so all of it is restated or nothing. Each node is restated where it stands: its name, its metadata, quantization notes,
stored shapes and payloads are not touched. A node whose operator changed in a way that can't be stated (a training
BatchNormalization, a Scan of opset 8, a Softmax of unknown rank) leaves the model as it is, with the reason. A main
graph that does nothing but call functions is not upgraded.

onnx's own version converter is not used: it drops local functions, the metadata of nodes and graphs and quantization
notes, and states an old Resize without its coordinates, which is silently wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from graphfix.graph.edits import Edit, Upgrade
from graphfix.graph.view import Graph, Node

VERSION = 17

CODE = "GF304"


def plan_model(graphs: Sequence[Graph]) -> Iterator[tuple[Node, Iterable[Edit]]]:
    """Upgrade the model at its first standard operator."""
    nodes = (node for graph in graphs if graph.path == "main" for node in graph.nodes)
    first = next((node for node in nodes if not node.domain and node.operands), None)
    if first is not None and first.version < VERSION:
        yield first, [Upgrade(VERSION, CODE)]
