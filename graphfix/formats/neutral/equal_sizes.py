"""Merge sizes of inputs that the user states to be equal (`--same a=b`) into groups, for both formats.

A label identifies a free size: it is the size's symbol in the file, or `name[axis]` if the file has no symbol there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TypeAlias

from graphfix.results import GraphfixError
from graphfix.results.records import dataclass
from graphfix.shapes.dim import Dim, Parts, Size, bounds
from graphfix.shapes.terms import Terms

Same = Sequence[Sequence[str]]
"""The statements of the user.

Each statement is the list of its members as they were written, such as `x[0]` or `batch`.
"""
Member: TypeAlias = str | tuple[str, ...]
"""A size as it was written, or the parts of a sum of sizes: `past+seq` is `("past", "seq")`."""


@dataclass(frozen=True, slots=True)
class Sum:
    """A sum of free sizes and a number."""

    labels: tuple[str, ...]
    number: int

    def size(self, terms: Terms, size_of: Callable[[str], Size]) -> Size:
        """Return the sum as a size of the view. `size_of` returns the size of a label."""
        return terms.add(self.number, *map(size_of, self.labels))


NO_SUMS: Mapping[str, Sum] = MappingProxyType({})
Group: TypeAlias = dict[int | str | Sum, None]
"""Sizes that are equal: any number of labels, and at most one number or sum. The keys are the sizes."""


def member(text: str, size_names: Container[str]) -> Member:
    """Return a member of a statement: for a sum such as `past+seq` its parts `("past", "seq")`, else the text itself.

    A text with a `+` is not a sum if it is itself in `size_names`, or if a part is empty.
    """
    parts = tuple(part.strip() for part in text.split("+"))
    return parts if len(parts) > 1 and all(parts) and text not in size_names else text


def groups(where: str, same: Sequence[Sequence[Member]], size_of: Callable[[str], int | str]) -> list[Group]:
    """Return the groups of equal sizes. Statements that have a size in common are merged.

    `size_of` returns the size that the file declares for a member: a number, or a label. It raises GraphfixError for an
    unknown member. `where` begins the error messages.

    Raises GraphfixError if a group has two different numbers, two sums, or a number and a sum. It is also raised if a
    part of a sum is itself equal to a sum.
    """
    found: list[Group] = []
    for members in same:
        merged: Group = {_sized(each, size_of): None for each in members}
        apart = []
        for group in found:
            if group.keys() & merged.keys():
                merged = {**group, **merged}
            else:
                apart.append(group)
        numbers = [size for size in merged if not isinstance(size, str)]
        if len(numbers) > 1:
            sums = any(isinstance(size, Sum) for size in numbers)
            unequal = f"{numbers[0]} and {numbers[1]} are not equal; leave it out"
            why = "sums are not solved: bind what they are of" if sums else unequal
            raise GraphfixError(f"{where}: {text(members)}: {why}")
        found = [*apart, merged]
    summed = {label for group in found if any(isinstance(size, Sum) for size in group) for label in group}
    for size in (size for group in found for size in group):
        if isinstance(size, Sum) and not summed.isdisjoint(size.labels):
            raise GraphfixError(
                f"{where}: --same ...={'+'.join(size.labels)}: a part of a sum is a sum itself; write out what it is of"
            )
    return found


def _sized(member: Member, size_of: Callable[[str], int | str]) -> int | str | Sum:
    """Return the size of a member: a number, a label, or a Sum if the member is a sum with labels."""
    if isinstance(member, str):
        return size_of(member)
    sizes = [int(part) if re.fullmatch(r"\d{1,19}", part) else size_of(part) for part in member]
    number = sum(size for size in sizes if isinstance(size, int))
    labels = tuple(sorted(size for size in sizes if isinstance(size, str)))
    return Sum(labels, number) if labels else number


def text(members: Iterable[Member]) -> str:
    """Return a statement as the command-line option: `--same a=b`."""
    return f"--same {'='.join(each if isinstance(each, str) else '+'.join(each) for each in members)}"


def place(member: str) -> tuple[str, int] | None:
    """Return the input's name and the axis that a text `name[axis]` contains; None for any other text."""
    match = re.fullmatch(r"(.+)\[(\d{1,19})\]", member, re.DOTALL)
    return None if match is None else (match[1], int(match[2]))


def met(where: str, labels: Iterable[str], ranges: Mapping[str, Size], name: Parts) -> Size:
    """Return one size with the name `name`, whose range is the intersection of the ranges of all labels.

    Raises GraphfixError if the ranges have no size in common.
    """
    listed = list(labels)
    lows, highs = zip(*(bounds(ranges.get(label, Dim())) for label in listed), strict=True)
    low, high = max(lows), min((high for high in highs if high is not None), default=None)
    if high is not None and high < low:
        raise GraphfixError(
            f"{where}: {text(listed)}: their ranges have no size in common; give one range for all of them"
        )
    return Dim(name, low, high)


def assumed(same: Same) -> Iterator[str]:
    """Yield a sentence for each statement: the sizes that are assumed to be equal."""
    return (f"the sizes {', '.join(members)} are equal (--same)" for members in same)
