"""The state of one subgraph during inference: declared shapes, and how they are combined with computed shapes."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from math import prod

from graphfix.formats.tflite.file.container import Container
from graphfix.formats.tflite.file.records import Subgraph, Tensor
from graphfix.formats.tflite.file.schema import BOOL, FLOAT32, INT32, INT64, STRING, TENSOR_TYPES
from graphfix.formats.tflite.infer.names import FREE, declared, unique_names, unknown_name
from graphfix.results.records import dataclass, field
from graphfix.shapes.dim import UNRANKED, Dim, Parts, Shape, Size
from graphfix.shapes.terms import ANY, LEAST, Terms

INTEGERS = {INT32: "i", INT64: "q", BOOL: "?"}
"""The integer element types whose elements are inferred, with struct's format."""
INTEGER_TYPES = frozenset({TENSOR_TYPES[element][0] for element in INTEGERS})
"""The names of the element types int32, int64 and bool.

Shapes and indices have these types, but quantized tensors do not.
"""
FOLLOWED = {**INTEGERS, FLOAT32: "f"}
"""The element types whose elements are inferred, with struct's format; float32 only for scalars.

A float32 scalar must be an integer. Sizes may be converted to float32 on their way to a RANGE.
"""
LARGE = 1 << 24
"""An element that is a symbol times this number or more counts as unknown, because it may wrap."""
EXACT = 1 << 24
"""Every integer up to this number is exact in float32."""
LIMIT = 64
"""The elements of larger integer tensors are not inferred, because larger tensors contain no shapes."""
SCALAR = Shape(())


@dataclass(slots=True)
class GraphScope:
    """The state of one subgraph during inference; tensors are indices."""

    container: Container
    index: int
    terms: Terms
    names: list[str]
    tensors: list[Tensor]
    shapes: list[Shape]
    """The shape of each tensor: the declared one until the tensor's operator is visited."""
    own_only: bool = False
    """Whether no stored shape of a result is assumed."""
    stale: dict[int, str] = field(default_factory=dict)
    """The reason why a tensor's stored shape can't be trusted."""
    misstated: dict[int, str] = field(default_factory=dict)
    """Wrong stored shapes: all of `stale`, numbers for sizes that vary, and wrong shapes of a body's inputs."""
    assumed: set[int] = field(default_factory=set)
    """The tensors whose stored shape is assumed, because nothing else determines it."""
    doubtful: set[int] = field(default_factory=set)
    """The tensors in `assumed`, and all tensors that are computed from them."""
    from_bytes: set[int] = field(default_factory=set)
    """Results that are computed element by element from 8 bits; XNNPACK may compute them by a lookup table."""
    assumes: dict[str, None] = field(default_factory=dict)
    """The assumptions of the rules, as texts."""
    produced: frozenset[int] = frozenset()
    inputs: frozenset[int] = frozenset()
    _samples: list[Mapping[Parts, int]] = field(default_factory=list)
    """Sample numbers for the free sizes of the inputs; empty in a body."""
    _elements: dict[int, tuple[Size, ...] | None] = field(default_factory=dict)

    def name(self, tensor: int, axis: int, lo: int = 0, hi: int | None = None) -> Dim:
        """Return the symbol for the size of one axis of a tensor, with the range `lo` to `hi`."""
        return Dim((unknown_name(self._label(tensor), axis),), lo, hi)

    def _label(self, tensor: int) -> str:
        """Return the tensor's name for symbols; outside of the main subgraph it begins with the subgraph's index."""
        return f"{self.index}:{self.names[tensor]}" if self.index else self.names[tensor]

    def elements(self, tensor: int) -> tuple[Size, ...] | None:
        """Return the elements of a small integer tensor; None if the tensor is not small, or not of integers.

        These are a constant's numbers, inferred elements, or a symbol for each element.
        """
        if tensor not in self._elements:
            self._elements[tensor] = self._first_look(tensor)
        return self._elements[tensor]

    def _first_look(self, tensor: int) -> tuple[Size, ...] | None:
        """Return the elements of a tensor for which no elements were inferred."""
        record, axes = self.tensors[tensor], self.shapes[tensor].axes
        if record.type not in FOLLOWED or axes is None or (axes and record.type == FLOAT32):
            return None
        sizes = [size for size in axes if isinstance(size, int)]
        count = prod(sizes)
        if len(sizes) < len(axes) or count > LIMIT:
            return None
        if self.is_constant(tensor):
            if not count or record.sparse or record.external:
                return None if count else ()
            found = _unpacked(self.container.data(record.buffer), record.type)
            return found if found is not None and len(found) == count else None
        if record.variable or len(axes) > 1 or record.type == FLOAT32:
            return None
        return tuple([Dim((f"?{self._label(tensor)}:{at}",), LEAST) for at in range(count)])

    def is_constant(self, tensor: int) -> bool:
        """Return whether a tensor is a constant: neither computed nor an input, with its elements in a file.

        A tensor without elements is a constant too.
        """
        computed = tensor in self.produced or tensor in self.inputs
        return not computed and self.container.has_elements(self.tensors[tensor])

    def enter(self, tensor: int, elements: tuple[Size, ...]) -> None:
        """Store the elements of a result whose shape is already set."""
        axes, element = self.shapes[tensor].axes, self.tensors[tensor].type
        if element not in FOLLOWED or axes is None or (axes and element == FLOAT32):
            return
        sizes = [size for size in axes if isinstance(size, int)]
        if len(sizes) == len(axes) and prod(sizes) == len(elements):
            # Beyond `most`, kernels wrap or round.
            most = EXACT if element == FLOAT32 else 1 << 8 * struct.calcsize(INTEGERS[element]) - 1
            self._elements[tensor] = tuple([self._within(size, most) for size in elements])

    def _within(self, size: Size, most: int) -> Size:
        """Return the element, or ANY if it may be outside of its type's range, where it wraps.

        A symbol is ANY if it contains a large multiple of a size.
        """
        if isinstance(size, int):
            return size if -most <= size < most else ANY
        return ANY if self.terms.factor(size) >= LARGE else size

    def contents(self) -> dict[int, tuple[Size, ...]]:
        """Return the known elements of integer tensors: small constants, and what rules inferred or requested."""
        for tensor, record in enumerate(self.tensors):
            small = record.type in INTEGERS and len(record.shape) <= 1
            if small and tensor not in self._elements and self.is_constant(tensor):
                self.elements(tensor)
        return {
            tensor: elements
            for tensor, elements in self._elements.items()
            if elements is not None and self.tensors[tensor].type in INTEGERS
        }

    def set_shape(self, tensor: int, computed: Shape | None, trusted: bool, *, stated: bool) -> None:
        """Set the shape of a result: the shape that the rules computed, or the declared shape if there is none.

        `trusted`: no shape that it was computed from is assumed. `stated`: the declared shape is part of the operator's
        definition.
        """
        record = self.tensors[tensor]
        if computed is not None and record.signature is None and computed.axes == record.shape:
            self.shapes[tensor] = computed
        elif computed is None or not computed.valid:
            self.shapes[tensor] = shape = UNRANKED if self.own_only and not stated else self.declared_shape(tensor)
            if shape.ranked:
                self.assumed.add(tensor)
        elif computed.axes is None:
            self.shapes[tensor] = computed
        else:
            self.shapes[tensor] = self._merged(tensor, computed.axes, record, trusted)

    def declared_shape(self, tensor: int) -> Shape:
        """Return the shape that the file declares; a free size is a symbol."""
        record = self.tensors[tensor]
        sizes = declared(record)
        if not sizes and not record.has_rank and not self._holds_one(tensor):
            return UNRANKED
        if not sizes:
            return SCALAR
        if FREE not in sizes:
            return Shape(sizes)
        return Shape(tuple([self.name(tensor, at) if size == FREE else size for at, size in enumerate(sizes)]))

    def _holds_one(self, tensor: int) -> bool:
        """Return whether a tensor is a constant of one element."""
        record = self.tensors[tensor]
        if not self.is_constant(tensor) or record.external:
            return False
        bits = TENSOR_TYPES[record.type][1]
        if record.type == STRING:  # A string tensor's payload begins with the number of its elements.
            return self.container.data(record.buffer)[:4] == b"\1\0\0\0"
        return bits is not None and self.container.size(record.buffer) == (bits + 7) // 8

    def _merged(self, tensor: int, computed: tuple[Size, ...], record: Tensor, trusted: bool) -> Shape:
        """Return the computed shape with declared numbers for its unknown sizes; contradictions are stored in `stale`.

        If the declared shape contradicts a computed shape that is not trusted, the rank is unknown.
        """
        stored = declared(record)
        if not stored and not record.has_rank:
            stored = (FREE,) * len(computed)  # The file declares no shape.
        signature = record.signature if record.signature and len(record.signature) == len(computed) else stored
        if len(stored) != len(computed) or any(map(_contradict, (*computed, *computed), (*stored, *signature))):
            shape = Shape(tuple([self._named(tensor, axis, size) for axis, size in enumerate(computed)]))
            self.stale[tensor] = self.misstated[tensor] = self._contradiction(tensor, shape, signature)
            # If the computed shape is not trusted, it may be wrong instead of the stored one.
            return shape if trusted else UNRANKED
        if trusted and self._varies(computed, stored):
            why = f"is that of some sizes of the inputs alone: the computed one is {Shape(computed)}"
            self.misstated[tensor] = f"{self._stored(tensor, stored)} {why}"
        sizes = list(computed)
        for axis, (size, number) in enumerate(zip(computed, stored, strict=True)):
            if isinstance(size, int) or size.parts:
                continue  # A symbol shows from which sizes the size follows, but a stored number would only be assumed.
            if number == FREE or self.own_only:
                sizes[axis] = self._named(tensor, axis, size)
            else:
                sizes[axis] = number
                self.assumed.add(tensor)
        return Shape(tuple(sizes))

    def _named(self, tensor: int, axis: int, size: Size) -> Size:
        """Return the size; an unknown size becomes the symbol of the result's axis."""
        return size if isinstance(size, int) or size.parts else self.name(tensor, axis, size.lo, size.hi)

    def _contradiction(self, tensor: int, shape: Shape, stored: Sequence[int]) -> str:
        """Return the sentence that a stored shape contradicts the computed one."""
        return f"{self._stored(tensor, stored)} contradicts the computed {shape}"

    def _stored(self, tensor: int, sizes: Sequence[int]) -> str:
        """Return a text with the stored shape and the tensor's name."""
        dims = ", ".join("?" if size == FREE else str(size) for size in sizes)
        return f"the stored shape [{dims}] of '{self.names[tensor]}'"

    def sample(self, shapes: Sequence[Shape]) -> None:
        """Choose two sample numbers for each free size of the inputs."""
        free = [size for shape in shapes for size in shape.axes or () if isinstance(size, Dim)]
        for more in (2, 7):
            numbers = ((size, size.lo + more) for size in free)
            sample = {size.parts: number if size.hi is None else min(number, size.hi) for size, number in numbers}
            self._samples.append(sample)

    def _varies(self, computed: Sequence[Size], stored: Sequence[int]) -> bool:
        """Return whether a stored number is wrong for some sizes of the inputs, by the sample numbers."""
        return any(
            (have := self.terms.number(size, sample)) is not None and have != number
            for size, number in zip(computed, stored, strict=True)
            for sample in (self._samples if isinstance(size, Dim) and number != FREE else ())
        )

    def receive(self, tensor: int, shape: Shape) -> None:
        """Set the shape of a body's input to the shape that its callers pass; note a contradicting declared shape."""
        self.shapes[tensor] = shape
        stored = declared(self.tensors[tensor])
        if shape.axes is None or not (stored or self.tensors[tensor].has_rank):
            return
        if len(stored) != len(shape.axes) or any(map(_contradict, shape.axes, stored)):
            self.misstated[tensor] = self._contradiction(tensor, shape, stored)


def scope_of(container: Container, index: int, terms: Terms, *, own_only: bool) -> GraphScope:
    """Return the state of a subgraph before its first operator."""
    subgraph: Subgraph = container.subgraphs[index]
    tensors = subgraph.tensors
    shapes = [UNRANKED] * len(tensors)
    scope = GraphScope(container, index, terms, unique_names(subgraph), tensors, shapes, own_only)
    scope.produced = frozenset([tensor for operator in subgraph.operators for tensor in operator.outputs])
    scope.inputs = frozenset(subgraph.inputs)
    for tensor in range(len(tensors)):
        if tensor not in scope.produced:
            scope.shapes[tensor] = scope.declared_shape(tensor)
    return scope


def _contradict(size: Size, stored: int) -> bool:
    """Return whether a computed size can't be the stored size."""
    if stored == FREE:
        return False
    if isinstance(size, int):
        return size != stored
    return stored < size.lo or (size.hi is not None and stored > size.hi)


def _unpacked(data: bytes, element: int) -> tuple[Size, ...] | None:
    """Return the elements in a constant's payload; None if its length does not fit the type."""
    size = struct.calcsize(FOLLOWED[element])
    if len(data) % size:
        return None
    found = struct.unpack(f"<{len(data) // size}{FOLLOWED[element]}", data)
    return tuple([_whole(number) for number in found]) if element == FLOAT32 else found


def _whole(number: float) -> Size:
    """Return a float32 as an integer if it is an exact integer; otherwise ANY, an unknown element."""
    return int(number) if number.is_integer() and abs(number) < EXACT else ANY
