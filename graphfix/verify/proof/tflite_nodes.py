"""TFLite operators with rules of their own; what the schema has twice, or at one rank only, is one term."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphfix.verify.proof import meeting
from graphfix.verify.proof.terms import View, whole

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from graphfix.verify.proof.tflite_views import Step

PLANE = 2
"""The trailing axes that a transform acts on."""


ALIKE = {"SELECT": "SELECT", "SELECT_V2": "SELECT", "REAL": "REAL", "RFFT2D": "RFFT2D"}
"""Operators whose options have no fields, by what they compute once their operands' maps are told."""


def kind(step: Step) -> tuple[object, ...]:
    """Name an operator with its options; a CAST of complex numbers to floats takes the real part."""
    operand, name = step.inputs[0] if step.inputs else None, step.operator.name
    if name == "CAST" and step.result.dtype == "float32" and operand is not None and operand.dtype == "complex64":
        return ("REAL",)
    return (ALIKE[name],) if name in ALIKE else step.operator.key


def select(step: Step, key: tuple[object, ...], views: Sequence[View]) -> View | None:
    """SELECT: the condition is a scalar, has the shape of the others, or follows their axis 0."""
    condition, one, two = views
    if condition.sizes is None or condition.axes is None or one.sizes is None or one.sizes != two.sizes:
        return None
    rank = len(one.sizes)
    if condition.sizes == one.sizes or not condition.sizes:
        axes = (None,) * (rank - len(condition.axes)) + condition.axes
    elif len(condition.sizes) == 1 and rank > 1 and condition.sizes[0] == one.sizes[0]:
        axes = (*condition.axes, *(None,) * (rank - 1))
    else:
        return None
    uses = [(condition.core, axes), (one.core, one.axes or ()), (two.core, two.axes or ())]
    return meeting.aligned(step.table, key, uses, one.sizes, step.told)


def transformed(step: Step, key: tuple[object, ...], views: Sequence[View]) -> View | None:
    """RFFT2D: each plane of the last two axes alone, so that axes of size 1 in front are axes of the view.

    The result's last two sizes are the lengths that are asked for, n and m // 2 + 1.
    """
    data, lengths = views
    wanted = step.numbers(1)
    if data.axes is None or data.sizes is None or len(data.sizes) <= PLANE or wanted is None or len(wanted) != PLANE:
        return None
    batch = len(data.sizes) - PLANE
    kept = [axis for axis in range(len(data.sizes)) if axis >= batch or data.sizes[axis] != 1]
    plain = View(data.core, tuple(data.axes[axis] for axis in kept), tuple(data.sizes[axis] for axis in kept))
    sizes = (*plain.sizes[:-PLANE], wanted[0], wanted[1] // 2 + 1) if plain.sizes else ()
    result = whole(step.table.result(("planes", *key, plain, lengths), step.told, sizes).core)
    places = {axis: place for place, axis in enumerate(kept)}
    followed = tuple((result.axes or ())[places[axis]] if axis in places else None for axis in range(batch + PLANE))
    shape = tuple(sizes[places[axis]] if axis in places else 1 for axis in range(batch + PLANE))
    return View(result.core, followed, shape)


def multiplied(step: Step, key: tuple[object, ...], views: Sequence[View]) -> View | None:
    """BATCH_MATMUL: batch axes meet, right-aligned."""
    outer = (-1 if step.option("adjX") else -2, -2 if step.option("adjY") else -1)
    return meeting.product(step.table, key, (views[0], views[1]), (), step.told, outer=outer)


def onto(step: Step, key: tuple[object, ...], views: Sequence[View]) -> View | None:
    """PRELU: alpha broadcasts onto operand 0."""
    return meeting.onto(step.table, key, views[0], views[1:], step.told)


OWN: Mapping[str, tuple[int, Callable[[Step, tuple[object, ...], Sequence[View]], View | None]]] = {
    "PRELU": (2, onto),
    "SELECT": (3, select),
    "BATCH_MATMUL": (2, multiplied),
    "RFFT2D": (2, transformed),
}
"""Operators with rules of their own, and how many operands they have."""
