"""Ask onnx's shape inference about a model. `load_inference` compares the answers with the rules."""

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
"""The dims that inference returns: a number, a symbol of the file, or None where it returns none."""
ToldShapes: TypeAlias = Mapping[tuple[str, str], Collection[Told]]
"""Inferred shapes by the path of a graph and the name of a value."""
Names: TypeAlias = frozenset[tuple[str, str]]
"""Values by the path of their graph and their name: edits replace the values themselves."""

FEW_BYTES: Final = 1024
"""Constants up to this size are given to the inference: it reads no larger ones."""
MAIN: Final = "main"
"""The path of the main graph."""
UNKNOWN_DTYPE: Final = "?"
_COPY: Final = re.compile(r"__\d+$")
"""The end of the name of a value that was inlined from a function."""


def inferred_shapes(
    proto: ModelProto, doubtful: Names, visible: Sequence[Value] = (), suspects: Sequence[Node] = ()
) -> ToldShapes:
    """Return the shapes that onnx infers of a model without the stored shapes of `doubtful` values.

    The sizes of the `visible` values, and the operands of `suspects` as far as they are known, are given to the
    inference as if the file stated them. The values of functions are listed where one of them is doubtful: then the
    functions are inlined. Raises InferenceError where onnx's inference aborts.
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
    """Yield a graph and the bodies inside it by their paths."""
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
        if entry.domain == "ai.onnx":  # the standard set's other name, which onnx's inference does not know
            entry.domain = ""
    return bare


def _drop_stored(graph: GraphProto, names: Collection[str] | None = None) -> None:
    """Drop the stored shapes of these results of a graph, or of all; those of its outputs too."""
    kept = [] if names is None else [info for info in graph.value_info if info.name not in names]
    if len(kept) < len(graph.value_info):
        del graph.value_info[:]
        graph.value_info.extend(kept)
    for value in graph.output:
        if (names is None or value.name in names) and value.type.HasField("tensor_type"):
            value.type.tensor_type.ClearField("shape")


def _state_sizes(graphs: Mapping[str, GraphProto], visible: Sequence[Value]) -> None:
    """Declare the sizes of values that are numbers."""
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
    """Replace operands of suspect nodes whose elements are known by constants in the graph of the node.

    Python's inference of a body reads no constant of the graph around it, and onnxruntime's does.
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
    """Return whether a value is a constant of the node's own graph: onnx's inference reads no others."""
    return value.kind == "constant" and value.graph is node.graph


def _constant(name: str, value: Value, elements: Sequence[Scalar]) -> TensorProto:
    from onnx.helper import make_tensor

    numbers = [each for each in elements if not isinstance(each, str)]
    made: TensorProto = make_tensor(name, onnx_type(value.dtype), value.shape.numbers, numbers)
    return made


def _inlined(bare: ModelProto, graphs: Mapping[str, GraphProto]) -> ModelProto:
    """Return a model with the nodes of its functions in place of the calls, as onnxruntime does it."""
    from onnx.inliner import inline_local_functions

    for graph in graphs.values():  # the paths of bodies stay the same
        for index, node in enumerate(graph.node):
            node.name = label(node, index)
    inlined: ModelProto = inline_local_functions(bare)
    return inlined


def _inferred(bare: ModelProto) -> ModelProto:
    """Return a model with the shapes that onnx infers; with those it stores where onnx's inference refuses it."""
    for _ in range(2):
        try:
            return infer_shapes(bare, data_prop=True)
        except InferenceError as error:
            if error.aborted:
                raise
        for _, graph in _graphs(bare.graph, MAIN):  # a stored shape is wrong: onnxruntime takes the inferred one
            _drop_stored(graph)
    return bare


def _listed(model: ModelProto, doubtful: Names, symbols: Collection[str], *, inlines: bool) -> ToldShapes:
    """Return the shapes in a model by path and name; the shapes of inlined values by the functions' values.

    Symbols that no input declares are left out: stored shapes have them for sizes that the rules compute.
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
