"""New tensors and operators for one subgraph: each made once, before its first reader."""

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
    """Makes the new tensors and operators of one subgraph; file and view alike."""

    container: Container
    subgraph: SubgraphView
    buffers: dict[bytes, int]
    """The new buffers of the model, by content."""
    fresh: FreshNames
    """Names that no tensor of the subgraph has."""
    order: Order = field(init=False)

    def __post_init__(self) -> None:
        self.order = Order(self.subgraph.graph)

    def value(self, record: Tensor, shape: Shape, dtype: str, kind: Kind) -> Value:
        """Enter a new tensor into the file and the view; a result is that of the next new operator."""
        subgraph = self.subgraph
        place = self.order.next_place if kind == "result" else None
        value = Value(record.name, shape, dtype, kind, subgraph.graph, None, place)
        subgraph.tensors[value] = len(subgraph.record.tensors)
        subgraph.record.tensors.append(record)
        subgraph.record.changed = True
        return value

    def like(self, source: Value, stem: str, shape: Shape, axes: Sequence[int] = ()) -> Tensor:
        """A tensor of another shape with the type and quantization of `source`; `axes` are those it is lifted by."""
        record = self.subgraph.tensor(source)
        return new_tensor(self.fresh(stem), shape, record.type, quantization=lifted(record, axes))

    def node(
        self, op: str, version: int, operands: tuple[Value, ...], options: Options, value: Value, reader: int
    ) -> Value:
        """Add an operator with one result before `reader`."""
        code = self.container.code(CODES[op], version)
        return self._enter(Operator(code, (), (), options=options, changed=True), op, version, operands, value, reader)

    def copy(self, place: int, op: str, operands: tuple[Value, ...], value: Value, reader: int) -> Value:
        """Add a copy of an operator, on other operands, before `reader`."""
        return self._enter(replace(self.subgraph.operator(place), changed=True), op, 1, operands, value, reader)

    def _enter(
        self, record: Operator, op: str, version: int, operands: tuple[Value, ...], value: Value, reader: int
    ) -> Value:
        tensors, graph = self.subgraph.tensors, self.subgraph.graph
        record.inputs, record.outputs = tuple([tensors[operand] for operand in operands]), (tensors[value],)
        self.subgraph.made.append(record)
        place = value.place if value.place is not None else self.order.next_place  # one number for all who hold it
        self.order.enter(Node(op, TFLITE, version, "", place, graph, operands, (value,), NO_ATTRIBUTES, None), reader)
        return value

    def new(self, new: New, operands: tuple[Value, ...], node: Node) -> Value:
        """Make one of the operators that stand in the place of `node`, before it."""
        stem = f"{node.results[0].name if node.results[0] is not None else node.op}_{new.op.lower()}"
        if new.op in COPYING and operands[0].scales:
            record = self.like(operands[0], stem, new.shape)
        else:
            record = new_tensor(self.fresh(stem), new.shape, TYPES[new.dtype])
        value = self.value(record, new.shape, new.dtype, "result")
        return self.node(new.op, new.version, operands, options_of(new), value, node.index)

    def arrange(self) -> None:
        """Put every operator that was made before its first reader, remove those that are gone; file and view alike."""
        subgraph = self.subgraph
        operators = [*subgraph.operators, *subgraph.made]
        self.order.arrange()
        rearrange(operators, self.order.keys(len(subgraph.operators)))
        subgraph.record.operators = operators[: len(subgraph.graph.nodes)]

    # --- constants ----------------------------------------------------------------------------------------------

    def buffer(self, data: bytes) -> int:
        """A buffer with these bytes, made once in the model."""
        found = self.buffers.get(data)
        if found is None:
            found = self.buffers[data] = self.container.add_buffer(data)
        return found

    def integers(self, numbers: Sequence[int], *, scalar: bool = False) -> Value:
        """An int32 vector, or a scalar, made once in this subgraph."""
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
        """A second tensor on the constant's buffer, with unit axes at these positions."""
        key = ("lift", value, axes)
        found = self.order.made.get(key)
        if found is None:
            shape = with_axes(value.shape, axes)
            record = self.like(value, f"{value.name}_lifted", shape, axes)
            found = self.order.made[key] = self.on_its_buffer(value, record, shape)
        return found

    def on_its_buffer(self, value: Value, record: Tensor, shape: Shape) -> Value:
        """A second tensor on the constant's buffer."""
        original = self.subgraph.tensor(value)
        record.buffer, record.external = original.buffer, original.external
        if original.signature is not None:
            record.signature = record.shape
        return self.value(record, shape, value.dtype, "constant")

    def constant(self, like: Value, stem: str, shape: Shape, data: bytes) -> Value:
        """A constant with these bytes, of the type and quantization of `like`."""
        record = self.like(like, stem, shape)
        record.buffer = self.buffer(data)
        return self.value(record, shape, like.dtype, "constant")

    def materialized(self, value: Value, shape: Shape, data: bytes) -> Value:
        """A constant with these bytes: what `value` is when it is stretched."""
        made = self.constant(value, f"{value.name}_stretched", shape, data)
        self.order.made["stretch", value, shape] = made
        return made

    def new_constant(self, new: Numbers, _: Node) -> Value:
        """A new constant of a plan, made once in this subgraph."""
        data = struct.pack(f"<{len(new.elements)}{PACKED[new.dtype]}", *new.elements)
        key = ("constant", new.dtype, new.dims, data)  # by bits: 0.0 equals -0.0, and a NaN equals nothing
        found = self.order.made.get(key)
        if found is None:
            shape = Shape(new.dims)
            record = new_tensor(self.fresh("constant"), shape, TYPES[new.dtype])
            record.buffer = self.buffer(data)
            found = self.order.made[key] = self.value(record, shape, new.dtype, "constant")
        return found

    # --- operators ----------------------------------------------------------------------------------------------

    def lifted(self, value: Value, axes: tuple[int, ...], reader: int, *, reshaped: bool) -> Value:
        """Unit axes by one RESHAPE, or by an EXPAND_DIMS for each axis."""
        make = self._reshaped if reshaped else self._one_by_one
        return self.order.once(("lift", value, axes), reader, lambda: make(value, axes, reader))

    def _reshaped(self, value: Value, axes: tuple[int, ...], reader: int) -> Value:
        shape = with_axes(value.shape, axes)
        # Of sizes that are all stored the first one is left open: it is the batch, and callers resize it.
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
        stem = f"{value.name}_lifted"
        for axis in axes:
            at = self.integers((axis,), scalar=True)
            shape = with_axes(value.shape, (axis,))
            record = self.like(value, stem, shape, (axis,))
            made = self.value(record, shape, value.dtype, "result")
            value = self.node("EXPAND_DIMS", 1, (value, at), Options(EXPAND_DIMS), made, reader)
        return value

    def tiled(self, value: Value, shape: Shape, reader: int) -> Value:
        """A TILE by static repeats, made once for a value and a shape."""

        def make() -> Value:
            repeats = self.integers(repeats_of(value.shape, shape))
            made = self.value(self.like(value, f"{value.name}_stretched", shape), shape, value.dtype, "result")
            return self.node("TILE", tile_version(value.dtype), (value, repeats), Options(TILE), made, reader)

        return self.order.once(("stretch", value, shape), reader, make)

    def expanded(self, value: Value, target: Value, shape: Shape, reader: int) -> Value:
        """A BROADCAST_TO, made once for a value and a target."""

        def make() -> Value:
            made = self.value(self.like(value, f"{value.name}_stretched", shape), shape, value.dtype, "result")
            version = broadcast_to_version(value.dtype)
            return self.node("BROADCAST_TO", version, (value, target), Options(NONE), made, reader)

        return self.order.once(("expand", value, target), reader, make)

    def shape_of(self, value: Value, reader: int) -> Value:
        """The run-time shape of a value, as an int32 vector; a constant where it is known."""
        if value.shape.static:
            return self.integers(value.shape.numbers)

        def make() -> Value:
            made = self._vector(f"{value.name}_shape", value.shape.rank)
            return self.node("SHAPE", 1, (value,), Options(SHAPE, ((0, "b", INT32),)), made, reader)

        return self.order.once(("shape", value), reader, make)

    def merged(self, one: Value, other: Value, rank: int, reader: int) -> Value:
        """BROADCAST_ARGS of two shapes: it aborts the process where they do not broadcast."""

        def make() -> Value:
            made = self._vector(f"{one.name}_merged", rank)
            return self.node("BROADCAST_ARGS", 1, (one, other), Options(NONE), made, reader)

        return self.order.once(("merged", frozenset((one, other))), reader, make)

    def chosen(self, one: Value, other: Value, rank: int, reader: int) -> Value:
        """The same without an end of the process: the other's size where one is 1, else its own.

        Where the shapes do not broadcast, the operator's own error says so.
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
        """A shape with unit axes in front."""
        missing = rank - shape.shape.numbers[0]
        if not missing:
            return shape
        made = self._vector(f"{shape.name}_lifted", rank)
        return self._joined((self.integers((1,) * missing), shape), made, reader)

    def sizes(self, parts: Sequence[int | tuple[Value, int]], reader: int) -> Value:
        """A shape put together from numbers and axes of values."""

        def make() -> Value:
            pieces = [self.integers((part,)) if isinstance(part, int) else self._size(*part, reader) for part in parts]
            return self._joined(tuple(pieces), self._vector("sizes", len(parts)), reader)

        return self.order.once(("sizes", tuple(parts)), reader, make)

    def _size(self, value: Value, axis: int, reader: int) -> Value:
        operands = (self.shape_of(value, reader), self.integers((axis,)))
        made = self._vector(f"{value.name}_size_{axis}", 1)
        return self.node("GATHER", 1, operands, Options(GATHER, ((0, "i", 0),)), made, reader)

    def _joined(self, parts: tuple[Value, ...], made: Value, reader: int) -> Value:
        """Join vectors; the result is `made`."""
        return self.node("CONCATENATION", 1, parts, Options(CONCATENATION, ((0, "i", 0),)), made, reader)

    def _vector(self, stem: str, count: int) -> Value:
        shape = Shape((count,))
        return self.value(new_tensor(self.fresh(stem), shape, INT32), shape, "int32", "result")
