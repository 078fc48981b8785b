"""Rules of operators on images: convolutions, pools, pads, resizes, and blocks that become depth or batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from graphfix.checker.proof.neutral import constant_folding
from graphfix.checker.proof.tflite.operators.entry import Rules, asked_sizes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from graphfix.checker.proof.core.sizes import Dims, Size, Sizes
    from graphfix.checker.proof.tflite.operators.entry import SizesRule
    from graphfix.checker.proof.tflite.reading.operands import Call

_IMAGE: Final = 4
"""The number of axes of an image: batch, height, width, channels."""
_PLANE: Final = 2
_SAME: Final = 0
"""The padding SAME, with which the result has a window for each stride."""
_COUNTS: Final = frozenset({"int32", "int64"})
"""The element types of paddings, crops and blocks."""


def _convolution(call: Call) -> Dims:
    """Return the sizes of a CONV_2D or DEPTHWISE_CONV_2D. The number of channels is a size of the weight."""
    weight, dilations = call.sizes(1), (call.integer("dilationHFactor"), call.integer("dilationWFactor"))
    if weight is None or len(weight) != _IMAGE:
        return None
    made = weight[0] if call.operator.name == "CONV_2D" else weight[3]
    return _spatial(call, weight[1:3], dilations, made)


def _pool(call: Call) -> Dims:
    """Return the sizes of an AVERAGE_POOL_2D or MAX_POOL_2D."""
    sizes, window = call.sizes(0), (call.integer("filterHeight"), call.integer("filterWidth"))
    return _spatial(call, window, (1, 1), sizes[-1]) if sizes else None


def _spatial(call: Call, window: Sizes, dilations: tuple[int, int], channels: Size) -> Dims:
    """Return the sizes of the result of a window operator on an image [batch,height,width,channels].

    With padding SAME there is a window for each stride; with VALID, only windows that lie inside the image. `window` is
    the height and the width of a window. If no window fits, LiteRT's kernels state a size of 0, perhaps on the other
    axis, so height and width are then unknown.
    """
    sizes = call.sizes(0)
    if sizes is None or len(sizes) != _IMAGE:
        return None
    dims: list[Size | None] = []
    strides = call.integer("strideH"), call.integer("strideW")
    for size, extent, stride, dilation in zip(sizes[1:3], window, strides, dilations, strict=True):
        if isinstance(size, int) and isinstance(extent, int) and stride > 0:
            covered = 0 if call.integer("padding") == _SAME else (extent - 1) * dilation
            if size <= covered:
                return (sizes[0], None, None, channels)
            dims.append(-((covered - size) // stride))
        elif isinstance(size, int) or not isinstance(extent, int) or stride < 1:
            dims.append(None)
        elif call.integer("padding") == _SAME or extent == 1:
            dims.append(call.table.arithmetic.ceildiv(size, stride))
        else:
            dims.append(None)
    return (sizes[0], *dims, channels)


def _padded(call: Call) -> Dims:
    """Return the sizes of a pad: each size plus the padding in front and behind."""
    sizes, around = call.sizes(0), _pairs(call, 1)
    if sizes is None or around is None or len(around) != len(sizes):
        return None
    return tuple(call.table.arithmetic.add(size, *more) for size, more in zip(sizes, around, strict=True))


def _pairs(call: Call, index: int) -> list[tuple[int, int]] | None:
    """Return the rows of a constant [axes,2] of integers; None for any other operand."""
    array = constant_folding.constant_array(call.operand(index))
    if array is None or array.ndim != _PLANE or array.shape[1] != _PLANE or array.dtype.name not in _COUNTS:
        return None
    return [(int(front), int(behind)) for front, behind in array.tolist()]


def _resized(call: Call) -> Dims:
    """Return the sizes of a resized image. Operand 1 contains the new height and width."""
    sizes, wanted = call.sizes(0), call.target(1)
    if sizes is None or len(sizes) != _IMAGE:
        return None
    return (sizes[0], *(wanted if wanted is not None and len(wanted) == _PLANE else (None, None)), sizes[3])


def _blocks(*, to_space: bool) -> SizesRule:
    """Return the sizes rule of DEPTH_TO_SPACE (`to_space`) or SPACE_TO_DEPTH.

    DEPTH_TO_SPACE moves depth into blocks of height and width; SPACE_TO_DEPTH does the reverse.
    """

    def rule(call: Call) -> Dims:
        sizes, block = call.sizes(0), call.integer("blockSize")
        if sizes is None or len(sizes) != _IMAGE or block < 1:
            return None
        arithmetic = call.table.arithmetic
        apart = arithmetic.mul, arithmetic.quotient
        plane, depth = apart if to_space else apart[::-1]
        return (sizes[0], *(plane(size, block) for size in sizes[1:3]), depth(sizes[3], block * block))

    return rule


def _space_to_batch(call: Call) -> Dims:
    """Return the sizes of a SPACE_TO_BATCH_ND: axes are padded and cut into blocks, and the blocks become batch."""
    sizes, blocks, around = call.sizes(0), call.known_integers(1), _pairs(call, 2)
    if sizes is None or not blocks or around is None or len(around) != len(blocks) or len(blocks) >= len(sizes):
        return None
    arithmetic, count = call.table.arithmetic, len(blocks)
    cut: list[Size | None] = []
    for size, block, pair in zip(sizes[1:], blocks, around, strict=False):
        padded = arithmetic.add(size, *pair)
        cut.append(None if padded is None or block < 1 else arithmetic.floordiv(padded, block))
    return (arithmetic.mul(sizes[0], *blocks), *cut, *sizes[1 + count :])


def _batch_to_space(call: Call) -> Dims:
    """Return the sizes of a BATCH_TO_SPACE_ND: parts of the batch become blocks of the next axes.

    These axes are then cropped.
    """
    sizes, blocks, around = call.sizes(0), call.known_integers(1), _pairs(call, 2)
    if sizes is None or not blocks or around is None or len(around) != len(blocks) or len(blocks) >= len(sizes):
        return None
    arithmetic, element_count = call.table.arithmetic, 1
    grown: list[Size | None] = []
    for size, block, (front, behind) in zip(sizes[1:], blocks, around, strict=False):
        wide = arithmetic.mul(size, block)
        grown.append(None if wide is None else arithmetic.add(wide, -front, -behind))
        element_count *= block
    return (arithmetic.quotient(sizes[0], element_count), *grown, *sizes[1 + len(blocks) :])


OPERATORS: Final[Mapping[str, Rules]] = {
    **dict.fromkeys(("CONV_2D", "DEPTHWISE_CONV_2D"), Rules(sizes=_convolution)),
    "TRANSPOSE_CONV": Rules(sizes=asked_sizes(0)),
    **dict.fromkeys(("AVERAGE_POOL_2D", "MAX_POOL_2D"), Rules(sizes=_pool)),
    **dict.fromkeys(("PAD", "PADV2", "MIRROR_PAD"), Rules(sizes=_padded)),
    **dict.fromkeys(("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR"), Rules(sizes=_resized)),
    "DEPTH_TO_SPACE": Rules(sizes=_blocks(to_space=True)),
    "SPACE_TO_DEPTH": Rules(sizes=_blocks(to_space=False)),
    "SPACE_TO_BATCH_ND": Rules(sizes=_space_to_batch),
    "BATCH_TO_SPACE_ND": Rules(sizes=_batch_to_space),
}
