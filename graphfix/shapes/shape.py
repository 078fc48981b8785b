"""Shapes, known or not, and the algebra of broadcasting over them: numpy's rule, the shape dialect's names.

A dim is an int >= 0 or a `Dim`: a symbol, a named unknown, the broadcast of several, or simply unknown, each
with an inclusive range. A shape is ranked, unranked or invalid. Functions are pure and say only what holds
for every size that the dims can take; what is merely likely is UNKNOWN, None, "maybe" or Undecided.

    broadcast([2, 3, 4], [4])    -> [2, 3, 4]
    broadcast([N], [N])          -> [N]        one symbol: no operand is ever stretched
    broadcast([N], [M])          -> [bc{M,N}]  either may be 1; one term, so it is recognized later
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
"""Whether a constraint holds; None when only the run can tell."""


def broadcast(*shapes: Shape) -> Shape:
    """Return the shape that the operands have together: right-aligned, size 1 gives way (numpy's rule).

    An invalid operand makes INVALID; else an unranked one makes an unranked shape, named if every operand is.
    Raises Incompatible when the known dims cannot agree. No operand at all makes [].
    """
    every = tuple([shape.axes for shape in shapes])
    if None in every:
        return _broadcast_unranked(shapes)
    return _checked(_broadcast_axes(every), shapes)


def _broadcast_unranked(shapes: Sequence[Shape]) -> Shape:
    if not all(shape.valid for shape in shapes):
        return INVALID
    broadcast(*(shape for shape in shapes if shape.ranked))  # what is known must agree all the same
    names = [_terms(shape) for shape in shapes if shape.axes != ()]
    return Shape(None, _merged(union(names)) if all(names) else ())


def _merged(names: tuple[str, ...]) -> tuple[str, ...]:
    """Drop what a number of the same axis says already: 3 under N is 3, so `1:N` beside `1:3` adds nothing."""
    parts = [name.partition(":") for name in names]
    numbered = {at for at, _, size in parts if size.isdecimal() and at.isdecimal()}
    return tuple([at + colon + size for at, colon, size in parts if at not in numbered or size.isdecimal() or not size])


@lru_cache(maxsize=4096)  # a model has few distinct sets of shapes, however many nodes
def _broadcast_axes(every: tuple[tuple[Size, ...], ...]) -> Shape:
    return Shape(tuple(map(broadcast_sizes, _columns(every))))


def _columns(every: Iterable[tuple[Size, ...]]) -> list[tuple[Size, ...]]:
    """Give, for every axis of the result, the dims of all operands: 1 where an operand has no such axis."""
    every = tuple(every)
    rank = max(map(len, every), default=0)
    return list(zip(*[(1,) * (rank - len(axes)) + axes for axes in every], strict=True))


def _checked(result: Shape, shapes: Sequence[Shape]) -> Shape:
    if not result.valid:
        raise Incompatible(f"{listed(shapes)} do not broadcast{ranges(shapes)}")
    return result


def _terms(shape: Shape) -> tuple[str, ...]:
    """Return the names that a shape adds to an unranked result: its own, or those of its axes; () if none.

    [2,N,1] adds `1:`, `2:`, `2:N`, `3:`, `3:2`: an axis counted from the right is there, and it is at least this
    size. The names of two shapes together are the names of their broadcast.
    """
    if shape.axes is None:
        return shape.parts
    if any(isinstance(size, Dim) and not size.parts for size in shape.axes):
        return ()
    return tuple([f"{at}:{name}" for at, size in enumerate(reversed(shape.axes), 1) for name in names_of(size)])


def join(*shapes: Shape) -> Shape:
    """Combine what several descriptions of one shape know (shape.join); INVALID when they contradict."""
    if not all(shape.valid for shape in shapes):
        return INVALID
    ranked = [shape.dims for shape in shapes if shape.ranked]
    if not ranked:
        return Shape(None, preferred(shape.parts for shape in shapes))
    if len(set(map(len, ranked))) > 1:
        return INVALID
    return Shape(tuple(map(meet, zip(*ranked, strict=True))))


def cstr_broadcastable(*shapes: Shape) -> Witness:
    """Whether shapes broadcast (shape.cstr_broadcastable): True always, False never, None at run time."""
    try:
        result = broadcast(*shapes)
    except Incompatible:
        return False
    if not result.valid:
        return False
    telling = [shape for shape in shapes if shape.axes is None or any(size != 1 for size in shape.axes)]
    if len(telling) <= 1:  # the others give way to anything
        return True
    if result.ranked:
        return all(map(agree, _columns(shape.dims for shape in telling))) or None
    return one_covers([_terms(shape) for shape in telling]) or None


def cstr_eq(*shapes: Shape) -> Witness:
    """Whether all are one shape (shape.cstr_eq), nothing stretched; a witness like `cstr_broadcastable`."""
    if not join(*shapes).valid:
        return False
    return all(same_shape(shapes[0], shape) for shape in shapes[1:]) or None


def same_shape(a: Shape, b: Shape) -> bool:
    """Whether two shapes are provably one: the same sizes axis by axis, or one name where there is no rank."""
    if a.axes is None or b.axes is None:
        return a.ranked == b.ranked and a.parts == b.parts != ()
    return len(a.axes) == len(b.axes) and all(map(same, a.axes, b.axes))


def stretches(shapes: Sequence[Shape], operand: int) -> tuple[Certainty, ...]:
    """Say for each axis of the lifted operand whether broadcasting with the others repeats it.

    "no": for no sizes that the dims can take; "yes": a literal 1 under another dim; "maybe": the run decides.
    Raises Undecided when an operand is unranked (unless all have one name: then (), nothing stretches), and
    Incompatible when the shapes do not broadcast.
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
    """Write the ranges that the printed shapes leave out: they may be what forbids the broadcast."""
    dims = {size for shape in shapes for size in shape.axes or () if isinstance(size, Dim)}
    bounded = sorted({f"{dim} is {dim.lo} to {dim.hi}" for dim in dims if dim.hi is not None})
    bounded += sorted({f"{dim} is at least {dim.lo}" for dim in dims if dim.hi is None and dim.lo})
    return f" ({', '.join(bounded)})" if bounded else ""


def with_axes(shape: Shape, axes: Sequence[int]) -> Shape:
    """The shape with unit axes at these positions of the result: [4] at (0, 1) -> [1,1,4]."""
    rest = iter(shape.dims)
    rank = shape.rank + len(axes)
    return Shape(tuple(1 if axis in axes else next(rest) for axis in range(rank)))
