"""Sizes of axes as terms: a number, or a symbol. Equal symbols are one object, in both files of a proof."""

from __future__ import annotations

from functools import lru_cache
from math import inf
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from graphfix.results.records import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


_T = TypeVar("_T")


class Symbol:
    """A size, or an element of a computed shape, that is known only at run time. Equal terms are one object.

    `key` is the term: a kind such as "broadcast", then the parts. `number` counts the symbols of a proof from 0.
    """

    __slots__ = ("equally_one", "is_never_1", "is_uninferred", "key", "name", "number")

    def __init__(self, key: tuple[object, ...], number: int, name: str) -> None:
        """Create a symbol: its term, its number among the symbols of the proof, and the name that reports print."""
        self.key, self.number, self.name = key, number, name
        self.equally_one = self
        """A symbol that is 1 exactly where this symbol is 1."""
        self.is_never_1 = False
        """Whether the size is never 1, for any sizes from which it is computed. Twice a batch is an example."""
        self.is_uninferred = False
        """Whether runtimes infer no number for this size, which is inside or behind a Loop.

        Sizes of inputs do not need the mark.
        """

    def __repr__(self) -> str:
        """Return the name, as reports print it."""
        return self.name


Size: TypeAlias = int | Symbol
Sizes: TypeAlias = tuple[Size, ...]
_LONGEST_NAME = 1 << 10
"""Longer names of symbols are replaced by a number. A name contains the names of other symbols, some of them twice."""
Dims: TypeAlias = "tuple[Size | None, ...] | None"
"""The known sizes of a shape: None for an unknown size, and None instead of the tuple if the rank is unknown."""
Place: TypeAlias = tuple[object, ...]
"""Where a node is executed: the bodies around it, from the outermost inwards. () is the main graph, always executed."""


@dataclass(slots=True, eq=False)
class Algebra:
    """All symbols of one proof, which both files share, and the broadcasts of sizes that each file needs to fit."""

    symbols: dict[tuple[object, ...], Symbol] = field(default_factory=dict)
    place: Place = ()
    """The place of the node that is being read."""
    is_first_read: bool = False
    """Whether the first file has been read completely."""
    checks: dict[Symbol, list[Place]] = field(default_factory=dict)
    """The broadcasts of sizes that nodes of the first file need to fit, with the bodies around those nodes."""
    second_checks: dict[tuple[Symbol, Place], None] = field(default_factory=dict)
    """The broadcasts of sizes that nodes of the second file need to fit, each with the bodies around the node."""
    ranges: dict[Symbol, tuple[int, int]] = field(default_factory=dict)
    """The least and the greatest size that the user requested, by the symbol of an input's size."""
    used_ranges: dict[Symbol, None] = field(default_factory=dict)
    """The symbols whose requested range the proof assumes, because a result depends on it."""
    shapes: dict[tuple[Place, bool, tuple[Sizes, ...]], Sizes] = field(default_factory=dict)
    """A cache of `broadcast_shape`, by place, `is_first_read` and shapes. Most nodes of a model are alike."""

    def asked_range(self, symbol: Symbol) -> tuple[float, float]:
        """Return the least and the greatest size that the user requested for a symbol, by default 0 and infinity.

        A requested range is recorded in `used_ranges`, because the proof then assumes it.
        """
        if symbol not in self.ranges:
            return 0, inf
        self.used_ranges[symbol] = None
        return self.ranges[symbol]

    def symbol(self, key: tuple[object, ...], name: str = "") -> Symbol:
        """Return the symbol with the term `key`, creating it if it is new. Equal keys return one object.

        `name` is how a new symbol is printed. A name that is empty or too long is replaced by `s` and a number.
        """
        found = self.symbols.get(key)
        if found is None:
            shown = name if 0 < len(name) <= _LONGEST_NAME else f"s{len(self.symbols)}"
            found = self.symbols[key] = Symbol(key, len(self.symbols), shown)
        return found

    def broadcast_size(self, sizes: Sizes) -> Size:
        """Return the size of an axis over which operands of these sizes are broadcast, by numpy's rule.

        Sizes of 1 are dropped. If several different sizes remain, the result is one symbol for the set of all of them,
        so nesting and order do not matter. A symbol beside a number stays in the set although the number is the
        result's size, because the operands fit only if the symbol is 1 or that number. The place that needs these sizes
        to fit is recorded.
        """
        parts: set[Size] = set()
        for size in sizes:
            parts.update(broadcast_parts(size))
        parts.discard(1)
        if len(parts) <= 1:
            return parts.pop() if parts else 1
        ordered = sorted(parts, key=_order)
        checked = self.symbol(("broadcast", *ordered), f"bc{{{','.join(map(repr, ordered))}}}")
        if self.is_first_read:
            self.second_checks[checked, self.place] = None
        else:
            add_once(self.checks.setdefault(checked, []), self.place)
        return checked

    def unmatched_check(self) -> Symbol | None:
        """Return sizes that only the second file needs to fit, as one symbol; None if there are none.

        With sizes that do not fit, the second file would fail where the first file runs.
        """
        for checked, place in self.second_checks:
            wider = (at for other, at in self.checks.items() if set(checked.key) <= set(other.key))
            if not is_executed_with(self.checks.get(checked, ()), place) and not any(
                is_executed_with(at, place) for at in wider
            ):
                return checked
        return None

    def broadcast_shape(self, *shapes: Sizes) -> Sizes:
        """Return the broadcast of several right-aligned shapes: `[4,1] and [3] -> [4,3]`.

        The place that needs these sizes to fit is recorded, as in `broadcast_size`.
        """
        memo_key = (self.place, self.is_first_read, shapes)
        found = self.shapes.get(memo_key)
        if found is None:
            rank = max(map(len, shapes), default=0)
            columns = zip(*(right_aligned(sizes, rank) for sizes in shapes), strict=True)
            found = self.shapes[memo_key] = tuple(map(self.broadcast_size, columns))
        return found


def broadcast_parts(size: Size) -> Sizes:
    """Return the sizes of which `size` is the broadcast. If `size` is not a broadcast, return `size` alone."""
    if not isinstance(size, Symbol) or size.key[0] != "broadcast":
        return (size,)
    return tuple(part for part in size.key[1:] if isinstance(part, (int, Symbol)))


def all_known(items: Iterable[_T | None]) -> tuple[_T, ...] | None:
    """Return all items as a tuple; None if an item is None."""
    found = tuple(items)
    return None if None in found else found  # type: ignore[return-value]  # none of them is None


def numbers(sizes: Sequence[Size | None] | None) -> tuple[int, ...] | None:
    """Return the sizes if all of them are numbers. Return None if one is a symbol or unknown, or if `sizes` is None."""
    if sizes is None:
        return None
    found = tuple([size for size in sizes if isinstance(size, int)])
    return found if len(found) == len(sizes) else None


def add_once(places: list[Place], place: Place) -> None:
    """Add a place (the bodies around a node) to a list of places, unless the list contains it."""
    if place not in places:
        places.append(place)


def is_executed_with(places: Sequence[Place], place: Place) -> bool:
    """Return whether one of `places` is executed whenever `place` is: `place` itself, or a body around it.

    A place is a tuple of the bodies around a node, from the outermost inwards. () is the main graph.
    """
    return place in places or any(place[: len(other)] == other for other in places)


def _order(size: Size) -> tuple[bool, int]:
    return (True, size.number) if isinstance(size, Symbol) else (False, size)


def result_size(size: Size) -> Size:
    """Return the size that an axis of a result has, provided that an operator checks that its operands fit.

    For a broadcast with one number, this is the number. If exactly one of the symbols is never 1, it is that symbol. If
    all symbols are 1 at the same time and only then, no symbol can stretch another. They are then equal, and one of
    them is returned. In all other cases, and if `size` is not a broadcast, `size` itself is returned.
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
    ones = {part.equally_one for part in symbols}
    return min(symbols, key=lambda part: (part is not part.equally_one, part.number)) if len(ones) == 1 else size


def never_1(size: Size) -> list[Symbol]:
    """Return the sizes in a broadcast that are symbols and never 1.

    Where the operands fit, the result has each of them.
    """
    return [part for part in broadcast_parts(size) if isinstance(part, Symbol) and part.is_never_1]


@lru_cache(maxsize=1 << 8)
def result_sizes(sizes: Sizes) -> Sizes:
    """Return `result_size` of each axis: the shape of a result whose node checks that its operands fit."""
    return tuple(map(result_size, sizes))


def has_clash(size: Size) -> bool:
    """Return whether a broadcast contains two different numbers other than 1, so that no run is possible."""
    return (
        isinstance(size, Symbol) and size.key[0] == "broadcast" and sum(isinstance(part, int) for part in size.key) > 1
    )


def right_aligned(sizes: Sizes, rank: int) -> Sizes:
    """Return a shape with leading unit axes up to the given rank: `[c] -> [1,1,c]`."""
    return (1,) * (rank - len(sizes)) + sizes
