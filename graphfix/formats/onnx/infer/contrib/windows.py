"""Operators that slide windows: fused and quantized ones, and those of blocked and channels-last layouts.

Sources: onnxruntime's docs/ContribOperators.md, its CPU kernels, and the schemas of its internal domains
(core/graph/contrib_ops/nchwc_schema_defs.cc, internal_nhwc_onnx_schemas.cc).
"""

from __future__ import annotations

from collections.abc import Mapping

from graphfix.formats.onnx.infer.call import NOTHING, Call, Results, Rule
from graphfix.formats.onnx.infer.contrib.operator import (
    CHANNELS,
    INT64,
    MICROSOFT,
    SAME,
    Operator,
    by_layout,
    channels_last,
    like,
    reading,
)
from graphfix.formats.onnx.infer.operators import reshaping, windows
from graphfix.formats.onnx.infer.operators.elementwise import first, rank_of_first, shapes_of
from graphfix.formats.onnx.infer.operators.reshaping import IMAGE
from graphfix.formats.onnx.infer.sizes import positive, product, ranked, unknowns
from graphfix.shapes.dim import UNKNOWN, Shape, Size

NCHWC = "com.microsoft.nchwc"
NHWC = "com.ms.internal.nhwc"
LARGEST_BLOCK = 16
"""The greatest number of channels in a block: 8 or 16, depending on the processor.

A multiple of 16 channels is never padded.
"""


# --- com.microsoft ----------------------------------------------------------------------------------------------------


def _padded_at_run_time(call: Call) -> Results:
    """Return the result shape of ConvTransposeWithDynamicPads.

    If operand 2, the pads, is present, the spatial sizes are unknown.
    """
    (shape,) = windows.transposed(call) or (None,)
    dims = shape.axes if shape is not None else None
    if dims is None or not call.has(2):
        return (shape,)
    return (Shape((*dims[:CHANNELS], *[UNKNOWN] * (len(dims) - CHANNELS))),)


def _cropped_to(call: Call) -> Results:
    """Return the result shape of CropAndResize: [R,C,h,w], from an image [N,C,H,W] and boxes [R,4].

    Operand 3 contains h and w.
    """
    image, boxes, sizes = ranked(call, 0, IMAGE), ranked(call, 1, 2), call.content(3)
    wanted = sizes.axes if sizes is not None else None
    area = wanted if wanted is not None and len(wanted) == IMAGE - CHANNELS else (UNKNOWN,) * (IMAGE - CHANNELS)
    return (Shape((boxes[0] if boxes else UNKNOWN, image[1] if image else UNKNOWN, *area)),)


# --- blocked channels -------------------------------------------------------------------------------------------------


def _block_aligned(size: Size) -> Size:
    """Return the number of channels after padding to full blocks; UNKNOWN unless it is a multiple of 16."""
    return size if isinstance(size, int) and size % LARGEST_BLOCK == 0 else UNKNOWN


def _reordered_in(call: Call) -> Results:
    """Return the result shape of ReorderInput: [N,C',..], from [N,C,..], or from [N,..,C] with `channels_last`.

    C' is C rounded up to full blocks of channels.
    """
    dims, last = call.dims(0), call.flag("channels_last", 0)
    if dims is None or len(dims) < CHANNELS:
        return NOTHING
    if last is None:
        return (unknowns(len(dims)),)
    batch, *spatial = dims[:-1] if last else (dims[0], *dims[2:])
    return (Shape((batch, _block_aligned(dims[-1] if last else dims[1]), *spatial)),)


def _reordered_out(call: Call) -> Results:
    """Return the result shape of ReorderOutput: [N,C,..], or [N,..,C] with `channels_last`, from [N,C',..].

    C is the attribute `channels`.
    """
    dims, last = call.dims(0), call.flag("channels_last", 0)
    if dims is None or len(dims) < CHANNELS:
        return NOTHING
    if last is None:
        return (unknowns(len(dims)),)
    batch, _, *spatial = dims
    channels = positive(call, "channels")
    return (Shape((batch, *spatial, channels) if last else (batch, channels, *spatial)),)


def _repeated(call: Call) -> Results:
    """Return the result shape of Upsample: each size times its entry in the attribute `scales`, an integer."""
    dims, scales = call.dims(0), call.list("scales")
    if dims is None:
        return NOTHING
    if scales is None or len(scales) != len(dims) or min(scales, default=1) < 1:
        return (unknowns(len(dims)),)
    return (Shape(tuple([product(call.terms, *pair) for pair in zip(dims, scales, strict=True)])),)


# --- channels last ----------------------------------------------------------------------------------------------------


_POOLED: Rule = channels_last(windows.pool)

OPERATORS: Mapping[tuple[str, str], Operator] = {
    (MICROSOFT, "ConvTransposeWithDynamicPads"): Operator(_padded_at_run_time, SAME),
    (MICROSOFT, "CropAndResize"): Operator(_cropped_to, SAME),
    (MICROSOFT, "FusedConv"): Operator(windows.convolution, SAME),
    (MICROSOFT, "MaxpoolWithMask"): Operator(windows.pool, SAME),
    **{(MICROSOFT, op): Operator(channels_last(windows.convolution), SAME) for op in ("NhwcConv", "NhwcFusedConv")},
    (MICROSOFT, "NhwcMaxPool"): Operator(_POOLED, SAME),
    (MICROSOFT, "QLinearAveragePool"): Operator(by_layout(windows.pool), SAME),
    (MICROSOFT, "QLinearConv"): Operator(by_layout(windows.quantized_convolution), (like(7),)),
    (MICROSOFT, "QLinearGlobalAveragePool"): Operator(by_layout(windows.global_pool), SAME),
    **{(NCHWC, op): Operator(windows.pool, SAME) for op in ("MaxPool", "AveragePool")},
    **{(NCHWC, op): Operator(windows.global_pool, SAME) for op in ("GlobalMaxPool", "GlobalAveragePool")},
    (NCHWC, "Conv"): Operator(windows.convolution, SAME),
    (NCHWC, "ReorderInput"): Operator(_reordered_in, SAME),
    (NCHWC, "ReorderOutput"): Operator(_reordered_out, SAME),
    (NCHWC, "Upsample"): Operator(_repeated, SAME),
    **{(NHWC, op): Operator(_POOLED, SAME) for op in ("AveragePool", "LpPool", "QLinearAveragePool")},
    **{
        (NHWC, op): Operator(channels_last(windows.global_pool), SAME)
        for op in ("GlobalAveragePool", "GlobalLpPool", "GlobalMaxPool")
    },
    **{(NHWC, op): Operator(first, SAME) for op in ("InstanceNormalization", "LRN")},
    (NHWC, "BatchNormalization"): Operator(shapes_of(0, 3, 4, 3, 4), (like(0), like(3), like(4), like(3), like(4))),
    (NHWC, "Conv"): Operator(channels_last(windows.convolution), SAME),
    (NHWC, "ConvTranspose"): Operator(channels_last(windows.transposed), SAME),
    (NHWC, "DepthToSpace"): Operator(channels_last(reshaping.depth_to_space), SAME),
    (NHWC, "GridSample"): Operator(channels_last(windows.grid_sample), SAME),
    (NHWC, "MaxPool"): Operator(_POOLED, (like(0), INT64)),
    (NHWC, "MaxUnpool"): Operator(rank_of_first, SAME),
    (NHWC, "QLinearConv"): Operator(channels_last(windows.quantized_convolution), (like(7),)),
    (NHWC, "QLinearConvTranspose"): Operator(channels_last(reading(windows.transposed, 0, 3)), (like(7),)),
    (NHWC, "Resize"): Operator(windows.resize, SAME),
    (NHWC, "SpaceToDepth"): Operator(channels_last(reshaping.space_to_depth), SAME),
}
