"""How large whole numbers can get: the witness is onnxruntime, asked for the extreme inputs too."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from onnx import numpy_helper

from graphfix.formats.onnx import OnnxModel
from tests.support import engine
from tests.support.notation import model
from tests.support.runtimes.onnx_runs import run

I32 = (-(2**31), 2**31 - 1)
I64 = (-(2**63), 2**63 - 1)
BYTE = "x:int8[3]"
CAST = "c:int64[3] = Cast(x:int8[3], to=7)\n"
BOUNDED = {
    "a constant": ("y:int64[3] = Identity(a:const[3]{5,-6,7})", (-6, 7)),
    "an element type": (CAST + "y:int64[3] = Identity(c)", (-128, 127)),
    "a bool": ("c:bool[3] = Less(x:int8[3], k:const:int8[]{1})\ny:int64[3] = Cast(c, to=7)", (0, 1)),
    "Add": (CAST + "y:int64[3] = Add(c, a:const[3]{5,-6,7})", (-134, 134)),
    "Sub": (CAST + "y:int64[3] = Sub(a:const[3]{5,-6,7}, c)", (-133, 135)),
    "Mul": (CAST + "y:int64[3] = Mul(c, a:const[3]{5,-6,7})", (-896, 889)),
    "Neg": (CAST + "y:int64[3] = Neg(c)", (-127, 128)),
    "Abs": (CAST + "y:int64[3] = Abs(c)", (0, 128)),
    "Sign": (CAST + "y:int64[3] = Sign(c)", (-1, 1)),
    "Min": (CAST + "y:int64[3] = Min(c, a:const[]{5})", (-128, 5)),
    "Max": (CAST + "y:int64[3] = Max(c, a:const[]{5})", (5, 127)),
    "Clip": (CAST + "y:int64[3] = Clip(c, a:const[]{-2}, b:const[]{5})", (-2, 5)),
    "Clip below": (CAST + "y:int64[3] = Clip(c, a:const[]{-2})", (-2, 127)),
    "Clip above": (CAST + "y:int64[3] = Clip(c, , b:const[]{-2})", (-128, -2)),
    "Clip to nothing": (CAST + "y:int64[3] = Clip(c, a:const[]{9}, b:const[]{5})", (5, 5)),
    "Div": (CAST + "y:int64[3] = Div(c, a:const[]{2})", (-128, 128)),
    "Div of what is positive": (CAST + "d:int64[3] = Abs(c)\ny:int64[3] = Div(d, a:const[]{2})", (0, 128)),
    "Mod": (CAST + "y:int64[3] = Mod(c, a:const[]{5})", (0, 4)),
    "Mod by a negative number": (CAST + "y:int64[3] = Mod(c, a:const[]{-5})", (-4, 0)),
    "fmod": (CAST + "y:int64[3] = Mod(c, a:const[]{5}, fmod=1)", (-4, 4)),
    "ReduceSum": (CAST + "y:int64[1] = ReduceSum(c, a:const[1]{0})", (-384, 381)),
    "CumSum": (CAST + "y:int64[3] = CumSum(c, a:const[]{0})", (-384, 381)),
    "ReduceMax": (CAST + "y:int64[1] = ReduceMax(c, a:const[1]{0})", (-128, 127)),
    "Where": ("y:int64[3] = Where(b:bool[3], k:const[]{-9}, a:const[3]{5,-6,7})", (-9, 7)),
    "Concat": (CAST + "y:int64[4] = Concat(c, a:const[1]{500}, axis=0)", (-128, 500)),
    "Pad": (CAST + "y:int64[5] = Pad(c, p:const[2]{1,1}, v:const[]{300})", (-128, 300)),
    "Pad with nothing said": ("y:int64[3] = Pad(a:const[1]{5}, p:const[2]{1,1})", (0, 5)),
    "ArgMax": ("y:int64[2,1] = ArgMax(x[2,7], axis=1)", (0, 6)),
    "NonZero": ("y:int64[2,*] = NonZero(x[2,7])", (0, 6)),
    "NonZero of a free axis": ("y:int64[1,*] = NonZero(x[N])", I64),
    "TopK": ("v[2,3], y:int64[2,3] = TopK(x[2,7], k:const[1]{3})", (0, 6)),
    "Gather of a table": ("y:int64[3] = Gather(a:const[4]{5,-6,7,9}, i:int64[3])", (-6, 9)),
    "OneHot": ("y:int64[3,4] = OneHot(i:int64[3], d:const[1]{4}, v:const[2]{-1,3})", (-1, 3)),
    "Trilu": ("y:int64[2,2] = Trilu(a:const[2,2]{5,6,7,8})", (0, 8)),
    "ScatterElements": ("y:int64[4] = ScatterElements(a:const[4]{1,2,3,4}, i:const[1]{0}, u:const[1]{9})", (1, 9)),
    "int32 that may wrap": ("y:int32[3] = Add(x:int32[3], x)", I32),
    "int64 that may be anything": ("y:int64[3] = Add(x:int64[3], k:const[]{1})", I64),
    "a float": ("y:int64[3] = Cast(x[3], to=7)", I64),
    "a sum over a free axis": ("c:int64[N] = Cast(x:int8[N], to=7)\ny:int64[1] = ReduceSum(c, a:const[1]{0})", I64),
    "a sum that is scattered": (
        "y:int64[4] = ScatterElements(a:const[4]{1,2,3,4}, i:const[1]{0}, u:const[1]{9}, reduction='add')",
        I64,
    ),
    "a ConstantOfShape": ("y:int64[2] = ConstantOfShape(s:const[1]{2})", None),
}


def bounds(text: str) -> tuple[int, int] | None:
    loaded = engine.load(model(text))
    assert isinstance(loaded, OnnxModel)
    (value,) = (value for value in loaded.graphs[0].outputs if value.name == "y")
    return value.bounds


@pytest.mark.parametrize("case", BOUNDED)
def test_bounds_of_whole_numbers(case: str) -> None:
    text, wanted = BOUNDED[case]
    assert bounds(text) == wanted


EXTREMES = np.array([-128, 127, 0, -1, 1, 5], np.int8)


@pytest.mark.parametrize("case", [case for case, (text, _) in BOUNDED.items() if BYTE in text])
def test_what_onnxruntime_returns_is_within(case: str) -> None:
    text, wanted = BOUNDED[case]
    assert wanted is not None
    proto = model(text)
    found: set[int] = set()
    for values in product(EXTREMES, repeat=3):
        found.update(np.asarray(run(proto, x=np.array(values, np.int8))[-1]).reshape(-1).tolist())
    assert wanted[0] <= min(found)
    assert max(found) <= wanted[1]


def test_an_index_is_within_its_axis() -> None:
    """A runtime refuses any other: where the model runs the index is no larger."""
    text = "y[3,2] = Gather(t:const[5,2], i:int64[3])"
    loaded = engine.load(model(text))
    (index,) = loaded.graphs[0].inputs
    assert index.bounds == (-5, 4)


def test_a_big_constant_is_read_where_it_lies() -> None:
    """Payloads stay in the file: those of index tables are read from there."""
    proto = model("y:int64[4096] = Identity(a:const[4096])")
    table = np.arange(4096) - 7
    proto.graph.initializer[0].CopyFrom(numpy_helper.from_array(table, "a"))
    loaded = engine.load(proto)
    (value,) = loaded.graphs[0].outputs
    assert value.bounds == (-7, 4088)
