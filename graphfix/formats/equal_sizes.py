"""Sizes of inputs that are stated to be equal (`--same`): merged into groups, the same for both formats.

A label names a free size: the symbol that it is declared with, or `name[axis]` where there is none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from graphfix.results import GraphfixError
from graphfix.shapes.dim import Dim, Parts, Size, bounds

Same = Sequence[Sequence[str]]
"""Each statement: its members, as they were written."""


def groups(where: str, same: Same, size_of: Callable[[str], int | str]) -> list[dict[int | str, None]]:
    """The sizes that are one: labels, and at most one number. Raises GraphfixError where members are two numbers.

    `size_of`: what the file has for a member, a number or a label. It raises GraphfixError for an unknown one.
    """
    found: list[dict[int | str, None]] = []
    for members in same:
        merged = dict.fromkeys(map(size_of, members))
        apart = []
        for group in found:
            if group.keys() & merged.keys():
                merged = {**group, **merged}
            else:
                apart.append(group)
        numbers = [size for size in merged if isinstance(size, int)]
        if len(numbers) > 1:
            raise GraphfixError(f"{where}: {text(members)}: {numbers[0]} and {numbers[1]} are not equal")
        found = [*apart, merged]
    return found


def text(members: Sequence[str]) -> str:
    """The statement as an option."""
    return f"--same {'='.join(members)}"


def place(member: str) -> tuple[str, int] | None:
    """The input and the axis that `name[axis]` says; None for another text."""
    match = re.fullmatch(r"(.+)\[(\d+)\]", member, re.DOTALL)
    return None if match is None else (match[1], int(match[2]))


def met(where: str, labels: Iterable[str], ranges: Mapping[str, Size], name: Parts) -> Size:
    """One size of this name, in the range that is left where the labels have ranges. Raises GraphfixError."""
    listed = list(labels)
    lows, highs = zip(*(bounds(ranges.get(label, Dim())) for label in listed), strict=True)
    low, high = max(lows), min((high for high in highs if high is not None), default=None)
    if high is not None and high < low:
        raise GraphfixError(f"{where}: {text(listed)}: their ranges have no size in common")
    return Dim(name, low, high)


def assumed(same: Same) -> Iterator[str]:
    """What is assumed by each statement."""
    return (f"the sizes {', '.join(members)} are equal (--same)" for members in same)
