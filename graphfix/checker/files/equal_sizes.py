"""Sizes of a file's inputs that are stated to be equal: which labels are one size, and which of those are numbers.

A label is the symbol that a size is declared with, or `name[axis]` where there is none.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from graphfix.results import GraphfixError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Size = int | str
    Inputs = Mapping[str, tuple[Size, ...] | None]
    """By input: its sizes as numbers and labels; None where the rank is not known."""


@dataclass(frozen=True, slots=True)
class EqualSizes:
    """What follows from sizes that are stated to be equal."""

    names: Mapping[str, str] = field(default_factory=dict)
    """By label: the one that stands for all that are equal to it."""
    numbers: Mapping[str, int] = field(default_factory=dict)
    """By label: the number that one of its equals is."""


NONE_EQUAL = EqualSizes()


def equal_sizes(
    same: Sequence[Sequence[str]],
    inputs: Inputs,
    bindings: Mapping[str, int],
    shapes: Mapping[str, Sequence[int]],
) -> EqualSizes:
    """Merge what is stated of the sizes of these inputs, under given sizes of some of them.

    Raises GraphfixError for a member that no input has, and for members that are two numbers.
    """
    if not same:
        return NONE_EQUAL
    given = _given(inputs, bindings, shapes)
    groups: list[dict[Size, None]] = []
    for members in same:
        found = [_size(member, inputs, shapes) for member in members]
        merged = dict.fromkeys(given.get(size, size) for size in found) | dict.fromkeys(found)
        apart = []
        for group in groups:
            if group.keys() & merged.keys():
                merged = group | merged
            else:
                apart.append(group)
        numbers = sorted(size for size in merged if isinstance(size, int))
        if len(numbers) > 1:
            raise GraphfixError(
                f"--same {'='.join(members)}: sizes that are {numbers[0]} and {numbers[1]} can't be equal"
            )
        groups = [*apart, merged]
    names: dict[str, str] = {}
    known: dict[str, int] = {}
    for group in groups:
        labels = [size for size in group if isinstance(size, str)]
        names |= dict.fromkeys(labels, labels[0] if labels else "")
        known |= {label: size for size in group if isinstance(size, int) for label in labels}
    return EqualSizes(names, known)


def stated(same: Sequence[Sequence[str]]) -> list[str]:
    """Return the assumption that each statement is."""
    return [f"the sizes {', '.join(members)} are equal (--same)" for members in same]


def _given(inputs: Inputs, bindings: Mapping[str, int], shapes: Mapping[str, Sequence[int]]) -> dict[Size, Size]:
    """Return the numbers that labels are asked to be."""
    given: dict[Size, Size] = {}
    for name, dims in inputs.items():
        for axis, size in enumerate(dims or ()):
            whole = shapes.get(name, ())
            asked = whole[axis] if axis < len(whole) else bindings.get(str(size), bindings.get(f"{name}[{axis}]"))
            if isinstance(size, str) and asked is not None:
                given.setdefault(size, asked)
    return given


def _size(member: str, inputs: Inputs, shapes: Mapping[str, Sequence[int]]) -> Size:
    """Return the size that a member of a statement names: a symbol, or an axis of an input."""
    if any(member in (dims or ()) for dims in inputs.values()):
        return member
    place = re.fullmatch(r"(.+)\[(\d+)\]", member, re.DOTALL)
    if place is None or place[1] not in inputs:
        known = ", ".join(inputs) or "none"
        raise GraphfixError(
            f"--same {member}: neither a symbol of the inputs nor an axis of one; the inputs are: {known}"
        )
    dims = inputs[place[1]]
    if dims is None:
        dims = tuple(shapes.get(place[1], ())) or None
    if dims is None:
        raise GraphfixError(f"--same {member}: the rank of '{place[1]}' is not known; give its --shape")
    if int(place[2]) >= len(dims):
        raise GraphfixError(f"--same {member}: '{place[1]}' has {len(dims)} axes, numbered from 0")
    return dims[int(place[2])]
