"""Inputs that are taken for constants: whoever reads one reads an initializer (before IR version 4 a Constant node)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from onnx import helper, numpy_helper

from graphfix.formats.neutral.set_values import array_of
from graphfix.formats.onnx.edit.inline import rename_values
from graphfix.formats.onnx.file.container import Container
from graphfix.formats.onnx.file.messages import INITIALIZER_ALONE_SINCE_IR, declared, holds_initializers
from graphfix.formats.onnx.view import dtype_name
from graphfix.results import GraphfixError, InputValue
from graphfix.results.onnx_messages import ModelProto, TensorProto, ValueInfoProto


def shapes_of(container: Container, values: Mapping[str, InputValue]) -> dict[str, list[int]]:
    """The shape of each value whose input has a free size. Raises GraphfixError for what does not fit."""
    graph = container.proto.graph
    held = {tensor.name for tensor in graph.initializer}
    sizes = {value.name: declared(value) for value in graph.input if value.name not in held}
    tensors = _tensors(container, values)
    known: dict[str, int] = {}
    for name, tensor in tensors.items():
        for symbol, size in zip(sizes.get(name) or (), tensor.dims, strict=False):
            if isinstance(symbol, str) and known.setdefault(symbol, size) != size:
                where, other = container.path or "the model", known[symbol]
                raise GraphfixError(
                    f"{where}: --set {name}: it gives {symbol} as {size}, another one as {other}; let them agree"
                )
    return {
        name: list(tensor.dims)
        for name, tensor in tensors.items()
        if name in sizes and sizes[name] != tuple(tensor.dims)
    }


def set_inputs(container: Container, values: Mapping[str, InputValue], fresh: Callable[[str], str]) -> None:
    """Let every reader of these inputs read a constant. Raises GraphfixError."""
    proto = container.proto
    tensors = _tensors(container, values)
    names = {name: fresh(f"{name}_value") for name in values}
    rename_values(proto.graph.node, names)
    for name, tensor in tensors.items():
        tensor.name = names[name]
        if holds_initializers(proto.graph, proto.ir_version):
            proto.graph.initializer.add().CopyFrom(tensor)
        else:
            label = fresh(tensor.name)
            proto.graph.node.insert(0, helper.make_node("Constant", [], [tensor.name], label, value=tensor))


def drop(container: Container, values: Mapping[str, InputValue]) -> None:
    """Take inputs that nobody reads out of the signature, with their defaults. Raises GraphfixError."""
    graph, where = container.proto.graph, str(container.path or "the model")
    for name in values:
        if any(output.name == name for output in graph.output):
            raise GraphfixError(f"{where}: --drop-set-inputs: the input '{name}' is an output as well; leave it out")
    for held in (graph.input, graph.initializer, graph.value_info):
        for at in reversed([at for at, each in enumerate(held) if each.name in values]):
            del held[at]
    for at in reversed([at for at, each in enumerate(graph.sparse_initializer) if each.values.name in values]):
        del graph.sparse_initializer[at]


def _tensors(container: Container, values: Mapping[str, InputValue]) -> dict[str, TensorProto]:
    where, inputs = str(container.path or "the model"), _inputs(container.proto)
    found = {}
    for name, value in values.items():
        if name not in inputs:
            known = ", ".join(inputs) or "none"
            raise GraphfixError(f"{where}: --set {name}: no such input; inputs: {known}")
        if not inputs[name].type.HasField("tensor_type"):
            raise GraphfixError(f"{where}: --set {name}: the input is no tensor; only tensors can be set")
        dtype = dtype_name(inputs[name].type.tensor_type.elem_type)
        found[name] = numpy_helper.from_array(array_of(where, name, value, dtype, declared(inputs[name])))
    return found


def _inputs(proto: ModelProto) -> dict[str, ValueInfoProto]:
    """What a caller may give, with and without a default."""
    held = {tensor.name for tensor in proto.graph.initializer}
    inner = set() if proto.ir_version >= INITIALIZER_ALONE_SINCE_IR else held
    return {value.name: value for value in proto.graph.input if value.name not in inner}
