"""Calls of operators with windows: convolutions and pools, also in blocked layouts, crops and samples of images."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tests.support.onnx.contrib_calls.drawing import MICROSOFT, NCHWC, STANDARD, Call, Draw, Draws, Key

BLOCK = 16
"""A channel block of onnxruntime's NCHWc layout where the processor has AVX-512, else 8: the channels fill both."""


def window(draw: Draw, axes: int, *, dilated: bool = False, ceil: bool = False) -> tuple[dict[str, object], list[int]]:
    """The attributes of a window over so many axes, and the sizes of an image that it fits."""
    kernel = [draw.random.randint(1, 3) for _ in range(axes)]
    given: dict[str, object] = {"kernel_shape": kernel}
    stretch = [1] * axes
    if draw.chance():
        given["strides"] = [draw.random.randint(1, 3) for _ in range(axes)]
    if dilated and draw.chance(0.4):
        stretch = [draw.random.randint(1, 2) for _ in range(axes)]
        given["dilations"] = stretch
    if draw.chance(0.3):
        given["auto_pad"] = draw.pick("VALID", "SAME_UPPER", "SAME_LOWER", "NOTSET")
    elif draw.chance():
        given["pads"] = [draw.random.randint(0, size - 1) for size in kernel * 2]
    if ceil and draw.chance(0.4):
        given["ceil_mode"] = 1
    least = [(size - 1) * each + 1 for size, each in zip(kernel, stretch, strict=True)]
    return given, [size + draw.random.randint(0, 4) for size in least]


def spatial(batch: int, channels: int, image: Sequence[int], *, last: bool = False) -> list[int]:
    """The shape of images with the channels in the second or the last place."""
    return [batch, *image, channels] if last else [batch, channels, *image]


def _activation(draw: Draw) -> dict[str, object]:
    activation = draw.pick("Relu", "Tanh", "Sigmoid", "LeakyRelu", "Clip", "HardSigmoid")
    parameters = {"LeakyRelu": [0.1], "Clip": [0.0, 1.0], "HardSigmoid": [0.2, 0.5]}.get(activation)
    if draw.chance(0.3):
        return {}
    return {"activation": activation} | ({"activation_params": parameters} if parameters else {})


def _fused_conv(draw: Draw) -> Call:
    axes, group = draw.pick(1, 2, 2, 3), draw.pick(1, 1, 2)
    given, image = window(draw, axes, dilated=True)
    kernel = given["kernel_shape"]
    assert isinstance(kernel, list)
    results, inner = group * draw.size(1, 3), draw.size(1, 3)
    given |= _activation(draw) | ({"group": group} if group > 1 else {})
    if draw.chance(0.3):
        del given["kernel_shape"]
    operands = [
        draw.numbers(spatial(draw.size(), group * inner, image)),
        draw.numbers([results, inner, *kernel]),
        draw.maybe(draw.like(results)),
    ]
    if draw.chance(0.2) and axes == 2:  # the operand that is added has the sizes of the result
        given = {"kernel_shape": kernel, "pads": [0] * 4, "group": group} | _activation(draw)
        operands[0] = draw.numbers([draw.size(1), group * inner, *(size + 2 for size in kernel)])
        operands.append(draw.like(len(operands[0]), results, 3, 3))
    return Call(operands, given)


def _transposed(draw: Draw) -> Call:
    axes, group = draw.pick(1, 2), draw.pick(1, 1, 2)
    kernel, image = [draw.random.randint(1, 3) for _ in range(axes)], draw.sizes(axes, 1)
    inner, results = group * draw.size(1, 3), draw.size(1, 3)
    given: dict[str, object] = draw.some(
        strides=[draw.random.randint(1, 3) for _ in range(axes)],
        dilations=[draw.random.randint(1, 2) for _ in range(axes)],
        kernel_shape=kernel,
    )
    if "strides" in given and draw.chance(0.3):
        given["output_padding"] = [draw.random.randint(0, 1) for _ in range(axes)]
    pads = draw.maybe(np.array([draw.random.randint(0, size - 1) for size in kernel * 2], np.int64), 0.95)
    operands = [
        draw.numbers([draw.size(1), inner, *image]),
        draw.numbers([inner, results, *kernel]),
        pads,
        draw.maybe(draw.like(group * results)),
    ]
    return Call(operands, given | ({"group": group} if group > 1 else {}))


def _masked_pool(draw: Draw) -> Call:
    given, image = window(draw, draw.pick(1, 2, 3))
    shape = spatial(draw.size(), draw.size(), image)
    return Call([draw.numbers(shape), draw.integers(0, 2, shape, "int32")], given | draw.some(storage_order=0))


def _last_pool(draw: Draw) -> Call:
    given, image = window(draw, draw.pick(1, 2, 2, 3), dilated=True, ceil=True)
    return Call([draw.numbers(spatial(draw.size(), draw.size(1), image, last=True), draw.pick("uint8", "int8"))], given)


def _crop(draw: Draw) -> Call:
    shape = [draw.size(), draw.size(), draw.random.randint(4, 7), draw.random.randint(4, 7)]
    given: dict[str, object] = {"border": [draw.random.randint(0, 1) for _ in range(4)]}
    return Call(
        [draw.numbers(shape)], given | draw.some(scale=[draw.random.randint(1, 3) for _ in range(2)]), version=9
    )


def _crop_and_resize(draw: Draw) -> Call:
    shape, count = [draw.size(1), draw.size(1), *draw.sizes(2, 1)], draw.size()
    size = np.array(draw.sizes(2, 1), np.int32)
    operands = [draw.numbers(shape), draw.positive(count, 4), draw.integers(0, shape[0], [count], "int32"), size]
    return Call(operands, draw.some(mode=draw.pick("bilinear", "nearest"), extrapolation_value=1.0))


def _grid_sample(draw: Draw) -> Call:
    batch = draw.size()
    operands = [draw.numbers([batch, *draw.sizes(3, 1)]), draw.numbers([batch, *draw.sizes(2), 2])]
    given = draw.some(align_corners=1, mode=draw.pick("bilinear", "nearest", "bicubic"))
    return Call(operands, given | draw.some(padding_mode=draw.pick("zeros", "border", "reflection")))


def _stateful_conv(draw: Draw) -> Call:
    (batch, length), channels, taps = draw.sizes(2), draw.size(1), draw.random.randint(1, 4)
    dilation = draw.pick(1, 1, 2)
    last = draw.chance(0.3)
    axes = draw.pick(*8 * (1,), 2, 3)  # with more than one the CPU kernel refuses
    given: dict[str, object] = draw.some(activation=draw.pick("silu", "swish", "none"))
    image, kernel = draw.sizes(axes - 1, 1), [draw.random.randint(1, 3) for _ in range(axes - 1)]
    if axes > 1:
        given["ndim"] = axes
        last, dilation = False, 1
    given |= ({"dilation": dilation} if dilation > 1 else {}) | ({"channels_last": 1} if last else {})
    history, slots = (taps - 1) * dilation, draw.pick(*20 * (0,), 1, 2)
    split = [channels, draw.size(1)] if last and draw.chance(0.4) else [channels]
    channels = int(np.prod(split))
    states = [batch, history, *split] if last else [batch, channels, *image, history]
    if slots:
        given["state_window"] = slots
        states.insert(0, slots)
    operands = [
        draw.numbers([batch, length, *split] if last else [batch, channels, *image, length]),
        draw.numbers([channels, 1, *kernel, taps]),
        draw.maybe(draw.like(channels)),
        draw.maybe(draw.numbers(states)),
    ]
    return Call(operands, given, (True, True))


def _varlen_conv(draw: Draw) -> Call:
    batch, channels, taps, kind = draw.size(1), draw.size(1), draw.random.randint(1, 4), draw.pick("float32", "float16")
    dilation, capacity = draw.pick(1, 2), draw.pick(0, 0, 2)
    lengths = draw.sizes(batch, 1)
    operands = [
        draw.like(sum(lengths), channels, kind=kind),
        draw.like(channels, 1, taps, kind=kind),
        np.cumsum([0, *lengths]).astype(np.int32),
        draw.maybe(draw.like(channels, kind=kind)),
        draw.like(batch, channels, (taps - 1) * dilation, kind=kind),
    ]
    given: dict[str, object] = draw.some(activation=draw.pick("silu", "none")) | {"dilation": dilation}
    if capacity:
        operands.append(np.ones(batch, np.int32))
        given["state_update_capacity"] = capacity
    return Call(operands, given, (True, True, bool(capacity)))


# --- onnxruntime's blocked layout: channels are padded to blocks ------------------------------------------------------


def _reorder_input(draw: Draw) -> Call:
    last = draw.chance()
    shape = spatial(draw.size(1), 4 * draw.size(1, 5), draw.sizes(2, 1), last=last)
    return Call([draw.numbers(shape)], {"channels_last": int(last)} if last or draw.chance() else {})


def _reorder_output(draw: Draw) -> Call:
    blocks = draw.size(1, 3)
    channels = blocks * BLOCK - draw.pick(0, 0, *range(BLOCK))
    given = {"channels": channels} | draw.some(channels_last=1)
    return Call([draw.numbers([draw.size(1), blocks * BLOCK, *draw.sizes(2, 1)])], given)


def _blocked_pool(*, padding: bool) -> Draws:
    def call(draw: Draw) -> Call:
        given, image = window(draw, 2, dilated=not padding, ceil=True)
        given |= draw.some(count_include_pad=1) if padding else {}
        return Call([draw.numbers([draw.size(1), BLOCK * draw.size(1, 2), *image])], given)

    return call


def _blocked_global(draw: Draw) -> Call:
    return Call([draw.numbers([draw.size(1), BLOCK * draw.size(1, 3), *draw.sizes(2, 1)])])


def _blocked_conv(draw: Draw) -> Call:
    given, image = window(draw, 2, dilated=True)
    kernel = given["kernel_shape"]
    assert isinstance(kernel, list)
    batch, results, inner = draw.size(1), BLOCK * draw.size(1, 2), draw.pick(1, 3, BLOCK, BLOCK * 2)
    group = draw.pick(1, 1, 1, results)  # or each channel for itself
    if group > 1:
        inner = 1
        given["group"] = group
    operands = [
        draw.numbers([batch, inner * group, *image]),
        draw.numbers([results, inner, *kernel]),
        draw.maybe(draw.like(results)),
    ]
    if draw.chance(0.2):
        del given["kernel_shape"]
    return Call(operands, given | _activation(draw))


def _blocked_upsample(draw: Draw) -> Call:
    shape = [draw.size(1), BLOCK * draw.size(1, 2), *draw.sizes(2, 1)]
    given = {"scales": [1, 1, draw.random.randint(1, 3), draw.random.randint(1, 3)]}
    nearest = draw.some(mode="nearest")
    linear = {
        "mode": "linear",
        "coordinate_transformation_mode": draw.pick("asymmetric", "half_pixel", "align_corners"),
    }
    return Call([draw.numbers(shape)], given | draw.pick(nearest, linear))


CALLS: dict[Key, Draws] = {
    (MICROSOFT, "CausalConvWithState"): _stateful_conv,
    (MICROSOFT, "ConvTransposeWithDynamicPads"): _transposed,
    (MICROSOFT, "CropAndResize"): _crop_and_resize,
    (MICROSOFT, "FusedConv"): _fused_conv,
    (MICROSOFT, "GridSample"): _grid_sample,
    (MICROSOFT, "MaxpoolWithMask"): _masked_pool,
    (MICROSOFT, "NhwcMaxPool"): _last_pool,
    (MICROSOFT, "VarlenCausalConvWithState"): _varlen_conv,
    (NCHWC, "AveragePool"): _blocked_pool(padding=True),
    (NCHWC, "Conv"): _blocked_conv,
    (NCHWC, "GlobalAveragePool"): _blocked_global,
    (NCHWC, "GlobalMaxPool"): _blocked_global,
    (NCHWC, "MaxPool"): _blocked_pool(padding=False),
    (NCHWC, "ReorderInput"): _reorder_input,
    (NCHWC, "ReorderOutput"): _reorder_output,
    (NCHWC, "Upsample"): _blocked_upsample,
    (STANDARD, "Crop"): _crop,
}
