"""Stored shapes that could make an edited file fail: they are restated or dropped.

onnxruntime plans buffers by stored shapes. A wrong one is harmless until a new value may share its buffer.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence

from graphfix.formats.onnx.file.messages import Dims, declared, write_dims
from graphfix.formats.onnx.infer.scope import GraphScope
from graphfix.graph.view import Graph, Value
from graphfix.shapes.shape import Shape, Size


def repair(scope: GraphScope, graph: Graph, equal: Container[str]) -> None:
    """Correct the value_info and the outputs of a graph, before new values are declared. Functions are left.

    A number in the place of a size that follows from free sizes of the inputs is restated; a symbol that is `equal`
    to others stays open. A number that nothing derives is dropped if a new value has that shape, or reads the value.
    """
    if scope.graph is None:
        return
    for info in scope.graph.output:
        if info.name in scope.too_narrow:
            write_dims(info.type.tensor_type, _dims(scope.shape(info.name), equal))
    read = {value.name for node in graph.made for value in node.operands if value is not None}
    shapes = set(_static_shapes(graph))
    for info in scope.graph.value_info:
        stored, shape = declared(info), scope.own_shape(info.name)
        if stored is None or shape is None or shape.axes is None or info.name in scope.stale:
            continue
        if info.name in scope.too_narrow:
            write_dims(info.type.tensor_type, _dims(shape, equal))
        elif (info.name in read or stored in shapes) and _has_underived_number(stored, shape.axes):
            write_dims(info.type.tensor_type, _without_underived(stored, shape.axes))


def _dims(shape: Shape, equal: Container[str]) -> Sequence[int | str | None]:
    return [None if isinstance(size, str) and size in equal else size for size in shape.json or ()]


def _static_shapes(graph: Graph) -> Iterator[Dims]:
    """Yield the shapes of new values whose sizes are all known."""
    results: Iterator[Value | None] = (value for node in graph.made for value in node.results)
    for value in results:
        if value is not None and value.shape.static:
            yield tuple(value.shape.json or ())


def _without_underived(stored: Dims, computed: Sequence[Size]) -> list[int | str | None]:
    """Return a stored shape with an open size for each number that nothing derives: the rank stays."""
    pairs = zip(stored, computed, strict=True)
    return [None if isinstance(said, int) and not isinstance(size, int) else said for said, size in pairs]


def _has_underived_number(stored: Dims, computed: Sequence[Size]) -> bool:
    pairs = zip(stored, computed, strict=False)
    return any(isinstance(said, int) and not isinstance(size, int) for said, size in pairs)
