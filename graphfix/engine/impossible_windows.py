"""Windows that are larger than what they slide over, and images that do not have the channels of the weights.

Conv(x[1,4,2,9], w[8,4,3,3])    a window of 3 is larger than the 2 of axis 2
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from graphfix.graph.view import Node

Question: TypeAlias = Callable[[Node], str | None]
"""Why the sizes of a node's operands can't be."""
SPATIAL = 2
"""The first axis over which an ONNX window slides."""
VALID = 1
"""`Padding.VALID` of the TFLite schema."""
PIXELS = ((1, "h"), (2, "w"))
"""The axes of a TFLite image over which a window slides, and what the options call them."""


def listed(node: Node, name: str) -> list[int] | None:
    """An attribute that is a list of integers."""
    found = node.attributes.get(name)
    return [int(each) for each in found] if isinstance(found, (list, tuple)) else None


def number(node: Node, name: str, default: int) -> int:
    """An attribute that is a number."""
    found = node.attributes.get(name, default)
    return found if isinstance(found, int) else default


def _too_large(axis: int, size: object, reach: int, padding: int) -> str | None:
    if not isinstance(size, int) or size + padding >= reach:
        return None
    padded = f" and {padding} of padding" if padding else ""
    return f"a window of {reach} is larger than the {size} of axis {axis}{padded}"


def _slid(node: Node, extents: Sequence[object]) -> str | None:
    """An ONNX window that slides over the axes behind the channels."""
    sizes, count = node.operand(0).ranked.dims[SPATIAL:], len(extents)
    mode = node.attributes.get("auto_pad", "NOTSET")
    if mode not in ("NOTSET", "VALID") or len(sizes) != count:
        return None
    pads = (listed(node, "pads") if mode == "NOTSET" else None) or [0] * (2 * count)
    dilations = listed(node, "dilations") or [1] * count
    if len(pads) != 2 * count or len(dilations) != count:
        return None
    for at, (size, extent) in enumerate(zip(sizes, extents, strict=True)):
        reach = (extent - 1) * dilations[at] + 1 if isinstance(extent, int) else 0
        why = _too_large(at + SPATIAL, size, reach, pads[at] + pads[at + count])
        if why is not None:
            return why
    return None


def convolution(weights: int) -> Question:
    """Return the question about a convolution whose operand `weights` is [M,C/group,..]."""

    def ask(node: Node) -> str | None:
        image, kernel = node.operand(0).ranked.dims, node.operand(weights).ranked.dims
        if len(image) != len(kernel):
            return f"an image of rank {len(image)} and weights of rank {len(kernel)}"
        channels, taken, groups = image[1], kernel[1], number(node, "group", 1)
        if isinstance(channels, int) and isinstance(taken, int) and channels != taken * groups:
            return f"{channels} channels, and the weights take {taken * groups}"
        return _slid(node, kernel[SPATIAL:])

    return ask


def pool(node: Node) -> str | None:
    """By the attribute kernel_shape."""
    return _slid(node, listed(node, "kernel_shape") or ())


def _tflite_windows(node: Node, extents: Mapping[int, object]) -> str | None:
    sizes = node.operand(0).ranked.dims
    if node.attributes.get("padding") != VALID or len(sizes) != max(extents) + 2:
        return None
    for axis, name in PIXELS:
        extent, dilation = extents[axis], number(node, f"dilation_{name}_factor", 1)
        reach = (extent - 1) * dilation + 1 if isinstance(extent, int) else 0
        why = _too_large(axis, sizes[axis], reach, 0)
        if why is not None:
            return why
    return None


def tflite_convolution(node: Node) -> str | None:
    """By a filter [O,h,w,I]."""
    kernel = node.operand(1).ranked.dims
    return _tflite_windows(node, {1: kernel[1], 2: kernel[2]}) if len(kernel) > max(dict(PIXELS)) else None


def tflite_pool(node: Node) -> str | None:
    """By the filter of the options."""
    return _tflite_windows(node, {1: number(node, "filter_height", 1), 2: number(node, "filter_width", 1)})
