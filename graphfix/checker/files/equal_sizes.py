"""Sizes of a file's inputs that the user states to be equal (`--same`): groups of equal labels, and their numbers.

A label is the symbol by which the file declares a size. A size without a symbol has the label `name[axis]`.
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
    """A sum of sizes: its constant part (0 if there is none), then the labels of its other parts."""
    Inputs = Mapping[str, tuple[Size, ...] | None]
    """For each input, its sizes as numbers and labels; None if the rank of the input is unknown."""

UNEQUAL = "can't be equal, or are not solved; bind them by --dim or --shape"
_PLACE = r"(.+)\[(\d{1,19})\]"
_NUMBER = r"\d{1,19}"


@dataclass(frozen=True, slots=True)
class EqualSizes:
    """The conclusions from the sizes that the user states to be equal. A group is a set of equal labels."""

    names: Mapping[str, str] = field(default_factory=dict)
    """For each label of a group, the group's representative: the first label of the group."""
    numbers: Mapping[str, int] = field(default_factory=dict)
    """For each label whose group contains a number, that number."""
    sums: Mapping[str, tuple[Size, ...]] = field(default_factory=dict)
    """For each representative whose group contains a sum, the parts of that sum.

    A part is a number, a representative, or a label without a group.
    """


NONE_EQUAL = EqualSizes()


def equal_sizes(pair: Pair, inputs: Inputs) -> EqualSizes:
    """Merge the groups of equal sizes that `pair.same` states into one result, using the numbers that the pair binds.

    Raises BindingError if a member of a group is not a size of an input, or if a group contains more than one number or
    sum. The same error is raised if a part of a sum is a sum.
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
    """Raise BindingError if a part of a sum is itself equal to a sum."""
    for total in sums.values():
        if any(part in sums for part in total):
            said = "+".join(map(str, total))
            raise BindingError(f"--same ...={said}: a part of a sum is a sum itself; write out what it is of")


def stated(same: Sequence[Sequence[str]]) -> list[str]:
    """Return a line for each group of equal sizes, as the assumption that the proof reports."""
    return [f"the sizes {', '.join(members)} are equal (--same)" for members in same]


def _member(
    member: str, inputs: Inputs, shapes: Mapping[str, Sequence[int]], given: Mapping[Size | Sum, Size]
) -> Size | Sum:
    """Return the size that a member of a group refers to.

    The result is a number, a label, or a sum. A sum such as `past+seq` contains its constant part and then its labels,
    sorted. If all parts have numbers, the result is their sum as a number.
    """
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
    """Return the number that the pair binds each label to, by `shapes` or else by `bindings`."""
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
    """Return the label or number that `member` refers to: a symbol of the inputs, or an axis such as `name[0]`.

    Raises BindingError if no input has this symbol or axis, or if the input's rank is unknown and `shapes` lacks the
    input.
    """
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
