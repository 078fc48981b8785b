"""Sizes of TFLite results that the file leaves free: those that follow an operand's axis."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from graphfix.verify.proof.arithmetic import span

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from graphfix.verify.proof.sizes import Size, Sizes
    from graphfix.verify.proof.tflite_views import Step

MATRIX = 2
SCALAR = (0,)
"""What old converters wrote as the option of a RESHAPE to a scalar."""
Dims: TypeAlias = "tuple[Size | None, ...] | None"


def refined(step: Step, dims: Dims) -> Dims:
    """Put sizes that the operator's rule tells in the place of those that the file leaves free."""
    if dims is not None and None not in dims:
        return dims
    rule = RULES.get(step.operator.name)
    told = rule(step) if rule is not None else None
    if dims is None or told is None or len(told) != len(dims):
        return told if dims is None else dims
    return tuple(other if mine is None else mine for mine, other in zip(dims, told, strict=True))


def _sizes(step: Step, index: int) -> Sizes | None:
    view = step.operand(index)
    return None if view is None else view.sizes


def stated(step: Step) -> Sizes | None:
    """Give the shape that a RESHAPE is asked for: an operand, or its options where it has no other operand."""
    if len(step.views) > 1:
        # The kernel reads the option where the operand has another type.
        return step.target(1) if step.inputs[1] is not None and step.inputs[1].dtype == "int32" else None
    option = step.option("newShape")
    return option if isinstance(option, tuple) and option != SCALAR else None


def _same(step: Step) -> Dims:
    return _sizes(step, 0)


def _batch(step: Step) -> Dims:
    """Axis 0 is the operand's."""
    sizes = _sizes(step, 0)
    rank = len(step.result.dims or ())
    return None if not sizes or not rank or len(sizes) != rank else (sizes[0], *(None,) * (rank - 1))


def _channels(axis: int) -> Callable[[Step], Dims]:
    """Axis 0 is the operand's, the last one the weights' `axis`."""

    def told(step: Step) -> Dims:
        dims, weights = _batch(step), _sizes(step, 1)
        return dims if dims is None or not weights else (*dims[:-1], weights[axis])

    return told


def _fully_connected(step: Step) -> Dims:
    """The last axis is the weights' axis 0; the others are the operand's where its last one is theirs as it stands."""
    sizes, weights = _sizes(step, 0), _sizes(step, 1)
    rank = len(step.result.dims or ())
    if not sizes or weights is None or len(weights) != MATRIX or not rank:
        return None
    whole = len(sizes) == rank and sizes[-1] == weights[1]
    return (*(sizes[:-1] if whole else (None,) * (rank - 1)), weights[0])


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
    parts = [_sizes(step, index) for index in range(len(step.views))]
    numbers = [part[at] for part in parts if part is not None and len(part) == len(sizes)]
    whole = [number for number in numbers if isinstance(number, int)]
    total = sum(whole) if len(whole) == len(parts) else None
    return tuple(total if axis == at else size for axis, size in enumerate(sizes))


def _pack(step: Step) -> Dims:
    sizes = _sizes(step, 0)
    if sizes is None:
        return None
    at = step.integer("axis") % (len(sizes) + 1)
    return (*sizes[:at], len(step.views), *sizes[at:])


def _gather(step: Step) -> Dims:
    data, indices, axis = _sizes(step, 0), _sizes(step, 1), step.integer("axis")
    if not data or indices is None or step.integer("batchDims"):
        return None
    axis %= len(data)
    return (*data[:axis], *indices, *data[axis + 1 :])


def _reshape(step: Step) -> Dims:
    target = stated(step)
    return None if target is None else tuple(None if size == -1 else size for size in target)


def _target(step: Step) -> Dims:
    target = step.target(1)
    return None if target is None or any(isinstance(size, int) and size < 0 for size in target) else target


def _range(step: Step) -> Dims:
    ends = [step.numbers(index) for index in range(3)]
    numbers = [end[0] for end in ends if end]
    return (span(*numbers),) if len(numbers) == len(ends) else None


RULES: Mapping[str, Callable[[Step], Dims]] = {
    **dict.fromkeys("SOFTMAX LOG_SOFTMAX L2_NORMALIZATION LOCAL_RESPONSE_NORMALIZATION CUMSUM REVERSE_V2".split(),
        _same,
   ),
    **dict.fromkeys(
        "AVERAGE_POOL_2D MAX_POOL_2D RESIZE_BILINEAR RESIZE_NEAREST_NEIGHBOR".split(), _batch),
    "CONV_2D": _channels(0), "DEPTHWISE_CONV_2D": _channels(-1), "FULLY_CONNECTED": _fully_connected,
    **dict.fromkeys("MEAN SUM REDUCE_MAX REDUCE_MIN REDUCE_PROD REDUCE_ANY REDUCE_ALL".split(), _reduce),
    "TRANSPOSE": _transpose, "CONCATENATION": _concatenation, "GATHER": _gather, "RESHAPE": _reshape, "RANGE": _range,
    "PACK": _pack, "BROADCAST_TO": _target,
}  # fmt: skip
"""Rules by operator; a size that is None is not told."""
