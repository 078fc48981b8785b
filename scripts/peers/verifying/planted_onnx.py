"""Faults that are planted into ONNX models: each looks like what a rewrite gets wrong, and leaves the interface.

Each kind yields its places one after the other, as a changed copy; whether one shows in the outputs is asked of the
runtime (peers.verifying.planted).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np
import onnx
from onnx import numpy_helper

FEWEST_WEIGHTS = 16
"""A constant of fewer elements is no weight."""
Changed = Iterator[onnx.ModelProto]
Place = Callable[[onnx.NodeProto, "Constants"], bool]
"""Changes a node, or a constant of it, where the fault fits; says whether it did."""


class Constants:
    """The constants of a model by name: initializers, and results of Constant nodes, of all graphs."""

    def __init__(self, model: onnx.ModelProto) -> None:
        """Read a model; what is changed is changed in it."""
        self.model = model
        self.tensors: dict[str, onnx.TensorProto] = {}
        for graph in graphs(model.graph):
            self.tensors.update((tensor.name, tensor) for tensor in graph.initializer)
            for node in graph.node:
                if node.op_type == "Constant" and node.attribute[0].name == "value":
                    self.tensors[node.output[0]] = node.attribute[0].t

    def value(self, name: str) -> np.ndarray | None:
        """Return the elements of a constant that is stored in the file itself."""
        tensor = self.tensors.get(name)
        return None if tensor is None else numpy_helper.to_array(tensor).copy()

    def set(self, name: str, value: np.ndarray) -> None:
        """Store other elements for all readers of a constant."""
        tensor = self.tensors[name]
        tensor.CopyFrom(numpy_helper.from_array(np.ascontiguousarray(value), tensor.name))

    def add(self, like: str, value: np.ndarray) -> str:
        """Store a constant for one reader alone; return its name."""
        name = f"{like}_planted"
        self.model.graph.initializer.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name


def graphs(graph: onnx.GraphProto) -> Iterator[onnx.GraphProto]:
    """Yield a graph and its bodies, outer ones first."""
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from graphs(attribute.g)


def _each(model: onnx.ModelProto, place: Place) -> Changed:
    """Yield a copy for each node that a fault fits."""
    for number in range(sum(len(graph.node) for graph in graphs(model.graph))):
        copy = onnx.ModelProto()
        copy.CopyFrom(model)
        nodes = [node for graph in graphs(copy.graph) for node in graph.node]
        if place(nodes[number], Constants(copy)):
            yield copy


def _weight(node: onnx.NodeProto, constants: Constants) -> bool:
    if node.op_type not in {"Conv", "ConvTranspose", "MatMul", "Gemm", "LSTM"}:
        return False
    value = constants.value(node.input[1])
    if value is None or value.size < FEWEST_WEIGHTS or value.dtype.kind != "f":
        return False
    value.flat[np.abs(value).argmax()] *= -1
    constants.set(node.input[1], value)
    return True


def _index(node: onnx.NodeProto, constants: Constants) -> bool:
    """`Gather(x, 1)` takes 0, every other one the next lower; a Slice begins one element later, and ends so."""
    if node.op_type == "Gather":
        value = constants.value(node.input[1])
        if value is None or not value.size:
            return False
        value.flat[0] += -1 if value.flat[0] > 0 else 1
        node.input[1] = constants.add(node.input[1], value)
        return True
    return node.op_type == "Slice" and _later(node, constants)


def _later(node: onnx.NodeProto, constants: Constants) -> bool:
    begin, end = (constants.value(name) for name in node.input[1:3])
    if begin is None or end is None or begin.flat[0] < 1 or not begin.flat[0] < end.flat[0] < 1 << 30:
        return False
    for position, value in ((1, begin), (2, end)):
        value.flat[0] -= 1
        node.input[position] = constants.add(node.input[position], value)
    return True


def _axes(node: onnx.NodeProto, _: Constants) -> bool:
    """Two axes that follow each other are swapped: the runtime says whether their sizes are equal."""
    if node.op_type != "Transpose" or len(node.attribute[0].ints) < 3:
        return False
    order = node.attribute[0].ints
    order[-1], order[-2] = order[-2], order[-1]
    return True


def _operator(node: onnx.NodeProto, _: Constants) -> bool:
    if node.op_type != "Add":
        return False
    node.op_type = "Sub"
    return True


def _order(node: onnx.NodeProto, _: Constants) -> bool:
    if node.op_type not in {"Sub", "Div"}:
        return False
    node.input[0], node.input[1] = node.input[1], node.input[0]
    return True


def _axis(node: onnx.NodeProto, constants: Constants) -> bool:
    """`y[n,n] = Add(x[n,n], b[n])` reads `b[n,1]`: the runtime says whether the sizes are equal."""
    if node.op_type not in {"Add", "Mul", "Sub", "Div", "PRelu"}:
        return False
    position = next((at for at, name in enumerate(node.input) if constants.value(name) is not None), None)
    value = None if position is None else constants.value(node.input[position])
    if position is None or value is None or value.size < 2:
        return False
    moved = value.reshape(*value.shape, 1) if value.shape[-1] == value.size else np.moveaxis(value, -1, -2)
    node.input[position] = constants.add(node.input[position], moved)
    return True


def _size(node: onnx.NodeProto, constants: Constants) -> bool:
    """A size that was free becomes 1, as for one set of inputs."""
    value = constants.value(node.input[1]) if node.op_type == "Reshape" else None
    if value is None or value.size < 2 or value[0] not in {0, -1}:
        return False
    value[0] = 1
    node.input[1] = constants.add(node.input[1], value)
    return True


def _bound(node: onnx.NodeProto, constants: Constants) -> bool:
    """The upper bound of a Clip is a sixth lower."""
    if node.op_type != "Clip" or len(node.input) < 3:
        return False
    value = constants.value(node.input[2])
    if value is None:
        return False
    node.input[2] = constants.add(node.input[2], (value * 5 / 6).astype(value.dtype))
    return True


KINDS: Mapping[str, Place] = {
    "weight": _weight,
    "index": _index,
    "axes": _axes,
    "operator": _operator,
    "order": _order,
    "axis": _axis,
    "size": _size,
    "bound": _bound,
}
"""By the names of peers.verifying.faults.KINDS."""


def places(model: onnx.ModelProto, kind: str) -> Changed:
    """Yield the model with one fault of a kind, at one place after the other."""
    return _each(model, KINDS[kind])
