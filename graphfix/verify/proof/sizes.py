"""Sizes of axes as terms: a number, or a symbol that is one object wherever the same term is met."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias


class Symbol:
    """A size (or an element of a computed shape) that is known only at run time: equal terms are one object."""

    __slots__ = ("key", "number", "told")

    def __init__(self, key: tuple[object, ...], number: int, told: str) -> None:
        """Keep what the symbol stands for, and how it is printed."""
        self.key, self.number, self.told = key, number, told

    def __repr__(self) -> str:
        """Print the symbol as a report shows it."""
        return self.told


Size: TypeAlias = int | Symbol
Sizes: TypeAlias = tuple[Size, ...]


@dataclass(slots=True, eq=False)
class Algebra:
    """All symbols of one proof: both files share them."""

    known: dict[tuple[object, ...], Symbol] = field(default_factory=dict)
    shapes: dict[tuple[Sizes, Sizes], Sizes] = field(default_factory=dict)
    """What two shapes give when they meet: most nodes of a model are alike."""

    def symbol(self, key: tuple[object, ...], told: str = "") -> Symbol:
        """Give the symbol of a term, the same object each time."""
        found = self.known.get(key)
        if found is None:
            found = self.known[key] = Symbol(key, len(self.known), told or f"s{len(self.known)}")
        return found

    def met(self, sizes: Sizes) -> Size:
        """Give the size that an axis has where operands of these sizes meet in it, by numpy's rule.

        Ones give way. What is left is one term for the set of all that meet, however it was nested: also beside a
        number, which is then the size, the symbols stay, because the operands fit only where each is 1 or that number.
        """
        parts: set[Size] = set()
        for size in sizes:
            if isinstance(size, Symbol) and size.key[0] == "met":
                parts.update(part for part in size.key[1:] if isinstance(part, (int, Symbol)))
            else:
                parts.add(size)
        parts.discard(1)
        if len(parts) <= 1:
            return parts.pop() if parts else 1
        ordered = sorted(parts, key=_order)
        return self.symbol(("met", *ordered), f"bc{{{','.join(map(repr, ordered))}}}")

    def shape(self, one: Sizes, two: Sizes) -> Sizes:
        """Give the shape in which two meet, right-aligned."""
        found = self.shapes.get((one, two))
        if found is None:
            rank = max(len(one), len(two))
            pairs = zip(right_aligned(one, rank), right_aligned(two, rank), strict=True)
            found = self.shapes[one, two] = tuple(self.met(pair) for pair in pairs)
        return found


def _order(size: Size) -> tuple[bool, int]:
    return (True, size.number) if isinstance(size, Symbol) else (False, size)


def settled(size: Size) -> Size:
    """Give the size of an axis of a result: the number that met, once an operator was there to see that all fit."""
    if not isinstance(size, Symbol) or size.key[0] != "met":
        return size
    numbers = [part for part in size.key[1:] if isinstance(part, int)]
    return numbers[0] if len(numbers) == 1 else size


def right_aligned(sizes: Sizes, rank: int) -> Sizes:
    """Put ones in front of a shape: `[c] -> [1,1,c]`."""
    return (1,) * (rank - len(sizes)) + sizes
