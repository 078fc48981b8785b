"""One subgraph while its shapes are inferred: the declared shape of a tensor, and how it and a computed one agree."""

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
"""The element types that are followed, as struct writes them."""
INTEGER_TYPES = frozenset({TENSOR_TYPES[element][0] for element in INTEGERS})
"""The names of these types: shapes and indices have them, and quantized tensors do not."""
FOLLOWED = {**INTEGERS, FLOAT32: "f"}
"""Scalars are followed as float32 too, where they are whole numbers: sizes pass through it on their way to a RANGE."""
LARGE = 1 << 24
"""A size is not followed where it is multiplied by so much."""
EXACT = 1 << 24
"""Up to this one every whole number is a float32."""
LIMIT = 64
"""Integer tensors of more elements are no shapes."""
SCALAR = Shape(())


@dataclass(slots=True)
class GraphScope:
    """What is known of one subgraph's tensors."""

    container: Container
    index: int
    terms: Terms
    names: list[str]
    tensors: list[Tensor]
    shapes: list[Shape]
    """By tensor: the declared one until its operator is visited."""
    own_only: bool = False
    """Whether no stored shape of a result is assumed."""
    stale: dict[int, str] = field(default_factory=dict)
    """Why a tensor's stored shape can't be trusted."""
    misstated: dict[int, str] = field(default_factory=dict)
    """The wrong stored shapes: those, numbers in the place of sizes that vary, and those of a body's inputs."""
    assumed: set[int] = field(default_factory=set)
    """The tensors whose stored shape is assumed: nothing else determines it."""
    doubtful: set[int] = field(default_factory=set)
    """Those, and what follows from them."""
    from_bytes: set[int] = field(default_factory=set)
    """Results that are computed element by element from 8 bits: XNNPACK may compute them by a lookup table."""
    assumes: dict[str, None] = field(default_factory=dict)
    """What rules take for granted."""
    produced: frozenset[int] = frozenset()
    inputs: frozenset[int] = frozenset()
    _samples: list[Mapping[Parts, int]] = field(default_factory=list)
    """Numbers for the free sizes of the inputs; none in a body."""
    _elements: dict[int, tuple[Size, ...] | None] = field(default_factory=dict)

    def name(self, tensor: int, axis: int, lo: int = 0, hi: int | None = None) -> Dim:
        """The named unknown that is the size of one axis."""
        return Dim((unknown_name(self._label(tensor), axis),), lo, hi)

    def _label(self, tensor: int) -> str:
        return f"{self.index}:{self.names[tensor]}" if self.index else self.names[tensor]

    def elements(self, tensor: int) -> tuple[Size, ...] | None:
        """The elements of a small integer tensor: a constant's numbers, what was followed, else a name for each."""
        if tensor not in self._elements:
            self._elements[tensor] = self._first_look(tensor)
        return self._elements[tensor]

    def _first_look(self, tensor: int) -> tuple[Size, ...] | None:
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
        """Whether it has its elements in the file, or none at all."""
        computed = tensor in self.produced or tensor in self.inputs
        return not computed and self.container.has_elements(self.tensors[tensor])

    def enter(self, tensor: int, elements: tuple[Size, ...]) -> None:
        """Note what a result holds; its shape is there already."""
        axes, element = self.shapes[tensor].axes, self.tensors[tensor].type
        if element not in FOLLOWED or axes is None or (axes and element == FLOAT32):
            return
        sizes = [size for size in axes if isinstance(size, int)]
        if len(sizes) == len(axes) and prod(sizes) == len(elements):
            # beyond it kernels wrap, or round
            most = EXACT if element == FLOAT32 else 1 << 8 * struct.calcsize(INTEGERS[element]) - 1
            self._elements[tensor] = tuple([self._within(size, most) for size in elements])

    def _within(self, size: Size, most: int) -> Size:
        """An element that its type holds; nothing is known of one that wraps, as large multiples of a size do."""
        if isinstance(size, int):
            return size if -most <= size < most else ANY
        return ANY if self.terms.factor(size) >= LARGE else size

    def contents(self) -> dict[int, tuple[Size, ...]]:
        """The elements of every tensor that can be followed: all small constants, and what rules noted or asked for."""
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
        """Set the shape of a result to what the rules computed, and to the declared one where they can't tell.

        `trusted`: nothing that it was computed from is assumed. `stated`: the declared one is part of the operator.
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
        """The shape that the file declares; a free size is a name."""
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
        """Whether it is a constant of one element."""
        record = self.tensors[tensor]
        if not self.is_constant(tensor) or record.external:
            return False
        bits = TENSOR_TYPES[record.type][1]
        if record.type == STRING:  # its payload begins with how many elements there are
            return self.container.data(record.buffer)[:4] == b"\1\0\0\0"
        return bits is not None and self.container.size(record.buffer) == (bits + 7) // 8

    def _merged(self, tensor: int, computed: tuple[Size, ...], record: Tensor, trusted: bool) -> Shape:
        stored = declared(record)
        if not stored and not record.has_rank:
            stored = (FREE,) * len(computed)  # nothing is declared
        signature = record.signature if record.signature and len(record.signature) == len(computed) else stored
        if len(stored) != len(computed) or any(map(_contradict, (*computed, *computed), (*stored, *signature))):
            shape = Shape(tuple([self._named(tensor, axis, size) for axis, size in enumerate(computed)]))
            self.stale[tensor] = self.misstated[tensor] = self._contradiction(tensor, shape, signature)
            return shape if trusted else UNRANKED  # else what it was computed from may be wrong instead
        if trusted and self._varies(computed, stored):
            why = f"is that of some sizes of the inputs alone: the computed one is {Shape(computed)}"
            self.misstated[tensor] = f"{self._stored(tensor, stored)} {why}"
        sizes = list(computed)
        for axis, (size, number) in enumerate(zip(computed, stored, strict=True)):
            if isinstance(size, int) or size.parts:
                continue  # a name is what the size follows from: a stored number would only be assumed
            if number == FREE or self.own_only:
                sizes[axis] = self._named(tensor, axis, size)
            else:
                sizes[axis] = number
                self.assumed.add(tensor)
        return Shape(tuple(sizes))

    def _named(self, tensor: int, axis: int, size: Size) -> Size:
        """The size, by the name of the result where it has none."""
        return size if isinstance(size, int) or size.parts else self.name(tensor, axis, size.lo, size.hi)

    def _contradiction(self, tensor: int, shape: Shape, stored: Sequence[int]) -> str:
        return f"{self._stored(tensor, stored)} contradicts the computed {shape}"

    def _stored(self, tensor: int, sizes: Sequence[int]) -> str:
        dims = ", ".join("?" if size == FREE else str(size) for size in sizes)
        return f"the stored shape [{dims}] of '{self.names[tensor]}'"

    def sample(self, shapes: Sequence[Shape]) -> None:
        """Choose two numbers for each free size of the inputs."""
        free = [size for shape in shapes for size in shape.axes or () if isinstance(size, Dim)]
        for more in (2, 7):
            numbers = ((size, size.lo + more) for size in free)
            sample = {size.parts: number if size.hi is None else min(number, size.hi) for size, number in numbers}
            self._samples.append(sample)

    def _varies(self, computed: Sequence[Size], stored: Sequence[int]) -> bool:
        """Whether a number is stored for a size that follows from free sizes of the inputs and is another for some."""
        return any(
            (have := self.terms.number(size, sample)) is not None and have != number
            for size, number in zip(computed, stored, strict=True)
            for sample in (self._samples if isinstance(size, Dim) and number != FREE else ())
        )

    def receive(self, tensor: int, shape: Shape) -> None:
        """Set the shape of a body's input to what its callers pass, and note where the declared one is another."""
        self.shapes[tensor] = shape
        stored = declared(self.tensors[tensor])
        if shape.axes is None or not (stored or self.tensors[tensor].has_rank):
            return
        if len(stored) != len(shape.axes) or any(map(_contradict, shape.axes, stored)):
            self.misstated[tensor] = self._contradiction(tensor, shape, stored)


def scope_of(container: Container, index: int, terms: Terms, *, own_only: bool) -> GraphScope:
    """The subgraph before its first operator."""
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
    """Whether a computed size can't be the stored one."""
    if stored == FREE:
        return False
    if isinstance(size, int):
        return size != stored
    return stored < size.lo or (size.hi is not None and stored > size.hi)


def _unpacked(data: bytes, element: int) -> tuple[Size, ...] | None:
    """The elements of a constant's payload; None where the bytes are none of that type."""
    size = struct.calcsize(FOLLOWED[element])
    if len(data) % size:
        return None
    found = struct.unpack(f"<{len(data) // size}{FOLLOWED[element]}", data)
    return tuple([_whole(number) for number in found]) if element == FLOAT32 else found


def _whole(number: float) -> Size:
    """A float32 that is a whole number as that; what is known of any other is nothing."""
    return int(number) if number.is_integer() and abs(number) < EXACT else ANY
