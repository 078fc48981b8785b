"""Shapes, fully known or not, and the algebra of broadcasting: numpy's rule with the names of the shape dialect.

A dim is an int >= 0 or a `Dim`. A `Dim` is a symbol, a named unknown, the broadcast of several names, or an unknown
without a name, and has an inclusive range. A shape is ranked, unranked or invalid. Functions are pure, and their
results are true for every size that the dims can have. If that is not possible, the result is UNKNOWN, None, "maybe" or
Undecided.

    broadcast([2, 3, 4], [4])    -> [2, 3, 4]
    broadcast([N], [N])          -> [N]        one symbol: no operand is ever stretched
    broadcast([N], [M])          -> [bc{M,N}]  either may be 1; one term, so that it is recognized later
    broadcast([N], [4])          -> [4]        N is 1 or 4, or the model fails
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

from graphfix.shapes.axis import (
    Certainty,
    agree,
    broadcast_sizes,
    meet,
    names_of,
    one_covers,
    preferred,
    stretch,
    union,
)
from graphfix.shapes.dim import (
    INVALID,
    Dim,
    Incompatible,
    Shape,
    Size,
    same,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Witness: TypeAlias = bool | None
"""Whether a constraint is satisfied; None if only the run decides."""


def broadcast(*shapes: Shape) -> Shape:
    """Return the broadcast of the operands' shapes: right-aligned, and a size of 1 is stretched (numpy's rule).

    If an operand is invalid, return INVALID. Otherwise, if an operand is unranked, return an unranked shape, which has
    a name if every operand has. Without operands, return []. Raise Incompatible if the known dims can't broadcast.
    """
    every = tuple([shape.axes for shape in shapes])
    if None in every:
        return _broadcast_unranked(shapes)
    return _checked(_broadcast_axes(every), shapes)


def _broadcast_unranked(shapes: Sequence[Shape]) -> Shape:
    """Return the broadcast of shapes, at least one of which is unranked or invalid."""
    if not all(shape.valid for shape in shapes):
        return INVALID
    broadcast(*(shape for shape in shapes if shape.ranked))  # the ranked shapes must broadcast anyway
    names = [_terms(shape) for shape in shapes if shape.axes != ()]
    return Shape(None, _merged(union(names)) if all(names) else ())


def _merged(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names without those that a number for the same axis makes redundant.

    3 broadcast with N is 3, so `1:N` adds nothing if `1:3` is there.
    """
    parts = [name.partition(":") for name in names]
    numbered = {at for at, _, size in parts if size.isdecimal() and at.isdecimal()}
    return tuple([at + colon + size for at, colon, size in parts if at not in numbered or size.isdecimal() or not size])


@lru_cache(maxsize=4096)  # a model has few distinct sets of shapes, however many nodes it has
def _broadcast_axes(every: tuple[tuple[Size, ...], ...]) -> Shape:
    return Shape(tuple(map(broadcast_sizes, _columns(every))))


def _columns(every: Iterable[tuple[Size, ...]]) -> list[tuple[Size, ...]]:
    """Return, for every axis of the result, the dims of all operands: 1 where an operand has no such axis."""
    every = tuple(every)
    rank = max(map(len, every), default=0)
    return list(zip(*[(1,) * (rank - len(axes)) + axes for axes in every], strict=True))


def _checked(result: Shape, shapes: Sequence[Shape]) -> Shape:
    """Return the result. Raise Incompatible if it is invalid."""
    if not result.valid:
        raise Incompatible(f"{listed(shapes)} do not broadcast{ranges(shapes)}")
    return result


def _terms(shape: Shape) -> tuple[str, ...]:
    """Return the names that a shape adds to an unranked result: its names, or those of its axes; () if a size has none.

    [2,N,1] adds `1:`, `2:`, `2:N`, `3:`, `3:2`. The number is the axis, counted from the right. `3:` means that the
    axis exists, and `3:2` that its size is a broadcast with 2. The names of two shapes together are those of their
    broadcast.
    """
    if shape.axes is None:
        return shape.parts
    if any(isinstance(size, Dim) and not size.parts for size in shape.axes):
        return ()
    return tuple([f"{at}:{name}" for at, size in enumerate(reversed(shape.axes), 1) for name in names_of(size)])


def join(*shapes: Shape) -> Shape:
    """Return the shape that satisfies several descriptions of it (shape.join); INVALID if they contradict."""
    if not all(shape.valid for shape in shapes):
        return INVALID
    ranked = [shape.dims for shape in shapes if shape.ranked]
    if not ranked:
        return Shape(None, preferred(shape.parts for shape in shapes))
    if len(set(map(len, ranked))) > 1:
        return INVALID
    return Shape(tuple(map(meet, zip(*ranked, strict=True))))


def cstr_broadcastable(*shapes: Shape) -> Witness:
    """Return whether shapes broadcast (shape.cstr_broadcastable): True always, False never, None if the run decides."""
    try:
        result = broadcast(*shapes)
    except Incompatible:
        return False
    if not result.valid:
        return False
    telling = [shape for shape in shapes if shape.axes is None or any(size != 1 for size in shape.axes)]
    if len(telling) <= 1:  # all other shapes have only 1s and broadcast with any shape
        return True
    if result.ranked:
        return all(map(agree, _columns(shape.dims for shape in telling))) or None
    return one_covers([_terms(shape) for shape in telling]) or None


def cstr_eq(*shapes: Shape) -> Witness:
    """Return whether all shapes are equal (shape.cstr_eq): True always, False never, None if the run decides."""
    if not join(*shapes).valid:
        return False
    return all(same_shape(shapes[0], shape) for shape in shapes[1:]) or None


def same_shape(a: Shape, b: Shape) -> bool:
    """Return whether two shapes are provably equal: equal sizes on each axis, or equal names if both are unranked."""
    if a.axes is None or b.axes is None:
        return a.ranked == b.ranked and a.parts == b.parts != ()
    return len(a.axes) == len(b.axes) and all(map(same, a.axes, b.axes))


def stretches(shapes: Sequence[Shape], operand: int) -> tuple[Certainty, ...]:
    """Return, for each axis of the lifted operand, whether broadcasting with the other operands repeats it.

    "no": for no sizes that the dims can have. "yes": the size is the number 1, and the result is not. "maybe": the run
    decides. Return () if all shapes have one name and no rank, because then nothing is stretched. Raise Undecided if
    any other shape is unranked, and Incompatible if the shapes do not broadcast.
    """
    size_name = shapes[operand].parts
    if size_name and all(shape.parts == size_name for shape in shapes):
        return ()
    every = tuple([shape.dims for shape in shapes])
    _checked(_broadcast_axes(every), shapes)
    return _stretches(every, operand)


@lru_cache(maxsize=4096)
def _stretches(every: tuple[tuple[Size, ...], ...], operand: int) -> tuple[Certainty, ...]:
    results = zip(_columns(every), _broadcast_axes(every).dims, strict=True)
    return tuple(stretch(sizes, operand, result) for sizes, result in results)


def listed(shapes: Sequence[Shape]) -> str:
    """Return the shapes as a list in words: `[2], [3] and [4]`."""
    *firsts, last = map(str, shapes)
    return f"{', '.join(firsts)} and {last}" if firsts else last


def ranges(shapes: Iterable[Shape]) -> str:
    """Return the ranges of the dims as text, because printed shapes omit them and a range may forbid the broadcast."""
    dims = {size for shape in shapes for size in shape.axes or () if isinstance(size, Dim)}
    bounded = sorted({f"{dim} is {dim.lo} to {dim.hi}" for dim in dims if dim.hi is not None})
    bounded += sorted({f"{dim} is at least {dim.lo}" for dim in dims if dim.hi is None and dim.lo})
    return f" ({', '.join(bounded)})" if bounded else ""


def with_axes(shape: Shape, axes: Sequence[int]) -> Shape:
    """Return the shape with unit axes at these positions of the result: [4] at (0, 1) -> [1,1,4]."""
    rest = iter(shape.dims)
    rank = shape.rank + len(axes)
    return Shape(tuple(1 if axis in axes else next(rest) for axis in range(rank)))
