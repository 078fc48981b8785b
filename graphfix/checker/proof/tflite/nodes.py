"""What each TFLite operator computes that reads its operands by maps, and what it is beside them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphfix.checker.proof import broadcast
from graphfix.checker.proof.terms import View, whole
from graphfix.checker.proof.tflite.shapes import shaped
from graphfix.checker.proof.tflite.table import CHOOSING, EACH, UNARY

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from graphfix.checker.files.tflite.file import Quantization, Tensor
    from graphfix.checker.proof.tflite.views import Step

PLANE = 2
"""The trailing axes that a transform acts on."""
ALIKE = {"SELECT": "SELECT", "SELECT_V2": "SELECT", "REAL": "REAL", "RFFT2D": "RFFT2D"}
"""Operators whose options have no fields, by what they compute once their operands' maps are told."""


def read(step: Step) -> View | None:
    """Give the result of an operator that reads its operands by maps; None where it reads them exactly."""
    given = [view for view in step.views if view is not None]
    key = _key(step)
    if not given or len(given) < len(step.views) or key is None:
        return None
    if step.operator.name in CHOOSING and not shaped(step, given):
        return None
    return _broadcast(step, key, given)


def _broadcast(step: Step, key: tuple[object, ...], views: Sequence[View]) -> View | None:
    name = step.operator.name
    if name in EACH:
        return broadcast.elementwise(step.table, key, views, step.told)
    if name in UNARY and len(views) == 1:
        return broadcast.unary(step.table, key, views[0], step.told)
    count, rule = OWN.get(name, (0, None))
    return rule(step, key, views) if rule is not None and len(views) == count else None


def _select(step: Step, key: tuple[object, ...], views: Sequence[View]) -> View | None:
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
    return broadcast.aligned(step.table, key, uses, one.sizes, step.told)


def kind(step: Step) -> tuple[object, ...]:
    """Name an operator with its options; a CAST of complex numbers to floats takes the real part."""
    operand, name = step.inputs[0] if step.inputs else None, step.operator.name
    if name == "CAST" and step.result.dtype == "float32" and operand is not None and operand.dtype == "complex64":
        return ("REAL",)
    return (ALIKE[name],) if name in ALIKE else (step.operator.key, step.operator.version)


def _key(step: Step) -> tuple[object, ...] | None:
    """What an operator is, beside its operands' elements; None where an axis of scales is followed by no axis."""
    parameters = []
    for tensor, view in zip(step.inputs, step.views, strict=True):
        if tensor is None or view is None:
            return None
        told = quantized(tensor.quantization, view)
        if (
            tensor.quantization is not None
            and tensor.quantization.axis is not None
            and (told is None or not isinstance(told[1], int))
        ):
            return None
        parameters.append((tensor.dtype, told))
    if step.result.quantization is not None and step.result.quantization.axis is not None:
        return None
    return (*kind(step), tuple(parameters), type_of(step.result))


def quantized(quantization: Quantization | None, view: View | None) -> tuple[object, object] | None:
    """Give the parameters, and the core's axis that the scales follow: a lift does not change it."""
    if quantization is None:
        return None
    axis = quantization.axis
    if axis is None:
        return quantization.key, None
    follows = view.axes[axis] if view is not None and view.axes is not None and 0 <= axis < len(view.axes) else None
    return quantization.key, ("stated", axis) if follows is None else follows


def keeps_quantization(step: Step) -> bool:
    """Whether the result is quantized as operand 0 is, by whichever axis follows the same axis of the core."""
    tensor = step.inputs[0] if step.inputs else None
    ours = None if tensor is None else tensor.quantization
    theirs = step.result.quantization
    if ours is None or theirs is None:
        return ours is theirs
    return ours.key == theirs.key and ours.axis is None and theirs.axis is None


def type_of(tensor: Tensor) -> tuple[object, ...]:
    """Give the type of a tensor, and how it is quantized."""
    quantization = tensor.quantization
    return tensor.dtype, None if quantization is None else (quantization.key, quantization.axis)


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
    return broadcast.product(step.table, key, (views[0], views[1]), step.told, outer=outer)


def onto(step: Step, key: tuple[object, ...], views: Sequence[View]) -> View | None:
    """PRELU: alpha broadcasts onto operand 0."""
    return broadcast.onto(step.table, key, views[0], views[1:], step.told)


OWN: Mapping[str, tuple[int, Callable[[Step, tuple[object, ...], Sequence[View]], View | None]]] = {
    "PRELU": (2, onto),
    "SELECT": (3, _select),
    "BATCH_MATMUL": (2, multiplied),
    "RFFT2D": (2, transformed),
}
"""Operators with rules of their own, and how many operands they have."""
