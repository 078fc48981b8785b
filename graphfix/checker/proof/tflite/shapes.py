"""Sizes of TFLite results that the file leaves free: those that follow an operand's axis."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, TypeAlias

from graphfix.checker.proof import constant_folding
from graphfix.checker.proof.integer_values import span
from graphfix.checker.proof.sizes import numbers

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from graphfix.checker.proof.sizes import Size, Sizes
    from graphfix.checker.proof.terms import View
    from graphfix.checker.proof.tflite.operands import Call

MATRIX = 2
SCALAR = (0,)
"""What old converters wrote as the option of a RESHAPE to a scalar."""
IMAGE = 4
"""Batch, height, width, channels."""
SAME = 0
"""The padding by which a window starts at each stride."""
Dims: TypeAlias = "tuple[Size | None, ...] | None"


def refined(call: Call, dims: Dims) -> Dims:
    """Put sizes that the operator's rule knows in the place of those that the file leaves free, or states otherwise."""
    rule = RULES.get(call.operator.name)
    ruled = rule(call) if rule is not None else None
    if dims is None or ruled is None or len(ruled) != len(dims):
        return dims if ruled is None else ruled
    return tuple(
        other if mine is None or isinstance(other, int) else mine for mine, other in zip(dims, ruled, strict=True)
    )


def shaped(call: Call, views: Sequence[View]) -> bool:
    """Whether SELECT's result has the shape of its operands: of one element each, the kernel keeps the stored shape."""
    shapes = [view.sizes for view in views]
    if any(isinstance(size, int) and size != 1 for sizes in shapes for size in sizes or ()):
        return True
    return None not in shapes and max(len(sizes or ()) for sizes in shapes) == len(call.result.stored)


def reshape_target(call: Call) -> Sizes | None:
    """Return the shape that a RESHAPE is asked for: an operand, or its options where it has no other operand."""
    if len(call.views) > 1:
        # The kernel reads the option where the operand has another type.
        return call.vector(1) if call.inputs[1] is not None and call.inputs[1].dtype == "int32" else None
    option = call.option("newShape")
    return option if isinstance(option, tuple) and option != SCALAR else None


def _same(call: Call) -> Dims:
    return call.sizes(0)


def _batch(call: Call) -> Dims:
    """Axis 0 is the operand's."""
    sizes = call.sizes(0)
    rank = len(call.result.dims or ())
    return None if not sizes or not rank or len(sizes) != rank else (sizes[0], *(None,) * (rank - 1))


def _fully_connected(call: Call) -> Dims:
    """The last axis is the weights' axis 0; the others are the operand's where its last one is theirs as it stands."""
    sizes, weights = call.sizes(0), call.sizes(1)
    rank = len(call.result.dims or ())
    if not sizes or weights is None or len(weights) != MATRIX or not rank:
        return None
    whole = len(sizes) == rank and sizes[-1] == weights[1]
    return (*(sizes[:-1] if whole else (None,) * (rank - 1)), weights[0])


def _reduce(call: Call) -> Dims:
    sizes, axes = call.sizes(0), call.known_integers(1)
    if sizes is None or axes is None:
        return None
    gone = {axis + len(sizes) if axis < 0 else axis for axis in axes}
    keep = bool(call.option("keepDims"))
    return tuple(1 if axis in gone else size for axis, size in enumerate(sizes) if keep or axis not in gone)


def _transpose(call: Call) -> Dims:
    sizes, order = call.sizes(0), call.known_integers(1)
    if sizes is None or order is None or sorted(order) != list(range(len(sizes))):
        return None
    return tuple(sizes[axis] for axis in order)


def _concatenation(call: Call) -> Dims:
    sizes = call.sizes(0)
    if not sizes:
        return None
    at = call.integer("axis") % len(sizes)
    parts = [call.sizes(index) for index in range(len(call.views))]
    lengths = numbers([part[at] if part is not None and len(part) == len(sizes) else None for part in parts])
    total = None if lengths is None else sum(lengths)
    return tuple(total if axis == at else size for axis, size in enumerate(sizes))


def _pack(call: Call) -> Dims:
    sizes = call.sizes(0)
    if sizes is None:
        return None
    at = call.integer("axis") % (len(sizes) + 1)
    return (*sizes[:at], len(call.views), *sizes[at:])


def _gather(call: Call) -> Dims:
    data, indices, axis = call.sizes(0), call.sizes(1), call.integer("axis")
    if not data or indices is None or call.integer("batchDims"):
        return None
    axis %= len(data)
    return (*data[:axis], *indices, *data[axis + 1 :])


def _reshape(call: Call) -> Dims:
    target, sizes = reshape_target(call), call.sizes(0)
    if target is None:
        return None
    have = numbers(sizes or None)
    others = [size for size in target if isinstance(size, int) and size > 0]
    known = have is not None and len(others) == len(target) - 1
    return tuple((prod(have or ()) // prod(others) if known else None) if size == -1 else size for size in target)


def _strided_slice(call: Call) -> Dims:
    """Sizes that are numbers, cut as numpy does; axes behind those that are named stay."""
    sizes, bounds = call.sizes(0), [call.known_integers(index) for index in (1, 2, 3)]
    if sizes is None or any(call.integer(name) for name in ("ellipsisMask", "newAxisMask", "offset")):
        return None
    begin, end, stride = ([] if each is None else list(each) for each in bounds)
    if None in bounds or 0 in stride or not len(begin) == len(end) == len(stride) <= len(sizes):
        return None
    dims: list[Size | None] = []
    for axis, size in enumerate(sizes):
        if axis >= len(begin):
            dims.append(size)
        elif not call.integer("shrinkAxisMask") >> axis & 1:
            first = None if call.integer("beginMask") >> axis & 1 else begin[axis]
            last = None if call.integer("endMask") >> axis & 1 else end[axis]
            cut = slice(first, last, stride[axis])
            dims.append(len(range(*cut.indices(size))) if isinstance(size, int) else None)
    return tuple(dims)


def _target(call: Call) -> Dims:
    target = call.vector(1)
    return None if target is None or any(isinstance(size, int) and size < 0 for size in target) else target


def _range(call: Call) -> Dims:
    ends = [call.known_integers(index) for index in range(3)]
    known = [end[0] for end in ends if end]
    return (span(*known),) if len(known) == len(ends) else None


def _padded(call: Call) -> Dims:
    sizes, around = call.sizes(0), constant_folding.literal(call.operand(1))
    if sizes is None or around is None or around.shape != (len(sizes), 2):
        return None
    added = around.sum(axis=1).tolist()
    return tuple(size + more if isinstance(size, int) else None for size, more in zip(sizes, added, strict=True))


def _convolution(call: Call) -> Dims:
    weight, dilations = call.sizes(1), (call.integer("dilationHFactor"), call.integer("dilationWFactor"))
    if weight is None or len(weight) != IMAGE:
        return None
    made = weight[0] if call.operator.name == "CONV_2D" else weight[3]
    return _spatial(call, weight[1:3], dilations, made)


def _pool(call: Call) -> Dims:
    sizes, window = call.sizes(0), (call.integer("filterHeight"), call.integer("filterWidth"))
    return _spatial(call, window, (1, 1), sizes[-1]) if sizes else None


def _spatial(call: Call, window: Sizes, dilations: tuple[int, int], channels: Size) -> Dims:
    """Height and width: as many as strides fit in (SAME), or as many as whole windows fit in (VALID).

    Where a window does not fit, LiteRT's kernels say no size below 0, but 0, and not for that axis alone.
    """
    sizes = call.sizes(0)
    if sizes is None or len(sizes) != IMAGE:
        return None
    dims: list[Size | None] = []
    strides = call.integer("strideH"), call.integer("strideW")
    for size, extent, stride, dilation in zip(sizes[1:3], window, strides, dilations, strict=True):
        if isinstance(size, int) and isinstance(extent, int) and stride > 0:
            covered = 0 if call.integer("padding") == SAME else (extent - 1) * dilation
            if size <= covered:
                return (sizes[0], None, None, channels)
            dims.append(-((covered - size) // stride))
        else:
            dims.append(None)
    return (sizes[0], *dims, channels)


RULES: Mapping[str, Callable[[Call], Dims]] = {
    **dict.fromkeys("SOFTMAX LOG_SOFTMAX L2_NORMALIZATION LOCAL_RESPONSE_NORMALIZATION CUMSUM REVERSE_V2".split(),
        _same,
   ),
    **dict.fromkeys(
        "RESIZE_BILINEAR RESIZE_NEAREST_NEIGHBOR".split(), _batch),
    **dict.fromkeys("MEAN SUM REDUCE_MAX REDUCE_MIN REDUCE_PROD REDUCE_ANY REDUCE_ALL".split(), _reduce),
    "TRANSPOSE": _transpose, "CONCATENATION": _concatenation, "GATHER": _gather, "RESHAPE": _reshape, "RANGE": _range,
    "STRIDED_SLICE": _strided_slice, "PACK": _pack, "BROADCAST_TO": _target, "FULLY_CONNECTED": _fully_connected,
    **dict.fromkeys(("PAD", "PADV2", "MIRROR_PAD"), _padded),
    **dict.fromkeys(("CONV_2D", "DEPTHWISE_CONV_2D"), _convolution),
    **dict.fromkeys(("AVERAGE_POOL_2D", "MAX_POOL_2D"), _pool),
}  # fmt: skip
"""Rules by operator; a size that is None is not known."""
