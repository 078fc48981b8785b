"""Run onnx's shape inference on a model and list the shapes. `wrong_shapes` compares them with graphfix's rules."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final, TypeAlias

from graphfix.formats.onnx.edit.unroll import every_node
from graphfix.formats.onnx.file.messages import declared, label, subgraphs, write_dims
from graphfix.formats.onnx.load_inference.suspects import FUNCTION
from graphfix.formats.onnx.view import onnx_type
from graphfix.graph.view import Node, Scalar, Value
from graphfix.results.onnx_messages import GraphProto, ModelProto, TensorProto
from graphfix.runtimes.onnx.shape_inference import InferenceError, infer_shapes

Told: TypeAlias = tuple[int | str | None, ...]
"""The dims that onnx infers: a number, a symbol of the file, or None for an unknown size."""
ToldShapes: TypeAlias = Mapping[tuple[str, str], Collection[Told]]
"""Inferred shapes by the path of a graph and the name of a value."""
Names: TypeAlias = frozenset[tuple[str, str]]
"""Values as pairs of graph path and name, because edits replace the Value objects."""

FEW_BYTES: Final = 1024
"""The size in bytes below which constants are passed to the inference. It reads no larger ones."""
MAIN: Final = "main"
"""The path of the main graph."""
UNKNOWN_DTYPE: Final = "?"
_COPY: Final = re.compile(r"__\d+$")
"""The suffix of the name of a value that was inlined from a function."""


def inferred_shapes(
    proto: ModelProto, doubtful: Names, visible: Sequence[Value] = (), suspects: Sequence[Node] = ()
) -> ToldShapes:
    """Return the shapes that onnx infers for a model in which the stored shapes of `doubtful` values are dropped.

    The sizes of the `visible` values, and the constant operands of `suspects`, are written into the model for the
    inference. If a value of a function is doubtful, the functions are inlined and their values are listed too. Raises
    InferenceError if onnx's inference aborts.
    """
    bare = _without_large_constants(proto)
    graphs = dict(_graphs(bare.graph, MAIN))
    for path, graph in graphs.items():
        _drop_stored(graph, {name for at, name in doubtful if at == path})
    _state_sizes(graphs, visible)
    _state_operands(graphs, suspects)
    inlines = any(path.startswith(FUNCTION) for path, _ in doubtful)
    symbols = {dim.dim_param for value in bare.graph.input for dim in value.type.tensor_type.shape.dim}
    return _listed(_inferred(_inlined(bare, graphs) if inlines else bare), doubtful, symbols, inlines=inlines)


def _graphs(graph: GraphProto, path: str) -> Iterator[tuple[str, GraphProto]]:
    """Yield (path, graph) for a graph and the bodies inside it."""
    yield path, graph
    for index, attribute, body in subgraphs(graph.node):
        yield from _graphs(body, f"{path}/{label(graph.node[index], index)}.{attribute}")


def _without_large_constants(proto: ModelProto) -> ModelProto:
    """Return a copy of a model in which large constants of the main graph have no elements."""
    bare = ModelProto(ir_version=proto.ir_version, opset_import=proto.opset_import, functions=proto.functions)
    graph = proto.graph
    bare.graph.name = graph.name
    bare.graph.node.extend(graph.node)
    bare.graph.input.extend(graph.input)
    bare.graph.output.extend(graph.output)
    bare.graph.value_info.extend(graph.value_info)
    for tensor in graph.initializer:
        small = tensor.ByteSize() < FEW_BYTES and not tensor.external_data
        bare.graph.initializer.append(
            tensor if small else TensorProto(name=tensor.name, data_type=tensor.data_type, dims=tensor.dims)
        )
    for entry in (*bare.opset_import, *every_node(bare.graph.node)):
        # The second name of the standard domain, which onnx's inference does not support.
        if entry.domain == "ai.onnx":
            entry.domain = ""
    return bare


def _drop_stored(graph: GraphProto, names: Collection[str] | None = None) -> None:
    """Drop the stored shapes of the values `names` of a graph, outputs included. None drops all of them."""
    kept = [] if names is None else [info for info in graph.value_info if info.name not in names]
    if len(kept) < len(graph.value_info):
        del graph.value_info[:]
        graph.value_info.extend(kept)
    for value in graph.output:
        if (names is None or value.name in names) and value.type.HasField("tensor_type"):
            value.type.tensor_type.ClearField("shape")


def _state_sizes(graphs: Mapping[str, GraphProto], visible: Sequence[Value]) -> None:
    """Declare the shapes of the `visible` values that have a constant size. Other sizes are left open."""
    sizes = {(value.graph.path, value.name): value for value in visible if _has_number(value)}
    for path, graph in graphs.items():
        names = {name for at, name in sizes if at == path}
        kept = [info for info in graph.value_info if info.name not in names]
        del graph.value_info[:]
        graph.value_info.extend(kept)
        for name in names.difference(value.name for value in graph.output):
            value = sizes[path, name]
            info = graph.value_info.add(name=name)
            info.type.tensor_type.elem_type = onnx_type(value.dtype)
            dims = [size if isinstance(size, int) else None for size in value.shape.json or ()]
            write_dims(info.type.tensor_type, dims)


def _has_number(value: Value) -> bool:
    return value.dtype != UNKNOWN_DTYPE and any(isinstance(size, int) for size in value.shape.json or ())


def _state_operands(graphs: Mapping[str, GraphProto], suspects: Sequence[Node]) -> None:
    """Replace operands of suspect nodes whose elements are constant by initializers in the graph of the node.

    onnx's Python inference of a body reads no constant of the graph around it, but onnxruntime's does.
    """
    for node in suspects:
        graph = graphs.get(node.graph.path)
        for at, value in enumerate(node.operands) if graph is not None else ():
            if graph is None or value is None or value.dtype == "string" or _is_constant_of(node, value):
                continue
            elements = value.elements
            if elements is not None and value.shape.static:
                tensor = _constant(f"{len(graph.initializer)} known {value.name}", value, elements)
                graph.initializer.append(tensor)
                graph.node[node.index].input[at] = tensor.name


def _is_constant_of(node: Node, value: Value) -> bool:
    """Return whether a value is a constant of the node's own graph. onnx's inference reads no others."""
    return value.kind == "constant" and value.graph is node.graph


def _constant(name: str, value: Value, elements: Sequence[Scalar]) -> TensorProto:
    """Return a tensor with the type and the shape of a value, and these elements."""
    from onnx.helper import make_tensor

    numbers = [each for each in elements if not isinstance(each, str)]
    made: TensorProto = make_tensor(name, onnx_type(value.dtype), value.shape.numbers, numbers)
    return made


def _inlined(bare: ModelProto, graphs: Mapping[str, GraphProto]) -> ModelProto:
    """Return a model in which calls of functions are replaced by the functions' nodes, as onnxruntime does."""
    from onnx.inliner import inline_local_functions

    for graph in graphs.values():  # The nodes are named first, so that the paths of bodies stay the same.
        for index, node in enumerate(graph.node):
            node.name = label(node, index)
    inlined: ModelProto = inline_local_functions(bare)
    return inlined


def _inferred(bare: ModelProto) -> ModelProto:
    """Return a model with the shapes that onnx infers, or only the stored shapes if onnx's inference refuses it.

    Raises InferenceError if onnx's inference aborts.
    """
    for _ in range(2):
        try:
            return infer_shapes(bare, data_prop=True)
        except InferenceError as error:
            if error.aborted:
                raise
        # A stored shape is wrong. onnxruntime uses the inferred one, so all stored shapes are dropped for the second
        # attempt.
        for _, graph in _graphs(bare.graph, MAIN):
            _drop_stored(graph)
    return bare


def _listed(model: ModelProto, doubtful: Names, symbols: Collection[str], *, inlines: bool) -> ToldShapes:
    """Return the shapes in a model by graph path and value name.

    A value inlined from a function is listed under that function.

    Symbols that no input declares are replaced by None. Stored shapes use them for sizes that the rules compute.
    """
    found: dict[tuple[str, str], set[Told]] = {}
    inner: dict[str, list[str]] = {}
    for path, name in doubtful:
        if path.startswith(FUNCTION):
            inner.setdefault(name, []).append(path)
    for path, graph in _graphs(model.graph, MAIN):
        for info in (*graph.value_info, *graph.output):
            dims = declared(info)
            if dims is None:
                continue
            shape = tuple([None if isinstance(dim, str) and dim not in symbols else dim for dim in dims])
            found.setdefault((path, info.name), set()).add(shape)
            copied = _COPY.sub("", info.name)
            for function in inner.get(copied, ()) if inlines and copied != info.name else ():
                found.setdefault((function, copied), set()).add(shape)
    return found
