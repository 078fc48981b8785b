"""The elements of a node's integer operands, in their shapes and broadcast to each other."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TypeAlias

from graphfix.formats.onnx.infer.call import Call
from graphfix.results.records import dataclass
from graphfix.shapes.shape import Size, broadcast, of

LIMIT = 64
"""Integer tensors of more elements are no shapes."""
Elements: TypeAlias = Sequence[Size]


@dataclass(frozen=True, slots=True)
class Tensor:
    """A few sizes, or places of them, in the shape of a tensor: numpy takes longer to import than all of them take."""

    elements: Elements
    """In row-major order."""
    shape: tuple[int, ...]

    def along(self, axis: int) -> tuple[int, int, int]:
        """How many blocks there are in front of an axis, its size, and how many elements stand behind it."""
        axis %= len(self.shape)
        return prod(self.shape[:axis]), self.shape[axis], prod(self.shape[axis + 1 :])

    def take(self, axis: int, places: Sequence[int]) -> Tensor:
        """What stands at these places of an axis, negative ones counted from its end."""
        blocks, size, row = self.along(axis)
        blocks = blocks if self.elements else 0  # without elements sizes may be huge
        starts = [(block * size + place % size) * row for block in range(blocks) for place in places]
        elements = [element for start in starts for element in self.elements[start : start + row]]
        at = axis % len(self.shape)
        return Tensor(elements, (*self.shape[:at], len(places), *self.shape[at + 1 :]))

    def transposed(self, order: Sequence[int]) -> Elements:
        """The elements with the axes in another order."""
        strides = _strides(self.shape)
        return self._walk([self.shape[axis] for axis in order], [strides[axis] for axis in order])

    def stretched(self, whole: Sequence[int]) -> Elements:
        """The elements of the tensor broadcast to a shape."""
        missing = len(whole) - len(self.shape)
        pairs = zip(self.shape, _strides(self.shape), strict=True)
        return self._walk(whole, [0] * missing + [0 if size == 1 else stride for size, stride in pairs])

    def _walk(self, sizes: Sequence[int], strides: Sequence[int]) -> Elements:
        if 0 in sizes:
            return ()  # the others may be huge
        places = [0]
        for size, stride in zip(sizes, strides, strict=True):
            places = [place + at * stride for place in places for at in range(size)]
        return [self.elements[place] for place in places]


def _strides(shape: Sequence[int]) -> list[int]:
    return [prod(shape[axis + 1 :]) for axis in range(len(shape))]


def joined(parts: Sequence[Tensor], axis: int) -> Elements:
    """The elements of tensors that are joined along an axis, whose other sizes are the same."""
    blocks = parts[0].along(axis)[0]
    lengths = [len(part.elements) // blocks for part in parts]
    pairs = list(zip(parts, lengths, strict=True))
    return [
        element
        for block in range(blocks)
        for part, length in pairs
        for element in part.elements[block * length : (block + 1) * length]
    ]


def operand(call: Call, index: int) -> Tensor | None:
    """The elements of an operand in its shape, None where one of both is not known."""
    elements, dims = call.elements(index), call.dims(index)
    if elements is None or dims is None:
        return None
    shape = tuple(size for size in dims if isinstance(size, int))
    return Tensor(elements, shape) if len(shape) == len(dims) and prod(shape) == len(elements) else None


def columns(call: Call, count: int) -> list[tuple[Size, ...]] | None:
    """What the operands have at each element of the result."""
    if len(call.inputs) != count:
        return None
    operands = [held for index in range(count) if (held := operand(call, index)) is not None]
    if len(operands) < count:
        return None
    whole = broadcast(*[of(*held.shape) for held in operands]).numbers
    if prod(whole) > LIMIT:
        return None
    return list(zip(*[held.stretched(whole) for held in operands], strict=True))
