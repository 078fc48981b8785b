"""TFLite's operators that move elements are views where they do that alone, and not proved where they may do more."""

from __future__ import annotations

import re

import pytest

from models.builders.tflite.text import model
from tests.support.proved import unproved

VIEWS = {
    "EXPAND_DIMS by a scalar": ("x[2]", "y[2,1]", "EXPAND_DIMS(x, a:const:int32[]{1})"),
    "EXPAND_DIMS by a vector of one": ("x[2]", "y[1,2]", "EXPAND_DIMS(x, a:const:int32[1]{0})"),
    "EXPAND_DIMS from the end": ("x[2]", "y[2,1]", "EXPAND_DIMS(x, a:const:int32[]{-1})"),
    "SQUEEZE of every unit axis": ("x[1,2,1]", "y[2]", "SQUEEZE(x)"),
    "SQUEEZE of some": ("x[1,2,1]", "y[1,2]", "SQUEEZE(x, squeeze_dims=[2])"),
    "TILE of nothing": ("x[1,2]", "y[1,2]", "TILE(x, a:const:int32[2]{1,1})"),
    "BROADCAST_TO of nothing": ("x[2]", "y[1,2]", "BROADCAST_TO(x, a:const:int32[2]{1,2})"),
}
NOT = {
    "EXPAND_DIMS by two": ("x[2]", "y[1,1,2]", "EXPAND_DIMS(x, a:const:int32[2]{0,1})"),
    "EXPAND_DIMS by none": ("x[2]", "y[2]", "EXPAND_DIMS(x, a:const:int32[0]{})"),
    "EXPAND_DIMS by a computed axis": ("x[2]", "y[1,2]", "EXPAND_DIMS(x, n:int32[])"),
    "EXPAND_DIMS behind the last axis": ("x[2]", "y[2,1]", "EXPAND_DIMS(x, a:const:int32[]{2})"),
    "SQUEEZE of an axis of two": ("x[2,1]", "y[2]", "SQUEEZE(x, squeeze_dims=[0])"),
    "TILE of two elements": ("x[2]", "y[2]", "TILE(x, a:const:int32[1]{2})"),
    "TILE by too many numbers": ("x[2]", "y[1,2]", "TILE(x, a:const:int32[2]{1,1})"),
    "TILE by computed numbers": ("x[1,2]", "y[1,2]", "TILE(x, n:int32[2])"),
    "BROADCAST_TO of half bytes": ("x:int4[2]", "y:int4[1,2]", "BROADCAST_TO(x, a:const:int32[2]{1,2})"),
    "BROADCAST_TO to fewer axes": ("x[1,2]", "y[2]", "BROADCAST_TO(x, a:const:int32[1]{2})"),
}


def pair(operand: str, result: str, operator: str) -> tuple[bytes, bytes]:
    """A RESHAPE to a shape, and an operator that has a result of this shape; `n` is an input of both."""
    sizes = result[result.index("[") + 1 : -1]
    number = re.search(r"n:int32(\[.*?\])", operator)
    beside = f"\nm:int32{number[1]} = NEG({number[0]})" if number else ""
    before = f"{result} = RESHAPE({operand}, t:const:int32{{{sizes}}}){beside}"
    moved = operator.replace("(x", f"({operand}")
    return model(before), model(f"{result} = {moved}{beside}")


@pytest.mark.parametrize("name", VIEWS)
def test_an_operator_that_moves_elements_is_a_reshape(name: str) -> None:
    assert unproved(*pair(*VIEWS[name])) is None


@pytest.mark.parametrize("name", NOT)
def test_an_operator_that_may_do_more_is_not(name: str) -> None:
    assert unproved(*pair(*NOT[name])) is not None
