"""What the rules of small integer tensors in TFLite return where an operand is computed, wrong or out of bounds.

An element that is not followed costs a rewrite; one that is wrong makes a wrong one, so each guard of a rule has a row
that fails without it.
"""

from __future__ import annotations

import pytest

from graphfix.formats.tflite.file.container import read
from graphfix.formats.tflite.infer.analysis import analyse
from graphfix.formats.tflite.infer.names import unique_names
from graphfix.shapes.dim import Size
from models.builders.tflite.text import model

SIZES = "s:int32[4] = SHAPE(x[?,3,4,5], out_type=INT32)\n"
"""The sizes of an input: N, 3, 4, 5."""
LEAST = -(2**62)


def cut(length: object, begin: str = "1", end: str = "3", stride: str = "1", more: str = "") -> str:
    """A STRIDED_SLICE of 3, 4, 5, 6; an empty bound is computed."""
    bounds = (
        f"{name}:const:int32[1]{{{given}}}" if given else f"{name}:int32[1]"
        for name, given in zip("bet", (begin, end, stride), strict=True)
    )
    return f"y:int32[{length}] = STRIDED_SLICE(v:const:int32[4]{{3,4,5,6}}, {', '.join(bounds)}{more})"


# text -> the elements of y: numbers, N, or the range of one that has no name
ELEMENTS = {
    "STRIDED_SLICE": (cut(2), "4, 5"),
    "by 2": (cut(1, stride="2"), "4"),
    "back": (cut(2, begin="3", end="1", stride="-1"), "6, 5"),
    "a computed stride": (cut("?", stride=""), "not known"),
    "a computed begin": (cut(3, begin=""), "not known"),
    "a computed end": (cut(3, end=""), "not known"),
    "a computed begin that is masked": (cut(3, begin="", more=", begin_mask=1"), "3, 4, 5"),
    "a computed end that is masked": (cut(3, end="", more=", end_mask=1"), "4, 5, 6"),
    "a stride of 0": (cut("?", stride="0"), "not known"),
    "one element": (cut("", more=", shrink_axis_mask=1"), "4"),
    "one element from a computed place": (cut("", begin="", more=", shrink_axis_mask=1"), "not known"),
    "the last element": (cut("", begin="3", more=", shrink_axis_mask=1"), "6"),
    "the last element, from the end": (cut("", begin="-1", more=", shrink_axis_mask=1"), "6"),
    "the first element, from the end": (cut("", begin="-4", more=", shrink_axis_mask=1"), "3"),
    "an element behind the last": (cut("", begin="4", more=", shrink_axis_mask=1"), "not known"),
    "an element before the first": (cut("", begin="-5", more=", shrink_axis_mask=1"), "not known"),
    "a part of an unknown length": (
        (
            "s:int32[?] = RESHAPE(w:int32[?], n:const:int32[1]{-1})\n"
            "y:int32[?] = STRIDED_SLICE(s, b:const:int32[1]{0}, e:const:int32[1]{1}, t:const:int32[1]{1})"
        ),
        "not known",
    ),
    "SLICE": (SIZES + "y:int32[2] = SLICE(s, b:const:int32[1]{1}, z:const:int32[1]{2})", "3, 4"),
    "SLICE of the rest": (SIZES + "y:int32[3] = SLICE(s, b:const:int32[1]{1}, z:const:int32[1]{-1})", "3, 4, 5"),
    "SLICE from a negative place": (
        SIZES + "y:int32[?] = SLICE(s, b:const:int32[1]{-1}, z:const:int32[1]{1})",
        "not known",
    ),
    "SLICE from a computed place": (SIZES + "y:int32[?] = SLICE(s, b:int32[1], z:const:int32[1]{1})", "not known"),
    "SLICE of a computed length": (SIZES + "y:int32[?] = SLICE(s, b:const:int32[1]{1}, z:int32[1])", "not known"),
    "GATHER": (SIZES + "y:int32[2] = GATHER(s, i:const:int32[2]{3,0})", "5, N"),
    "GATHER behind the last": (SIZES + "y:int32[2] = GATHER(s, i:const:int32[2]{4,0})", "not known"),
    "GATHER from a negative place": (SIZES + "y:int32[2] = GATHER(s, i:const:int32[2]{-1,0})", "not known"),
    "GATHER from computed places": (SIZES + "y:int32[2] = GATHER(s, i:int32[2])", "not known"),
    "REDUCE_PROD": (SIZES + "y:int32[] = REDUCE_PROD(s, a:const:int32[1]{0})", "0.."),
    "REDUCE_PROD of the last axis": (SIZES + "y:int32[] = REDUCE_PROD(s, a:const:int32[1]{-1})", "0.."),
    "REDUCE_PROD of a computed axis": (SIZES + "y:int32[] = REDUCE_PROD(s, a:int32[1])", "not known"),
    "NEG": (SIZES + "y:int32[4] = NEG(s)", "..0, -3, -4, -5"),
    "RANGE": ("y:int32[3] = RANGE(a:const:int32[]{1}, b:const:int32[]{7}, c:const:int32[]{2})", "1, 3, 5"),
    "RANGE back": ("y:int32[3] = RANGE(a:const:int32[]{7}, b:const:int32[]{1}, c:const:int32[]{-2})", "7, 5, 3"),
    "RANGE of nothing": ("y:int32[0] = RANGE(a:const:int32[]{7}, b:const:int32[]{1}, c:const:int32[]{2})", ""),
    "RANGE by 0": ("y:int32[?] = RANGE(a:const:int32[]{7}, b:const:int32[]{1}, c:const:int32[]{0})", "not known"),
    "FILL": ("y:int32[3] = FILL(a:const:int32[1]{3}, b:const:int32[]{7})", "7, 7, 7"),
    "FILL of a computed length": ("y:int32[?] = FILL(a:int32[1], b:const:int32[]{7})", "not known"),
    "FILL of a negative length": ("y:int32[?] = FILL(a:const:int32[1]{-3}, b:const:int32[]{7})", "not known"),
    "FLOOR_DIV by 0": (SIZES + "y:int32[4] = FLOOR_DIV(s, c:const:int32[]{0})", ".., .., .., .."),
    "FLOOR_MOD": (SIZES + "y:int32[4] = FLOOR_MOD(s, c:const:int32[]{4})", "0..3, 3, 0, 1"),
    "FLOOR_MOD by 0": (SIZES + "y:int32[4] = FLOOR_MOD(s, c:const:int32[]{0})", ".., .., .., .."),
    "MAXIMUM": (SIZES + "y:int32[4] = MAXIMUM(s, c:const:int32[]{4})", "4.., 4, 4, 5"),
    "MINIMUM": (SIZES + "y:int32[4] = MINIMUM(s, c:const:int32[]{4})", "0.., 3, 4, 4"),
    "SUB": (SIZES + "y:int32[4] = SUB(s, c:const:int32[]{1})", "-1.., 2, 3, 4"),
    "SUB of the sizes": (SIZES + "y:int32[4] = SUB(c:const:int32[]{9}, s)", "..9, 6, 5, 4"),
    "ADD of two lengths": ("y:int32[?] = ADD(a:const:int32[2]{1,2}, b:const:int32[3]{1,2,3})", "not known"),
    "ADD of a matrix": ("y:int32[2,2] = ADD(a:const:int32[2,2]{1,2,3,4}, b:const:int32[]{1})", "not known"),
    "GREATER": (SIZES + "y:bool[4] = GREATER(s, c:const:int32[]{4})", "0..1, 0, 0, 1"),
    "GREATER_EQUAL": (SIZES + "y:bool[4] = GREATER_EQUAL(s, c:const:int32[]{4})", "0..1, 0, 1, 1"),
    "LESS": (SIZES + "y:bool[4] = LESS(s, c:const:int32[]{4})", "0..1, 1, 0, 0"),
    "LESS_EQUAL": (SIZES + "y:bool[4] = LESS_EQUAL(s, c:const:int32[]{4})", "0..1, 1, 1, 0"),
    "EQUAL": (SIZES + "y:bool[4] = EQUAL(s, c:const:int32[]{4})", "0..1, 0, 1, 0"),
    "GREATER_EQUAL of any size": (SIZES + "y:bool[4] = GREATER_EQUAL(s, c:const:int32[]{0})", "1, 1, 1, 1"),
    "GREATER of any size": (SIZES + "y:bool[4] = GREATER(s, c:const:int32[]{-1})", "1, 1, 1, 1"),
    "LOGICAL_AND of a truth value": ("y:bool[] = LOGICAL_AND(a:const:bool[]{1}, b:bool[])", "0..1"),
    "LOGICAL_AND with false": ("y:bool[] = LOGICAL_AND(a:const:bool[]{0}, b:bool[])", "0"),
    "LOGICAL_AND of two that are true": ("y:bool[] = LOGICAL_AND(a:const:bool[]{1}, b:const:bool[]{1})", "1"),
    "BROADCAST_ARGS": (SIZES + "y:int32[4] = BROADCAST_ARGS(s, c:const:int32[4]{1,3,1,5})", "N, 3, 4, 5"),
    "BROADCAST_ARGS of a negative size": (
        SIZES + "y:int32[4] = BROADCAST_ARGS(s, c:const:int32[4]{1,3,-1,5})",
        "not known",
    ),
    "BROADCAST_ARGS that do not fit": (
        SIZES + "y:int32[4] = BROADCAST_ARGS(s, c:const:int32[4]{1,2,1,5})",
        "not known",
    ),
    "FLOOR_DIV": (SIZES + "y:int32[4] = FLOOR_DIV(s, c:const:int32[]{2})", "0.., 1, 2, 2"),
    "FLOOR_DIV by the sizes": (SIZES + "y:int32[4] = FLOOR_DIV(c:const:int32[]{12}, s)", ".., 4, 3, 2"),
    "SELECT_V2 of known truth values": (
        SIZES + "y:int32[4] = SELECT_V2(c:const:bool[4]{1,0,1,0}, s, o:const:int32[4]{7,8,9,10})",
        "N, 8, 4, 10",
    ),
    "SELECT_V2 of computed truth values": (
        SIZES + "y:int32[4] = SELECT_V2(c:bool[4], s, o:const:int32[4]{7,8,9,10})",
        ".., .., .., ..",
    ),
    "RANK": ("y:int32[] = RANK(x[?,3])", "2"),
    "CAST to bool": (SIZES + "y:bool[4] = CAST(s, in_data_type=INT32, out_data_type=BOOL)", "0..1, 1, 1, 1"),
    "CAST to bool and back": (
        (
            "b:bool[4] = CAST(v:const:int32[4]{0,1,-2,3}, in_data_type=INT32, out_data_type=BOOL)\n"
            "y:int32[4] = CAST(b, in_data_type=BOOL, out_data_type=INT32)"
        ),
        "0, 1, 1, 1",
    ),
    "UNSORTED_SEGMENT_PROD": (
        "y:int32[3] = UNSORTED_SEGMENT_PROD(v:const:int32[4]{2,3,4,5}, i:const:int32[4]{0,0,2,2}, n:const:int32[]{3})",
        "6, 1, 20",
    ),
    "UNSORTED_SEGMENT_PROD by computed numbers": (
        "y:int32[3] = UNSORTED_SEGMENT_PROD(v:const:int32[4]{2,3,4,5}, i:int32[4], n:const:int32[]{3})",
        "not known",
    ),
    "PACK": (
        SIZES
        + "u:int32[] = REDUCE_PROD(s, a:const:int32[1]{0})\ny:int32[2] = PACK(u, k:const:int32[]{7}, values_count=2)",
        "0.., 7",
    ),
    "CONCATENATION": (SIZES + "y:int32[6] = CONCATENATION(s, k:const:int32[2]{7,8}, axis=0)", "N, 3, 4, 5, 7, 8"),
    "CONCATENATION of matrices": (
        "y:int32[2,1] = CONCATENATION(k:const:int32[1,1]{7}, l:const:int32[1,1]{8}, axis=0)",
        "not known",
    ),
}


def shown(element: Size) -> str:
    if isinstance(element, int):
        return str(element)
    if element.parts == ("?x.0",):
        return "N"
    return f"{'' if element.lo < LEAST else element.lo}..{'' if element.hi is None else element.hi}"


@pytest.mark.parametrize(("text", "expected"), ELEMENTS.values(), ids=ELEMENTS)
def test_the_elements_of_a_small_tensor_are_those_that_are_known(text: str, expected: str) -> None:
    container = read(model(text))
    at = unique_names(container.subgraphs[0]).index("y")
    elements = analyse(container, {})[0].contents.get(at)
    assert ("not known" if elements is None else ", ".join(map(shown, elements))) == expected
