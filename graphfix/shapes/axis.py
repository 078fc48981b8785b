"""The algebra of one axis: the broadcast of several dims, and which of the dims are repeated."""

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
"""Whether an axis is repeated: never, always, or only for some of the sizes that are possible in a run."""


def broadcast_sizes(sizes: Sequence[Size]) -> Size:
    """Return the broadcast of one axis of all operands together, independent of their order.

    The sizes must be simplified, as in a `Shape`. Return INVALID_SIZE if the sizes can't broadcast.
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
    if len(unified) < len(dims):  # one name occurs twice: the ranges of its dims together may contain one number only
        return broadcast_sizes([agreed, *unified])
    return _broadcast_dims(dims) if agreed == 1 else _under(dims, agreed)


def _under(dims: Sequence[Dim], size: int) -> Size:
    """Return the broadcast of dims with a number other than 1.

    Each dim must allow 1 or that number, else INVALID_SIZE.
    """
    return size if all(_may_be(dim, 1) or _may_be(dim, size) for dim in dims) else INVALID_SIZE


def _unified(dims: Iterable[Dim]) -> list[Size]:
    """Return each named dim once, with the intersection of the ranges of all its occurrences.

    Two sizes that are always 1 together count as one name: neither stretches the other, so they are equal or do not
    broadcast.
    """
    mentions: dict[Parts, list[Dim]] = {}
    for dim in dims:
        mentions.setdefault(unit_name(dim), []).append(dim)
    anonymous = mentions.pop((), [])
    return [*anonymous, *map(meet, mentions.values())]


def _broadcast_dims(dims: Sequence[Dim]) -> Size:
    """Return the broadcast of dims, no two of which have one name."""
    if len(dims) == 1:
        return dims[0]
    firm = [dim for dim in dims if never_one(dim)]
    if firm:  # all other dims are 1 or equal to this size, and two sizes that are never 1 must be equal
        return meet(firm)
    highs = [dim.hi for dim in dims if dim.hi is not None]
    hi = max(highs) if len(highs) == len(dims) else None
    names = [dim.parts for dim in dims]
    # bc{A,B} with A is bc{A,B}: a broadcast is identified by the set of its names
    return Dim(union(names) if all(names) else (), min(dim.lo for dim in dims), hi)


def meet(sizes: Sequence[Size]) -> Size:
    """Return the size that satisfies several descriptions of it: the best name, and the intersection of all ranges.

    Return INVALID_SIZE if the descriptions contradict each other.
    """
    lows, highs = zip(*map(bounds, sizes), strict=True)
    hi = min((bound for bound in highs if bound is not None), default=None)
    dims = [size for size in sizes if isinstance(size, Dim)]
    name = preferred(dim.parts for dim in dims)
    return simplified(Dim(name, max(lows), hi, next((dim.one for dim in dims if dim.parts == name), ())))


def stretch(sizes: Sequence[Size], operand: int, result: Size) -> Certainty:
    """Return whether one operand is repeated along an axis, where the operands have these sizes.

    `result` is the broadcast of the sizes, and `operand` is the index of the operand.
    """
    size = sizes[operand]
    if isinstance(size, int):
        return "no" if size != 1 or result == 1 else "yes"
    if same(size, result) or never_one(size):
        return "no"
    others = [other for at, other in enumerate(sizes) if at != operand]
    return "no" if all(other == 1 or _one_together(size, other) for other in others) else "maybe"


def _one_together(size: Dim, other: Size) -> bool:
    """Return whether `other` is provably 1 whenever `size` is 1."""
    return isinstance(other, Dim) and unit_name(size) == unit_name(other) != ()


def agree(sizes: Iterable[Size]) -> bool:
    """Return whether these sizes broadcast for all values of their dims. The sizes must not contradict each other."""
    kept = [size for size in sizes if size != 1]
    dims = [size.parts for size in kept if isinstance(size, Dim)]
    return len(kept) <= 1 or not dims or (len(dims) == len(kept) and one_covers(dims))


def preferred(names: Iterable[Parts]) -> Parts:
    """Return the most informative name, independent of the order: symbol, named unknown, broadcast, no name."""
    return min(filter(None, names), key=lambda parts: (not is_symbol(parts), len(parts), parts), default=())


def union(names: Iterable[Parts]) -> Parts:
    """Return the name of the broadcast of sizes with these names: all names sorted, each once."""
    return tuple(sorted({name for parts in names for name in parts}))


def one_covers(names: Sequence[Parts]) -> bool:
    """Return whether one of the names is the broadcast of all others. Then it broadcasts with them by definition."""
    return all(names) and any(set(union(names)) == set(parts) for parts in names)


def names_of(size: Size) -> Iterator[str]:
    """Yield the names that a size adds to an axis: "" for the axis itself, then names or a number.

    A size 1 adds only "".
    """
    yield ""
    if isinstance(size, Dim):
        yield from (name if _plain(name) else repr(name) for name in size.parts)
    elif size != 1:
        yield str(size)


def _plain(name: str) -> bool:
    """Return whether a name can't be confused with a number or with the notation of names."""
    return not name[:1].isdecimal() and not set(name) & set(",[]{}'\"")


def _may_be(dim: Dim, size: int) -> bool:
    """Return whether a number is in the range of a dim."""
    return dim.lo <= size and (dim.hi is None or size <= dim.hi)
