"""Add new tensors and operators to one subgraph; each is made once, and is placed before its first reader."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import replace

from graphfix.formats.neutral.editing import FreshNames
from graphfix.formats.neutral.insertion import Order, rearrange
from graphfix.formats.tflite.edit.new_records import (
    CONCATENATION,
    COPYING,
    EQUAL,
    EXPAND_DIMS,
    GATHER,
    NEW_SHAPE_RANK,
    NONE,
    RESHAPE,
    SELECT_V2,
    SHAPE,
    TILE,
    TYPES,
    broadcast_to_version,
    lifted,
    new_tensor,
    options_of,
    repeats_of,
    tile_version,
)
from graphfix.formats.tflite.file.container import Container
from graphfix.formats.tflite.file.records import Operator, Options, Tensor
from graphfix.formats.tflite.file.schema import BOOL, CODES, INT32
from graphfix.formats.tflite.view import PACKED, SubgraphView
from graphfix.graph.edits import New, Numbers
from graphfix.graph.view import NO_ATTRIBUTES, Kind, Node, Value
from graphfix.operators.row import TFLITE
from graphfix.results.records import dataclass, field
from graphfix.shapes.dim import Shape
from graphfix.shapes.shape import with_axes


@dataclass(slots=True, eq=False, repr=False)
class NodeBuilder:
    """Adds tensors and operators to one subgraph, to the file and to the view at the same time."""

    container: Container
    subgraph: SubgraphView
    buffers: dict[bytes, int]
    """The new buffers of the model: index by content."""
    fresh: FreshNames
    """Returns names that no tensor of the subgraph has."""
    order: Order = field(init=False)

    def __post_init__(self) -> None:
        self.order = Order(self.subgraph.graph)

    def value(self, record: Tensor, shape: Shape, dtype: str, kind: Kind) -> Value:
        """Add a new tensor to the file and to the view; return its value.

        If `kind` is "result", the tensor is the result of the next operator that is added.
        """
        subgraph = self.subgraph
        place = self.order.next_place if kind == "result" else None
        value = Value(record.name, shape, dtype, kind, subgraph.graph, None, place)
        subgraph.tensors[value] = len(subgraph.record.tensors)
        subgraph.record.tensors.append(record)
        subgraph.record.changed = True
        return value

    def like(self, source: Value, stem: str, shape: Shape, axes: Sequence[int] = ()) -> Tensor:
        """Return a new tensor of another shape with the type and the quantization of `source`.

        `axes` are the positions of the unit axes that a lift inserted. If there are several scales, the axis that they
        follow is moved accordingly.
        """
        record = self.subgraph.tensor(source)
        return new_tensor(self.fresh(stem), shape, record.type, quantization=lifted(record, axes))

    def node(
        self, op: str, version: int, operands: tuple[Value, ...], options: Options, value: Value, reader: int
    ) -> Value:
        """Add an operator before the node at `reader`; return `value`, which is its only result."""
        code = self.container.code(CODES[op], version)
        return self._enter(Operator(code, (), (), options=options, changed=True), op, version, operands, value, reader)

    def copy(self, place: int, op: str, operands: tuple[Value, ...], value: Value, reader: int) -> Value:
        """Add a copy of the operator at `place` before the node at `reader`; return `value`, the result of the copy.

        The copy reads `operands`.
        """
        return self._enter(replace(self.subgraph.operator(place), changed=True), op, 1, operands, value, reader)

    def _enter(
        self, record: Operator, op: str, version: int, operands: tuple[Value, ...], value: Value, reader: int
    ) -> Value:
        """Add a record and a node of the same operator to the file and to the view; return the result."""
        tensors, graph = self.subgraph.tensors, self.subgraph.graph
        record.inputs, record.outputs = tuple([tensors[operand] for operand in operands]), (tensors[value],)
        self.subgraph.made.append(record)
        # Reuse the int object of the value, which saves memory.
        place = value.place if value.place is not None else self.order.next_place
        self.order.enter(Node(op, TFLITE, version, "", place, graph, operands, (value,), NO_ATTRIBUTES, None), reader)
        return value

    def new(self, new: New, operands: tuple[Value, ...], node: Node) -> Value:
        """Make one of the operators that replace `node`, and place it before `node`; return its result."""
        stem = f"{node.results[0].name if node.results[0] is not None else node.op}_{new.op.lower()}"
        if new.op in COPYING and operands[0].scales:
            record = self.like(operands[0], stem, new.shape)
        else:
            record = new_tensor(self.fresh(stem), new.shape, TYPES[new.dtype])
        value = self.value(record, new.shape, new.dtype, "result")
        return self.node(new.op, new.version, operands, options_of(new), value, node.index)

    def arrange(self) -> None:
        """Place every new operator before its first reader, and drop removed operators, in the file and in the view."""
        subgraph = self.subgraph
        operators = [*subgraph.operators, *subgraph.made]
        self.order.arrange()
        rearrange(operators, self.order.keys(len(subgraph.operators)))
        subgraph.record.operators = operators[: len(subgraph.graph.nodes)]

    # --- constants ----------------------------------------------------------------------------------------------

    def buffer(self, data: bytes) -> int:
        """Return the index of a new buffer with these bytes; the model has only one such buffer."""
        found = self.buffers.get(data)
        if found is None:
            found = self.buffers[data] = self.container.add_buffer(data)
        return found

    def integers(self, numbers: Sequence[int], *, scalar: bool = False) -> Value:
        """Return an int32 constant, a vector or (if `scalar`) a scalar; it is made once in this subgraph."""
        key = ("integers", tuple(numbers), scalar)
        found = self.order.made.get(key)
        if found is None:
            shape = Shape(() if scalar else (len(numbers),))
            stem = ("axis_" if scalar else "shape_") + "x".join("free" if n < 0 else str(n) for n in numbers)
            record = new_tensor(self.fresh(stem), shape, INT32)
            record.buffer = self.buffer(struct.pack(f"<{len(numbers)}i", *numbers))
            found = self.order.made[key] = self.value(record, shape, "int32", "constant")
        return found

    def lifted_constant(self, value: Value, axes: tuple[int, ...]) -> Value:
        """Return a second tensor on the constant's buffer, with unit axes at the positions `axes`."""
        key = ("lift", value, axes)
        found = self.order.made.get(key)
        if found is None:
            shape = with_axes(value.shape, axes)
            record = self.like(value, f"{value.name}_lifted", shape, axes)
            found = self.order.made[key] = self.on_its_buffer(value, record, shape)
        return found

    def on_its_buffer(self, value: Value, record: Tensor, shape: Shape) -> Value:
        """Return a constant of another shape that shares the buffer of the constant `value`.

        `record` is its new tensor.
        """
        original = self.subgraph.tensor(value)
        record.buffer, record.external = original.buffer, original.external
        if original.signature is not None:
            record.signature = record.shape
        return self.value(record, shape, value.dtype, "constant")

    def constant(self, like: Value, stem: str, shape: Shape, data: bytes) -> Value:
        """Return a new constant with these bytes, and with the element type and quantization of `like`."""
        record = self.like(like, stem, shape)
        record.buffer = self.buffer(data)
        return self.value(record, shape, like.dtype, "constant")

    def materialized(self, value: Value, shape: Shape, data: bytes) -> Value:
        """Return a new constant that contains `value` stretched to `shape`; `data` are its bytes."""
        made = self.constant(value, f"{value.name}_stretched", shape, data)
        self.order.made["stretch", value, shape] = made
        return made

    def new_constant(self, new: Numbers, _: Node) -> Value:
        """Return the constant that a plan describes; it is made once in this subgraph."""
        data = struct.pack(f"<{len(new.elements)}{PACKED[new.dtype]}", *new.elements)
        # The key contains the bytes because 0.0 equals -0.0, and because a NaN equals nothing.
        key = ("constant", new.dtype, new.dims, data)
        found = self.order.made.get(key)
        if found is None:
            shape = Shape(new.dims)
            record = new_tensor(self.fresh("constant"), shape, TYPES[new.dtype])
            record.buffer = self.buffer(data)
            found = self.order.made[key] = self.value(record, shape, new.dtype, "constant")
        return found

    # --- operators ----------------------------------------------------------------------------------------------

    def lifted(self, value: Value, axes: tuple[int, ...], reader: int, *, reshaped: bool) -> Value:
        """Return the value with unit axes inserted at the positions `axes`, as the result of new operators.

        If `reshaped`, one RESHAPE inserts all axes; otherwise there is an EXPAND_DIMS for each axis.
        """
        make = self._reshaped if reshaped else self._one_by_one
        return self.order.once(("lift", value, axes), reader, lambda: make(value, axes, reader))

    def _reshaped(self, value: Value, axes: tuple[int, ...], reader: int) -> Value:
        """Return the value lifted by a RESHAPE whose target contains one -1."""
        shape = with_axes(value.shape, axes)
        # If all sizes are numbers, the first old axis is left open (-1). It is usually the batch, which callers resize.
        first = [axis for axis in range(shape.rank) if axis not in axes][:1]
        free = [axis for axis, size in enumerate(shape.dims) if not isinstance(size, int)]
        open_at = [*free, *first][:1]
        target = tuple(
            size if isinstance(size, int) and axis not in open_at else -1 for axis, size in enumerate(shape.dims)
        )
        fields = ((0, "i*", target),) if len(target) <= NEW_SHAPE_RANK else ()
        made = self.value(self.like(value, f"{value.name}_lifted", shape, axes), shape, value.dtype, "result")
        return self.node("RESHAPE", 1, (value, self.integers(target)), Options(RESHAPE, fields), made, reader)

    def _one_by_one(self, value: Value, axes: tuple[int, ...], reader: int) -> Value:
        """Return the value lifted by one EXPAND_DIMS for each axis."""
        stem = f"{value.name}_lifted"
        for axis in axes:
            at = self.integers((axis,), scalar=True)
            shape = with_axes(value.shape, (axis,))
            record = self.like(value, stem, shape, (axis,))
            made = self.value(record, shape, value.dtype, "result")
            value = self.node("EXPAND_DIMS", 1, (value, at), Options(EXPAND_DIMS), made, reader)
        return value

    def tiled(self, value: Value, shape: Shape, reader: int) -> Value:
        """Return the value stretched to a static shape by a TILE, which is made once for each value and shape."""

        def make() -> Value:
            repeats = self.integers(repeats_of(value.shape, shape))
            made = self.value(self.like(value, f"{value.name}_stretched", shape), shape, value.dtype, "result")
            return self.node("TILE", tile_version(value.dtype), (value, repeats), Options(TILE), made, reader)

        return self.order.once(("stretch", value, shape), reader, make)

    def expanded(self, value: Value, target: Value, shape: Shape, reader: int) -> Value:
        """Return the value stretched by a BROADCAST_TO, which is made once for each value and `target`.

        `target` is a vector of sizes, and `shape` is the shape of the result.
        """

        def make() -> Value:
            made = self.value(self.like(value, f"{value.name}_stretched", shape), shape, value.dtype, "result")
            version = broadcast_to_version(value.dtype)
            return self.node("BROADCAST_TO", version, (value, target), Options(NONE), made, reader)

        return self.order.once(("expand", value, target), reader, make)

    def shape_of(self, value: Value, reader: int) -> Value:
        """Return the shape of a value as an int32 vector.

        This is a constant if all sizes are known before the run, and the result of a SHAPE otherwise.
        """
        if value.shape.static:
            return self.integers(value.shape.numbers)

        def make() -> Value:
            made = self._vector(f"{value.name}_shape", value.shape.rank)
            return self.node("SHAPE", 1, (value,), Options(SHAPE, ((0, "b", INT32),)), made, reader)

        return self.order.once(("shape", value), reader, make)

    def merged(self, one: Value, other: Value, rank: int, reader: int) -> Value:
        """Return the broadcast of two shapes (int32 vectors), computed by a BROADCAST_ARGS during the run.

        BROADCAST_ARGS aborts the process if the shapes do not broadcast. `rank` is the rank of the broadcast.
        """

        def make() -> Value:
            made = self._vector(f"{one.name}_merged", rank)
            return self.node("BROADCAST_ARGS", 1, (one, other), Options(NONE), made, reader)

        return self.order.once(("merged", frozenset((one, other))), reader, make)

    def chosen(self, one: Value, other: Value, rank: int, reader: int) -> Value:
        """Return the broadcast of two shapes (int32 vectors) by operators that do not abort the process.

        For each axis, the result is the size in `other` if the size in `one` is 1, and the size in `one` otherwise.
        `one` has `rank` sizes, and `other` may have fewer. If the shapes do not broadcast, the operator that reads the
        operand reports an error.
        """

        def make() -> Value:
            longer = self._lengthened(other, rank, reader)
            record = new_tensor(self.fresh(f"{one.name}_is_1"), Shape((rank,)), BOOL)
            flags = self.value(record, Shape((rank,)), "bool", "result")
            ones = self.integers((1,) * rank)
            condition = self.node("EQUAL", 1, (one, ones), Options(EQUAL), flags, reader)
            made = self._vector(f"{one.name}_merged", rank)
            return self.node("SELECT_V2", 1, (condition, longer, one), Options(SELECT_V2), made, reader)

        return self.order.once(("chosen", one, other), reader, make)

    def _lengthened(self, shape: Value, rank: int, reader: int) -> Value:
        """Return a shape (a vector of sizes) with ones in front, so that it has `rank` sizes."""
        missing = rank - shape.shape.numbers[0]
        if not missing:
            return shape
        made = self._vector(f"{shape.name}_lifted", rank)
        return self._joined((self.integers((1,) * missing), shape), made, reader)

    def sizes(self, parts: Sequence[int | tuple[Value, int]], reader: int) -> Value:
        """Return a vector of sizes. Each part is a number, or (value, axis) for a size that is read during the run."""

        def make() -> Value:
            pieces = [self.integers((part,)) if isinstance(part, int) else self._size(*part, reader) for part in parts]
            return self._joined(tuple(pieces), self._vector("sizes", len(parts)), reader)

        return self.order.once(("sizes", tuple(parts)), reader, make)

    def _size(self, value: Value, axis: int, reader: int) -> Value:
        """Return the size of one axis of a value, as a vector of one element."""
        operands = (self.shape_of(value, reader), self.integers((axis,)))
        made = self._vector(f"{value.name}_size_{axis}", 1)
        return self.node("GATHER", 1, operands, Options(GATHER, ((0, "i", 0),)), made, reader)

    def _joined(self, parts: tuple[Value, ...], made: Value, reader: int) -> Value:
        """Concatenate vectors into `made`, which is returned."""
        return self.node("CONCATENATION", 1, parts, Options(CONCATENATION, ((0, "i", 0),)), made, reader)

    def _vector(self, stem: str, count: int) -> Value:
        """Return a new int32 vector of `count` elements, the result of the next operator."""
        shape = Shape((count,))
        return self.value(new_tensor(self.fresh(stem), shape, INT32), shape, "int32", "result")
