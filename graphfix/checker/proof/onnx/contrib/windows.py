"""Rules for onnxruntime's convolutions and pools: fused, quantized, with the channels last, or in blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphfix.checker.proof.onnx.contrib.results import Result, kind_of, ranked, same_as, with_sizes
from graphfix.checker.proof.onnx.operators.networks import grid_sample
from graphfix.checker.proof.onnx.operators.reshaping import depth_to_space, space_to_depth
from graphfix.checker.proof.onnx.operators.windows import convolved, globally_pooled, pooled, transposed_convolution

if TYPE_CHECKING:
    from collections.abc import Callable

    from graphfix.checker.proof.core.sizes import Dims, Sizes
    from graphfix.checker.proof.onnx.contrib.results import Operators, SizesRule
    from graphfix.checker.proof.onnx.reading.operands import Call

IMAGE = 4
"""The rank of [batch,channels,rows,columns]."""


def _channels_second(sizes: Sizes | None) -> Sizes | None:
    """Return the sizes of [batch,...,channels] in the order [batch,channels,...]; None if they are unknown."""
    return None if not sizes else (sizes[0], sizes[-1], *sizes[1:-1])


def _channels_last(dims: Dims) -> Dims:
    """Return the dims of [batch,channels,...] in the order [batch,...,channels]; None if they are unknown."""
    return None if dims is None else (dims[0], *dims[2:], dims[1])


def _channels_last_rule(rule: Callable[[Call, Sizes | None], Dims]) -> SizesRule:
    """Return the rule for data[batch,...,channels], from the rule for data[batch,channels,...]."""
    return lambda call: _channels_last(rule(call, _channels_second(call.sizes(0))))


def _either(rule: Callable[[Call, Sizes | None], Dims]) -> SizesRule:
    """Return the rule for data whose channels are the last axis if the attribute `channels_last` is 1, else axis 1."""

    def chosen(call: Call) -> Dims:
        last = call.flag("channels_last")
        return None if last is None else _channels_last_rule(rule)(call) if last else rule(call, call.sizes(0))

    return chosen


def _convolution(weight: int) -> Callable[[Call, Sizes | None], Dims]:
    """Return the rule for a convolution by the filters of operand `weight`, [made,channels,...]."""
    return lambda call, data: convolved(call, data, call.sizes(weight))


def _global_pool(_: Call, data: Sizes | None) -> Dims:
    """Return the shape of a global pool of data[batch,channels,...]: [batch,channels,1,...]."""
    return globally_pooled(data)


def _of_operand_0(rule: Callable[[Call, Sizes | None], Dims]) -> SizesRule:
    """Return the rule that applies `rule` to the shape of operand 0."""
    return lambda call: rule(call, call.sizes(0))


def _batch_only(call: Call) -> Dims:
    """Return the batch size of operand 0, and None for its other sizes."""
    data = call.sizes(0)
    return None if not data else (data[0], *(None,) * (len(data) - 1))


def _upsampled(call: Call) -> Dims:
    """Return the dims of an Upsample of an image: each size times its scale, an integer of at least 1."""
    data, scales = call.sizes(0), call.integers("scales")
    if data is None or scales is None or len(data) != IMAGE or len(scales) != IMAGE or min(scales) < 1:
        return None
    return tuple(call.table.arithmetic.mul(size, scale) for size, scale in zip(data, scales, strict=True))


def _into_blocks(call: Call) -> Dims:
    """Return the dims of a ReorderInput: [batch, None, rows, columns].

    It pads the channels to complete blocks, whose size depends on the processor.
    """
    data, last = call.sizes(0), call.flag("channels_last")
    if data is None or len(data) != IMAGE or last is None:
        return None
    batch, *plane = data[:3] if last else (data[0], *data[2:])
    return batch, None, *plane


def _out_of_blocks(call: Call) -> Dims:
    """Return the dims of a ReorderOutput; the attribute `channels` is the number of channels."""
    data, last, channels = call.sizes(0), call.flag("channels_last"), call.integer("channels", 0)
    if data is None or len(data) != IMAGE or last is None or channels < 1:
        return None
    made = (data[0], channels, *data[2:])
    return _channels_last(made) if last else made


MICROSOFT: Operators = {
    "FusedConv": (with_sizes(0, _of_operand_0(_convolution(1))),),
    "QLinearConv": (with_sizes(7, _either(_convolution(3))),),
    "QLinearAveragePool": (with_sizes(0, _either(pooled)),),
    "QLinearGlobalAveragePool": (with_sizes(0, _either(_global_pool)),),
    "NhwcMaxPool": (with_sizes(0, _channels_last_rule(pooled)),),
    "NhwcConv": (with_sizes(0, _channels_last_rule(_convolution(1))),),
    "NhwcFusedConv": (with_sizes(0, _channels_last_rule(_convolution(1))),),
    "MaxpoolWithMask": (with_sizes(0, _of_operand_0(pooled)),),
    "ConvTransposeWithDynamicPads": (with_sizes(0, _batch_only),),
    "GridSample": (with_sizes(0, _of_operand_0(grid_sample)),),
}
"""The rules of the operators of com.microsoft, by operator."""
BLOCKED: Operators = {
    "Conv": (with_sizes(0, _of_operand_0(_convolution(1))),),
    "MaxPool": (with_sizes(0, _of_operand_0(pooled)),),
    "AveragePool": (with_sizes(0, _of_operand_0(pooled)),),
    "GlobalMaxPool": (with_sizes(0, _of_operand_0(_global_pool)),),
    "GlobalAveragePool": (with_sizes(0, _of_operand_0(_global_pool)),),
    "ReorderInput": (with_sizes(0, _into_blocks),),
    "ReorderOutput": (with_sizes(0, _out_of_blocks),),
    "Upsample": (with_sizes(0, _upsampled),),
}
"""The rules of the operators of com.microsoft.nchwc, by operator.

Channels are in blocks of the size of the processor's vectors.
"""
CHANNELS_LAST: Operators = {
    **dict.fromkeys(("BatchNormalization", "InstanceNormalization", "LRN"), (same_as(0),)),
    "Conv": (with_sizes(0, _channels_last_rule(_convolution(1))),),
    "ConvTranspose": (with_sizes(0, _channels_last_rule(transposed_convolution)),),
    "QLinearConv": (with_sizes(7, _channels_last_rule(_convolution(3))),),
    "QLinearConvTranspose": (Result(_batch_only, kind_of(7)),),
    **dict.fromkeys(("AveragePool", "LpPool", "QLinearAveragePool"), (with_sizes(0, _channels_last_rule(pooled)),)),
    "MaxPool": (with_sizes(0, _channels_last_rule(pooled)),),
    **dict.fromkeys(
        ("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"), (with_sizes(0, _channels_last_rule(_global_pool)),)
    ),
    "MaxUnpool": (with_sizes(0, _batch_only),),
    "Resize": (with_sizes(0, lambda call: ranked(len(call.sizes(0) or ()))(call) or None),),
    "GridSample": (with_sizes(0, _channels_last_rule(grid_sample)),),
    "DepthToSpace": (with_sizes(0, _channels_last_rule(depth_to_space)),),
    "SpaceToDepth": (with_sizes(0, _channels_last_rule(space_to_depth)),),
}  # fmt: skip
"""The rules of the operators of com.ms.internal.nhwc, by operator.

These are standard operators whose operand 0 and result have the channels as the last axis.

Filters have the layout of the standard operators. Source: onnxruntime's layout transformation (`NhwcInferenceContext`).
"""
