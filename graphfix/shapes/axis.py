"""The algebra of a single axis: what the dims that meet there broadcast to, and which of them is repeated."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from graphfix.shapes.dim import (
    INVALID_SIZE,
    Dim,
    Parts,
    Size,
    bounds,
    is_symbol,
    never_one,
    same,
    simplified,
    unit_name,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

Certainty: TypeAlias = Literal["no", "yes", "maybe"]
"""Whether an axis is repeated: never, for certain, or as the sizes turn out when the model runs."""


def broadcast_sizes(sizes: Sequence[Size]) -> Size:
    """Broadcast one axis over all operands at once, so that their order cannot matter.

    Takes simplified sizes, as the axes of a shape are; returns INVALID_SIZE when they cannot agree.
    """
    agreed = 1
    dims: list[Dim] = []
    for size in sizes:
        if not isinstance(size, int):
            dims.append(size)
        elif size not in (1, agreed):
            if agreed != 1:
                return INVALID_SIZE
            agreed = size
    if not dims:
        return agreed
    unified = _unified(dims) if len(dims) > 1 else dims
    if len(unified) < len(dims):  # one name twice: the ranges of its mentions may have met in a point
        return broadcast_sizes([agreed, *unified])
    return _broadcast_dims(dims) if agreed == 1 else _under(dims, agreed)


def _under(dims: Sequence[Dim], size: int) -> Size:
    """Broadcast dims with a size that is not 1: each of them is 1 or that size, or it fails."""
    return size if all(_may_be(dim, 1) or _may_be(dim, size) for dim in dims) else INVALID_SIZE


def _unified(dims: Iterable[Dim]) -> list[Size]:
    """Return every named dim once, in the range that all its mentions leave it.

    Of two sizes that are 1 together neither is stretched by the other: they are equal, or do not broadcast.
    """
    mentions: dict[Parts, list[Dim]] = {}
    for dim in dims:
        mentions.setdefault(unit_name(dim), []).append(dim)
    anonymous = mentions.pop((), [])
    return [*anonymous, *map(meet, mentions.values())]


def _broadcast_dims(dims: Sequence[Dim]) -> Size:
    if len(dims) == 1:
        return dims[0]
    firm = [dim for dim in dims if never_one(dim)]
    if firm:  # the others are 1 or agree; two firm ones must agree
        return meet(firm)
    highs = [dim.hi for dim in dims if dim.hi is not None]
    hi = max(highs) if len(highs) == len(dims) else None
    names = [dim.parts for dim in dims]
    # bc{A,B} with A is bc{A,B}: a broadcast is known by the set of names in it
    return Dim(union(names) if all(names) else (), min(dim.lo for dim in dims), hi)


def meet(sizes: Sequence[Size]) -> Size:
    """Combine descriptions of one size: the best name in the range that all leave it, else INVALID_SIZE."""
    lows, highs = zip(*map(bounds, sizes), strict=True)
    hi = min((bound for bound in highs if bound is not None), default=None)
    dims = [size for size in sizes if isinstance(size, Dim)]
    name = preferred(dim.parts for dim in dims)
    return simplified(Dim(name, max(lows), hi, next((dim.one for dim in dims if dim.parts == name), ())))


def stretch(sizes: Sequence[Size], operand: int, result: Size) -> Certainty:
    """Say whether one operand is repeated along an axis that has these sizes and broadcasts to `result`."""
    size = sizes[operand]
    if isinstance(size, int):
        return "no" if size != 1 or result == 1 else "yes"
    if same(size, result) or never_one(size):
        return "no"
    others = [other for at, other in enumerate(sizes) if at != operand]
    return "no" if all(other == 1 or _one_together(size, other) for other in others) else "maybe"


def _one_together(size: Dim, other: Size) -> bool:
    """Whether a size is 1 wherever this one is."""
    return isinstance(other, Dim) and unit_name(size) == unit_name(other) != ()


def agree(sizes: Iterable[Size]) -> bool:
    """Whether dims that do not contradict each other broadcast for all sizes."""
    kept = [size for size in sizes if size != 1]
    dims = [size.parts for size in kept if isinstance(size, Dim)]
    return len(kept) <= 1 or not dims or (len(dims) == len(kept) and one_covers(dims))


def preferred(names: Iterable[Parts]) -> Parts:
    """Choose the name that says most, in any order: a symbol, a named unknown, a broadcast, no name."""
    return min(filter(None, names), key=lambda parts: (not is_symbol(parts), len(parts), parts), default=())


def union(names: Iterable[Parts]) -> Parts:
    """Name the broadcast of what has these names: sorted, each once."""
    return tuple(sorted({name for parts in names for name in parts}))


def one_covers(names: Sequence[Parts]) -> bool:
    """Whether one of these is the broadcast of all the others, which then broadcast with it by definition."""
    return all(names) and any(set(union(names)) == set(parts) for parts in names)


def names_of(size: Size) -> Iterator[str]:
    """Return the names that a size adds to an axis: "" that the axis is there, then each but 1; all different."""
    yield ""
    if isinstance(size, Dim):
        yield from (name if _plain(name) else repr(name) for name in size.parts)
    elif size != 1:
        yield str(size)


def _plain(name: str) -> bool:
    return not name[:1].isdecimal() and not set(name) & set(",[]{}'\"")


def _may_be(dim: Dim, size: int) -> bool:
    return dim.lo <= size and (dim.hi is None or size <= dim.hi)
