"""Sizes of TFLite results that the file leaves free: those that follow an operand's axis."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from graphfix.verify.proof.arithmetic import span

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from graphfix.verify.proof.sizes import Size, Sizes
    from graphfix.verify.proof.terms import View
    from graphfix.verify.proof.tflite_views import Step

Dims: TypeAlias = "tuple[Size | None, ...] | None"


def refined(step: Step, dims: Dims) -> Dims:
    """Put sizes that the operator's rule tells in the place of those that the file leaves free."""
    if dims is None or None not in dims:
        return dims
    rule = RULES.get(step.operator.name)
    told = rule(step) if rule is not None else None
    if told is None or len(told) != len(dims):
        return dims
    return tuple(other if mine is None else mine for mine, other in zip(dims, told, strict=True))


def shaped(step: Step, views: Sequence[View]) -> bool:
    """Whether SELECT's operands give its result's shape: of one element each, the kernel keeps the stored shape."""
    shapes = [view.sizes for view in views]
    if any(isinstance(size, int) and size != 1 for sizes in shapes for size in sizes or ()):
        return True
    return None not in shapes and max(len(sizes or ()) for sizes in shapes) == len(step.result.stored)


def _sizes(step: Step, index: int) -> Sizes | None:
    view = step.views[index] if index < len(step.views) else None
    return None if view is None else view.sizes


def _same(step: Step) -> Dims:
    return _sizes(step, 0)


def _batch(step: Step) -> Dims:
    """Axis 0 is the operand's."""
    sizes = _sizes(step, 0)
    rank = len(step.result.dims or ())
    return None if not sizes or not rank or len(sizes) != rank else (sizes[0], *(None,) * (rank - 1))


def _reduce(step: Step) -> Dims:
    sizes, axes = _sizes(step, 0), step.numbers(1)
    if sizes is None or axes is None:
        return None
    gone = {axis + len(sizes) if axis < 0 else axis for axis in axes}
    keep = bool(step.option("keepDims"))
    return tuple(1 if axis in gone else size for axis, size in enumerate(sizes) if keep or axis not in gone)


def _transpose(step: Step) -> Dims:
    sizes, order = _sizes(step, 0), step.numbers(1)
    if sizes is None or order is None or sorted(order) != list(range(len(sizes))):
        return None
    return tuple(sizes[axis] for axis in order)


def _concatenation(step: Step) -> Dims:
    sizes = _sizes(step, 0)
    if not sizes:
        return None
    at = step.integer("axis") % len(sizes)
    return tuple(None if axis == at else size for axis, size in enumerate(sizes))


def _gather(step: Step) -> Dims:
    data, indices, axis = _sizes(step, 0), _sizes(step, 1), step.integer("axis")
    if not data or indices is None or step.integer("batchDims"):
        return None
    axis %= len(data)
    return (*data[:axis], *indices, *data[axis + 1 :])


def _reshape(step: Step) -> Dims:
    target = step.content(1)
    return None if target is None else tuple(None if size == -1 else size for size in target)


def _range(step: Step) -> Dims:
    ends = [step.numbers(index) for index in range(3)]
    numbers = [end[0] for end in ends if end]
    return (span(*numbers),) if len(numbers) == len(ends) else None


RULES: Mapping[str, Callable[[Step], Dims]] = {
    **dict.fromkeys("SOFTMAX LOG_SOFTMAX L2_NORMALIZATION LOCAL_RESPONSE_NORMALIZATION CUMSUM REVERSE_V2".split(),
        _same,
   ),
    **dict.fromkeys(
        "CONV_2D DEPTHWISE_CONV_2D AVERAGE_POOL_2D MAX_POOL_2D FULLY_CONNECTED RESIZE_BILINEAR"
        " RESIZE_NEAREST_NEIGHBOR".split(), _batch),
    **dict.fromkeys("MEAN SUM REDUCE_MAX REDUCE_MIN REDUCE_PROD REDUCE_ANY REDUCE_ALL".split(), _reduce),
    "TRANSPOSE": _transpose, "CONCATENATION": _concatenation, "GATHER": _gather, "RESHAPE": _reshape, "RANGE": _range,
}  # fmt: skip
"""Rules by operator; a size that is None is not told."""
