"""Sizes of a file's inputs that are stated to be equal: which labels are one size, and which of those are numbers.

A label is the symbol that a size is declared with, or `name[axis]` where there is none.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from graphfix.checker.files.binding_error import BindingError
from graphfix.results.records import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from graphfix.checker.files.pair import Pair

    Size = int | str
    Sum = tuple[int | str, ...]
    """What a size is the sum of: a number, and labels."""
    Inputs = Mapping[str, tuple[Size, ...] | None]
    """By input: its sizes as numbers and labels; None where the rank is not known."""

UNEQUAL = "can't be equal, or are not solved; bind them by --dim or --shape"
_PLACE = r"(.+)\[(\d{1,19})\]"
_NUMBER = r"\d{1,19}"


@dataclass(frozen=True, slots=True)
class EqualSizes:
    """What follows from sizes that are stated to be equal."""

    names: Mapping[str, str] = field(default_factory=dict)
    """By label: the one that stands for all that are equal to it."""
    numbers: Mapping[str, int] = field(default_factory=dict)
    """By label: the number that one of its equals is."""
    sums: Mapping[str, tuple[Size, ...]] = field(default_factory=dict)
    """By label that stands for others: the numbers, and labels that stand for others, that it is the sum of."""


NONE_EQUAL = EqualSizes()


def equal_sizes(pair: Pair, inputs: Inputs) -> EqualSizes:
    """Merge the groups of equal sizes that a pair states of these inputs, under the sizes that it gives.

    Raises GraphfixError for a member that no input has, and for members that are two numbers.
    """
    if not pair.same:
        return NONE_EQUAL
    given = _given(inputs, pair)
    groups: list[dict[Size | Sum, None]] = []
    for members in pair.same:
        found = [_member(member, inputs, pair.shapes, given) for member in members]
        merged = {number_sizes: None for size in found for number_sizes in (given.get(size, size), size)}
        apart = []
        for group in groups:
            if group.keys() & merged.keys():
                merged = group | merged
            else:
                apart.append(group)
        known = [size for size in merged if not isinstance(size, str)]
        if len(known) > 1:
            raise BindingError(f"--same {'='.join(members)}: {known[0]} and {known[1]} {UNEQUAL}")
        groups = [*apart, merged]
    names: dict[str, str] = {}
    numbers: dict[str, int] = {}
    for group in groups:
        labels = [size for size in group if isinstance(size, str)]
        names |= dict.fromkeys(labels, labels[0] if labels else "")
        numbers |= {label: size for size in group if isinstance(size, int) for label in labels}
    sums = {
        names[label]: total
        for group in groups
        for total in group
        if isinstance(total, tuple)
        for label in group
        if isinstance(label, str)
    }
    parts = {
        label: tuple(numbers.get(str(part), names.get(str(part), part)) for part in total)
        for label, total in sums.items()
    }
    _refuse_nested(parts)
    return EqualSizes(names, numbers, parts)


def _refuse_nested(sums: Mapping[str, tuple[int | str, ...]]) -> None:
    """Raise BindingError where a part of a sum is a sum."""
    for total in sums.values():
        if any(part in sums for part in total):
            said = "+".join(map(str, total))
            raise BindingError(f"--same ...={said}: a part of a sum is a sum itself; write out what it is of")


def stated(same: Sequence[Sequence[str]]) -> list[str]:
    """Return the assumption that each statement is."""
    return [f"the sizes {', '.join(members)} are equal (--same)" for members in same]


def _member(
    member: str, inputs: Inputs, shapes: Mapping[str, Sequence[int]], given: Mapping[Size | Sum, Size]
) -> Size | Sum:
    """Return the size that a member of a statement names, or the parts of a sum: `past+seq`."""
    parts = [part.strip() for part in member.split("+")]
    is_symbol = any(member in (dims or ()) for dims in inputs.values())
    place = re.fullmatch(_PLACE, member, re.DOTALL)
    if is_symbol or len(parts) == 1 or not all(parts) or (place is not None and place[1] in inputs):
        return _size(member, inputs, shapes)
    sizes = [int(part) if re.fullmatch(_NUMBER, part) else _size(part, inputs, shapes) for part in parts]
    sizes = [given.get(size, size) for size in sizes]
    number = sum(size for size in sizes if isinstance(size, int))
    labels = sorted(size for size in sizes if isinstance(size, str))
    return (number, *labels) if labels else number


def _given(inputs: Inputs, pair: Pair) -> dict[Size | Sum, Size]:
    """Return the numbers that labels are asked to be."""
    given: dict[Size | Sum, Size] = {}
    for name, dims in inputs.items():
        for axis, size in enumerate(dims or ()):
            given_shape = pair.shapes.get(name, ())
            asked = (
                given_shape[axis]
                if axis < len(given_shape)
                else pair.bindings.get(str(size), pair.bindings.get(f"{name}[{axis}]"))
            )
            if isinstance(size, str) and asked is not None:
                given.setdefault(size, asked)
    return given


def _size(member: str, inputs: Inputs, shapes: Mapping[str, Sequence[int]]) -> Size:
    """Return the size that a member of a statement names: a symbol, or an axis of an input."""
    if any(member in (dims or ()) for dims in inputs.values()):
        return member
    place = re.fullmatch(_PLACE, member, re.DOTALL)
    if place is None or place[1] not in inputs:
        input_names = ", ".join(inputs) or "none"
        raise BindingError(
            f"--same {member}: neither a symbol of the inputs nor an axis of one; the inputs are: {input_names}"
        )
    dims = inputs[place[1]]
    if dims is None:
        dims = tuple(shapes.get(place[1], ())) or None
    if dims is None:
        raise BindingError(f"--same {member}: the rank of '{place[1]}' is not known; give its --shape")
    if int(place[2]) >= len(dims):
        raise BindingError(f"--same {member}: '{place[1]}' has {len(dims)} axes, numbered from 0")
    return dims[int(place[2])]
