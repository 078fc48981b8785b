"""The graphs of an ONNX model: the main graph, the bodies of If, Loop and Scan, and where each value is defined."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from graphfix.checker.files.onnx.tensors import elements
from graphfix.results.records import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import onnx

_NUMBERS = {
    "value_int": ("i", "int64"), "value_ints": ("ints", "int64"),
    "value_float": ("f", "float32"), "value_floats": ("floats", "float32"),
}  # fmt: skip
"""For each number attribute of a Constant: the field of the attribute that contains the numbers, and their dtype."""


@dataclass(frozen=True, slots=True)
class NestedGraph:
    """A graph: the main graph, or a body of If, Loop or Scan, which may read values of the graphs around it.

    `outer` is the graph around a body, or None for the main graph. `producers`, `tensors` and `shapes` contain the
    node, the initializer and the declared shape of each name in this graph. `inputs` contains the names of its inputs.
    """

    proto: onnx.GraphProto
    outer: NestedGraph | None
    actuals: Mapping[str, tuple[NestedGraph, str]]
    """For each input of a body, the outer graph and the name of the value that is passed to the input."""
    producers: Mapping[str, onnx.NodeProto] = field(repr=False)
    tensors: Mapping[str, onnx.TensorProto] = field(repr=False)
    shapes: Mapping[str, tuple[int | None, ...]] = field(repr=False)
    inputs: frozenset[str]

    def home(self, name: str) -> NestedGraph | None:
        """Return the graph that defines a name, this graph or one around it; None if no graph defines the name."""
        if name in self.producers or name in self.tensors or self.is_input(name) or name in self.actuals:
            return self
        return None if self.outer is None else self.outer.home(name)

    def is_input(self, name: str) -> bool:
        """Return whether a name is an input of the model itself that has no default value."""
        return self.outer is None and name not in self.tensors and name in self.inputs

    def shape(self, name: str) -> tuple[int | None, ...] | None:
        """Return the sizes of a value, with None for each unknown size. Return None if the rank is unknown."""
        home = self.home(name)
        if home is None:
            return None
        if name in home.tensors:
            return tuple(home.tensors[name].dims)
        return home.shapes.get(name)


def nested_graphs(proto: onnx.GraphProto) -> Iterator[NestedGraph]:
    """Yield a graph and every body inside it. An outer graph is yielded before its bodies."""
    yield from _nested(proto, None, {})


def unused_prefix(proto: onnx.GraphProto, prefix: str) -> str:
    """Return `prefix` with underscores added until no name in the graph or its bodies begins with the result."""
    taken = {name for graph in nested_graphs(proto) for name in (*graph.producers, *graph.tensors, *graph.inputs)}
    while any(name.startswith(prefix) for name in taken):
        prefix += "_"
    return prefix


def constant(graph: NestedGraph, name: str) -> np.ndarray[Any, Any] | None:
    """Return the elements of an initializer or Constant, also through Identity.

    Returns None if the value is not a constant, or if its elements are in another file. The result is also None if the
    model was read without large payloads, and the constant is one of them.
    """
    home = graph.home(name)
    if home is None:
        return None
    node = home.producers.get(name)
    if node is not None and node.op_type == "Identity":
        return constant(home, node.input[0])
    if node is not None:
        return _value(node)
    return elements(home.tensors[name]) if name in home.tensors else None


def integer_attribute(node: onnx.NodeProto, name: str, default: int) -> int:
    """Return an integer attribute of a node, or `default` if the node does not have the attribute."""
    return next((int(each.i) for each in node.attribute if each.name == name), default)


def _nested(
    proto: onnx.GraphProto, outer: NestedGraph | None, actuals: Mapping[str, tuple[NestedGraph, str]]
) -> Iterator[NestedGraph]:
    """Yield a graph, and then every body inside it.

    `outer` is the graph around it, and `actuals` the values passed to it.
    """
    values = [*proto.input, *proto.value_info, *proto.output]
    graph = NestedGraph(
        proto=proto,
        outer=outer,
        actuals=actuals,
        producers={name: node for node in proto.node for name in node.output if name},
        tensors={t.name: t for t in proto.initializer},
        shapes={v.name: _shape(v.type.tensor_type) for v in values if v.type.tensor_type.HasField("shape")},
        inputs=frozenset(v.name for v in proto.input),
    )
    yield graph
    for node in proto.node:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from _nested(attribute.g, graph, _actuals(node, attribute.g, graph))


def _actuals(node: onnx.NodeProto, body: onnx.GraphProto, graph: NestedGraph) -> dict[str, tuple[NestedGraph, str]]:
    """Pair the inputs of a body with the operands of its node, by position.

    For Loop this pairs the iteration counter with the trip count, which is larger than every value of the counter.
    """
    pairs = zip((v.name for v in body.input), node.input, strict=False)
    return {formal: (graph, actual) for formal, actual in pairs if actual}


def _shape(tensor: onnx.TypeProto.Tensor) -> tuple[int | None, ...]:
    return tuple(d.dim_value if d.HasField("dim_value") and d.dim_value >= 0 else None for d in tensor.shape.dim)


def _value(node: onnx.NodeProto) -> np.ndarray[Any, Any] | None:
    """Return the elements of a Constant; None for any other node."""
    if node.op_type != "Constant" or len(node.attribute) != 1:
        return None
    attribute = node.attribute[0]
    if attribute.name == "value":
        return elements(attribute.t)
    if attribute.name not in _NUMBERS:
        return None  # Strings and sparse tensors are not read.
    field, dtype = _NUMBERS[attribute.name]
    return np.asarray(getattr(attribute, field), dtype)


# --- bodies ---------------------------------------------------------------------------------------------------------


def graphs(attribute: onnx.AttributeProto) -> list[onnx.GraphProto]:
    """Return the bodies in an attribute: the graph, or the graphs of a list."""
    return [*([attribute.g] if attribute.HasField("g") else ()), *attribute.graphs]


def bodies(nodes: Iterable[onnx.NodeProto]) -> Iterator[onnx.GraphProto]:
    """Yield the bodies in the attributes of nodes, in order. Bodies inside these bodies are not included."""
    for node in nodes:
        for attribute in node.attribute:
            yield from graphs(attribute)


def every_node(model: onnx.ModelProto) -> Iterator[onnx.NodeProto]:
    """Yield every node of a model, including the nodes of bodies and of functions."""
    for graph in every_graph(model.graph):
        yield from graph.node
    for function in model.functions:
        yield from with_inner_nodes(function.node)


def with_inner_nodes(nodes: Sequence[onnx.NodeProto]) -> Iterator[onnx.NodeProto]:
    """Yield the nodes, and then all nodes of the bodies inside them, at any depth."""
    yield from nodes
    for body in bodies(nodes):
        for graph in every_graph(body):
            yield from graph.node


def every_graph(outer: onnx.GraphProto) -> Iterator[onnx.GraphProto]:
    """Yield a graph and every body inside it, at any depth."""
    pending = [outer]
    while pending:
        graph = pending.pop()
        yield graph
        pending += bodies(graph.node)
