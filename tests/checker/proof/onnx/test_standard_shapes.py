"""The sizes that the proof knows of operators that change axes, and the integers that it knows in shape arithmetic.

Known integers are read back as the sizes of a ConstantOfShape, and `?` is a size that is not known. The numbers are
those of the operators' specifications; `test_shapes.py` and `test_computed_shapes.py` ask onnxruntime.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from graphfix.checker.proof.core.result import NO_SIZE_IS_0, NONE_WITHOUT_ELEMENTS
from graphfix.checker.proof.onnx.operators.repeating import EXACT_IN_FLOAT32
from tests.support.shown_results import agree, assumed, results, without_a_rank

if TYPE_CHECKING:
    from pathlib import Path


def ints(name: str, *numbers: int) -> str:
    """A constant of numbers, as a node."""
    return f"{name} = Constant<value = int64[{len(numbers)}] {{{', '.join(map(str, numbers))}}}>() "


def floats(name: str, *numbers: float) -> str:
    return f"{name} = Constant<value = float[{len(numbers)}] {{{', '.join(map(str, numbers))}}}>() "


BOX, PAIR, IMAGE = "float[A,B,3] x", "float[A,B] x", "float[N,12,4,W] x"
LINE = "float[12] x"
BETWEEN = (
    f"{ints('k', -1)}{ints('e', 8)} a = Shape<end = 1>(x) b = Shape<start = 2, end = 3>(x)"
    " t = Concat<axis = 0>(a, k, b, e)"
)
"""A target of the first and the third size of x, an open one between them, and 8."""

REDUCED: dict[str, tuple[int, str, str, list[str]]] = {
    "an axis": (11, BOX, "ReduceMean<axes = [1]>(x)", ["float[A,1,3]"]),
    "an axis that goes": (11, BOX, "ReduceMean<axes = [1], keepdims = 0>(x)", ["float[A,3]"]),
    "an axis from the end": (11, BOX, "ReduceMean<axes = [-1, 0], keepdims = 0>(x)", ["float[B]"]),
    "all": (11, BOX, "ReduceMax(x)", ["float[1,1,1]"]),
    "all that go": (11, BOX, "ReduceMax<keepdims = 0>(x)", ["float[]"]),
    "kept oddly": (11, BOX, "ReduceMean<axes = [1], keepdims = 2>(x)", ["float[*]"]),
    "an axis that is none": (11, BOX, "ReduceMean<axes = [3]>(x)", ["float[*]"]),
    "an axis twice": (11, BOX, "ReduceMean<axes = [1, -2]>(x)", ["float[*]"]),
    "a number": (11, "float x", "ReduceMean(x)", ["float[]"]),
    "axes as an operand": (18, BOX, f"{ints('a', 0, 2)} y = ReduceMin(x, a)", ["float[1,B,1]"]),
    "axes that are computed": (18, f"{BOX}, int64[1] a", "ReduceMin(x, a)", ["float[?,?,?]"]),
    "axes that are computed and go": (18, f"{BOX}, int64[1] a", "ReduceMin<keepdims = 0>(x, a)", ["float[*]"]),
    "no axes": (18, BOX, f"{ints('a')} y = ReduceMin(x, a)", ["float[1,1,1]"]),
    "no axes, and nothing done": (
        18, BOX, f"{ints('a')} y = ReduceMin<noop_with_empty_axes = 1>(x, a)", ["float[A,B,3]"]),
    "no operand, and nothing done": (18, BOX, "ReduceMin<noop_with_empty_axes = 1>(x)", ["float[A,B,3]"]),
    "an axis, and nothing done otherwise": (
        18, BOX, f"{ints('a', 0)} y = ReduceMin<noop_with_empty_axes = 1>(x, a)", ["float[1,B,3]"]),
    "nothing done oddly": (18, BOX, f"{ints('a')} y = ReduceMin<noop_with_empty_axes = 2>(x, a)", ["float[*]"]),
    "no elements": (18, "float[0,3] x", f"{ints('a', 0)} y = ReduceSum(x, a)", ["float[?,?]"]),
    "no elements that go": (18, "float[0,3] x", f"{ints('a', 0)} y = ReduceSum<keepdims = 0>(x, a)", ["float[*]"]),
    "a place": (13, BOX, "ArgMax<axis = 1>(x)", ["int64[A,1,3]"]),
    "the place of the first axis": (13, BOX, "ArgMin(x)", ["int64[1,B,3]"]),
    "a place of the last axis": (13, BOX, "ArgMin<axis = -1, keepdims = 0>(x)", ["int64[A,B]"]),
    "a place of the first axis, counted back": (13, BOX, "ArgMin<axis = -3>(x)", ["int64[1,B,3]"]),
    "a place of an axis that is none": (13, BOX, "ArgMax<axis = 3>(x)", ["int64[*]"]),
    "a place of an axis before the first": (13, BOX, "ArgMax<axis = -4>(x)", ["int64[*]"]),
    "a place that is kept oddly": (13, BOX, "ArgMax<keepdims = 2>(x)", ["int64[*]"]),
    "a place of a number": (13, "float x", "ArgMax(x)", ["int64[*]"]),
}  # fmt: skip
REPEATED: dict[str, tuple[int, str, str, list[str]]] = {
    "tiled": (13, PAIR, f"{ints('r', 2, 1)} y = Tile(x, r)", ["float[2*A,B]"]),
    "tiled by too few": (13, PAIR, f"{ints('r', 2)} y = Tile(x, r)", ["float[?,?]"]),
    "tiled by what is computed": (13, f"{PAIR}, int64[2] r", "Tile(x, r)", ["float[?,?]"]),
    "tiled by what is computed in part": (
        13, f"{PAIR}, int64[1] q", f"{ints('k', 3)} r = Concat<axis = 0>(q, k) y = Tile(x, r)", ["float[?,3*B]"]),
    "stretched": (13, "float[A,1] x", f"{ints('t', 3, 1, 4)} y = Expand(x, t)", ["float[3,A,4]"]),
    "stretched to nothing": (13, "float[A,1] x", f"{ints('t', 1, 0)} y = Expand(x, t)", ["float[A,0]"]),
    "stretched to less than nothing": (13, "float[A,1] x", f"{ints('t', 1, -1)} y = Expand(x, t)", ["float[*]"]),
    "stretched to sizes": (17, "float[A,1] x, float[B,C] z", "t = Shape(z) y = Expand(x, t)", ["float[bc{A,B},C]"]),
    "stretched to what is computed": (13, "float[A,1] x, int64[2] t", "Expand(x, t)", ["float[bc{A,s1},s2]"]),
    "stretched to any number of axes": (13, f"{PAIR}, int64[K] t", "Expand(x, t)", ["float[*]"]),
    "stretched to a matrix": (13, "float[A,1] x, int64[2,1] t", "Expand(x, t)", ["float[*]"]),
    "stretched to more axes than are known": (13, "float[1] x, int64[65] t", "Expand(x, t)", ["float[*]"]),
    "of no rank, stretched": (13, "float[] x", f"{ints('t', 3, 1)} y = Expand(x, t)", ["float[*]"]),
    "of no rank, tiled": (13, "float[] x", f"{ints('r', 2)} y = Tile(x, r)", ["float[*]"]),
    "stretched to what is computed in part": (
        13, "float[4,1] x, int64[1] q", f"{ints('k', 3)} r = Concat<axis = 0>(q, k) y = Expand(x, r)",
        ["float[bc{4,s0},3]"]),
    "stretched to more axes that are computed in part": (
        13, "float[5] x, int64[1] q", f"{ints('k', 3, 1)} r = Concat<axis = 0>(k, q) y = Expand(x, r)",
        ["float[3,1,bc{5,s0}]"]),
    "scaled": (13, "float[2,5] x", f'{floats("s", 2, 1.5)} y = Resize(x, "", s)', ["float[4,7]"]),
    "scaled by 1": (13, PAIR, f'{floats("s", 1, 1)} y = Resize(x, "", s)', ["float[A,B]"]),
    "scaled by 3/2": (13, PAIR, f'{floats("s", 1, 1.5)} y = Resize(x, "", s)', ["float[A,floor((B)/2)+B]"]),
    "scaled by 64": (13, PAIR, f'{floats("s", 1, 64)} y = Resize(x, "", s)', ["float[A,64*B]"]),
    "scaled by 65": (13, PAIR, f'{floats("s", 1, 65)} y = Resize(x, "", s)', ["float[A,?]"]),
    "scaled by 1/64": (13, PAIR, f'{floats("s", 1, 1 / 64)} y = Resize(x, "", s)', ["float[A,floor((B)/64)]"]),
    "scaled by 1/128": (13, PAIR, f'{floats("s", 1, 1 / 128)} y = Resize(x, "", s)', ["float[A,?]"]),
    "scaled by nothing": (13, "float[2,5] x", f'{floats("s", 1, 0)} y = Resize(x, "", s)', ["float[2,?]"]),
    "scaled by less than nothing": (13, "float[2,5] x", f'{floats("s", 1, -1)} y = Resize(x, "", s)', ["float[2,?]"]),
    "scaled to what floats may round": (
        13, "float[3,5] x", f'{floats("s", 0.33333334, 0.2)} y = Resize(x, "", s)', ["float[?,?]"]),
    "scaled by too few": (13, PAIR, f'{floats("s", 2)} y = Resize(x, "", s)', ["float[?,?]"]),
    "scaled by what is computed": (13, f"{PAIR}, float[2] s", 'Resize(x, "", s)', ["float[?,?]"]),
    "scaled and cropped": (
        13, PAIR,
        f'{floats("s", 2, 2)} y = Resize<coordinate_transformation_mode = "tf_crop_and_resize">(x, "", s)',
        ["float[?,?]"]),
    "scaled in set 10": (10, "float[2,5] x", f"{floats('s', 2, 3)} y = Resize(x, s)", ["float[4,15]"]),
    "scaled by the older operator": (9, "float[2,5] x", f"{floats('s', 2, 3)} y = Upsample(x, s)", ["-[4,15]"]),
    "sized": (13, PAIR, f'{ints("s", 4, 5)} y = Resize(x, "", "", s)', ["float[4,5]"]),
    "sized by too few": (13, PAIR, f'{ints("s", 4)} y = Resize(x, "", "", s)', ["float[?,?]"]),
    "sized by what is computed": (13, f"{PAIR}, int64[2] s", 'Resize(x, "", "", s)', ["float[?,?]"]),
    "sized to an aspect ratio": (
        18, PAIR, f'{ints("s", 4, 5)} y = Resize<keep_aspect_ratio_policy = "not_larger">(x, "", "", s)',
        ["float[?,?]"]),
    "sized along axes": (18, PAIR, f'{ints("s", 4, 5)} y = Resize<axes = [1, 0]>(x, "", "", s)', ["float[?,?]"]),
    "sized and scaled": (
        13, PAIR, f'{ints("s", 4, 5)}{floats("t", 1, 1)} y = Resize(x, "", t, s)', ["float[?,?]"]),
}  # fmt: skip
RESHAPED: dict[str, tuple[int, str, str, list[str]]] = {
    "a target": (14, LINE, f"{ints('t', 3, 4)} y = Reshape(x, t)", ["float[3,4]"]),
    "an open size": (14, "float[2,B,3] x", f"{ints('t', -1, 6)} y = Reshape(x, t)", ["float[B,6]"]),
    "a size that is copied": (14, BOX, f"{ints('t', 0, -1)} y = Reshape(x, t)", ["float[A,3*B]"]),
    "a target that is computed in part": (
        14, f"{BOX}, int64[1] q", f"{ints('k', 0, 3)} t = Concat<axis = 0>(q, k) y = Reshape(x, t)",
        ["float[?,B,3]"]),
    "a target of another length that is computed in part": (
        14, f"{BOX}, int64[1] q", f"{ints('k', 3)} t = Concat<axis = 0>(q, k) y = Reshape(x, t)", ["float[?,3]"]),
    "an open size beside one that is computed": (
        14, f"{BOX}, int64[1] q", f"{ints('k', -1)} t = Concat<axis = 0>(q, k) y = Reshape(x, t)", ["float[?,?]"]),
    "an open size and a copy beside each other": (
        14, f"{BOX}, int64[1] q", f"{ints('k', 3, -1)} t = Concat<axis = 0>(q, k) y = Reshape(x, t)",
        ["float[?,3,?]"]),
    "an open size beside 1": (14, "float[2,B,3] x", f"{ints('t', 1, -1, 6)} y = Reshape(x, t)", ["float[1,B,6]"]),
    "an open size beside nothing": (
        14, PAIR, f"{ints('t', 0, -1)} y = Reshape<allowzero = 1>(x, t)", ["float[0,?]"]),
    "a target of an odd attribute": (14, LINE, f"{ints('t', 3, 4)} y = Reshape<allowzero = 2>(x, t)", ["float[?,?]"]),
    "two open sizes": (14, LINE, f"{ints('t', -1, -1, 4)} y = Reshape(x, t)", ["float[?,?,4]"]),
    "an open size of a number": (14, "float x", f"{ints('t', -1, 1)} y = Reshape(x, t)", ["float[1,1]"]),
    "a copy behind the last axis": (14, LINE, f"{ints('t', 12, 0)} y = Reshape(x, t)", ["float[12,?]"]),
    "a copy of what has no rank": (14, "float[] x", f"{ints('t', 0, 3)} y = Reshape(x, t)", ["float[?,3]"]),
    "an open size of no rank": (14, "float[] x", f"{ints('t', -1, 1)} y = Reshape(x, t)", ["float[?,1]"]),
    "an open size between symbols": (
        17, "float[A,4,B,6] x", f"{BETWEEN} y = Reshape(x, t)", ["float[A,3,B,8]"]),
    "a target that is computed": (14, f"{BOX}, int64[2] t", "Reshape(x, t)", ["float[?,?]"]),
    "a target of a free length": (14, f"{BOX}, int64[K] t", "Reshape(x, t)", ["float[*]"]),
    "a target of too great a length": (14, f"{BOX}, int64[9999999] t", "Reshape(x, t)", ["float[*]"]),
    "a target of no rank": (14, f"{BOX}, int64[] t", "Reshape(x, t)", ["float[*]"]),
    "turned": (13, BOX, "Transpose<perm = [2, 0, 1]>(x)", ["float[3,A,B]"]),
    "turned around": (13, BOX, "Transpose(x)", ["float[3,B,A]"]),
    "squeezed": (13, "float[1,B,1] x", f"{ints('a', -1)} y = Squeeze(x, a)", ["float[1,B]"]),
    "squeezed by an attribute": (11, "float[1,B,1] x", "Squeeze<axes = [0]>(x)", ["float[B,1]"]),
    "squeezed of a symbol": (13, "float[B,2] x", f"{ints('a', 0)} y = Squeeze(x, a)", ["float[2]"]),
    "squeezed of a symbol from the end": (13, "float[A,B,2] x", f"{ints('a', -2)} y = Squeeze(x, a)", ["float[A,2]"]),
    "squeezed of a symbol by an attribute": (11, "float[A,B,2] x", "Squeeze<axes = [1]>(x)", ["float[A,2]"]),
    "squeezed of all, which may be a symbol": (13, "float[1,B] x", "Squeeze(x)", ["float[*]"]),
    "new axes from the end before they were counted": (9, PAIR, "Unsqueeze<axes = [-1]>(x)", ["float[A,B,1]"]),
    "squeezed of all": (13, "float[1,2,1] x", "Squeeze(x)", ["float[2]"]),
    "squeezed of what is not known": (13, "float[1,B,1] x, int64[1] a", "Squeeze(x, a)", ["float[*]"]),
    "squeezed of an axis that is none": (13, "float[1,B] x", f"{ints('a', 2)} y = Squeeze(x, a)", ["float[*]"]),
    "new axes": (13, PAIR, f"{ints('a', 0, -1)} y = Unsqueeze(x, a)", ["float[1,A,B,1]"]),
    "new axes by an attribute": (11, PAIR, "Unsqueeze<axes = [1]>(x)", ["float[A,1,B]"]),
    "a new axis twice": (13, PAIR, f"{ints('a', 0, 0)} y = Unsqueeze(x, a)", ["float[*]"]),
    "a new axis too far": (13, PAIR, f"{ints('a', 3)} y = Unsqueeze(x, a)", ["float[*]"]),
    "new axes that are computed": (13, f"{PAIR}, int64[1] a", "Unsqueeze(x, a)", ["float[*]"]),
    "flat": (13, BOX, "Flatten(x)", ["float[A,3*B]"]),
    "flat from the end": (13, BOX, "Flatten<axis = -1>(x)", ["float[A*B,3]"]),
    "flat from the first": (13, BOX, "Flatten<axis = 0>(x)", ["float[1,3*A*B]"]),
    "flat behind the last": (13, BOX, "Flatten<axis = 3>(x)", ["float[3*A*B,1]"]),
    "flat too far": (13, BOX, "Flatten<axis = 4>(x)", ["float[?,?]"]),
    "flat too far back": (13, BOX, "Flatten<axis = -4>(x)", ["float[?,?]"]),
    "flat from the end before it was counted": (9, BOX, "Flatten<axis = -1>(x)", ["float[?,?]"]),
    "a plane of depths": (13, IMAGE, "DepthToSpace<blocksize = 2>(x)", ["float[N,3,8,2*W]"]),
    "depths of a plane": (13, "float[N,3,4,6] x", "SpaceToDepth<blocksize = 2>(x)", ["float[N,12,2,3]"]),
    "a plane of too few depths": (13, "float[N,3,4,6] x", "DepthToSpace<blocksize = 2>(x)", ["float[N,?,8,12]"]),
    "depths of no plane": (13, "float[N,12,4] x", "DepthToSpace<blocksize = 2>(x)", ["float[*]"]),
}  # fmt: skip
CUT: dict[str, tuple[int, str, str, list[str]]] = {
    "a part": (13, "float[9,B] x", f"{ints('a', 2)}{ints('b', 5)} y = Slice(x, a, b)", ["float[3,B]"]),
    "a part of the last axis": (
        13, "float[A,9] x", f"{ints('a', 1)}{ints('b', -1)}{ints('c', -1)} y = Slice(x, a, b, c)", ["float[A,7]"]),
    "a part in steps": (
        13, "float[9,9] x",
        f"{ints('a', 1, 8)}{ints('b', 8, 0)}{ints('c', 0, 1)}{ints('d', 2, -3)} y = Slice(x, a, b, c, d)",
        ["float[4,3]"]),
    "a part of an older set": (9, "float[9,B] x", "Slice<starts = [2], ends = [5], axes = [0]>(x)", ["float[3,B]"]),
    "a part of a symbol": (
        13, PAIR, f"{ints('a', 0)}{ints('b', 9223372036854775807)} y = Slice(x, a, b)", ["float[A,B]"]),
    "a part of bounds that are computed": (
        13, f"{BOX}, int64[1] a, int64[1] b", f"{ints('c', 1)} y = Slice(x, a, b, c)", ["float[A,?,3]"]),
    "a part of axes that are computed": (
        13, f"{BOX}, int64[1] c", f"{ints('a', 0)}{ints('b', 1)} y = Slice(x, a, b, c)", ["float[?,?,?]"]),
    "a part of steps that are computed": (
        13, f"{BOX}, int64[1] d", f"{ints('a', 0)}{ints('b', 1)}{ints('c', 2)} y = Slice(x, a, b, c, d)",
        ["float[A,B,?]"]),
    "a part of axes that follow from the known bound": (
        13, f"{BOX}, int64[2] a", f"{ints('b', 1, 1)} y = Slice(x, a, b)", ["float[?,?,3]"]),
    "a part of an axis twice": (
        13, BOX, f"{ints('a', 0, 0)}{ints('b', 1, 1)}{ints('c', 0, -3)} y = Slice(x, a, b, c)", ["float[?,?,?]"]),
    "a part of too few ends": (
        13, BOX, f"{ints('a', 0, 0)}{ints('b', 1)}{ints('c', 0, 2)} y = Slice(x, a, b, c)", ["float[?,B,?]"]),
    "a part in steps of 0": (
        13, "float[9] x", f"{ints('a', 0)}{ints('b', 1)}{ints('c', 0)}{ints('d', 0)} y = Slice(x, a, b, c, d)",
        ["float[?]"]),
    "padded": (13, "float[A,9] x", f"{ints('p', 0, 1, 0, 2)} y = Pad(x, p)", ["float[A,12]"]),
    "padded with less": (13, "float[A,9] x", f"{ints('p', 1, -1, 0, -2)} y = Pad(x, p)", ["float[A+1,6]"]),
    "padded to nothing": (13, "float[3] x", f"{ints('p', -1, -2)} y = Pad(x, p)", ["float[0]"]),
    "padded to less than nothing": (13, "float[3] x", f"{ints('p', -2, -2)} y = Pad(x, p)", ["float[?]"]),
    "padded by too few": (13, PAIR, f"{ints('p', 0, 1)} y = Pad(x, p)", ["float[?,?]"]),
    "padded along an axis": (
        18, BOX, f"{ints('p', 1, 2)}{ints('a', -1)} y = Pad(x, p, \"\", a)", ["float[A,B,6]"]),
    "padded along two axes": (
        18, BOX, f"{ints('p', 1, 2, 3, 4)}{ints('a', 2, 0)} y = Pad(x, p, \"\", a)", ["float[A+6,B,7]"]),
    "padded along an axis twice": (
        18, BOX, f"{ints('p', 1, 2, 3, 4)}{ints('a', 2, -1)} y = Pad(x, p, \"\", a)", ["float[?,?,?]"]),
    "padded along axes that are computed": (
        18, f"{BOX}, int64[1] a", f"{ints('p', 1, 2)} y = Pad(x, p, \"\", a)", ["float[?,?,?]"]),
    "padded by what is computed in part": (
        13, "float[9] x, int64[1] q", f"{ints('k', 3)} p = Concat<axis = 0>(q, k) y = Pad(x, p)", ["float[?]"]),
    "parts": (13, "float[7,B] x", f"{ints('s', 3, 4)} y = Split(x, s)", ["float[3,B]", "float[4,B]"]),
    "parts of an attribute": (11, "float[A,7] x", "Split<axis = -1, split = [3, 4]>(x)", ["float[A,3]", "float[A,4]"]),
    "too many parts": (13, "float[7,B] x", f"{ints('s', 3, 3, 1)} y = Split(x, s)", ["float[?,B]", "float[?,B]"]),
    "parts of an axis that is none": (13, "float[6,B] x", "Split<axis = 2>(x)", ["float[*]", "float[*]"]),
    "parts of an axis before the first": (13, "float[6,B] x", "Split<axis = -3>(x)", ["float[*]", "float[*]"]),
    "even parts": (13, "float[6,B] x", "Split(x)", ["float[3,B]", "float[3,B]"]),
    "counted parts, the last smaller": (
        18, "float[7,B] x", "Split<num_outputs = 3>(x)", ["float[3,B]", "float[3,B]", "float[1,B]"]),
    "counted parts, one for each": (
        18, "float[3,B] x", "Split<num_outputs = 3>(x)", ["float[1,B]", "float[1,B]", "float[1,B]"]),
    "more counted parts than elements": (
        18, "float[2,B] x", "Split<num_outputs = 3>(x)", ["float[?,B]", "float[?,B]", "float[?,B]"]),
    "counted parts, none for the last": (
        18, "float[4,B] x", "Split<num_outputs = 3>(x)", ["float[2,B]", "float[2,B]", "float[0,B]"]),
    "counted parts of another number": (18, "float[6,B] x", "Split<num_outputs = 3>(x)", ["float[?,B]", "float[?,B]"]),
    "joined": (13, "float[A,3] x, float[A,B] z", "Concat<axis = 1>(x, z)", ["float[A,B+3]"]),
    "joined from the end": (13, "float[A,3] x, float[A,B] z", "Concat<axis = -1>(x, z)", ["float[A,B+3]"]),
    "joined along an axis that is none": (13, "float[A,3] x", "Concat<axis = 2>(x, x)", ["float[*]"]),
    "joined along an axis before the first": (13, "float[A,3] x", "Concat<axis = -3>(x, x)", ["float[*]"]),
    "joined with another rank": (13, "float[A,3] x, float[A] z", "Concat<axis = 0>(x, z)", ["float[*]"]),
    "joined with what has no rank": (13, "float[A,3] x, float[] z", "Concat<axis = 0>(x, z)", ["float[?,?]"]),
    "joined with other symbols": (13, "float[A,3] x, float[B,2] z", "Concat<axis = 1>(x, z)", ["float[?,5]"]),
    "joined along symbols with other symbols": (
        13, "float[A,B] x, float[C,D] z", "Concat<axis = 1>(x, z)", ["float[?,?]"]),
    "joined along the first axis, counted back": (
        13, "float[A,3] x, float[B,3] z", "Concat<axis = -2>(x, z)", ["float[B+A,3]"]),
    "joined along the axis between": (
        13, "float[A,B,C] x, float[A,D,C] z", "Concat<axis = 1>(x, z)", ["float[A,D+B,C]"]),
    "joined before an axis of other symbols": (
        13, "float[A,B,C] x, float[A,D,E] z", "Concat<axis = 1>(x, z)", ["float[A,?,?]"]),
    "joined behind an axis of other symbols": (
        13, "float[A,B,C] x, float[D,E,C] z", "Concat<axis = 1>(x, z)", ["float[?,?,C]"]),
    "joined with nothing else": (13, PAIR, "Concat<axis = 0>(x)", ["float[A,B]"]),
    "joined along the axis that older sets take": (3, "float[A,3] x, float[A,B] z", "Concat(x, z)", ["float[A,B+3]"]),
    "joined before what has no rank": (13, "float[] x, float[A,3] z", "Concat<axis = 0>(x, z)", ["float[?,?]"]),
    "joined with a filled one": (13, "float[A,3] x, float[2,3] z", "Concat<axis = 1>(x, z)", ["float[2,6]"]),
}  # fmt: skip
CASES = {
    f"{room}: {name}": case
    for room, cases in (("reduced", REDUCED), ("repeated", REPEATED), ("reshaped", RESHAPED), ("cut", CUT))
    for name, case in cases.items()
}


@pytest.mark.parametrize(("opset", "inputs", "node", "expected"), CASES.values(), ids=list(CASES))
def test_sizes_of_results(opset: int, inputs: str, node: str, expected: list[str], tmp_path: Path) -> None:
    assert results(tmp_path, inputs, node, len(expected), opset=opset) == expected


@pytest.mark.parametrize(("opset", "inputs", "node", "expected"), CASES.values(), ids=list(CASES))
def test_an_operand_of_no_rank_leaves_sizes_open(
    opset: int, inputs: str, node: str, expected: list[str], tmp_path: Path
) -> None:
    for less in without_a_rank(inputs):
        assert all(map(agree, results(tmp_path, less, node, len(expected), opset=opset), expected)), less


SHAPE = "float[A,B,3] x"
LIKE = "float[A,B,3] x, int64 i, int32 j, float g"
COUNTED: dict[str, tuple[int, str, str, str]] = {
    "a shape": (17, SHAPE, "v = Shape(x)", "A,B,3"),
    "a part of a shape": (17, SHAPE, "v = Shape<start = 1>(x)", "B,3"),
    "the front of a shape": (17, SHAPE, "v = Shape<end = 2>(x)", "A,B"),
    "the end of a shape": (17, SHAPE, "v = Shape<start = -2, end = -1>(x)", "B"),
    "a shape that is joined": (17, SHAPE, f"{ints('k', 7)} s = Shape<end = 1>(x) v = Concat<axis = 0>(k, s)", "7,A"),
    "a shape that is joined from the end": (
        17, SHAPE, f"{ints('k', 7)} s = Shape<end = 1>(x) v = Concat<axis = -1>(s, k)", "A,7"),
    "a shape that is joined with no operand": (
        17, SHAPE, f"{ints('k', 7)} s = Shape<end = 1>(x) v = Concat<axis = 0>(k, \"\", s)", "?,?"),
    "a shape that is joined with a number": (
        17, SHAPE, f"{ints('k', 7)} n = Size(x) v = Concat<axis = 0>(k, n)", "*"),
    "a shape that is joined along no axis": (
        17, SHAPE, f"{ints('k', 7)} s = Shape(x) v = Concat<axis = 1>(k, s)", "*"),
    "a shape alone": (17, SHAPE, "s = Shape(x) v = Concat<axis = 0>(s)", "A,B,3"),
    "a shape that is joined with what is computed": (
        17, f"{SHAPE}, int64[1] q", "s = Shape(x) v = Concat<axis = 0>(s, q)", "A,B,3,?"),
    "a shape that is joined with what was joined": (
        17, f"{SHAPE}, int64[1] q",
        f"{ints('k', 7)} s = Shape<end = 2>(x) w = Concat<axis = 0>(q, s) v = Concat<axis = 0>(k, w)", "7,?,A,B"),
    "a shape that is joined with any number of what is computed": (
        17, f"{SHAPE}, int64[K] q", "s = Shape(x) v = Concat<axis = 0>(s, q)", "*"),
    "as many joined sizes as are known": (
        17, SHAPE,
        (f"{ints('k', *[1] * 61)}{ints('a', 1)}{ints('b', 4)} s = Shape(x) n = Concat<axis = 0>(s, k)"
         " v = Slice(n, a, b)"),
        "B,3,1"),
    "more joined sizes than are known": (
        17, SHAPE,
        (f"{ints('k', *[1] * 62)}{ints('a', 1)}{ints('b', 4)} s = Shape(x) n = Concat<axis = 0>(s, k)"
         " v = Slice(n, a, b)"),
        "?,?,?"),
    "joined floats along no axis": (
        17, SHAPE, f"{floats('f', 3)}{floats('g', 4, 5)} c = Concat<axis = 1>(f, g) v = Cast<to = 7>(c)", "*"),
    "joined floats beside each other": (
        17, SHAPE,
        (f"{floats('f', 3, 4)}{ints('k', 2, 1)}{ints('m', -1)} r = Reshape(f, k) g = Concat<axis = 1>(r, r)"
         " c = Reshape(g, m) v = Cast<to = 7>(c)"),
        "3,3,4,4"),
    "joined floats with what is computed": (
        17, f"{SHAPE}, float[1] q", f"{floats('f', 3)} c = Concat<axis = 0>(f, q) v = Cast<to = 7>(c)", "?,?"),
    "floats alone": (17, SHAPE, f"{floats('f', 3, 4)} c = Concat<axis = 0>(f) v = Cast<to = 7>(c)", "3,4"),
    "chosen sizes": (17, SHAPE, f"{ints('k', 2, -3)} s = Shape(x) v = Gather(s, k)", "3,A"),
    "a chosen size": (17, SHAPE, f"{ints('k', 0)} s = Shape(x) v = Gather<axis = -1>(s, k)", "A"),
    "a size that is chosen by 32 bits": (
        17, SHAPE, "k = Constant<value = int32[1] {1}>() s = Shape(x) v = Gather(s, k)", "B"),
    "a size that is chosen as a number": (
        17, SHAPE,
        f"j = Constant<value = int64 {{1}}>() {ints('m', 0)} s = Shape(x) n = Gather(s, j) v = Unsqueeze(n, m)", "B"),
    "a size that is chosen by what is computed": (17, f"{SHAPE}, int64[1] q", "s = Shape(x) v = Gather(s, q)", "?"),
    "a number that is chosen of what is computed": (17, "int64[3] q", f"{ints('k', 1)} v = Gather(q, k)", "?"),
    "a number that is chosen by a size": (
        17, SHAPE, f"{ints('k', 5, 6, 7)} s = Shape<end = 1>(x) v = Gather(k, s)", "?"),
    "a size that is chosen along no axis": (17, SHAPE, f"{ints('k', 1)} s = Shape(x) v = Gather<axis = 1>(s, k)", "*"),
    "chosen floats of no number": (
        17, SHAPE, f"{floats('f', 3, 4)}{ints('k')} c = Gather(f, k) v = Cast<to = 7>(c)", ""),
    "chosen floats before the first": (
        17, SHAPE, f"{floats('f', 3, 4)}{ints('k', -3)} c = Gather(f, k) v = Cast<to = 7>(c)", "?"),
    "chosen floats behind the last": (
        17, SHAPE, f"{floats('f', 3, 4)}{ints('k', 2)} c = Gather(f, k) v = Cast<to = 7>(c)", "?"),
    "floats that are chosen by what is computed": (
        17, f"{SHAPE}, int64[1] q", f"{floats('f', 3, 4)} c = Gather(f, q) v = Cast<to = 7>(c)", "?"),
    "floats that are chosen along no axis": (
        17, SHAPE, f"{floats('f', 3, 4)}{ints('k', 1)} c = Gather<axis = 1>(f, k) v = Cast<to = 7>(c)", "*"),
    "chosen columns of floats": (
        17, SHAPE,
        (f"{floats('f', 1, 2, 3, 4, 5, 6)}{ints('r', 2, 3)}{ints('k', 2, -3)}{ints('m', -1)} g = Reshape(f, r)"
         " h = Gather<axis = 1>(g, k) c = Reshape(h, m) v = Cast<to = 7>(c)"),
        "3,1,6,4"),
    "a size that is not there": (17, SHAPE, f"{ints('k', 3)} s = Shape(x) v = Gather(s, k)", "?"),
    "a size before the first": (17, SHAPE, f"{ints('k', -4)} s = Shape(x) v = Gather(s, k)", "?"),
    "a part of sizes": (17, SHAPE, f"{ints('a', 0)}{ints('b', 2)} s = Shape(x) v = Slice(s, a, b)", "A,B"),
    "every second size": (
        17, SHAPE, f"{ints('a', 0)}{ints('b', 9)}{ints('c', 0)}{ints('d', 2)} s = Shape(x) v = Slice(s, a, b, c, d)",
        "A,3"),
    "a part of sizes along the last axis": (
        17, SHAPE, f"{ints('a', -1)}{ints('b', 9)}{ints('c', -1)} s = Shape(x) v = Slice(s, a, b, c)", "3"),
    "parts of sizes": (17, SHAPE, f"{ints('k', 1, 2)} s = Shape(x) u, v = Split(s, k)", "?,?"),
    "twice the sizes": (17, SHAPE, f"{ints('k', 2)} s = Shape(x) v = Mul(s, k)", "2*A,2*B,6"),
    "sizes and more": (17, SHAPE, f"{ints('k', 1, 2, 3)} s = Shape(x) v = Add(s, k)", "A+1,B+2,6"),
    "half the sizes": (17, "float[6,9] x", f"{ints('k', 2)} s = Shape(x) v = Div(s, k)", "3,4"),
    "what is left of the sizes": (17, "float[6,9] x", f"{ints('k', 2)} s = Shape(x) v = Mod(s, k)", "0,1"),
    "the greater of sizes": (17, "float[6,9] x", f"{ints('k', 7)} s = Shape(x) v = Max(s, k)", "7,9"),
    "the smaller of sizes": (17, "float[6,9] x", f"{ints('k', 7)} s = Shape(x) v = Min(s, k)", "6,7"),
    "less than the sizes": (17, "float[6,9] x", f"{ints('k', 1)} s = Shape(x) v = Sub(s, k)", "5,8"),
    "filled numbers": (17, SHAPE, f"{ints('k', 2)} v = ConstantOfShape<value = int64[1] {{7}}>(k)", "7,7"),
    "a filled number": (
        17, SHAPE, f"{ints('k')}{ints('o', 1)} n = ConstantOfShape<value = int64[1] {{7}}>(k) v = Reshape(n, o)", "7"),
    "a filled number of 32 bits": (
        17, SHAPE, f"{ints('k', 1)} n = ConstantOfShape<value = int32[1] {{7}}>(k) v = Cast<to = 7>(n)", "7"),
    "negative numbers, negated": (17, SHAPE, f"{ints('k', -4, -5)} v = Neg(k)", "4,5"),
    "a number, negated": (
        17, SHAPE, f"{ints('o', 1)} n = Constant<value = int64 {{-4}}>() m = Neg(n) v = Reshape(m, o)", "4"),
    "negated twice": (17, SHAPE, "s = Shape(x) n = Neg(s) v = Neg(n)", "A,B,3"),
    "sizes in another type": (17, SHAPE, "s = Shape(x) i = Cast<to = 6>(s) v = Cast<to = 7>(i)", "A,B,3"),
    "sizes in the type of sizes": (17, SHAPE, "s = Shape(x) v = CastLike(s, s)", "A,B,3"),
    "sizes as they are": (17, SHAPE, "s = Shape(x) v = Identity(s)", "A,B,3"),
    "a number of elements": (17, SHAPE, f"{ints('k', 1)} n = Size(x) v = Reshape(n, k)", "3*A*B"),
    "a product of sizes": (17, SHAPE, "s = Shape(x) v = ReduceProd(s)", "3*A*B"),
    "a product of sizes along an axis": (17, SHAPE, "s = Shape(x) v = ReduceProd<axes = [0]>(s)", "3*A*B"),
    "a product of sizes along the last axis": (17, SHAPE, "s = Shape(x) v = ReduceProd<axes = [-1]>(s)", "3*A*B"),
    "a product of sizes as a number": (
        17, SHAPE, f"{ints('k', -1)} s = Shape(x) n = ReduceProd<keepdims = 0>(s) v = Reshape(n, k)", "3*A*B"),
    "a product of what is computed": (17, "int64[3] q", "v = ReduceProd(q)", "?"),
    "a product of sizes that is kept oddly": (17, SHAPE, "s = Shape(x) v = ReduceProd<keepdims = 2>(s)", "*"),
    "a product of sizes along an axis that is none": (17, SHAPE, "s = Shape(x) v = ReduceProd<axes = [1]>(s)", "*"),
    "a product of a number": (
        17, SHAPE, f"{ints('k', 1)} n = Size(x) m = ReduceProd(n) v = Reshape(m, k)", "?"),
    "a product of sizes of 32 bits": (
        17, SHAPE, "s = Shape(x) i = Cast<to = 6>(s) p = ReduceProd(i) v = Cast<to = 7>(p)", "3*A*B"),
    "a product of sizes along a stated axis": (18, SHAPE, f"{ints('k', 0)} s = Shape(x) v = ReduceProd(s, k)", "3*A*B"),
    "a product of sizes along a stated axis, and nothing done otherwise": (
        18, SHAPE, f"{ints('k', -1)} s = Shape(x) v = ReduceProd<noop_with_empty_axes = 1>(s, k)", "3*A*B"),
    "a product of sizes along no axis, and nothing done": (
        18, SHAPE, "s = Shape(x) v = ReduceProd<noop_with_empty_axes = 1>(s)", "?,?,?"),
    "a product of sizes along all axes, nothing done oddly": (
        18, SHAPE, "s = Shape(x) v = ReduceProd<noop_with_empty_axes = 2>(s)", "*"),
    "a product of sizes along no stated axis": (18, SHAPE, f"{ints('k')} s = Shape(x) v = ReduceProd(s, k)", "?"),
    "a product of sizes along an axis that is computed": (
        18, f"{SHAPE}, int64[1] q", "s = Shape(x) v = ReduceProd(s, q)", "*"),
    "the greatest of floats along a stated axis": (
        18, SHAPE, f"{floats('f', 3, 5, 4)}{ints('k', 0)} c = ReduceMax(f, k) v = Cast<to = 7>(c)", "5"),
    "the greatest of floats along no axis, and nothing done": (
        18, SHAPE, f"{floats('f', 3, 5, 4)} c = ReduceMax<noop_with_empty_axes = 1>(f) v = Cast<to = 7>(c)", "3,5,4"),
    "the greatest of floats along an axis, and nothing done otherwise": (
        18, SHAPE,
        f"{floats('f', 3, 5, 4)}{ints('k', 0)} c = ReduceMax<noop_with_empty_axes = 1>(f, k) v = Cast<to = 7>(c)", "5"),
    "the greatest of floats, nothing done oddly": (
        18, SHAPE, f"{floats('f', 3, 5, 4)} c = ReduceMax<noop_with_empty_axes = 2>(f) v = Cast<to = 7>(c)", "*"),
    "the greatest of floats that is kept oddly": (
        13, SHAPE, f"{floats('f', 3, 5, 4)} c = ReduceMax<keepdims = 2>(f) v = Cast<to = 7>(c)", "*"),
    "the greatest of floats along an axis that is none": (
        13, SHAPE, f"{floats('f', 3, 5, 4)} c = ReduceMax<axes = [1]>(f) v = Cast<to = 7>(c)", "*"),
    "the greatest of floats along an axis that is computed": (
        18, f"{SHAPE}, int64[1] q", f"{floats('f', 3, 5, 4)} c = ReduceMax(f, q) v = Cast<to = 7>(c)", "*"),
    "the greatest of rows": (
        13, SHAPE,
        (f"{floats('f', 3, 5, 4, 9, 7, 8)}{ints('k', 2, 3)}{ints('m', -1)} r = Reshape(f, k)"
         " g = ReduceMax<axes = [1]>(r) c = Reshape(g, m) v = Cast<to = 7>(c)"),
        "5,9"),
    "the greatest of columns, without their axis": (
        13, SHAPE,
        (f"{floats('f', 3, 5, 4, 9, 7, 1)}{ints('k', 2, 3)} r = Reshape(f, k)"
         " c = ReduceMax<axes = [0], keepdims = 0>(r) v = Cast<to = 7>(c)"),
        "9,7,4"),
    "a product of sizes of an older set": (11, SHAPE, "s = Shape(x) v = ReduceProd(s)", "3*A*B"),
    "sizes where they are equal": (
        17, "float[6,9] x",
        f"{ints('k', 6)}{ints('a', 1)}{ints('b', 2)} s = Shape(x) c = Equal(s, k) v = Where(c, a, b)", "1,2"),
    "sizes where they are not equal": (
        17, "float[6,9] x",
        f"{ints('k', 6)}{ints('a', 1)} s = Shape(x) c = Equal(s, k) n = Not(c) v = Where(n, a, s)", "6,1"),
    "sizes where they are greater": (
        17, "float[6,9] x", f"{ints('k', 6)}{ints('a', 1)} s = Shape(x) c = Greater(s, k) v = Where(c, a, s)", "6,1"),
    "sizes where they are less": (
        17, "float[6,9] x", f"{ints('k', 9)}{ints('a', 1)} s = Shape(x) c = Less(s, k) v = Where(c, a, s)", "1,9"),
    "sizes where they are at least": (
        17, "float[6,9] x",
        f"{ints('k', 9)}{ints('a', 1)} s = Shape(x) c = GreaterOrEqual(s, k) v = Where(c, a, s)", "6,1"),
    "sizes where they are at most": (
        17, "float[6,9] x",
        f"{ints('k', 6)}{ints('a', 1)} s = Shape(x) c = LessOrEqual(s, k) v = Where(c, a, s)", "1,9"),
    "sizes of symbols where they are equal to themselves": (
        17, SHAPE, f"{ints('k', -1)}{ints('a', 1)} s = Shape(x) c = Equal(s, s) v = Where(c, s, a)", "A,B,3"),
    "sizes of symbols where they are greater than -1": (
        17, SHAPE, f"{ints('k', -1)}{ints('a', 1)} s = Shape(x) c = Greater(s, k) v = Where(c, s, a)", "A,B,3"),
    "sizes of symbols where they are above -1": (
        17, SHAPE, f"{ints('k', -1)}{ints('a', 1)} s = Shape(x) c = Less(k, s) v = Where(c, s, a)", "A,B,3"),
    "sizes of symbols where they are at least themselves": (
        17, SHAPE, f"{ints('k', -1)}{ints('a', 1)} s = Shape(x) c = GreaterOrEqual(s, s) v = Where(c, s, a)", "A,B,3"),
    "sizes of symbols where they are at most themselves": (
        17, SHAPE, f"{ints('k', -1)}{ints('a', 1)} s = Shape(x) c = LessOrEqual(s, s) v = Where(c, s, a)", "A,B,3"),
    "sizes of symbols where they are not themselves": (
        17, SHAPE, f"{ints('a', 1)} s = Shape(x) c = Equal(s, s) n = Not(c) v = Where(n, s, a)", "1,1,1"),
    "sizes as a matrix that is turned": (
        17, "float[A,B,C,D] x",
        f"{ints('k', 2, 2)}{ints('m', -1)} s = Shape(x) r = Reshape(s, k) t = Transpose(r) v = Reshape(t, m)",
        "A,C,B,D"),
    "sizes as a matrix of an open height": (
        17, "float[A,B,C,D] x",
        (f"{ints('k', -1, 2)}{ints('m', -1)} s = Shape(x) r = Reshape(s, k)"
         " t = Transpose<perm = [1, 0]>(r) v = Reshape(t, m)"),
        "A,C,B,D"),
    "sizes as a matrix of an open width": (
        17, "float[A,B,C,D] x",
        f"{ints('k', 2, -1)}{ints('m', 4)} s = Shape(x) r = Reshape(s, k) t = Transpose(r) v = Reshape(t, m)",
        "A,C,B,D"),
    "sizes as a matrix whose rows are turned around": (
        17, "float[A,B,C,D] x",
        (f"{ints('k', 2, 2)}{ints('m', -1)}{ints('a', -1)}{ints('b', -9)}{ints('c', 0)} s = Shape(x) r = Reshape(s, k)"
         " t = Slice(r, a, b, c, a) v = Reshape(t, m)"),
        "C,D,A,B"),
    "sizes as a matrix whose columns are turned around": (
        17, "float[A,B,C,D] x",
        (f"{ints('k', 2, 2)}{ints('m', -1)}{ints('a', -1)}{ints('b', -9)}{ints('c', 1)} s = Shape(x) r = Reshape(s, k)"
         " t = Slice(r, a, b, c, a) v = Reshape(t, m)"),
        "B,A,D,C"),
    "filled by a scalar": (17, SHAPE, f"{ints('k', 2)} v = ConstantOfShape<value = int64 {{7}}>(k)", "7,7"),
    "filled by a scalar as a number": (
        17, SHAPE, f"{ints('k')}{ints('o', 1)} n = ConstantOfShape<value = int64 {{7}}>(k) v = Reshape(n, o)", "7"),
    "no element filled by a scalar": (17, SHAPE, f"{ints('k', 0)} v = ConstantOfShape<value = int64 {{7}}>(k)", ""),
    "filled by a scalar below 0": (
        17, SHAPE, f"{ints('k', -1)} v = ConstantOfShape<value = int64 {{7}}>(k)", "*"),
    "a matrix filled by a scalar": (
        17, SHAPE,
        f"{ints('k', 1, 2)}{ints('o', -1)} n = ConstantOfShape<value = int64 {{7}}>(k) v = Reshape(n, o)", "?,?"),
    "filled by two elements": (
        17, SHAPE, f"{ints('k', 2)} v = ConstantOfShape<value = int64[2] {{7, 8}}>(k)", "?,?"),
    "filled by a scalar to a symbol": (
        17, SHAPE, "s = Shape<end = 1>(x) v = ConstantOfShape<value = int64 {7}>(s)", "*"),
    "filled by a scalar to what is computed": (17, "int64[1] k", "v = ConstantOfShape<value = int64 {7}>(k)", "*"),
    "filled by a scalar that is no integer": (
        17, SHAPE, f"{ints('k', 2)} n = ConstantOfShape<value = float {{7}}>(k) v = Cast<to = 7>(n)", "?,?"),
    "as many filled by a scalar as are known": (
        17, SHAPE,
        f"{ints('k', 64)}{ints('a', 0)}{ints('b', 2)} n = ConstantOfShape<value = int64 {{7}}>(k) v = Slice(n, a, b)",
        "7,7"),
    "more filled by a scalar than are known": (
        17, SHAPE,
        f"{ints('k', 65)}{ints('a', 0)}{ints('b', 2)} n = ConstantOfShape<value = int64 {{7}}>(k) v = Slice(n, a, b)",
        "?,?"),
    "chosen of another length": (
        17, PAIR, f"{ints('a', 1, 2, 3)} s = Shape(x) c = Equal(s, s) v = Where(c, s, a)", "*"),
    "chosen by a condition of another length": (
        17, PAIR, f"{ints('k', 1, 2, 3)}{ints('a', 5)} s = Shape(x) c = Equal(k, k) v = Where(c, s, a)", "*"),
    "chosen by what is computed": (
        17, f"{PAIR}, bool[2] c", f"{ints('a', 1, 2)} s = Shape(x) v = Where(c, s, a)", "?,?"),
    "chosen of what is computed": (17, f"{PAIR}, int64[2] q", "s = Shape(x) c = Equal(s, s) v = Where(c, q, s)", "?,?"),
    "chosen beside what is computed": (
        17, f"{PAIR}, int64[2] q", "s = Shape(x) c = Equal(s, s) v = Where(c, s, q)", "?,?"),
    "chosen of one element": (17, PAIR, f"{ints('a', 5)} s = Shape(x) c = Equal(a, a) v = Where(c, s, a)", "A,B"),
    "a sum with no operand": (17, SHAPE, 's = Shape(x) v = Add(s, "")', "?,?,?"),
    "a comparison with no operand": (
        17, SHAPE, f"{ints('a', 5)} s = Shape(x) c = Equal(s, \"\") v = Where(c, s, a)", "?,?,?"),
    "a filled vector": (
        17, "float[3] x", "s = Shape(x) v = ConstantOfShape<value = int64[1] {5}>(s)", "5,5,5"),
    "filled by a computed target": (17, "int64[3] s", "v = Identity(s)", "?,?,?"),
    "whole floats": (17, SHAPE, f"{floats('f', 3, 4)} v = Cast<to = 7>(f)", "3,4"),
    "whole floats as integers of 32 bits": (
        17, SHAPE, f"{floats('f', 3, 4)} i = Cast<to = 6>(f) v = Cast<to = 7>(i)", "3,4"),
    "joined floats": (
        17, SHAPE, f"{floats('f', 3)}{floats('g', 4, 5)} c = Concat<axis = 0>(f, g) v = Cast<to = 7>(c)", "3,4,5"),
    "chosen floats": (
        17, SHAPE, f"{floats('f', 3, 4, 5)}{ints('k', 2, -3)} c = Gather(f, k) v = Cast<to = 7>(c)", "5,3"),
    "a part of floats": (
        17, SHAPE, f"{floats('f', 3, 4, 5)}{ints('a', 1)}{ints('b', 3)} c = Slice(f, a, b) v = Cast<to = 7>(c)", "4,5"),
    "floats turned around by a slice": (
        17, SHAPE,
        (f"{floats('f', 3, 4, 5)}{ints('a', -1)}{ints('b', -9)}{ints('o', 0)} c = Slice(f, a, b, o, a)"
         " v = Cast<to = 7>(c)"),
        "5,4,3"),
    "split floats": (
        17, SHAPE, f"{floats('f', 3, 4, 5)}{ints('k', 1, 2)} a, b = Split(f, k) v = Cast<to = 7>(b)", "4,5"),
    "evenly split floats": (17, SHAPE, f"{floats('f', 3, 4, 5, 6)} a, b = Split(f) v = Cast<to = 7>(b)", "5,6"),
    "counted splits of floats": (
        18, SHAPE, f"{floats('f', 3, 4, 5)} a, b = Split<num_outputs = 2>(f) v = Cast<to = 7>(a)", "3,4"),
    "the greatest of floats": (13, SHAPE, f"{floats('f', 3, 5, 4)} c = ReduceMax(f) v = Cast<to = 7>(c)", "5"),
    "the least of floats": (13, SHAPE, f"{floats('f', 3, 5, 4)} c = ReduceMin<axes = [0]>(f) v = Cast<to = 7>(c)", "3"),
    "turned floats": (
        17, SHAPE,
        (f"{floats('f', 1, 2, 3, 4, 5, 6)}{ints('k', 2, -1)}{ints('m', -1)} r = Reshape(f, k) t = Transpose(r)"
         " c = Reshape(t, m) v = Cast<to = 7>(c)"),
        "1,4,2,5,3,6"),
    "differences of floats": (
        17, SHAPE, f"{floats('f', 7, 9)}{floats('g', 2)} c = Sub(f, g) v = Cast<to = 7>(c)", "5,7"),
    "quotients of floats": (17, SHAPE, f"{floats('f', 8, 9)}{floats('g', 2)} c = Div(f, g) v = Cast<to = 7>(c)", "4,4"),
    "rounded floats": (
        17, SHAPE,
        f"{floats('f', 2.5)} a = Floor(f) b = Ceil(f) c = Concat<axis = 0>(a, b) v = Cast<to = 7>(c)", "2,3"),
    "roots of floats": (17, SHAPE, f"{floats('f', 9, 16)} c = Sqrt(f) v = Cast<to = 7>(c)", "3,4"),
    "squares of floats": (17, SHAPE, f"{floats('f', 3, 4)}{floats('t', 2)} c = Pow(f, t) v = Cast<to = 7>(c)", "9,16"),
    "absolute floats": (17, SHAPE, f"{floats('f', -3, 4)} c = Abs(f) v = Cast<to = 7>(c)", "3,4"),
    "chosen by a condition": (
        17, SHAPE,
        f"{floats('f', 3, 4)}{floats('g', 3)}{floats('h', 8)} b = Equal(f, g) c = Where(b, h, f) v = Cast<to = 7>(c)",
        "8,4"),
    "the greatest of three": (
        17, SHAPE, f"{floats('f', 3, 9)}{floats('g', 7)}{floats('h', 1)} c = Max(f, g, h) v = Cast<to = 7>(c)", "7,9"),
    "places of what is not 0": (
        17, SHAPE, f"{floats('f', 0, 5, 6)}{ints('m', -1)} c = NonZero(f) v = Reshape(c, m)", "1,2"),
    "a range of integers": (
        17, SHAPE,
        "a = Constant<value_int = 2>() b = Constant<value_int = 9>() c = Constant<value_int = 3>() v = Range(a, b, c)",
        "2,5,8"),
    "whole floats as another is": (17, LIKE, f"{floats('f', 3, 4)} v = CastLike(f, i)", "3,4"),
    "equal whole floats as another is": (17, LIKE, f"{floats('f', 3, 3)} v = CastLike(f, i)", "3,3"),
    "a whole float as another is": (17, LIKE, f"{floats('f', 3)} v = CastLike(f, i)", "3"),
    "whole doubles as another is": (
        17, LIKE, "f = Constant<value = double[2] {3, 4}>() v = CastLike(f, i)", "3,4"),
    "a float as another is, in one axis": (
        17, LIKE, f"f = Constant<value_float = 3.0>() n = CastLike(f, i) {ints('m', 0)} v = Unsqueeze(n, m)", "3"),
    "whole floats and others as another is": (17, LIKE, f"{floats('f', 3, 4.5)} v = CastLike(f, i)", "?,?"),
    "whole floats as one of 32 bits is": (
        17, LIKE, f"{floats('f', 3, 4)} n = CastLike(f, j) v = Cast<to = 7>(n)", "3,4"),
    "floats of more than 31 bits as one of 32 bits is": (
        17, LIKE, "f = Constant<value = float[2] {3, 2147483648}>() n = CastLike(f, j) v = Cast<to = 7>(n)", "?,?"),
    "floats of more than 31 bits as another is": (
        17, LIKE, "f = Constant<value = float[2] {3, 2147483648}>() v = CastLike(f, i)", "3,2147483648"),
    "doubles of 54 bits as another is": (
        17, LIKE, "f = Constant<value = double[2] {3, 9007199254740992}>() v = CastLike(f, i)", "?,?"),
    "floats as a float is": (17, LIKE, f"{floats('f', 3, 4)} n = CastLike(f, g) v = CastLike(n, i)", "?,?"),
    "as many equal floats as are known": (
        17, LIKE, f"{floats('f', *[2] * 64)} n = CastLike(f, i) {ints('a', 0)}{ints('b', 2)} v = Slice(n, a, b)",
        "2,2"),
    "more equal floats than are known": (
        17, LIKE, f"{floats('f', *[2] * 65)} n = CastLike(f, i) {ints('a', 0)}{ints('b', 2)} v = Slice(n, a, b)",
        "?,?"),
    "floats as any value is": (
        17, LIKE, f"{floats('f', 3, 4)} h = com.microsoft.Unknown(x) v = CastLike(f, h)", "?,?"),
    "floats that are not whole": (17, SHAPE, f"{floats('f', 3.5, 4)} v = Cast<to = 7>(f)", "3,4"),
}  # fmt: skip


@pytest.mark.parametrize(("opset", "inputs", "nodes", "expected"), COUNTED.values(), ids=list(COUNTED))
def test_integers_that_are_known(opset: int, inputs: str, nodes: str, expected: str, tmp_path: Path) -> None:
    assert results(tmp_path, inputs, f"{nodes} y = ConstantOfShape(v)", 1, opset=opset) == [f"float[{expected}]"]


ASSUMED: dict[str, tuple[int, str, str, list[str]]] = {
    "a sum from the end of what may be nothing": (11, PAIR, "ReduceMean<axes = [-1]>(x)", [NONE_WITHOUT_ELEMENTS]),
    "a sum from both ends of what may be nothing": (
        11, BOX, "ReduceMean<axes = [0, -1]>(x)", [NONE_WITHOUT_ELEMENTS]),
    "a sum of the first axis of what may be nothing": (11, PAIR, "ReduceMean<axes = [0]>(x)", []),
    "a place from the end of what may be nothing": (13, PAIR, "ArgMax<axis = -1>(x)", [NONE_WITHOUT_ELEMENTS]),
    "a sum from the front of what may be nothing": (11, PAIR, "ReduceMean<axes = [1]>(x)", []),
    "a sum from the end of numbers": (11, "float[2,3] x", "ReduceMean<axes = [-1]>(x)", []),
    "a scaled symbol": (13, PAIR, f'{floats("s", 1, 2)} y = Resize(x, "", s)', [EXACT_IN_FLOAT32]),
    "symbols that are scaled by 1": (13, PAIR, f'{floats("s", 1, 1)} y = Resize(x, "", s)', []),
    "a scaled number": (13, "float[2,3] x", f'{floats("s", 1, 2)} y = Resize(x, "", s)', []),
    "a target of a symbol that may be a copy": (
        17, "float[A,B] x, float[B] z",
        f"{ints('k', -1)} s = Shape(z) t = Concat<axis = 0>(s, k) y = Reshape(x, t)", [NO_SIZE_IS_0]),
    "a target of the symbol that is copied": (
        17, "float[A,B] x", f"{ints('k', -1)} s = Shape<end = 1>(x) t = Concat<axis = 0>(s, k) y = Reshape(x, t)", []),
    "a target of a size that is copied": (
        17, "float[A,B] x, int64[1] q", "s = Shape<end = 1>(x) t = Concat<axis = 0>(s, q) y = Reshape(x, t)", []),
    "a target of a size that may be a copy": (
        17, "float[A,B] x, float[C] z, int64[1] q", "s = Shape(z) t = Concat<axis = 0>(s, q) y = Reshape(x, t)",
        [NO_SIZE_IS_0]),
    "a target of a size that may be a copy of the second size": (
        17, "float[A,B] x, int64[1] q", "s = Shape<end = 1>(x) t = Concat<axis = 0>(q, s) y = Reshape(x, t)",
        [NO_SIZE_IS_0]),
    "a target of a size that is no copy": (
        17, "float[A,B] x, float[C] z, int64[1] q",
        "s = Shape(z) t = Concat<axis = 0>(s, q) y = Reshape<allowzero = 1>(x, t)", []),
    "a target of a size that divides what may be copied": (
        17, "float[A,B] x, int64[1] q",
        f"{ints('k', -1)} v = Reshape(x, k) s = Shape<end = 1>(x) t = Concat<axis = 0>(s, q) y = Reshape(v, t)", []),
    "a target of a size that does not divide what may be copied": (
        17, "float[A,B] x, float[C] z, int64[1] q",
        f"{ints('k', -1)} v = Reshape(x, k) s = Shape(z) t = Concat<axis = 0>(s, q) y = Reshape(v, t)",
        [NO_SIZE_IS_0]),
    "a target of a size behind the last axis": (
        17, "float[A] x, float[C] z, int64[1] q", "s = Shape(z) t = Concat<axis = 0>(q, s) y = Reshape(x, t)", []),
    "a target of a size of what has no rank": (
        17, "float[] x, float[C] z, int64[1] q", "s = Shape(z) t = Concat<axis = 0>(s, q) y = Reshape(x, t)", []),
    "an open size between copies": (14, "float[A,4,B,6] x", f"{BETWEEN} y = Reshape(x, t)", []),
    "an open size between what are no copies": (
        17, "float[A,4,B,6] x", f"{BETWEEN} y = Reshape<allowzero = 1>(x, t)", [NO_SIZE_IS_0]),
    "an open size before numbers that are no copies": (
        17, "float[A,4,6] x", f"{ints('t', -1, 3, 8)} y = Reshape<allowzero = 1>(x, t)", []),
    "an open size beside zeros": (
        17, "float[A,B,3] x, float[A] z",
        f"{ints('k', -1)} s = Shape(z) t = Concat<axis = 0>(s, k) y = Reshape<allowzero = 1>(x, t)", [NO_SIZE_IS_0]),
}  # fmt: skip


@pytest.mark.parametrize(("opset", "inputs", "node", "expected"), ASSUMED.values(), ids=list(ASSUMED))
def test_what_is_assumed_of_sizes(opset: int, inputs: str, node: str, expected: list[str], tmp_path: Path) -> None:
    assert assumed(tmp_path, inputs, node, opset=opset) == expected
