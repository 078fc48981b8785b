"""What the proof knows of a result's sizes and small elements, by itself: the files leave both free."""

from __future__ import annotations

import re

import pytest

from models.builders.tflite.text import model
from tests.support.proved import unproved
from tests.support.tflite.operator_rows import ELEMENTS, PARTS, SHAPES

UNKNOWN = frozenset({
    "SEGMENT_SUM", "SEGMENT_SUM of negative numbers", "RFFT2D of a matrix", "FULLY_CONNECTED", "L2_POOL_2D",
    "CONV_3D_TRANSPOSE", "GATHER by batch, from the end", "GATHER by all axes of the batch, from the end",
    "RESHAPE by a matrix goes by new_shape", "RESHAPE by int64 goes by new_shape", "TRANSPOSE from the end",
    "CONCATENATION with a free size", "PACK with a free size", "SPARSE_TO_DENSE", "RANDOM_UNIFORM",
    "RANDOM_STANDARD_NORMAL", "ADD_N", "ADD_N of one that has a rank",
})  # fmt: skip
"""Shapes that the proof need not know, since no fix is read by them."""
NEW_AXIS = "STRIDED_SLICE(x[5,6], b:const:int32[2]{0,1}, e:const:int32[2]{0,3}, s:const:int32[2]{1,1}, new_axis_mask=1)"
KNOWN = [name for name, row in SHAPES.items() if row[1] != "[]" and not {"?", "*"} & {*row[1]} and name not in UNKNOWN]


def is_known(text: str, sizes: str, dtype: str = "") -> bool:
    """Return whether the SHAPE of what an operator returns is proved to be these numbers."""
    count = sizes.count(",") + 1
    result = f"r{dtype and ':'}{dtype}[{','.join('?' * count)}] = {text}\n"
    reader = f"y:int32[{count}] = ADD({{}}, given:int32[{count}])"
    asked = f"{result}sizes:int32[{count}] = SHAPE(r, out_type=INT32)\n{reader.format('sizes')}"
    stated = result + reader.format(f"stated:const:int32[{count}]{{{sizes}}}")
    return unproved(model(asked, outputs=["r", "y"]), model(stated, outputs=["r", "y"])) is None


@pytest.mark.parametrize("name", KNOWN)
def test_sizes_that_an_operator_gives_its_result_are_known(name: str) -> None:
    text, expected, dtype = (*SHAPES[name], "")[:3]
    assert is_known(text, expected[1:-1].replace(" ", ""), dtype)


def test_a_new_axis_of_a_strided_slice_has_size_1() -> None:
    assert is_known(NEW_AXIS, "1,2,6")
    assert not is_known(NEW_AXIS, "2,2,6")


SEVERAL = [
    name
    for name, (_, sizes) in PARTS.items()
    if not {"?", "*"} & {*sizes} and name.split(maxsplit=1)[0] in ("UNPACK", "SPLIT", "TOPK_V2")
] + ["the places of TOPK_V2"]


@pytest.mark.parametrize("name", SEVERAL)
def test_sizes_of_one_result_of_several_are_known(name: str) -> None:
    text, expected = PARTS[name]
    count = expected.count(",") + 1
    reader = f"total:int32[{count}] = ADD({{}}, given:int32[{count}])"
    asked = f"{text}\nsizes:int32[{count}] = SHAPE(y, out_type=INT32)\n{reader.format('sizes')}"
    stated = f"{text}\n{reader.format(f'stated:const:int32[{count}]{{{expected[1:-1]}}}')}"
    free = f"[{','.join('?' * count)}]"
    before, after = (model(each.replace("[*]", free), outputs=["y", "total"]) for each in (asked, stated))
    assert unproved(before, after) is None


CONV = "stride_h=1, stride_w=2, dilation_h_factor=2, dilation_w_factor=1"
# text -> numbers that a rule without one of its conditions would return
NOT_KNOWN = {
    "a window as large as the rows, with its dilation": (
        f"CONV_2D(x[4,4,4,2], w[6,3,4,2], b[6], padding=VALID, {CONV})",
        "4,0,1,6",
    ),
    "a window larger than the columns": (f"CONV_2D(x[4,5,3,2], w[6,3,4,2], b[6], padding=VALID, {CONV})", "4,1,0,6"),
    "a stride of 0": ("CONV_2D(x[4,9,9,2], w[6,3,3,2], b[6], stride_h=0, stride_w=1)", "4,9,9,6"),
    "a pool as large as the rows": (
        "MAX_POOL_2D(x[4,2,11,7], padding=VALID, stride_h=1, stride_w=1, filter_height=3, filter_width=1)",
        "4,0,11,7",
    ),
    "a RESIZE to three sizes": ("RESIZE_BILINEAR(x[2,5,6,3], s:const:int32[3]{8,9,7})", "2,8,9,3"),
    "a PAD by computed numbers": ("PAD(x[2,5], p:int32[2,2])", "2,5"),
    "SPACE_TO_DEPTH of a part": ("SPACE_TO_DEPTH(x[5,7,9,2], block_size=3)", "5,2,3,18"),
    "DEPTH_TO_SPACE of a part": ("DEPTH_TO_SPACE(x[5,2,3,19], block_size=3)", "5,6,9,2"),
    "SPACE_TO_BATCH_ND of two pairs": (
        "SPACE_TO_BATCH_ND(x[5,4,1], k:const:int32[1]{2}, p:const:int32[2,2]{0,2,0,0})",
        "10,3,1",
    ),
    "SPACE_TO_BATCH_ND of all axes": ("SPACE_TO_BATCH_ND(x[5], k:const:int32[1]{2}, p:const:int32[1,2]{0,2})", "10"),
    "BATCH_TO_SPACE_ND of two pairs": (
        "BATCH_TO_SPACE_ND(x[10,3,1], k:const:int32[1]{2}, p:const:int32[2,2]{0,2,0,0})",
        "5,4,1",
    ),
    "BATCH_TO_SPACE_ND of a part of the batch": (
        "BATCH_TO_SPACE_ND(x[11,3,1], k:const:int32[1]{2}, p:const:int32[1,2]{0,2})",
        "5,4,1",
    ),
    "a SLICE of a negative size": ("SLICE(x[5,6], b:const:int32[2]{1,2}, z:const:int32[2]{2,-2})", "2,-2"),
    "a SLICE from computed places": ("SLICE(x[5,6], b:int32[2], z:const:int32[2]{2,-1})", "2,6"),
    "a SLICE by one number": ("SLICE(x[5,6], b:const:int32[1]{1}, z:const:int32[1]{2})", "2,6"),
    "a MEAN of computed axes": ("MEAN(x[2,3], a:int32[1])", "2"),
    "segments of a negative number": ("UNSORTED_SEGMENT_SUM(x[2,3], i:int32[2], n:const:int32[]{-1})", "-1,3"),
    "segments of a computed number": ("UNSORTED_SEGMENT_SUM(x[2,3], i:int32[2], n:int32[])", "2,3"),
    "segments by more axes": ("UNSORTED_SEGMENT_SUM(x[2], i:int32[2,3], n:const:int32[]{5})", "5"),
    "a GATHER behind the last axis": ("GATHER(x[5,6], i:int32[2], axis=2)", "2,6"),
    "a GATHER by a negative batch": ("GATHER(x[5,6], i:int32[5], axis=1, batch_dims=-1)", "5,5"),
    "a GATHER_ND of nothing": ("GATHER_ND(x[5,6], i:int32[4,0])", "4,5,6"),
    "a GATHER_ND by three of two axes": ("GATHER_ND(x[5,6], i:int32[4,3])", "4"),
    "rows by a matrix": ("EMBEDDING_LOOKUP(i:int32[4,2], x[5,6])", "4,6"),
    "TOPK_V2 of a scalar": ("TOPK_V2(x[], k:const:int32[]{2})", "2"),
    "TOPK_V2 of two numbers": ("TOPK_V2(x[4,6], k:const:int32[2]{2,2})", "4,2"),
    "TOPK_V2 of a computed number": ("TOPK_V2(x[4,6], k:int32[])", "4,2"),
    "ONE_HOT behind the last axis": (
        "ONE_HOT(i:int32[2], d:const:int32[]{4}, u:const[]{1.0}, v:const[]{0.0}, axis=2)",
        "2,4",
    ),
    "ONE_HOT before the first axis": (
        "ONE_HOT(i:int32[2], d:const:int32[]{4}, u:const[]{1.0}, v:const[]{0.0}, axis=-2)",
        "2,4",
    ),
    "ARG_MAX behind the last axis": ("ARG_MAX(x[2,3], a:const:int32[]{2}, output_type=INT32)", "3", "int32"),
    "ARG_MAX before the first axis": ("ARG_MAX(x[2,3], a:const:int32[]{-3}, output_type=INT32)", "2", "int32"),
    "TRANSPOSE that names an axis twice": ("TRANSPOSE(x[2,3], p:const:int32[2]{1,1})", "3,3"),
    "TILE by one number": ("TILE(x[2,3], m:const:int32[1]{2})", "4,3"),
    "FULLY_CONNECTED of other depth": ("FULLY_CONNECTED(x[7,3], w[5,6], )", "7,5"),
    "FILL of a negative size": ("FILL(s:const:int32[2]{2,-3}, v:const[]{1.0})", "2,-3"),
    "BROADCAST_TO a negative size": ("BROADCAST_TO(x[1], s:const:int32[2]{2,-3})", "2,-3"),
    "STRIDED_SLICE with an offset": (
        "STRIDED_SLICE(x[5], b:const:int32[1]{1}, e:const:int32[1]{3}, s:const:int32[1]{1}, offset=True)",
        "2",
    ),
    "STRIDED_SLICE from a computed place": (
        "STRIDED_SLICE(x[5], b:int32[1], e:const:int32[1]{3}, s:const:int32[1]{1})",
        "3",
    ),
    "STRIDED_SLICE to a computed place": (
        "STRIDED_SLICE(x[5], b:const:int32[1]{1}, e:int32[1], s:const:int32[1]{1})",
        "4",
    ),
    "STRIDED_SLICE by a computed step": (
        "STRIDED_SLICE(x[5], b:const:int32[1]{1}, e:const:int32[1]{3}, s:int32[1])",
        "2",
    ),
    "STRIDED_SLICE by two ellipses": (
        ("STRIDED_SLICE(x[5,6], b:const:int32[2]{0,0}, e:const:int32[2]{1,1}, s:const:int32[2]{1,1}, ellipsis_mask=3)"),
        "5,6",
    ),
}


@pytest.mark.parametrize("name", NOT_KNOWN)
def test_sizes_that_do_not_follow_are_not_known(name: str) -> None:
    text, numbers, dtype = (*NOT_KNOWN[name], "")[:3]
    assert not is_known(text, numbers, dtype)


UNFOLLOWED = frozenset({
    "a computed begin that is masked", "a computed end that is masked", "LOGICAL_AND with false", "UNPACK",
})  # fmt: skip
"""Elements that the proof need not know."""
OF_X = "s:int32[4] = SHAPE(x[?,3,4,5], out_type=INT32)\n"
FOLLOWED = {
    name: (text, expected.replace("N", "2"))
    for name, (text, expected) in ELEMENTS.items()
    if expected not in ("", "not known") and ".." not in expected and name not in UNFOLLOWED
}
OF_TWO = {
    "REDUCE_PROD": "120", "REDUCE_PROD of the last axis": "120", "NEG": "-2, -3, -4, -5", "FLOOR_MOD": "2, 3, 0, 1",
    "MAXIMUM": "4, 4, 4, 5", "MINIMUM": "2, 3, 4, 4", "SUB": "1, 2, 3, 4", "SUB of the sizes": "7, 6, 5, 4",
    "GREATER": "0, 0, 0, 1", "GREATER_EQUAL": "0, 0, 1, 1", "LESS": "1, 1, 0, 0", "LESS_EQUAL": "1, 1, 1, 0",
    "EQUAL": "0, 0, 1, 0", "FLOOR_DIV": "1, 1, 2, 2", "FLOOR_DIV by the sizes": "6, 4, 3, 2", "PACK": "120, 7",
    "CAST to bool": "1, 1, 1, 1", "GREATER_EQUAL of any size": "1, 1, 1, 1", "GREATER of any size": "1, 1, 1, 1",
}  # fmt: skip
"""What is a range while the first size is free, where it is 2."""
FOLLOWED |= {name: (ELEMENTS[name][0], expected) for name, expected in OF_TWO.items()}
# constants of several axes, and what an operator makes of them
A = "a:const:int32[2,3]{1,2,3,4,5,6}"
FOLLOWED |= {
    "SLICE of a matrix": (
        f"y:int32[2,2] = SLICE({A}, b:const:int32[2]{{0,1}}, z:const:int32[2]{{-1,2}})",
        "2, 3, 5, 6",
    ),
    "SLICE to the end": (f"y:int32[1,3] = SLICE({A}, b:const:int32[2]{{1,0}}, z:const:int32[2]{{1,3}})", "4, 5, 6"),
    "TRANSPOSE": (f"y:int32[3,2] = TRANSPOSE({A}, p:const:int32[2]{{1,0}})", "1, 4, 2, 5, 3, 6"),
    "GATHER of columns": (f"y:int32[2,2] = GATHER({A}, i:const:int32[2]{{2,0}}, axis=1)", "3, 1, 6, 4"),
    "GATHER of a row": (f"y:int32[3] = GATHER({A}, i:const:int32[]{{1}}, axis=0)", "4, 5, 6"),
    "PACK of vectors": (
        "y:int32[2,2] = PACK(a:const:int32[2]{1,2}, b:const:int32[2]{3,4}, axis=1, values_count=2)",
        "1, 3, 2, 4",
    ),
    "CONCATENATION of matrices": (
        f"y:int32[2,4] = CONCATENATION({A}, b:const:int32[2,1]{{7,8}}, axis=1)",
        "1, 2, 3, 7, 4, 5, 6, 8",
    ),
    "SUM": (f"y:int32[2] = SUM({A}, b:const:int32[1]{{1}})", "6, 15"),
    "SUM of both axes": (f"y:int32[] = SUM({A}, b:const:int32[2]{{0,1}})", "21"),
    "SUM that keeps its axes": (f"y:int32[1,3] = SUM({A}, b:const:int32[]{{0}}, keep_dims=True)", "5, 7, 9"),
    "products of segments": (
        OF_X + "y:int32[3] = UNSORTED_SEGMENT_PROD(s, i:const:int32[4]{0,0,2,2}, n:const:int32[]{3})",
        "6, 1, 20",
    ),
    "REDUCE_MAX": (f"y:int32[3] = REDUCE_MAX({A}, b:const:int32[1]{{0}})", "4, 5, 6"),
    "REDUCE_MIN": (f"y:int32[3] = REDUCE_MIN({A}, b:const:int32[1]{{0}})", "1, 2, 3"),
    "REDUCE_PROD of a matrix": (f"y:int32[2] = REDUCE_PROD({A}, b:const:int32[1]{{1}})", "6, 120"),
    "ADD to a matrix": (f"y:int32[2,3] = ADD({A}, b:const:int32[3]{{1,0,-1}})", "2, 2, 2, 5, 5, 5"),
    "MAXIMUM of matrices": (f"y:int32[2,3] = MAXIMUM({A}, b:const:int32[]{{3}})", "3, 3, 3, 4, 5, 6"),
    "MINIMUM of matrices": (f"y:int32[2,3] = MINIMUM({A}, b:const:int32[]{{3}})", "1, 2, 3, 3, 3, 3"),
    "FLOOR_DIV of a matrix": (f"y:int32[2,3] = FLOOR_DIV({A}, b:const:int32[]{{2}})", "0, 1, 1, 2, 2, 3"),
    "FLOOR_MOD of a matrix": (f"y:int32[2,3] = FLOOR_MOD({A}, b:const:int32[]{{4}})", "1, 2, 3, 0, 1, 2"),
    "LESS of a matrix": (f"y:bool[2,3] = LESS({A}, b:const:int32[]{{4}})", "1, 1, 1, 0, 0, 0"),
    "GREATER_EQUAL of a matrix": (f"y:bool[2,3] = GREATER_EQUAL({A}, b:const:int32[]{{4}})", "0, 0, 0, 1, 1, 1"),
    "NOT_EQUAL of a matrix": (f"y:bool[2,3] = NOT_EQUAL({A}, b:const:int32[]{{4}})", "1, 1, 1, 0, 1, 1"),
    "LOGICAL_OR": ("y:bool[2] = LOGICAL_OR(a:const:bool[2]{1,0}, b:const:bool[2]{0,0})", "1, 0"),
    "LOGICAL_NOT": ("y:bool[2] = LOGICAL_NOT(a:const:bool[2]{1,0})", "0, 1"),
    "NEG of a matrix": (f"y:int32[2,3] = NEG({A})", "-1, -2, -3, -4, -5, -6"),
    "ABS": ("y:int32[2,1] = ABS(a:const:int32[2,1]{-3,2})", "3, 2"),
    "ZEROS_LIKE": (f"y:int32[2,3] = ZEROS_LIKE({A})", "0, 0, 0, 0, 0, 0"),
    "CAST to int64": (f"y:int64[2,3] = CAST({A}, in_data_type=INT32, out_data_type=INT64)", "1, 2, 3, 4, 5, 6"),
    "SELECT_V2 of a matrix": (
        f"y:int32[2,3] = SELECT_V2(c:const:bool[2,1]{{1,0}}, {A}, b:const:int32[3]{{7,8,9}})",
        "1, 2, 3, 7, 8, 9",
    ),
    "RESHAPE": (f"y:int32[3,2] = RESHAPE({A}, s:const:int32[2]{{3,-1}})", "1, 2, 3, 4, 5, 6"),
    "STRIDED_SLICE of columns": (
        (
            f"y:int32[2,2] = STRIDED_SLICE({A}, b:const:int32[2]{{0,0}}, e:const:int32[2]{{2,3}},"
            " s:const:int32[2]{1,2})"
        ),
        "1, 3, 4, 6",
    ),
    "STRIDED_SLICE of a row": (
        (
            f"y:int32[3] = STRIDED_SLICE({A}, b:const:int32[2]{{1,2}}, e:const:int32[2]{{2,3}},"
            " s:const:int32[2]{1,1}, shrink_axis_mask=1, begin_mask=2)"
        ),
        "4, 5, 6",
    ),
    "STRIDED_SLICE from the last column on": (
        (
            f"y:int32[1,2,2] = STRIDED_SLICE({A}, b:const:int32[3]{{0,0,1}}, e:const:int32[3]{{0,0,1}},"
            " s:const:int32[3]{1,1,1}, new_axis_mask=1, ellipsis_mask=2, end_mask=4)"
        ),
        "2, 3, 5, 6",
    ),
}


def proves_elements(text: str, elements: str) -> bool:
    """Return whether the last result of a text is proved to be a constant."""
    dtype, sizes = re.findall(r"y:(\w+)(\[[^\]]*\])", text)[0]
    reader = f"\nsum:{dtype}{sizes} = {'LOGICAL_AND' if dtype == 'bool' else 'ADD'}({{}}, given:{dtype}{sizes})"
    stated = f"stated:const:{dtype}{sizes}{{{elements.replace(' ', '')}}}"
    before, after = (model(text + reader.format(each), outputs=["y", "sum"]) for each in ("y", stated))
    return unproved(before, after) is None


@pytest.mark.parametrize("name", FOLLOWED)
def test_elements_that_follow_are_known(name: str) -> None:
    text, expected = FOLLOWED[name]
    constant = re.sub(r"\bs\b", "s:const:int32[4]{2,3,4,5}", text.removeprefix(OF_X), count=1)
    spellings = sorted({text.replace("x[?,3,4,5]", "x[2,3,4,5]"), constant if text.startswith(OF_X) else text})
    for spelling in spellings:
        assert proves_elements(spelling, expected), spelling
    first, *others = expected.split(", ")
    assert not proves_elements(spellings[0], ", ".join(["0" if first == "1" else "1", *others]))


@pytest.mark.parametrize("name", [name for name, (_, elements) in ELEMENTS.items() if elements == "not known"])
def test_a_model_is_proved_equal_to_itself_whatever_is_known_of_elements(name: str) -> None:
    text, _ = ELEMENTS[name]
    dtype, sizes = re.findall(r"y:(\w+)(\[[^\]]*\])", text)[0]
    reader = f"\nsum:{dtype}{sizes} = {'LOGICAL_AND' if dtype == 'bool' else 'ADD'}(y, given:{dtype}{sizes})"
    data = model(text + reader, outputs=["y", "sum"])
    assert unproved(data, data) is None


@pytest.mark.parametrize("name", NOT_KNOWN)
def test_a_model_is_proved_equal_to_itself_whatever_is_known_of_sizes(name: str) -> None:
    text, numbers, dtype = (*NOT_KNOWN[name], "")[:3]
    data = model(f"y{dtype and ':'}{dtype}[{','.join('?' * (numbers.count(',') + 1))}] = {text}")
    assert unproved(data, data) is None


def cut(x: str, first: str, last: str, step: str, **masks: int) -> str:
    """A STRIDED_SLICE by constants."""
    bounds = (
        f"{name}:const:int32[{text.count(',') + 1}]{{{text}}}"
        for name, text in zip("bes", (first, last, step), strict=True)
    )
    return f"STRIDED_SLICE({x}, {', '.join(bounds)}{''.join(f', {name}_mask={mask}' for name, mask in masks.items())})"


MORE_KNOWN: dict[str, tuple[str, ...]] = {
    "a new axis between two": (cut("x[5,6]", "1,0,2", "4,0,6", "1,1,2", new_axis=2), "3,1,2"),
    "a new axis at the end": (cut("x[5,6]", "1,0,0", "4,6,0", "1,1,1", new_axis=4), "3,6,1"),
    "an ellipsis in front": (cut("x[4,5,6]", "0,1", "0,3", "1,1", ellipsis=1), "4,5,2"),
    "an ellipsis between two": (cut("x[4,5,6,7]", "1,0,1", "4,0,3", "1,1,1", ellipsis=2), "3,5,6,2"),
    "an ellipsis at the end": (cut("x[4,5,6]", "1,0", "2,0", "1,1", ellipsis=2), "1,5,6"),
    "an ellipsis that would be a new axis": (cut("x[5,6]", "0,1", "0,3", "1,1", ellipsis=1, new_axis=1), "5,2"),
    "an ellipsis and a new axis": (cut("x[4,5,6]", "0,0,1", "0,0,3", "1,1,1", ellipsis=2, new_axis=1), "1,4,5,2"),
    "an axis that goes": (cut("x[5,6,7]", "1,2", "4,3", "1,1", shrink_axis=2), "3,7"),
    "two axes that go": (cut("x[5,6,7]", "1,2,0", "2,3,4", "1,1,1", shrink_axis=3), "4"),
    "an axis that goes behind a new one": (cut("x[5,6]", "0,1", "0,2", "1,1", new_axis=1, shrink_axis=2), "1,6"),
    "an open begin": (cut("x[5,6]", "3,1", "4,3", "1,1", begin=1), "4,2"),
    "an open end": (cut("x[5,6]", "3,1", "4,3", "1,1", end=2), "1,5"),
    "a step down": (cut("x[5]", "4", "1", "-2"), "2"),
    "a diagonal": ("MATRIX_DIAG(x[3])", "3,3"),
    "diagonals": ("MATRIX_DIAG(x[2,3])", "2,3,3"),
    "the largest of an axis between": ("ARG_MAX(x[2,3,4], a:const:int32[]{1}, output_type=INT32)", "2,4", "int32"),
    "the largest of the first axis": ("ARG_MAX(x[2,3,4], a:const:int32[]{-3}, output_type=INT32)", "3,4", "int32"),
    "the least of the last axis": ("ARG_MIN(x[2,3,4], a:const:int32[]{2}, output_type=INT32)", "2,3", "int32"),
    "blocks of two axes": (
        "SPACE_TO_BATCH_ND(x[2,6,8,3], k:const:int32[2]{2,4}, p:const:int32[2,2]{1,1,0,0})", "16,4,2,3"),
    "padded blocks": ("SPACE_TO_BATCH_ND(x[3,5,2], k:const:int32[1]{4}, p:const:int32[1,2]{1,2})", "12,2,2"),
}  # fmt: skip
LESS_KNOWN: dict[str, tuple[str, ...]] = {
    "an ellipsis of no axis": (cut("x[5,6]", "0,0,1", "2,0,3", "1,1,1", ellipsis=2), "2,2"),
    "an ellipsis behind the bounds": (cut("x[5,6]", "0,1", "2,3", "1,1", ellipsis=4), "2,2"),
    "more bounds than axes": (cut("x[5]", "0,1", "2,3", "1,1"), "2"),
    "bounds of two numbers": (cut("x[5,6]", "0,1", "2,3", "1"), "2,2"),
    "a step of 0": (cut("x[5,6]", "0,1", "2,3", "1,0"), "2,0"),
    "a diagonal of a number": ("MATRIX_DIAG(x[])", "1"),
    "the largest along two axes": ("ARG_MAX(x[2,3], a:const:int32[2]{0,1}, output_type=INT32)", "3", "int32"),
    "blocks of 0": ("SPACE_TO_BATCH_ND(x[3,5,2], k:const:int32[1]{0}, p:const:int32[1,2]{1,2})", "0,8,2"),
}  # fmt: skip


@pytest.mark.parametrize("name", MORE_KNOWN)
def test_sizes_of_cuts_diagonals_and_blocks_are_known(name: str) -> None:
    text, sizes, dtype = (*MORE_KNOWN[name], "")[:3]
    assert is_known(text, sizes, dtype)


@pytest.mark.parametrize("name", LESS_KNOWN)
def test_sizes_of_what_kernels_refuse_are_not_known(name: str) -> None:
    text, sizes, dtype = (*LESS_KNOWN[name], "")[:3]
    assert not is_known(text, sizes, dtype)


FOUR = "b:const:int32[]{4}"
TRUTHS = "a:const:bool[2]{1,0}, b:const:bool[2]{0,0}"
MORE_ELEMENTS = {
    "a new axis in front": ("y:int32[1,2,2] = " + cut(A, "0,0,1", "0,2,3", "1,1,1", new_axis=1), "2, 3, 5, 6"),
    "a new axis between": ("y:int32[2,1,2] = " + cut(A, "0,0,1", "2,0,3", "1,1,1", new_axis=2), "2, 3, 5, 6"),
    "a new axis behind a cut": ("y:int32[1,1,3] = " + cut(A, "1,0", "2,0", "1,1", new_axis=2), "4, 5, 6"),
    "an ellipsis, the last column": ("y:int32[2] = " + cut(A, "0,2", "0,3", "1,1", ellipsis=1, shrink_axis=2), "3, 6"),
    "an ellipsis behind the first row": ("y:int32[1,3] = " + cut(A, "1,0", "2,0", "1,1", ellipsis=2), "4, 5, 6"),
    "rows turned": ("y:int32[2,3] = " + cut(A, "1", "0", "-1", end=1), "4, 5, 6, 1, 2, 3"),
    "from the begin on": ("y:int32[1,3] = " + cut(A, "1", "1", "1", begin=1), "1, 2, 3"),
    "GREATER of a matrix": (f"y:bool[2,3] = GREATER({A}, {FOUR})", "0, 0, 0, 0, 1, 1"),
    "LESS_EQUAL of a matrix": (f"y:bool[2,3] = LESS_EQUAL({A}, {FOUR})", "1, 1, 1, 1, 0, 0"),
    "EQUAL of a matrix": (f"y:bool[2,3] = EQUAL({A}, {FOUR})", "0, 0, 0, 1, 0, 0"),
    "EQUAL of floats": ("y:bool[2] = EQUAL(a:const[2]{1.5,2.}, b:const[2]{1.,2.})", "0, 1"),
    "EQUAL of booleans": (f"y:bool[2] = EQUAL({TRUTHS})", "0, 1"),
    "NOT_EQUAL of booleans": (f"y:bool[2] = NOT_EQUAL({TRUTHS})", "1, 0"),
    "LESS of floats": ("y:bool[2] = LESS(a:const[2]{0.5,2.}, b:const[2]{1.,2.})", "1, 0"),
    "LOGICAL_AND": ("y:bool[2] = LOGICAL_AND(a:const:bool[2]{1,0}, b:const:bool[2]{1,1})", "1, 0"),
    "SUB from a matrix": (f"y:int32[2,3] = SUB({A}, {FOUR})", "-3, -2, -1, 0, 1, 2"),
    "MUL of a matrix": (f"y:int32[2,3] = MUL({A}, {FOUR})", "4, 8, 12, 16, 20, 24"),
    "ZEROS_LIKE of floats": ("y:float32[2] = ZEROS_LIKE(a:const[2]{1.5,-2.})", "0.0, 0.0"),
}  # fmt: skip


@pytest.mark.parametrize("name", MORE_ELEMENTS)
def test_elements_of_cuts_and_comparisons_are_known(name: str) -> None:
    text, expected = MORE_ELEMENTS[name]
    assert proves_elements(text, expected)
    first, *others = expected.split(", ")
    assert not proves_elements(text, ", ".join(["0" if first == "1" else "1", *others]))
