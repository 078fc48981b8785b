"""Sizes of TFLite results that the file leaves free: those that follow an operand's axis."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from graphfix.checker.proof.core.result import NO_SIZE_BESIDE_IS_0
from graphfix.checker.proof.core.sizes import numbers
from graphfix.checker.proof.neutral import constant_folding
from graphfix.checker.proof.neutral.integer_values import cut_size, span_of
from graphfix.checker.proof.tflite.operators import part_shapes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from graphfix.checker.proof.core.sizes import Size, Sizes
    from graphfix.checker.proof.core.terms import View
    from graphfix.checker.proof.tflite.reading.operands import Call

MATRIX = 2
SCALAR = (0,)
"""What old converters wrote as the option of a RESHAPE to a scalar."""
EXACT_IN_FLOAT32 = "no size that a RANGE counts to in float32 is above 2 ** 24, where not every whole number is one"
EXACT = 1 << 24
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
        return call.target(1) if call.inputs[1] is not None and call.inputs[1].dtype == "int32" else None
    option = call.option("newShape")
    return option if isinstance(option, tuple) and option != SCALAR else None


def _same(call: Call) -> Dims:
    return call.sizes(0)


def _fully_connected(call: Call) -> Dims:
    """The last axis is the weights' axis 0; the others are the operand's where its last one is theirs as it stands.

    Where they are to be kept the kernel sees to it that it is.
    """
    sizes, weights = call.sizes(0), call.sizes(1)
    rank = len(call.result.dims or ())
    if not sizes or weights is None or len(weights) != MATRIX or not rank:
        return None
    whole = len(sizes) == rank and (sizes[-1] == weights[1] or bool(call.option("keepNumDims")))
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
    lengths = [part[at] for part in parts if part is not None and len(part) == len(sizes)]
    total = call.table.arithmetic.add(*lengths) if len(lengths) == len(parts) else None
    return tuple(total if axis == at else size for axis, size in enumerate(sizes))


def _pack(call: Call) -> Dims:
    sizes = call.sizes(0)
    if sizes is None:
        return None
    at = call.integer("axis") % (len(sizes) + 1)
    return (*sizes[:at], len(call.views), *sizes[at:])


def _gather(call: Call) -> Dims:
    data, indices, axis, batch = call.sizes(0), call.sizes(1), call.integer("axis"), call.integer("batchDims")
    if not data or indices is None or not -len(data) <= axis < len(data) or not 0 <= batch <= len(indices):
        return None
    axis %= len(data)
    return (*data[:axis], *indices[batch:], *data[axis + 1 :])


def _reshape(call: Call) -> Dims:
    target, sizes = reshape_target(call), call.sizes(0)
    if target is None:
        return None
    others = [size for size in target if size not in (-1, 0)]
    left = _left(call, sizes, others) if sizes and len(others) == len(target) - 1 else None
    return tuple(left if size == -1 else size for size in target)


def _left(call: Call, sizes: Sizes, others: Sequence[Size]) -> Size | None:
    """Return the one size that is left open: the kernel leaves sizes of 0 out of both products.

    So a term cancels only where nothing else is left of the sizes, or none of it may be 0.
    """
    left = call.table.arithmetic.left_open(sizes, others)
    if left is not None and (numbers(sizes) is None or numbers(others) is None):
        call.table.assumes[NO_SIZE_BESIDE_IS_0] = None
    return left


def _strided_slice(call: Call) -> Dims:
    """What is left of each axis; those behind the ones that are named stay."""
    sizes = call.sizes(0)
    if sizes is None or call.integer("offset"):
        return None
    begin, end, stride = (_bounds(call, index) for index in (1, 2, 3))
    if 0 in stride or not 0 < len(begin) == len(end) == len(stride):
        return None
    places = entries(call, len(sizes), len(begin))
    if places is None:
        return None
    dims: list[Size | None] = []
    for axis, at in places:
        if axis is None:
            dims.append(1)
        elif at is None:
            dims.append(sizes[axis])
        elif not call.integer("shrinkAxisMask") >> at & 1:
            dims.append(_left_by(call, at, sizes[axis], (begin[at], end[at], stride[at])))
    return tuple(dims)


def _left_by(call: Call, at: int, size: Size, bounds: tuple[Size | None, Size | None, Size | None]) -> Size | None:
    """How many places an entry leaves of an axis; where a mask has it, a bound need not be known."""
    begin, end, stride = bounds
    whole = [bool(call.integer(name) >> at & 1) for name in ("beginMask", "endMask")]
    if stride is None or (begin is None and not whole[0]) or (end is None and not whole[1]):
        return None
    return _cut(call, size, None if whole[0] else begin, None if whole[1] else end, stride)


def _bounds(call: Call, index: int) -> list[Size | None]:
    """The elements of a vector; None for each that is not known, and nothing where not even their number is."""
    known, sizes = call.vector(index), call.sizes(index)
    if known is not None:
        return list(known)
    return [None] * sizes[0] if sizes is not None and len(sizes) == 1 and isinstance(sizes[0], int) else []


def entries(call: Call, rank: int, count: int) -> list[tuple[int | None, int | None]] | None:
    """For each axis that is read or made its place in the operand, and in the bounds; None for what is not there."""
    new, ellipsis = call.integer("newAxisMask"), call.integer("ellipsisMask")
    made = sum(new >> at & 1 for at in range(count) if not ellipsis >> at & 1)
    whole = rank - (count - made - bool(ellipsis))
    if whole < bool(ellipsis) or ellipsis & (ellipsis - 1) or ellipsis >> count:
        return None  # of an ellipsis that stands for no axis LiteRT makes one that stands for one
    found: list[tuple[int | None, int | None]] = []
    axis = 0
    for at in range(count):
        if ellipsis >> at & 1:
            found.extend((axis + each, None) for each in range(whole))
            axis += whole
        elif new >> at & 1:
            found.append((None, at))
        else:
            found.append((axis, at))
            axis += 1
    return found + [(each, None) for each in range(axis, rank)]


def _cut(call: Call, size: Size, first: Size | None, last: Size | None, stride: Size) -> Size | None:
    """How many places a cut takes of an axis, as numpy does; None bounds are open."""
    known = numbers(tuple(each for each in (size, first, last, stride) if each is not None))
    if known is not None:
        begin, end = (bound if isinstance(bound, int) else None for bound in (first, last))
        cut = slice(begin, end, stride if isinstance(stride, int) else 1)
        return len(range(*cut.indices(size))) if isinstance(size, int) else None
    return cut_size(call.table.arithmetic, size, 0 if first is None else first, size if last is None else last, stride)


def _range(call: Call) -> Dims:
    floats = call.result.dtype == "float32"
    ends = [_whole(call, index) if floats else call.content(index) for index in range(3)]
    known = [end[0] for end in ends if end]
    if len(known) < len(ends) or not isinstance(known[2], int):
        return None
    if floats and numbers(tuple(known)) is None:
        call.table.assumes[EXACT_IN_FLOAT32] = None
    return (span_of(call.table.arithmetic, known[0], known[1], known[2]),)


def _whole(call: Call, index: int) -> Sizes | None:
    """Return the whole number that a scalar of float32 is: a constant, or what a CAST has made of a size."""
    view, tensor = call.operand(index), call.inputs[index] if index < len(call.inputs) else None
    if view is None or view.sizes != () or tensor is None or tensor.dtype != "float32" or tensor.quantization:
        return None
    held = constant_folding.literal(view)
    if held is None:
        return view.content
    number = float(held.item())
    return (int(number),) if number.is_integer() and abs(number) < EXACT else None


def _padded(call: Call) -> Dims:
    sizes, around = call.sizes(0), part_shapes.pairs(call, 1)
    if sizes is None or around is None or len(around) != len(sizes):
        return None
    return tuple(call.table.arithmetic.add(size, *more) for size, more in zip(sizes, around, strict=True))


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
        elif isinstance(size, int) or not isinstance(extent, int) or stride < 1:
            dims.append(None)
        elif call.integer("padding") == SAME or extent == 1:
            dims.append(call.table.arithmetic.ceildiv(size, stride))
        else:
            dims.append(None)
    return (sizes[0], *dims, channels)


RULES: Mapping[str, Callable[[Call], Dims]] = {
    **dict.fromkeys(
        "SOFTMAX LOG_SOFTMAX L2_NORMALIZATION LOCAL_RESPONSE_NORMALIZATION CUMSUM REVERSE_V2 REVERSE_SEQUENCE"
        " ZEROS_LIKE COMPLEX_ABS".split(), _same),
    **part_shapes.RULES,
    **dict.fromkeys("MEAN SUM REDUCE_MAX REDUCE_MIN REDUCE_PROD REDUCE_ANY REDUCE_ALL".split(), _reduce),
    "TRANSPOSE": _transpose, "CONCATENATION": _concatenation, "GATHER": _gather, "RESHAPE": _reshape, "RANGE": _range,
    "STRIDED_SLICE": _strided_slice, "PACK": _pack, "FULLY_CONNECTED": _fully_connected,
    **dict.fromkeys(("PAD", "PADV2", "MIRROR_PAD"), _padded),
    **dict.fromkeys(("CONV_2D", "DEPTHWISE_CONV_2D"), _convolution),
    **dict.fromkeys(("AVERAGE_POOL_2D", "MAX_POOL_2D"), _pool),
}  # fmt: skip
"""Rules by operator; a size that is None is not known."""
