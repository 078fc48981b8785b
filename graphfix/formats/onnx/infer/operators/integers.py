"""Integer elements of a node's operands and bounds of integer tensors: the types and functions that families share.

An integer rule returns the elements of a small integer tensor, such as a shape that other nodes compute. A bounds rule
returns the least and the largest integer that a tensor of any size can hold.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from types import MappingProxyType
from typing import TypeAlias

from graphfix.formats.onnx.infer.call import Call
from graphfix.graph.view import Node
from graphfix.results.records import dataclass
from graphfix.shapes.dim import Shape, Size
from graphfix.shapes.shape import broadcast

LIMIT = 64
"""The elements of larger integer tensors are not followed: such tensors hold no shapes."""
Elements: TypeAlias = Sequence[Size]
"""The elements of a tensor in row-major order, each a number or a term."""
IntegerRule: TypeAlias = Callable[[Call, str], Elements | None]
"""(node, the name of its first result) -> the elements of this result; None if they are not known."""


@dataclass(frozen=True, slots=True)
class Tensor:
    """A few sizes, or positions of sizes, in the shape of a tensor. Importing numpy would take longer."""

    elements: Elements
    """In row-major order."""
    shape: tuple[int, ...]

    def along(self, axis: int) -> tuple[int, int, int]:
        """Return the number of blocks in front of an axis, its size, and the number of elements behind the axis."""
        axis %= len(self.shape)
        return prod(self.shape[:axis]), self.shape[axis], prod(self.shape[axis + 1 :])

    def take(self, axis: int, places: Sequence[int]) -> Tensor:
        """Return the elements at these positions of an axis; negative positions count from the end."""
        blocks, size, row = self.along(axis)
        blocks = blocks if self.elements else 0  # without elements sizes may be huge
        starts = [(block * size + place % size) * row for block in range(blocks) for place in places]
        elements = [element for start in starts for element in self.elements[start : start + row]]
        at = axis % len(self.shape)
        return Tensor(elements, (*self.shape[:at], len(places), *self.shape[at + 1 :]))

    def transposed(self, order: Sequence[int]) -> Elements:
        """Return the elements with the axes in another order."""
        strides = _strides(self.shape)
        return self._walk([self.shape[axis] for axis in order], [strides[axis] for axis in order])

    def stretched(self, shape: Sequence[int]) -> Elements:
        """Return the elements of the tensor broadcast to a shape."""
        missing = len(shape) - len(self.shape)
        pairs = zip(self.shape, _strides(self.shape), strict=True)
        return self._walk(shape, [0] * missing + [0 if size == 1 else stride for size, stride in pairs])

    def _walk(self, sizes: Sequence[int], strides: Sequence[int]) -> Elements:
        if 0 in sizes:
            return ()  # the others may be huge
        places = [0]
        for size, stride in zip(sizes, strides, strict=True):
            places = [place + at * stride for place in places for at in range(size)]
        return [self.elements[place] for place in places]


def _strides(shape: Sequence[int]) -> list[int]:
    return [prod(shape[axis + 1 :]) for axis in range(len(shape))]


def concatenated(parts: Sequence[Tensor], axis: int) -> Elements:
    """Return the elements of tensors that are concatenated along an axis; their other sizes are equal."""
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
    """Return the elements of an operand in its shape; None if the elements or the shape are not known."""
    elements, dims = call.elements(index), call.dims(index)
    if elements is None or dims is None:
        return None
    shape = tuple(size for size in dims if isinstance(size, int))
    return Tensor(elements, shape) if len(shape) == len(dims) and prod(shape) == len(elements) else None


def columns(call: Call, count: int) -> list[tuple[Size, ...]] | None:
    """Return the operands' elements for each element of the broadcast result; None if they are not known."""
    if len(call.inputs) != count:
        return None
    operands = [elements for index in range(count) if (elements := operand(call, index)) is not None]
    if len(operands) < count:
        return None
    result_sizes = broadcast(*[Shape(held.shape) for held in operands]).numbers
    if prod(result_sizes) > LIMIT:
        return None
    return list(zip(*[held.stretched(result_sizes) for held in operands], strict=True))


def same_elements(call: Call, _: str) -> Elements | None:
    """Return the elements of operand 0: the result has them in the same order."""
    return call.elements(0)


# --- bounds -----------------------------------------------------------------------------------------------------------

Bounds: TypeAlias = tuple[int, int]
"""The least and the largest element."""
TYPES: Mapping[str, Bounds] = MappingProxyType(
    {
        "bool": (0, 1),
        **{f"int{bits}": (-(1 << bits - 1), (1 << bits - 1) - 1) for bits in (8, 16, 32, 64)},
        **{f"uint{bits}": (0, (1 << bits) - 1) for bits in (8, 16, 32, 64)},
    }
)
"""The bounds of each element type."""
Given: TypeAlias = Sequence[Bounds | None]
"""The bounds of a node's operands; None for an absent operand, and for one that holds no integers."""
BoundsRule: TypeAlias = Callable[[Node, Given, int], Bounds | None]
"""(node, the bounds of its operands, index of a result) -> the bounds of this result; None if nothing is known.

A rule may return more than the element type holds. Such results wrap: `constants.integer_bounds` drops these bounds.
"""


def union(parts: Sequence[Bounds | None]) -> Bounds | None:
    """Return the bounds of elements that come from any of these parts; None if the bounds of one part are not known."""
    known_parts = [part for part in parts if part is not None]
    if not known_parts or len(known_parts) < len(parts):
        return None
    return min(low for low, _ in known_parts), max(high for _, high in known_parts)


def bounds_of_first(_: Node, given: Given, __: int) -> Bounds | None:
    """Return the bounds of operand 0: the elements are moved, repeated or dropped."""
    return given[0] if given else None


def bounds_of(*operands: int) -> BoundsRule:
    """Return the rule of a result whose elements are elements of these operands."""

    def rule(_: Node, given: Given, __: int) -> Bounds | None:
        return union([given[at] if at < len(given) else None for at in operands])

    return rule


def axis_positions(node: Node, _: Given, __: int) -> Bounds | None:
    """Return the bounds of positions along an axis of operand 0: results of ArgMax, ArgMin and TopK."""
    axes, axis = node.operand(0).shape.axes, node.attributes.get("axis", -1 if node.op == "TopK" else 0)
    if axes is None or not isinstance(axis, int) or not -len(axes) <= axis < len(axes):
        return None
    size = axes[axis]
    return (0, max(size - 1, 0)) if isinstance(size, int) else None
