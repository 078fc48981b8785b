"""Random models of pools, convolutions and resizing."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

import numpy as np

from tests.support.onnx.random_builder import Builder, Case, floats, sizes


def pools(random: Random) -> Case:
    """Pools of every padding, with ceil_mode and dilations where the operator has them."""
    op = random.choice(["MaxPool", "AveragePool", "LpPool"])
    b = Builder(random, random.choice([7, 8, 9, 10, 11, 12, 13, 18, 19, 21, 22]))
    rank = random.randint(1, 3)
    extents = sizes(random, rank, 1, 4)
    held: dict[str, Any] = {"kernel_shape": extents}
    if random.random() < 0.8:
        held["strides"] = sizes(random, rank, 1, 4)
    dilating = {"MaxPool": 10, "AveragePool": 19, "LpPool": 18}[op]
    if b.opset >= dilating and random.random() < 0.5:
        held["dilations"] = sizes(random, rank, 1, 3)
    if b.opset >= (18 if op == "LpPool" else 10) and random.random() < 0.6:
        held["ceil_mode"] = 1
    padding = random.choice(["", "", "", "NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"])
    if padding:
        held["auto_pad"] = padding
    if padding in ("", "NOTSET") and random.random() < 0.7:
        held["pads"] = [random.randint(0, extents[at % rank] - 1) for at in range(2 * rank)]
    image = b.input(floats(random.randint(0, 2), random.randint(1, 2), *sizes(random, rank, 1, 9)), open_sizes=0.2)
    results = 2 if op == "MaxPool" and b.opset >= 8 and random.random() < 0.3 else 1
    y = b.node(op, [image], results, **held)[0]
    b.node("Relu", [y])
    return b.case()


def convolutions(random: Random) -> Case:
    """Conv and ConvTranspose of every padding, with output_shape and output_padding."""
    transposed = random.random() < 0.75
    b = Builder(random, random.choice([7, 9, 11, 13, 18, 22]))
    rank, group = random.randint(1, 2), random.choice([1, 1, 2])
    extents, channels = sizes(random, rank, 1, 4), 2
    weight = [channels, random.randint(1, 2), *extents] if transposed else [2 * group, channels // group, *extents]
    held: dict[str, Any] = {"group": group} if random.random() < 0.8 or group > 1 else {}
    if random.random() < 0.4:
        held["kernel_shape"] = extents
    if random.random() < 0.8:
        held["strides"] = sizes(random, rank, 1, 4)
    if random.random() < 0.4:
        held["dilations"] = sizes(random, rank, 1, 3)
    padding = random.choice(["", "", "", "NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"])
    if padding:
        held["auto_pad"] = padding
    if random.random() < (0.6 if padding in ("", "NOTSET") else 0.1):
        held["pads"] = sizes(random, 2 * rank, 0, 2)
    if transposed and random.random() < 0.4:
        held["output_padding"] = sizes(random, rank, 0, 2)
    if transposed and random.random() < 0.4:
        held["output_shape"] = sizes(random, rank, 1, 12)
    image = b.input(floats(random.randint(0, 2), channels, *sizes(random, rank, 1, 7)), open_sizes=0.2)
    kernel = b.constant(floats(*weight), np.float32) if random.random() < 0.7 else b.input(floats(*weight))
    y = b.node("ConvTranspose" if transposed else "Conv", [image, kernel], **held)[0]
    b.node("Relu", [y])
    return b.case()


def resizes(random: Random) -> Case:
    """Upsample and Resize by scales or sizes, at fractions, of every coordinate mode."""
    b = Builder(random, random.choice([7, 8, 9, 10, 10, 11, 12, 13, 18, 19, 22]))
    dims = [1, 1, *sizes(random, 2, 1, 12)] if random.random() < 0.8 else sizes(random, random.randint(1, 3), 1, 9)
    image = b.input(floats(*dims), open_sizes=0.15)
    fraction = [random.choice([1.0, 2.0, 0.5, 0.6, 1.5, 1 / 3, 0.1, 0.7, 1.1, 3.3333]) for _ in dims]
    scales = [1.0 if len(dims) == 4 and at < 2 else scale for at, scale in enumerate(fraction)]
    mode = random.choice(["nearest", "linear"])
    if b.opset < 9:
        b.node("Upsample", [image], scales=[max(1.0, scale) for scale in scales], mode=mode)
    elif b.opset == 9:
        b.node("Upsample", [image, b.operand([max(1.0, scale) for scale in scales], np.float32)], mode=mode)
    elif b.opset == 10:
        b.node("Resize", [image, b.operand(scales, np.float32)], mode=mode)
    else:
        _resize(b, image, dims, scales)
    return b.case()


def _resize(b: Builder, image: str, dims: Sequence[int], scales: Sequence[float]) -> None:
    random = b.random
    modes = ["half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_crop_and_resize"]
    if b.opset >= 19:
        modes.append("half_pixel_symmetric")
    held: dict[str, Any] = {"coordinate_transformation_mode": random.choice(modes)}
    held["mode"] = random.choice(["nearest", "linear", "cubic"] if len(dims) == 4 else ["nearest"])
    if held["mode"] == "nearest":
        held["nearest_mode"] = random.choice(["floor", "ceil", "round_prefer_floor", "round_prefer_ceil"])
    axes = list(range(len(dims)))
    if b.opset >= 18 and random.random() < 0.4:
        axes = sorted(random.sample(axes, random.randint(1, len(axes))))
        held["axes"] = [axis - len(dims) if random.random() < 0.3 else axis for axis in axes]
    roi = ""
    if held["coordinate_transformation_mode"] == "tf_crop_and_resize":
        roi = b.operand([0.1] * len(axes) + [0.8] * len(axes), np.float32)
    if random.random() < 0.5:
        b.node("Resize", [image, roi, b.operand([scales[axis] for axis in axes], np.float32)], **held)
        return
    wanted = [dims[axis] if len(dims) == 4 and axis < 2 else random.randint(1, 9) for axis in axes]
    if b.opset >= 18 and random.random() < 0.4:
        held["keep_aspect_ratio_policy"] = random.choice(["stretch", "not_larger", "not_smaller"])
    b.node("Resize", [image, roi, "", b.operand(wanted)], **held)
