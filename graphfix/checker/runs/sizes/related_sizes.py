"""Apply relations between the sizes of a model's inputs, which its operators require, to the free sizes of the runs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from graphfix.results.records import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from graphfix.checker.runs.sizes.free_sizes import Free


@dataclass(frozen=True, slots=True)
class Relations:
    """How the sizes of a model's inputs depend on one another. Sizes are identified by labels."""

    numbers: Mapping[str, int] = field(default_factory=dict)
    """Label -> the only size that the model accepts for it."""
    equal: Sequence[tuple[str, str]] = ()
    """Pairs of labels with the same size."""
    sums: Mapping[str, Sequence[int | str]] = field(default_factory=dict)
    """Label -> the terms whose sum is its size."""
    cases: Sequence[Mapping[str, int]] = ()
    """Partial assignments of sizes. The model accepts only sizes that include at least one of them."""


def related(free: Free, relations: Relations) -> Free:
    """Return the free sizes with these relations applied. Sizes from the user are not changed."""
    for one, other in relations.equal:
        free = _with_same(free, one, other)
    for label, size in relations.numbers.items():
        free = _with_number(free, label, size)
    for label, parts in relations.sums.items():
        free = _with_sum(free, label, parts)
    cases = [{free.equal.get(label, label): size for label, size in case.items()} for case in relations.cases]
    fitting = [case for case in cases if _allows(free, case)]
    is_met = any(free.given.keys() >= case.keys() for case in fitting)
    return replace(free, cases=() if is_met else fitting)


def _allows(free: Free, case: Mapping[str, int]) -> bool:
    """Return whether a case is consistent with the sizes that are fixed already, the sums and the ranges."""
    return all(
        label not in free.sums and free.given.get(label, size) == size and free.within_range(label, size) == size
        for label, size in case.items()
    )


def _with_same(free: Free, one: str, other: str) -> Free:
    """Return the free sizes with two labels made equal. If both are free, label `one` remains."""
    one, other = free.equal.get(one, one), free.equal.get(other, other)
    if one == other:
        return free
    if one in free.given or other in free.given:
        given, unknown = (one, other) if one in free.given else (other, one)
        return _with_number(free, unknown, free.given[given])
    if one not in free.labels or other not in free.labels:
        return free
    equal = {label: one if same == other else same for label, same in free.equal.items()}
    leading = free.leading | ({one} if other in free.leading else set())
    return replace(free, labels=_without(free, other), leading=leading, equal={**equal, other: one})


def _with_number(free: Free, label: str, size: int) -> Free:
    """Return the free sizes with a label fixed to a size; unchanged if the label is not free."""
    label = free.equal.get(label, label)
    if label not in free.labels:
        return free
    return replace(free, labels=_without(free, label), given={**free.given, label: size})


def _with_sum(free: Free, label: str, parts: Sequence[int | str]) -> Free:
    """Return the free sizes with a label made a sum of `parts`.

    If the size of the sum itself is fixed already, the first free term gets the remaining size and each other free term
    1.
    """
    label = free.equal.get(label, label)
    own = [free.equal.get(part, part) if isinstance(part, str) else part for part in parts]
    if label in free.given:
        return _with_parts(free, free.given[label], own)
    if label not in free.labels or label in own:
        return free
    return replace(free, labels=_without(free, label), sums={**free.sums, label: own})


def _with_parts(free: Free, total: int, parts: Sequence[int | str]) -> Free:
    """Return the free sizes with the free terms of a sum fixed so that the terms add up to `total`."""
    part_sizes = [part if isinstance(part, int) else free.given.get(part) for part in parts]
    unknown = [str(part) for part, size in zip(parts, part_sizes, strict=True) if size is None]
    rest = total - sum(size for size in part_sizes if size is not None)
    for index, label in enumerate(unknown):
        free = _with_number(free, label, 1 if index else max(rest - len(unknown) + 1, 0))
    return free


def _without(free: Free, label: str) -> tuple[str, ...]:
    """Return the free labels except this one."""
    return tuple(each for each in free.labels if each != label)
