"""Sizes of axes as terms: a number, or a symbol that is one object wherever the same term occurs."""

from __future__ import annotations

from functools import lru_cache
from math import inf
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from graphfix.results.records import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


_T = TypeVar("_T")


class Symbol:
    """A size (or an element of a computed shape) that is known only at run time: equal terms are one object."""

    __slots__ = ("is_never_1", "is_uninferred", "key", "name", "number", "one")

    def __init__(self, key: tuple[object, ...], number: int, name: str) -> None:
        """Keep what the symbol stands for, and how it is printed."""
        self.key, self.number, self.name = key, number, name
        self.one = self
        """A size that is 1 wherever and only where this one is."""
        self.is_never_1 = False
        """Whether the size is not 1, whatever the sizes are that it is computed from: twice a batch, for example."""
        self.is_uninferred = False
        """Whether runtimes infer no number for a size inside or behind a Loop; sizes of inputs do not need the mark."""

    def __repr__(self) -> str:
        """Print the symbol as a report shows it."""
        return self.name


Size: TypeAlias = int | Symbol
Sizes: TypeAlias = tuple[Size, ...]
_LONGEST_NAME = 1 << 10
"""Longer names of symbols are replaced by a number: a name contains the names of other symbols, some of them twice."""
Dims: TypeAlias = "tuple[Size | None, ...] | None"
"""What is known of a shape: None for a size that is not, or where not even the rank is."""
Place: TypeAlias = tuple[object, ...]
"""Under what a node is executed: the bodies around it, from the outside in. () is the main graph: always."""


@dataclass(slots=True, eq=False)
class Algebra:
    """All symbols of one proof: both files share them."""

    known: dict[tuple[object, ...], Symbol] = field(default_factory=dict)
    place: Place = ()
    """Where the node stands that is being read."""
    closed: bool = False
    """Whether the first file is read."""
    checks: dict[Symbol, list[Place]] = field(default_factory=dict)
    """Which sizes the first file's nodes see to fit, and where."""
    second_checks: dict[tuple[Symbol, Place], None] = field(default_factory=dict)
    """Which the second's do."""
    ranges: dict[Symbol, tuple[int, int]] = field(default_factory=dict)
    """By symbol of an input's size: the range that the user asked for, its least and its greatest size."""
    used_ranges: dict[Symbol, None] = field(default_factory=dict)
    """The symbols whose range the proof assumes, because a result depends on it."""
    shapes: dict[tuple[Place, bool, tuple[Sizes, ...]], Sizes] = field(default_factory=dict)
    """The broadcast of several shapes at a place of a file: most nodes of a model are alike."""

    def asked_range(self, symbol: Symbol) -> tuple[float, float]:
        """Return the range that the user asked for, and enter the symbol in `used_ranges`; 0 to infinity if none."""
        if symbol not in self.ranges:
            return 0, inf
        self.used_ranges[symbol] = None
        return self.ranges[symbol]

    def symbol(self, key: tuple[object, ...], name: str = "") -> Symbol:
        """Return the symbol of a term, the same object each time."""
        found = self.known.get(key)
        if found is None:
            shown = name if 0 < len(name) <= _LONGEST_NAME else f"s{len(self.known)}"
            found = self.known[key] = Symbol(key, len(self.known), shown)
        return found

    def broadcast_size(self, sizes: Sizes) -> Size:
        """Return the size that an axis has where operands of these sizes are broadcast, by numpy's rule.

        Ones are dropped. What is left is one term for the set of all sizes, however it was nested: also beside a
        number, which is then the size, the symbols stay, because the operands fit only where each is 1 or that number.
        """
        parts: set[Size] = set()
        for size in sizes:
            parts.update(broadcast_parts(size))
        parts.discard(1)
        if len(parts) <= 1:
            return parts.pop() if parts else 1
        ordered = sorted(parts, key=_order)
        checked = self.symbol(("broadcast", *ordered), f"bc{{{','.join(map(repr, ordered))}}}")
        if self.closed:
            self.second_checks[checked, self.place] = None
        else:
            add_once(self.checks.setdefault(checked, []), self.place)
        return checked

    def unmatched_check(self) -> Symbol | None:
        """Return sizes that only the second file needs to fit: where they do not, it fails and the first does not."""
        for checked, place in self.second_checks:
            wider = (at for other, at in self.checks.items() if set(checked.key) <= set(other.key))
            if not reached(self.checks.get(checked, ()), place) and not any(reached(at, place) for at in wider):
                return checked
        return None

    def broadcast_shape(self, *shapes: Sizes) -> Sizes:
        """Return the broadcast of several shapes, right-aligned."""
        known = (self.place, self.closed, shapes)
        found = self.shapes.get(known)
        if found is None:
            rank = max(map(len, shapes), default=0)
            columns = zip(*(right_aligned(sizes, rank) for sizes in shapes), strict=True)
            found = self.shapes[known] = tuple(map(self.broadcast_size, columns))
        return found


def broadcast_parts(size: Size) -> Sizes:
    """Return the sizes whose broadcast a size is; itself where it is none."""
    if not isinstance(size, Symbol) or size.key[0] != "broadcast":
        return (size,)
    return tuple(part for part in size.key[1:] if isinstance(part, (int, Symbol)))


def all_known(items: Iterable[_T | None]) -> tuple[_T, ...] | None:
    """Return all items; None if one of them is None."""
    found = tuple(items)
    return None if None in found else found  # type: ignore[return-value]  # none of them is None


def numbers(sizes: Sequence[Size | None] | None) -> tuple[int, ...] | None:
    """Return sizes that are all numbers; None where one is not, or where there are none to ask."""
    if sizes is None:
        return None
    found = tuple([size for size in sizes if isinstance(size, int)])
    return found if len(found) == len(sizes) else None


def add_once(places: list[Place], place: Place) -> None:
    """Enter a place once."""
    if place not in places:
        places.append(place)


def reached(places: Sequence[Place], place: Place) -> bool:
    """Whether what is executed at these places is executed whenever this one is."""
    return place in places or any(place[: len(other)] == other for other in places)


def _order(size: Size) -> tuple[bool, int]:
    return (True, size.number) if isinstance(size, Symbol) else (False, size)


def result_size(size: Size) -> Size:
    """Return the size of an axis of a result, once an operator checks that all fit.

    That is the number in the set, or a size that is never 1. Of sizes that are 1 together none is stretched by another:
    they are equal.
    """
    if not isinstance(size, Symbol) or size.key[0] != "broadcast":
        return size
    numbers = [part for part in size.key[1:] if isinstance(part, int)]
    if numbers:
        return numbers[0] if len(numbers) == 1 else size
    symbols = [part for part in size.key[1:] if isinstance(part, Symbol)]
    unstretched = never_1(size)
    if unstretched:
        return unstretched[0] if len(unstretched) == 1 else size
    ones = {part.one for part in symbols}
    return min(symbols, key=lambda part: (part is not part.one, part.number)) if len(ones) == 1 else size


def never_1(size: Size) -> list[Symbol]:
    """Return the operands' sizes of a broadcast axis that are never 1: the result has each of them where they fit."""
    return [part for part in broadcast_parts(size) if isinstance(part, Symbol) and part.is_never_1]


@lru_cache(maxsize=1 << 8)
def result_sizes(sizes: Sizes) -> Sizes:
    """Return the shape of a result wherever its own node finds that the sizes fit: most values have one of a few."""
    return tuple(map(result_size, sizes))


def clashing(size: Size) -> bool:
    """Whether an axis has two different numbers: no run is possible."""
    return (
        isinstance(size, Symbol) and size.key[0] == "broadcast" and sum(isinstance(part, int) for part in size.key) > 1
    )


def right_aligned(sizes: Sizes, rank: int) -> Sizes:
    """Put ones in front of a shape: `[c] -> [1,1,c]`."""
    return (1,) * (rank - len(sizes)) + sizes
