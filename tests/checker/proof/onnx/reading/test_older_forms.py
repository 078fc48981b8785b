"""Nodes of older operator sets beside the same in the form of a later one: one term where they mean the same."""

from __future__ import annotations

import onnx.parser
import pytest

from tests.support.proved import unproved

HELD = {
    "zero": "int64[1] zero = {0}", "one": "int64[1] one = {1}", "two": "int64[1] two = {2}",
    "parts": "int64[2] parts = {1, 2}", "pads": "int64[4] pads = {0, 1, 0, 1}",
    "half": "float half = {0.5}",
    "six": "float six = {6}", "twice": "float[2] twice = {1, 2}", "less": "float[2] less = {1, 0.5}",
    "none": "float[0] none = {}", "whole": "int64[0] whole = {}", "ones": "float[3] ones = {1, 1, 1}",
}  # fmt: skip
FLAT, CUBE, UNIT = "float[2,3] x", "float[2,3,4] x", "float[2,3,1] x"
CUT = 'coordinate_transformation_mode = "asymmetric", nearest_mode = "floor"'
Case = tuple[str, int, str, int, str, bool]
"""The node in one set, and in the other; the inputs; whether both are one."""
CASES: dict[str, Case] = {
    "numbers whose defaults changed": (
        "y = Selu <alpha = 1.5, gamma = 2.0>(x)", 5, "y = Selu <alpha = 1.5, gamma = 2.0>(x)", 6, FLAT, True),
    "numbers one of which is the default": (
        "y = Selu <alpha = 1.5>(x)", 5, "y = Selu <alpha = 1.5>(x)", 6, FLAT, False),
    "axes of a Squeeze": ("y = Squeeze <axes = [2]>(x)", 11, "y = Squeeze(x, two)", 13, UNIT, True),
    "axes of an Unsqueeze": ("y = Unsqueeze <axes = [0]>(x)", 11, "y = Unsqueeze(x, zero)", 13, FLAT, True),
    "axes of a sum": ("y = ReduceSum <axes = [1]>(x)", 11, "y = ReduceSum(x, one)", 13, FLAT, True),
    "other axes of a sum": ("y = ReduceSum <axes = [1]>(x)", 11, "y = ReduceSum(x, zero)", 13, FLAT, False),
    "all axes of a sum": ("y = ReduceSum(x)", 11, "y = ReduceSum(x)", 13, FLAT, True),
    "a sum that drops its axes": (
        "y = ReduceSum <axes = [1], keepdims = 0>(x)", 11, "y = ReduceSum <keepdims = 0>(x, one)", 13, FLAT, True),
    "parts": ("y, z = Split <axis = 1, split = [1, 2]>(x)", 11, "y, z = Split <axis = 1>(x, parts)", 13, FLAT, True),
    "even parts": ("y, z = Split <axis = 0>(x)", 11, "y, z = Split <axis = 0>(x)", 13, FLAT, True),
    "parts that an operand states too": (
        "y, z = Split <axis = 1, split = [2, 1]>(x)", 11, "y, z = Split <axis = 1>(x, parts)", 13, FLAT, False),
    "a slice": (
        "y = Slice <starts = [0], ends = [2], axes = [1]>(x)", 9, "y = Slice(x, zero, two, one)", 10, CUBE, True),
    "a slice of the first axes": (
        "y = Slice <starts = [0], ends = [2]>(x)", 9, "y = Slice(x, zero, two)", 10, CUBE, True),
    "another slice": (
        "y = Slice <starts = [1], ends = [2], axes = [1]>(x)", 9, "y = Slice(x, zero, two, one)", 10, CUBE, False),
    "the greatest": ("y, i = TopK <k = 2>(x)", 9, "y, i = TopK(x, two)", 10, FLAT, True),
    "fewer of the greatest": ("y, i = TopK <k = 1>(x)", 9, "y, i = TopK(x, two)", 10, FLAT, False),
    "pads": ("y = Pad <pads = [0, 1, 0, 1]>(x)", 10, "y = Pad(x, pads)", 11, FLAT, True),
    "pads of 0": ("y = Pad <pads = [0, 1, 0, 1], value = 0.0>(x)", 10, "y = Pad(x, pads)", 11, FLAT, True),
    "pads of a number": ("y = Pad <pads = [0, 1, 0, 1], value = 0.5>(x)", 10, "y = Pad(x, pads, half)", 11, FLAT, True),
    "pads of another number": (
        "y = Pad <pads = [0, 1, 0, 1], value = 0.5>(x)", 10, "y = Pad(x, pads)", 11, FLAT, False),
    "pads of 0 below 0": ("y = Pad <pads = [0, 1, 0, 1], value = -0.0>(x)", 10, "y = Pad(x, pads)", 11, FLAT, False),
    "bounds": ("y = Clip <min = 0.5, max = 6.0>(x)", 10, "y = Clip(x, half, six)", 11, FLAT, True),
    "a lower bound": ("y = Clip <min = 0.5>(x)", 10, "y = Clip(x, half)", 11, FLAT, True),
    "an upper bound": ("y = Clip <max = 6.0>(x)", 10, 'y = Clip(x, "", six)', 11, FLAT, True),
    "another bound": ("y = Clip <max = 6.0>(x)", 10, "y = Clip(x, six)", 11, FLAT, False),
    "no bounds": ("y = Clip(x)", 10, "y = Clip(x)", 11, FLAT, True),
    "one bound of a set without a default": ("y = Clip <min = 0.5>(x)", 5, "y = Clip(x, half)", 11, FLAT, False),
    "both bounds of a set without a default": (
        "y = Clip <min = 0.5, max = 6.0>(x)", 5, "y = Clip(x, half, six)", 11, FLAT, True),
    "a normalization": (
        "y = BatchNormalization(x, ones, ones, ones, ones)", 9, "y = BatchNormalization(x, ones, ones, ones, ones)", 14,
        CUBE, True),
    "a normalization of each element": (
        "y = BatchNormalization <spatial = 0>(x, ones, ones, ones, ones)", 7,
        "y = BatchNormalization(x, ones, ones, ones, ones)", 14, CUBE, False),
    "a normalization of each channel": (
        "y = BatchNormalization <spatial = 1>(x, ones, ones, ones, ones)", 7,
        "y = BatchNormalization(x, ones, ones, ones, ones)", 14, CUBE, True),
    "a normalization that trains": (
        "y = BatchNormalization(x, ones, ones, ones, ones)", 6, "y = BatchNormalization(x, ones, ones, ones, ones)", 14,
        CUBE, False),
    "a softmax": ("y = Softmax <axis = 1>(x)", 11, "y = Softmax <axis = -1>(x)", 13, FLAT, True),
    "a softmax of its default": ("y = Softmax(x)", 11, "y = Softmax <axis = -1>(x)", 13, FLAT, True),
    "a softmax of several axes": ("y = Softmax <axis = 1>(x)", 11, "y = Softmax <axis = -1>(x)", 13, CUBE, False),
    "a softmax of all axes": ("y = Softmax <axis = 0>(x)", 11, "y = Softmax <axis = 0>(x)", 13, FLAT, False),
    "a softmax of the last axis": ("y = Softmax <axis = 2>(x)", 11, "y = Softmax <axis = -1>(x)", 13, CUBE, True),
    "a softmax from the end": ("y = Softmax <axis = -1>(x)", 11, "y = Softmax <axis = -1>(x)", 13, CUBE, True),
    "a softmax in front of a unit": ("y = Softmax <axis = 1>(x)", 11, "y = Softmax <axis = -2>(x)", 13, UNIT, True),
    "another softmax in front of a unit": (
        "y = Softmax <axis = 1>(x)", 11, "y = Softmax <axis = 2>(x)", 13, UNIT, False),
    "a softmax of one axis": (
        "y = LogSoftmax <axis = 0>(x)", 11, "y = LogSoftmax <axis = -1>(x)", 13, "float[2] x", True),
    "a maximum of several axes": ("y = Hardmax <axis = 1>(x)", 11, "y = Hardmax <axis = 1>(x)", 13, CUBE, False),
    "an Upsample": (
        "y = Upsample <scales = [1.0, 2.0]>(x)", 7, "y = Upsample(x, twice)", 9, FLAT, True),
    "an Upsample as a Resize": (
        "y = Upsample(x, twice)", 9,
        f'y = Resize <{CUT}>(x, "", twice)', 17, FLAT, True),
    "a Resize of set 10": (
        "y = Resize(x, twice)", 10,
        f'y = Resize <{CUT}>(x, "", twice)', 17, FLAT, True),
    "a Resize of set 10 to fewer": (
        "y = Resize(x, less)", 10,
        f'y = Resize <{CUT}>(x, "", less)', 17, FLAT, False),
    "a Resize of set 10 to fewer by lines": (
        'y = Resize <mode = "linear">(x, less)', 10,
        f'y = Resize <mode = "linear", {CUT}>(x, "", less)', 17, FLAT, True),
    "a Resize that enlarges by whole numbers": ("y = Resize(x, twice)", 10, 'y = Resize(x, "", twice)', 17, FLAT, True),
    "an empty operand": ("y = Resize(x, none, twice)", 11, 'y = Resize(x, "", twice)', 13, FLAT, True),
    "an empty last operand": (
        "y = Resize(x, none, twice, whole)", 11, 'y = Resize(x, "", twice)', 13, FLAT, True),
    "an empty last operand of another node": (
        "y = Resize(x, none, twice, whole)", 11, 'y = Resize(x, "", less)', 13, FLAT, False),
    "a transposed convolution": ("y = ConvTranspose(x, x)", 1, "y = ConvTranspose(x, x)", 11, "float[3,3,2] x", True),
    "a transposed convolution with automatic padding": (
        'y = ConvTranspose <auto_pad = "SAME_UPPER">(x, x)', 1, 'y = ConvTranspose <auto_pad = "SAME_UPPER">(x, x)', 11,
        "float[3,3,2] x", False),
    "a transposed convolution without padding": (
        'y = ConvTranspose <auto_pad = "VALID">(x, x)', 1, 'y = ConvTranspose <auto_pad = "VALID">(x, x)', 11,
        "float[3,3,2] x", True),
    "a transposed convolution to a shape": (
        "y = ConvTranspose <output_shape = [4]>(x, x)", 1, "y = ConvTranspose <output_shape = [4]>(x, x)", 11,
        "float[3,3,2] x", False),
    "regions": (
        "y = RoiAlign(x, r, i)", 10, 'y = RoiAlign <coordinate_transformation_mode = "output_half_pixel">(x, r, i)', 16,
        "float[1,1,4,4] x, float[2,4] r, int64[2] i", True),
    "regions by the later default": (
        "y = RoiAlign(x, r, i)", 10, "y = RoiAlign(x, r, i)", 16, "float[1,1,4,4] x, float[2,4] r, int64[2] i", False),
    "a Scatter": (
        "y = Scatter <axis = 1>(x, i, u)", 9, "y = ScatterElements <axis = 1>(x, i, u)", 11,
        "float[2,3] x, int64[2,3] i, float[2,3] u", True),
}  # fmt: skip


def model(nodes: str, opset: int, inputs: str) -> bytes:
    words = set(nodes.replace("(", " ").replace(")", " ").replace(",", " ").split())
    held = ", ".join(text for name, text in HELD.items() if name in words)
    text = f'<ir_version: 8, opset_import: ["" : {opset}]> g ({inputs}) => (float y) {f"<{held}>" if held else ""}'
    made = onnx.parser.parse_model(f"{text} {{ {nodes} }}")
    made.graph.output[0].type.tensor_type.ClearField("shape")
    made.producer_name = f"set {opset}"
    return bytes(made.SerializeToString())


@pytest.mark.parametrize(("before", "old", "after", "new", "inputs", "same"), CASES.values(), ids=CASES)
def test_an_older_node_is_read_as_what_it_means(
    before: str, old: int, after: str, new: int, inputs: str, same: bool
) -> None:
    reason = unproved(model(before, old, inputs), model(after, new, inputs))
    assert (reason is None) is same, reason
