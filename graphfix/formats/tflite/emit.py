"""New tensors and operators for one subgraph: made once, standing before their first reader."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from graphfix.edits import with_axes
from graphfix.formats.order import Order
from graphfix.formats.tflite.file import Container
from graphfix.formats.tflite.records import Operator, Options, Quantization, Tensor
from graphfix.formats.tflite.schema import CODES
from graphfix.formats.tflite.view import Scope
from graphfix.graph import Kind, Value
from graphfix.ops_row import TFLITE
from graphfix.shapes import Shape

INT32 = 2
"""The element type of shapes, repeats and axes."""
NEW_SHAPE_RANK = 8
"""LiteRT refuses a `new_shape` of more numbers; the shape operand alone says more."""
PLAIN: Mapping[str, object] = MappingProxyType({})
NONE, RESHAPE, EXPAND_DIMS, TILE, SHAPE, GATHER, CONCATENATION = 0, 17, 52, 51, 55, 23, 10
"""Members of the union of builtin options; BROADCAST_TO and BROADCAST_ARGS have no option to state."""


@dataclass(slots=True, eq=False, repr=False)
class Desk:
    """Where the edits of one subgraph are carried out."""

    container: Container
    scope: Scope
    buffers: dict[bytes, int]
    """The new buffers of the model, by content."""
    names: set[str]
    order: Order = field(init=False)
    counters: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.order = Order(self.scope.graph)

    def fresh(self, stem: str) -> str:
        """A name that no tensor of the subgraph has."""
        name = stem
        while name in self.names:
            self.counters[stem] = self.counters.get(stem, 0) + 1
            name = f"{stem}_{self.counters[stem]}"
        self.names.add(name)
        return name

    def value(self, record: Tensor, shape: Shape, dtype: str, kind: Kind) -> Value:
        """Enter a new tensor into the file and the view; a result is that of the next new operator."""
        scope = self.scope
        place = self.order.next_place if kind == "result" else None
        value = Value(record.name, shape, dtype, kind, scope.graph, None, place)
        scope.tensors[value] = len(scope.record.tensors)
        scope.record.tensors.append(record)
        scope.record.changed = True
        return value

    def like(self, source: Value, stem: str, shape: Shape, axes: Sequence[int] = ()) -> Tensor:
        """A tensor of another shape with the type and quantization of `source`; `axes` are those it is lifted by."""
        record = self.scope.tensor(source)
        return _record(self.fresh(stem), shape, record.type, quantization=lifted(record, axes))

    def operator(
        self, op: str, version: int, operands: tuple[Value, ...], options: Options, value: Value, reader: int
    ) -> Value:
        """Add an operator with one result before `reader`."""
        tensors = self.scope.tensors
        code = self.container.code(CODES[op], version)
        inputs = tuple(tensors[operand] for operand in operands)
        self.scope.made.append(Operator(code, inputs, (tensors[value],), options=options, changed=True))
        self.order.enter(op, TFLITE, version, "", operands, value, reader, PLAIN)
        return value

    def copy(self, place: int, op: str, operands: tuple[Value, ...], value: Value, reader: int) -> Value:
        """Add a copy of an operator, on other operands, before `reader`."""
        tensors, original = self.scope.tensors, self.scope.operator(place)
        inputs = tuple(tensors[operand] for operand in operands)
        self.scope.made.append(replace(original, inputs=inputs, outputs=(tensors[value],), changed=True))
        self.order.enter(op, TFLITE, 1, "", operands, value, reader, PLAIN)
        return value

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
            record = _record(self.fresh(stem), shape, INT32)
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
            original = self.scope.tensor(value)
            record.buffer, record.external = original.buffer, original.external
            if original.signature is not None:
                record.signature = record.shape
            found = self.order.made[key] = self.value(record, shape, value.dtype, "constant")
        return found

    def materialized(self, value: Value, shape: Shape, data: bytes) -> Value:
        """A constant with these bytes: what `value` is when it is stretched."""
        key = ("stretch", value, shape)
        record = self.like(value, f"{value.name}_stretched", shape)
        record.buffer = self.buffer(data)
        found = self.order.made[key] = self.value(record, shape, value.dtype, "constant")
        return found

    # --- operators ----------------------------------------------------------------------------------------------

    def lifted(self, value: Value, axes: tuple[int, ...], reader: int) -> Value:
        """Unit axes by RESHAPE where at most one size is free, by an EXPAND_DIMS for each axis otherwise."""
        key = ("lift", value, axes)
        found = self.order.reuse(key, reader)
        if found is not None:
            return found
        shape = with_axes(value.shape, axes)
        free = [axis for axis, size in enumerate(shape.dims) if not isinstance(size, int)]
        if len(free) > 1 or 0 in shape.dims:
            made = self._one_by_one(value, axes, reader)
        else:
            made = self._reshaped(value, shape, axes, free, reader)
        self.order.made[key] = made
        return made

    def _reshaped(self, value: Value, shape: Shape, axes: tuple[int, ...], free: Sequence[int], reader: int) -> Value:
        # Of sizes that are all stored the first one is left open: it is the batch, and callers resize it.
        first = [axis for axis in range(shape.rank) if axis not in axes][:1]
        open_at = [*free, *first][:1]
        target = tuple(
            size if isinstance(size, int) and axis not in open_at else -1 for axis, size in enumerate(shape.dims)
        )
        fields = ((0, "i*", target),) if len(target) <= NEW_SHAPE_RANK else ()
        made = self.value(self.like(value, f"{value.name}_lifted", shape, axes), shape, value.dtype, "result")
        return self.operator("RESHAPE", 1, (value, self.integers(target)), Options(RESHAPE, fields), made, reader)

    def _one_by_one(self, value: Value, axes: tuple[int, ...], reader: int) -> Value:
        stem = f"{value.name}_lifted"
        for axis in axes:
            at = self.integers((axis,), scalar=True)
            shape = with_axes(value.shape, (axis,))
            record = self.like(value, stem, shape, (axis,))
            made = self.value(record, shape, value.dtype, "result")
            value = self.operator("EXPAND_DIMS", 1, (value, at), Options(EXPAND_DIMS), made, reader)
        return value

    def tiled(self, value: Value, shape: Shape, reader: int) -> Value:
        """A TILE by static repeats, made once for a value and a shape."""
        key = ("stretch", value, shape)
        found = self.order.reuse(key, reader)
        if found is None:
            repeats = self.integers(repeats_of(value.shape, shape))
            made = self.value(self.like(value, f"{value.name}_stretched", shape), shape, value.dtype, "result")
            version = tile_version(value.dtype)
            found = self.operator("TILE", version, (value, repeats), Options(TILE), made, reader)
            self.order.made[key] = found
        return found

    def expanded(self, value: Value, target: Value, shape: Shape, reader: int) -> Value:
        """A BROADCAST_TO, made once for a value and a target."""
        key = ("expand", value, target)
        found = self.order.reuse(key, reader)
        if found is None:
            made = self.value(self.like(value, f"{value.name}_stretched", shape), shape, value.dtype, "result")
            version = broadcast_to_version(value.dtype)
            found = self.operator("BROADCAST_TO", version, (value, target), Options(NONE), made, reader)
            self.order.made[key] = found
        return found

    def shape_of(self, value: Value, reader: int) -> Value:
        """The run-time shape of a value, as an int32 vector; a constant where it is known."""
        if value.shape.static:
            return self.integers(numbers(value.shape))
        key = ("shape", value)
        found = self.order.reuse(key, reader)
        if found is None:
            made = self._vector(f"{value.name}_shape", value.shape.rank)
            found = self.operator("SHAPE", 1, (value,), Options(SHAPE, ((0, "b", INT32),)), made, reader)
            self.order.made[key] = found
        return found

    def merged(self, one: Value, other: Value, rank: int, reader: int) -> Value:
        """BROADCAST_ARGS of two shapes: it aborts the process where they do not meet."""
        key = ("merged", frozenset((one, other)))
        found = self.order.reuse(key, reader)
        if found is None:
            made = self._vector(f"{one.name}_merged", rank)
            found = self.operator("BROADCAST_ARGS", 1, (one, other), Options(NONE), made, reader)
            self.order.made[key] = found
        return found

    def sizes(self, parts: Sequence[int | tuple[Value, int]], reader: int) -> Value:
        """A shape put together from numbers and axes of values."""
        key = ("sizes", tuple(parts))
        found = self.order.reuse(key, reader)
        if found is not None:
            return found
        pieces = []
        for part in parts:
            if isinstance(part, int):
                pieces.append(self.integers((part,)))
                continue
            value, axis = part
            operands = (self.shape_of(value, reader), self.integers((axis,)))
            made = self._vector(f"{value.name}_size_{axis}", 1)
            options = Options(GATHER, ((0, "i", 0),))
            pieces.append(self.operator("GATHER", 1, operands, options, made, reader))
        made = self._vector("sizes", len(parts))
        options = Options(CONCATENATION, ((0, "i", 0),))
        found = self.order.made[key] = self.operator("CONCATENATION", 1, tuple(pieces), options, made, reader)
        return found

    def _vector(self, stem: str, count: int) -> Value:
        shape = Shape((count,))
        return self.value(_record(self.fresh(stem), shape, INT32), shape, "int32", "result")


def _record(name: str, shape: Shape, element: int, *, quantization: Quantization | None = None) -> Tensor:
    """A new tensor: a size that is not known is stored as 1 with the signature -1."""
    stored = tuple(size if isinstance(size, int) else 1 for size in shape.dims)
    signature = tuple(size if isinstance(size, int) else -1 for size in shape.dims)
    return Tensor(
        name,
        stored,
        None if shape.static else signature,
        has_rank=True,
        type=element,
        buffer=0,
        quantization=quantization,
        changed=True,
    )


def lifted(record: Tensor, axes: Sequence[int]) -> Quantization | None:
    """The quantization of a tensor that is lifted by `axes`: one scale for each index of an axis follows that axis."""
    quantization = record.quantization
    if quantization is None or quantization.scales <= 1 or not axes:
        return quantization
    kept = [axis for axis in range(len(record.shape) + len(axes)) if axis not in axes]
    return replace(quantization, dimension=kept[quantization.dimension])


def tile_version(dtype: str) -> int:
    """Version 3 is the one for int8, but the reference kernels stop at 2 and take int8 there as well."""
    return 2 if dtype in ("string", "int8") else 1


def broadcast_to_version(dtype: str) -> int:
    """There is no version 1."""
    return 3 if dtype in ("int8", "int16") else 2


def repeats_of(shape: Shape, to: Shape) -> list[int]:
    """How often a TILE repeats each axis: [2,1,4] to [2,3,4] -> 1, 3, 1."""
    pairs = zip(numbers(shape), numbers(to), strict=True)
    return [1 if have == want else want for have, want in pairs]


def numbers(shape: Shape) -> list[int]:
    """The sizes of a static shape."""
    return [size for size in shape.dims if isinstance(size, int)]
