"""Make the readers of an input read another value: a constant (`--set`), or the Cast of an int32 input.

Inputs become int32 by `--narrow-inputs`. The constant is an initializer, or a Constant node before IR version 4.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from onnx import helper, numpy_helper

from graphfix.formats.neutral.set_values import array_of
from graphfix.formats.onnx.edit.inline import rename_values
from graphfix.formats.onnx.file.container import Container
from graphfix.formats.onnx.file.messages import INITIALIZER_ALONE_SINCE_IR, declared, holds_initializers
from graphfix.formats.onnx.view import dtype_name
from graphfix.results import GraphfixError, InputValue
from graphfix.results.error_texts import no_input
from graphfix.results.onnx_messages import ModelProto, TensorProto, ValueInfoProto


def shapes_of(container: Container, values: Mapping[str, InputValue]) -> dict[str, list[int]]:
    """Return the shape of each set value whose input has a free size, by input.

    Raises GraphfixError if a value does not fit its input, or if two values require different sizes for one symbol.
    """
    graph = container.proto.graph
    initializer_names = {tensor.name for tensor in graph.initializer}
    sizes = {value.name: declared(value) for value in graph.input if value.name not in initializer_names}
    tensors = _tensors(container, values)
    known_sizes: dict[str, int] = {}
    for name, tensor in tensors.items():
        for symbol, size in zip(sizes.get(name) or (), tensor.dims, strict=False):
            if isinstance(symbol, str) and known_sizes.setdefault(symbol, size) != size:
                where, other = container.path or "the model", known_sizes[symbol]
                raise GraphfixError(
                    f"{where}: --set {name}: it gives {symbol} as {size}, another one as {other}; let them agree"
                )
    return {
        name: list(tensor.dims)
        for name, tensor in tensors.items()
        if name in sizes and sizes[name] != tuple(tensor.dims)
    }


def set_inputs(container: Container, values: Mapping[str, InputValue], fresh: Callable[[str], str]) -> None:
    """Make every reader of these inputs read a constant. Raises GraphfixError for a value that does not fit."""
    proto = container.proto
    tensors = _tensors(container, values)
    names = {name: fresh(f"{name}_value") for name in values}
    rename_values(proto.graph.node, names)
    for name, tensor in tensors.items():
        tensor.name = names[name]
        add_constant(proto, tensor, fresh)


def add_constant(proto: ModelProto, tensor: TensorProto, fresh: Callable[[str], str]) -> None:
    """Add a constant to the main graph: an initializer, or a Constant node before IR version 4."""
    if holds_initializers(proto.graph, proto.ir_version):
        proto.graph.initializer.append(tensor)
    else:
        proto.graph.node.insert(0, helper.make_node("Constant", [], [tensor.name], fresh(tensor.name), value=tensor))


def drop(container: Container, values: Mapping[str, InputValue]) -> None:
    """Remove the inputs `values` with their defaults, after `set_inputs`. They must have no readers.

    Raises GraphfixError for an input that is also an output.
    """
    graph, where = container.proto.graph, str(container.path or "the model")
    for name in values:
        if any(output.name == name for output in graph.output):
            raise GraphfixError(f"{where}: --drop-set-inputs: the input '{name}' is an output as well; leave it out")
    for records in (graph.input, graph.initializer, graph.value_info):
        for at in reversed([at for at, each in enumerate(records) if each.name in values]):
            del records[at]
    for at in reversed([at for at, each in enumerate(graph.sparse_initializer) if each.values.name in values]):
        del graph.sparse_initializer[at]


def _tensors(container: Container, values: Mapping[str, InputValue]) -> dict[str, TensorProto]:
    """Return the tensor of each set value by input.

    Raises GraphfixError if an input is unknown or a value does not fit.
    """
    where, inputs = str(container.path or "the model"), _inputs(container.proto)
    found = {}
    for name, value in values.items():
        if name not in inputs:
            raise GraphfixError(f"{where}: --set {name}: {no_input(name, inputs)}")
        if not inputs[name].type.HasField("tensor_type"):
            raise GraphfixError(f"{where}: --set {name}: the input is not a tensor; only tensors can be set")
        dtype = dtype_name(inputs[name].type.tensor_type.elem_type)
        found[name] = numpy_helper.from_array(array_of(where, name, value, dtype, declared(inputs[name])))
    return found


def _inputs(proto: ModelProto) -> dict[str, ValueInfoProto]:
    """Return the inputs that a caller may set, by name, with and without a default.

    Before IR version 4 callers can't override an initializer, so such inputs are left out.
    """
    initializer_names = {tensor.name for tensor in proto.graph.initializer}
    inner = set() if proto.ir_version >= INITIALIZER_ALONE_SINCE_IR else initializer_names
    return {value.name: value for value in proto.graph.input if value.name not in inner}


# --- int32 for int64 --------------------------------------------------------------------------------------------------


def narrow(proto: ModelProto, kept: Collection[str], fresh: Callable[[str], str]) -> list[str]:
    """Declare every int64 input without a default as int32, except the inputs `kept`. Return their names.

        ids:int64[N,T] -> Gather        ids:int32[N,T] -> Cast -> ids_int64 -> Gather

    All readers of the input, in bodies too, read the result of the Cast. An input that is also an output is not
    narrowed.
    """
    graph, initializer_names = proto.graph, {tensor.name for tensor in proto.graph.initializer} | set(kept)
    initializer_names |= {tensor.values.name for tensor in graph.sparse_initializer}
    free = [value for value in graph.input if value.name not in initializer_names]
    wide = [value for value in free if value.type.tensor_type.elem_type == TensorProto.INT64]
    if not wide:
        return []
    outputs = {value.name for value in graph.output}
    narrowed = [value.name for value in wide if value.name not in outputs]  # One name can't have two types.
    names = {name: fresh(f"{name}_int64") for name in narrowed}
    rename_values(graph.node, names)
    for value in wide:
        if value.name in names:
            value.type.tensor_type.elem_type = TensorProto.INT32
    casts = [
        helper.make_node("Cast", [name], [wide_name], fresh(f"{name}_cast"), to=TensorProto.INT64)
        for name, wide_name in names.items()
    ]
    nodes = [*casts, *graph.node]
    del graph.node[:]
    graph.node.extend(nodes)
    return narrowed
