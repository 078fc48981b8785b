"""Stored shapes that are wrong, or that could make an edited file fail: they are restated or dropped.

onnxruntime plans buffers by stored shapes. A wrong one is harmless until a new value may share its buffer.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence

from graphfix.formats.onnx.file.messages import Dims, declared, write_dims
from graphfix.formats.onnx.infer.scope import GraphScope
from graphfix.graph.edits import Refused
from graphfix.graph.view import Graph, Value
from graphfix.shapes.shape import Size


def restate(scope: GraphScope, value: Value, equal: Container[str]) -> None:
    """Store the shape of a value that the file states wrongly. Raises Refused where it states no wrong one.

    A symbol that is `equal` to others stays open.
    """
    wrong = scope.misstated.get(value.name)
    if wrong is None:
        raise Refused(f"the file states no wrong shape of '{value.name}'")
    for info in scope.stored():
        if info.name != value.name or declared(info) is None:
            continue
        if wrong.dims is None and value.kind == "input":  # onnxruntime needs the rank of a body's inputs
            write_dims(info.type.tensor_type, [None] * value.shape.rank)
        elif wrong.dims is None:
            info.type.tensor_type.ClearField("shape")
        else:
            dims = [None if isinstance(size, str) and size in equal else size for size in wrong.dims]
            write_dims(info.type.tensor_type, dims)


def drop_underived(scope: GraphScope, graph: Graph) -> None:
    """Leave open what the stored shapes of a graph say beyond the rules, where a new value has that shape or reads it.

    Before new values are declared. Functions store no shapes.
    """
    if scope.graph is None:
        return
    read = {value.name for node in graph.made for value in node.operands if value is not None}
    shapes = set(_static_shapes(graph))
    for info in scope.graph.value_info:
        stored, shape = declared(info), scope.own_shape(info.name)
        if stored is None or shape is None or shape.axes is None or len(stored) != len(shape.axes):
            continue
        if (info.name in read or stored in shapes) and _has_underived_number(stored, shape.axes):
            write_dims(info.type.tensor_type, _without_underived(stored, shape.axes))


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
