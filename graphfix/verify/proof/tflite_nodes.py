"""What each TFLite operator computes that reads its operands by maps, and what it is beside them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphfix.verify.proof import meeting
from graphfix.verify.proof.tflite_ops import EACH, UNARY

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphfix.verify.proof.terms import View
    from graphfix.verify.proof.tflite_file import Quantization, Tensor
    from graphfix.verify.proof.tflite_views import Step

MATRIX = 2
CHOOSING = frozenset({"SELECT", "SELECT_V2"})
SELECTING = 3
"""Operands of SELECT."""


def read(step: Step) -> View | None:
    """Give the result of an operator that reads its operands by maps; None where it reads them exactly."""
    given = [view for view in step.views if view is not None]
    key = _key(step)
    if not given or len(given) < len(step.views) or key is None:
        return None
    if step.operator.name in CHOOSING and not _shaped(step, given):
        return None
    return _broadcast(step, key, given)


def _broadcast(step: Step, key: tuple[object, ...], views: Sequence[View]) -> View | None:
    name = step.operator.name
    if name in EACH:
        return meeting.elementwise(step.table, key, views, step.told)
    if name in UNARY and len(views) == 1:
        return meeting.unary(step.table, key, views[0], step.told)
    if name == "PRELU" and len(views) == MATRIX:
        return meeting.onto(step.table, key, views[0], views[1:], step.told)
    if name == "SELECT" and len(views) == SELECTING:
        return _select(step, key, views)
    if name == "BATCH_MATMUL" and len(views) == MATRIX:
        outer = (-1 if step.option("adjX") else -2, -2 if step.option("adjY") else -1)
        return meeting.product(step.table, key, (views[0], views[1]), step.told, outer=outer)
    return None


def _shaped(step: Step, views: Sequence[View]) -> bool:
    """Whether SELECT's operands give its result's shape: of one element each, the kernel keeps the stored shape."""
    shapes = [view.sizes for view in views]
    if any(isinstance(size, int) and size != 1 for sizes in shapes for size in sizes or ()):
        return True
    return None not in shapes and max(len(sizes or ()) for sizes in shapes) == len(step.result.stored)


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
    return meeting.aligned(step.table, key, uses, one.sizes, step.told)


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
    return (step.operator.key, step.operator.version, tuple(parameters), type_of(step.result))


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
