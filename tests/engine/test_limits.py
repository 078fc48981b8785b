"""What target tosa names and can't change: plans only, no format."""

from __future__ import annotations

import pytest

from graphfix.engine.limits import of_tosa
from graphfix.graph.edits import Leave
from tests.support.notation import node

NAMED = {
    "rank 7": ("y[1,1,1,1,1,1,2] = tflite.ADD(a[1,1,1,1,1,1,2], b[1,1,1,1,1,1,2])", "GF301", "rank 7"),
    "a free size": ("y[N,3] = Add(a[N,3], b[N,3])", "GF302", "a[N,3]"),
    "no rank": ("y[*] = Relu(x[*])", "GF302", "x[*]"),
    "a loop": ("y[2,1,4] = LSTM(x[2,1,3], w[1,16,3], r[1,16,4])", "GF305", "loops"),
    "bytes without a sign": ("y:uint8[4] = tflite.ADD(a:uint8[4], b:uint8[4])", "GF305", "uint8"),
    "a base that may be negative": ("y[3] = Pow(x[3], e:const[]{3.0})", "GF305", "negative"),
    "a custom operator": ("y[3] = tflite.custom.Nope(x[3])", "GF305", "tosa.custom"),
    "a domain that nobody converts": ("y[3] = com.microsoft.Gelu(x[3])", "GF305", "com.microsoft"),
    "computes something else": ("y[3] = tflite.FLOOR_MOD(a[3], b[3])", "GF305", "something else"),
}


@pytest.mark.parametrize("case", NAMED)
def test_what_stands_in_the_way_is_named(case: str) -> None:
    text, code, words = NAMED[case]
    (found,) = of_tosa(node(text))
    assert isinstance(found, Leave)
    assert (found.code, found.status) == (code, "left")
    assert words in found.reason


FINE = {
    "rank 6": "y[1,1,1,1,1,2] = tflite.ADD(a[1,1,1,1,1,2], b[1,1,1,1,1,2])",
    "a broadcast": "y[2,3] = Add(a[2,3], b[1,3])",
    "a base that is never negative": "y[3] = Pow(x:const[3]{0.0, 1.0, 2.0}, e:const[]{0.5})",
    "8 bits with a sign": "y:int8[4] = tflite.ADD(a:int8[4], b:int8[4])",
}


@pytest.mark.parametrize("case", FINE)
def test_what_converts_is_no_finding(case: str) -> None:
    assert not list(of_tosa(node(FINE[case])))


BLOCKING = {
    "rank 7": True,
    "a free size": False,
    "a loop": True,
    "bytes without a sign": False,
    "a base that may be negative": False,
    "a custom operator": False,
    "a domain that nobody converts": True,
    "computes something else": True,
}


@pytest.mark.parametrize("case", BLOCKING)
def test_what_no_converter_gets_right_ends_the_work(case: str) -> None:
    (found,) = of_tosa(node(NAMED[case][0]))
    assert found.blocks == BLOCKING[case]
