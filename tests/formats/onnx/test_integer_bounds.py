"""How large whole numbers can get: the witness is onnxruntime, asked for the extreme inputs too."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from onnx import numpy_helper

from graphfix.formats.onnx import OnnxModel
from graphfix.formats.onnx.infer.operators import arithmetic
from graphfix.formats.onnx.infer.operators.integers import TYPES, axis_positions, bounds_of, bounds_of_first, union
from graphfix.formats.onnx.infer.operators.reductions import _bounds_of_sums
from tests.support import engine
from tests.support.notation import model, node
from tests.support.runtimes.onnx_runs import run

Given = tuple[int, int] | None
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
    "Clip to nothing that is said": (CAST + "y:int64[3] = Clip(c)", (-128, 127)),
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


@pytest.mark.alike(2)
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


I8 = (-128, 127)
OF_BYTES = [
    ("y:int64[2,2] = Slice(c, s:int64[1], e:int64[1])", I8),
    ("y:int64[1,4], z:int64[1,4] = Split(c)", I8),
    ("y:int64[8] = Reshape(c, s:const{8})", I8),
    ("y:int64[4,2] = Transpose(c)", I8),
    ("y:int64[2,4] = Squeeze(c, s:const[0]{})", I8),
    ("y:int64[1,2,4] = Unsqueeze(c, s:const{0})", I8),
    ("y:int64[1,8] = Flatten(c, axis=0)", I8),
    ("y:int64[4,4] = Tile(c, s:const{2,1})", I8),
    ("y:int64[3,2,4] = Expand(c, s:const{3,2,4})", I8),
    ("y:int64[3,4] = Gather(c, i:int64[3])", I8),
    ("y:int64[2,4] = GatherElements(c, i:int64[2,4])", I8),
    ("y:int64[3] = GatherND(c, i:int64[3,2])", I8),
    ("y:int64[*] = Compress(c, k:bool[8])", I8),
    ("y:int64[2,4] = ReverseSequence(c, s:int64[4])", I8),
    ("y:int64[2,4] = ScatterND(c, i:int64[1,1], u:const[1,4]{300,1,2,3})", (-128, 300)),
    ("y:int64[2,4] = ScatterND(c, i:int64[1,1], u:const[1,4]{300,1,2,3}, reduction='mul')", I64),
    ("y:int64[2,4] = ScatterElements(c, i:int64[1,1], u:const[1,1]{300}, reduction='max')", (-128, 300)),
    ("y:int64[2,4] = ScatterElements(c, i:int64[1,1], u:const[1,1]{-300}, reduction='min')", (-300, 127)),
    ("y:int64[2,2], i:int64[2,2] = TopK(c, k:const[1]{2})", I8),
    ("y:int64[2,4] = Identity(c)", I8),
    ("y:int64[2,4] = Trilu(c)", I8),
    ("y:int64[2,1] = ReduceMin(c, a:const{1})", I8),
    ("y:int64[2,1] = ReduceMax(c, a:const{1})", I8),
    ("y:int64[2,1] = ReduceSum(c, a:const{1})", (-512, 508)),
    ("y:int64[1,4] = ReduceSum(c, a:const{0})", (-256, 254)),
    ("y:int64[2,4] = CumSum(c, a:const[]{1})", (-512, 508)),
    ("y:int64[2,4] = Where(k:bool[4], c, d:const[]{500})", (-128, 500)),
    ("y:int64[2,6] = Pad(c, p:const{0,1,0,1})", I8),
    ("y:int64[2,6] = Pad(c, p:const{0,1,0,1}, mode='edge')", I8),
    ("y:int64[2,6] = Pad(c, p:const{0,1,0,1}, v:const[]{-300})", (-300, 127)),
    ("m:int64[2,4] = Max(c, k:const[]{5})\ny:int64[2,6] = Pad(m, p:const{1,1}, , a:const{1})", (0, 127)),
    ("m:int64[2,4] = Max(c, k:const[]{5})\ny:int64[2,6] = Pad(m, p:const{1,1}, v:const[]{300}, a:const{1})", (5, 300)),
    ("m:int64[2,4] = Max(c, k:const[]{5})\ny:int64[2,6] = Pad(m, p:const{0,1,0,1}, v:const[]{6})", (5, 127)),
    ("y:int64[2,4] = Mul(c, c)", (-16256, 16384)),
    ("y:int64[2,4] = Sub(c, c)", (-255, 255)),
    ("y:int64[2,4] = Div(c, d:int64[4])", (-128, 128)),
    ("y:int64[2,4] = Mod(c, d:int64[4])", (-9223372036854775807, 9223372036854775807)),
    ("y:int64[2,4] = Mod(c, d:const[2]{-3,5})", (-4, 4)),
    ("y:int64[2,4] = Clip(c, l:int64[], h:const[]{5})", (-128, 5)),
    ("y:int64[2,4] = Clip(c, l:const[]{5}, h:int64[])", (-9223372036854775808, 127)),
    ("y:int64[2,4] = Clip(c)", I8),
    ("y:int64[2,4] = Clip(c, l:const[]{200})", (200, 200)),
    ("y:int64[2,4] = Clip(c, , h:const[]{-200})", (-200, -200)),
    ("y:int64[2,4] = Min(c, d:int64[4])", (-9223372036854775808, 127)),
    ("y:int64[2,4] = Add(c, d:int64[4])", I64),
    ("y:int64[2,4] = BitwiseNot(c)", I64),
    ("y:int64[2,4] = Add(c, k:const[]{9223372036854775000})", (9223372036854774872, 9223372036854775127)),
    ("y:int64[4,4] = Concat(c, d:int64[2,4], axis=0)", I64),
    ("y:int32[2,4] = Cast(c, to=6)", I8),
    ("y:int8[2,4] = Cast(c, to=3)", I8),
    ("y:uint8[2,4] = Cast(c, to=2)", (0, 255)),
    ("y:bool[2,4] = Cast(c, to=9)", (0, 1)),
    ("f[2,4] = Cast(c, to=1)\ny:int64[2,4] = Cast(f, to=7)", I64),
    ("y:int64[2,4] = Neg(c)", (-127, 128)),
    ("y:int64[2,4] = Abs(c)", (0, 128)),
    ("n:int64[2,4] = Neg(c)\nm:int64[2,4] = Min(n, k:const[]{-5})\ny:int64[2,4] = Abs(m)", (5, 127)),
    ("m:int64[2,4] = Max(c, k:const[]{5})\ny:int64[2,4] = Abs(m)", (5, 127)),
    ("m:int64[2,4] = Abs(c)\ny:int64[2,4] = Div(m, d:const[4]{-1,2,3,4})", (-128, 128)),
    ("m:int64[2,4] = Max(c, k:const[]{5})\ny:int64[2,1] = ReduceSum(m, a:const{1})", (0, 508)),
]
"""Nodes that read c[2,4], whose elements are those of bytes."""


@pytest.mark.parametrize(("text", "wanted"), OF_BYTES)
def test_bounds_of_what_is_computed_of_bytes(text: str, wanted: tuple[int, int]) -> None:
    assert bounds(f"c:int64[2,4] = Cast(x:int8[2,4], to=7)\n{text}") == wanted


OF_PLACES = [
    ("y:int64[2] = Shape(x[3,5])", (0, 5)),
    ("y:int64[2] = Shape(x[N,5])", (0, 2147483647)),
    ("y:int64[] = Size(x[3,5])", (0, 15)),
    ("y:int64[] = Size(x[N,5])", I64),
    ("y:int64[*] = Range(a:const[]{2}, b:const[]{9}, s:int64[])", (2, 9)),
    ("y:int64[*] = Range(a:int64[], b:const[]{9}, s:const[]{2})", I64),
    ("y:int8[1,1,2] = MaxPool(x:int8[1,1,4], kernel_shape=[2], strides=[2])", I8),
    ("y:int64[3] = ArgMin(x[3,5], axis=-1, keepdims=0)", (0, 4)),
    ("y:int64[5] = ArgMin(x[3,5], keepdims=0)", (0, 2)),
    ("y:int64[3] = ArgMax(x[3,N], axis=1, keepdims=0)", I64),
    ("y:int64[3,1] = ArgMax(x[3,0], axis=1)", (0, 0)),
    ("v[3,2], y:int64[3,2] = TopK(x[3,5], k:const[1]{2}, axis=0)", (0, 2)),
    ("y:int64[*,3] = NonZero(x[])", (0, 0)),
    ("y:int64[2,*] = NonZero(x[3,0])", (0, 2)),
    ("y:int64[2,2,4] = OneHot(i:int64[2,2], d:const[]{4}, v:const[2]{7,-3})", (-3, 7)),
    ("y:int64[2,2,4] = OneHot(i:int64[2,2], d:const[]{4}, v:int64[2])", I64),
    ("y:uint8[3] = Add(a:uint8[3], k:const:uint8[]{1})", (0, 255)),
]


@pytest.mark.parametrize(("text", "wanted"), OF_PLACES)
def test_bounds_of_sizes_and_places(text: str, wanted: tuple[int, int]) -> None:
    assert bounds(text) == wanted


INDICES = {
    "an axis": ("y[3,2] = Gather(t:const[5,2], i:int64[3], axis=1)", (-2, 1)),
    "an axis from the end": ("y[5,3] = Gather(t:const[5,2], i:int64[3], axis=-2)", (-5, 4)),
    "places of each element": ("y[3,2] = GatherElements(t:const[5,2], i:int64[3,2])", (-5, 4)),
    "two readers": ("y[3] = Gather(t:const[5], i:int64[3])\nz[3] = Gather(u:const[2], i)", (-2, 1)),
    "an axis that is not there": ("y[*] = Gather(t:const[5,2], i:int64[3], axis=2)", I64),
    "a free axis": ("y[3] = Gather(t[N], i:int64[3])", I64),
    "an unknown rank": ("y[*] = Gather(t[*], i:int64[3])", I64),
    "another operator": ("y:int64[3] = Add(t:const[5], i:int64[5])", I64),
    "another domain": ("y[*] = own.Gather(t:const[5], i:int64[3])", I64),
    "the data of a Gather": ("y:int64[2] = Gather(i:int64[3], k:const{0,1})", I64),
    "indices of another type": ("y[3] = Gather(t:const[5], i:int32[3])", I32),
}


@pytest.mark.parametrize(("text", "wanted"), INDICES.values(), ids=INDICES)
def test_an_index_is_within_the_axes_that_its_readers_look_in(text: str, wanted: tuple[int, int]) -> None:
    inputs = engine.load(model(text)).graphs[0].inputs
    (index,) = [value for value in inputs if value.name == "i"]
    assert index.bounds == wanted


@pytest.mark.parametrize("limits", ["k", ", k", "k, m:const[]{5}", "m:const[]{5}, k"])
def test_a_clip_by_a_limit_of_which_nothing_is_known_has_no_bounds(limits: str) -> None:
    assert bounds(f"{CAST}k:int64[] = my.Op(x)\ny:int64[3] = Clip(c, {limits})") == I64


def test_a_result_has_no_bounds_where_one_of_its_parts_has_none() -> None:
    either, given = bounds_of(1, 2), node("y[2] = Where(c:bool[2], a[2], b[2])")
    assert either(given, [(0, 1), (-3, 4), (2, 9)], 0) == (-3, 9)
    assert either(given, [(0, 1), None, (2, 9)], 0) is None
    assert either(given, [(0, 1), (2, 9)], 0) is None
    assert union([]) is None
    assert bounds_of_first(given, [], 0) is None


SUMS: dict[str, tuple[str, Given, Given]] = {
    "a running sum along the longest axis": (
        "y:int64[2,4,3] = CumSum(c:int64[2,4,3], a:const[]{0})",
        (-5, 7),
        (-20, 28),
    ),
    "a running sum of one number": ("y:int64[] = CumSum(c:int64[], a:const[]{0})", (3, 7), (0, 7)),
    "a running sum of numbers above 0": ("y:int64[3] = CumSum(c:int64[3], a:const[]{0})", (2, 7), (0, 21)),
    "a running sum of numbers below 0": ("y:int64[3] = CumSum(c:int64[3], a:const[]{0})", (-7, -2), (-21, 0)),
    "a sum of 4 of each 3": ("y:int64[1,3] = ReduceSum(c:int64[4,3], a:const{0})", (-5, 7), (-20, 28)),
    "a sum of 3 of each 4": ("y:int64[4] = ReduceSum(c:int64[4,3], a:const{1}, keepdims=0)", (-5, 7), (-15, 21)),
    "a sum of nothing": ("y:int64[0,1] = ReduceSum(c:int64[0,3], a:const{1})", (2, 7), (0, 7)),
    "a sum of numbers that are not bounded": ("y:int64[1,3] = ReduceSum(c:int64[4,3], a:const{0})", None, None),
    "a sum of a free size": ("y:int64[1,3] = ReduceSum(c:int64[N,3], a:const{0})", (-5, 7), None),
    "a sum with a free size": ("y:int64[1,N] = ReduceSum(c:int64[4,3], a:const{0})", (-5, 7), None),
}


@pytest.mark.parametrize(("text", "given", "wanted"), SUMS.values(), ids=SUMS)
def test_a_sum_is_within_as_many_times_the_bounds_as_it_has_terms(text: str, given: Given, wanted: Given) -> None:
    assert _bounds_of_sums(node(text), [given, (0, 1)], 0) == wanted


POSITIONS = {
    "the first axis by default": ("y:int64[1,7] = ArgMax(x[2,7])", (0, 1)),
    "an axis that is named": ("y:int64[2,1] = ArgMin(x[2,7], axis=1)", (0, 6)),
    "the last axis of a TopK by default": ("v[2,3], y:int64[2,3] = TopK(x[2,7], k:const:int64[1]{3})", (0, 6)),
    "the first axis of a TopK": ("v[1,7], y:int64[1,7] = TopK(x[2,7], k:const:int64[1]{1}, axis=0)", (0, 1)),
    "the first axis, from the end": ("y:int64[1,7] = ArgMax(x[2,7], axis=-2)", (0, 1)),
    "an axis of one place": ("y:int64[1] = ArgMax(x[1])", (0, 0)),
    "an axis of no place": ("y:int64[1] = ArgMax(x[0])", (0, 0)),
    "a free axis": ("y:int64[1,7] = ArgMax(x[N,7])", None),
    "behind the last axis": ("y:int64[2,1] = ArgMax(x[2,7], axis=2)", None),
    "in front of the first axis": ("y:int64[2,1] = ArgMax(x[2,7], axis=-3)", None),
    "no axis at all": ("y:int64[] = ArgMax(x[])", None),
    "an unknown rank": ("y:int64[*] = ArgMax(x[*])", None),
    "what a function is called with": ("y:int64[2,1] = ArgMax(x[2,7], axis=None)", None),
}


@pytest.mark.parametrize(("text", "wanted"), POSITIONS.values(), ids=POSITIONS)
def test_a_position_is_within_its_axis(text: str, wanted: tuple[int, int] | None) -> None:
    assert axis_positions(node(text), [], 0) == wanted


def test_each_element_type_has_its_own_bounds() -> None:
    names = [name for name in TYPES if name != "bool"]
    assert {name: (int(np.iinfo(name).min), int(np.iinfo(name).max)) for name in names} == {
        name: TYPES[name] for name in names
    }
    assert len(names) == 8
    assert TYPES["bool"] == (0, 1)


ABOUT = "y:int64[2] = Op(a:int64[2], b:int64[2], c:int64[2])"
RULES: dict[str, tuple[str, list[Given], Given]] = {
    "Abs of both signs": ("Abs", [(-3, 5)], (0, 5)),
    "Abs of both signs, more below 0": ("Abs", [(-6, 5)], (0, 6)),
    "Abs above 0": ("Abs", [(3, 5)], (3, 5)),
    "Abs below 0": ("Abs", [(-7, -2)], (2, 7)),
    "Abs of anything": ("Abs", [None], None),
    "Neg": ("Neg", [(-3, 5)], (-5, 3)),
    "Neg of anything": ("Neg", [None], None),
    "Sign": ("Sign", [None], (-1, 1)),
    "Add": ("Add", [(1, 2), (10, 20)], (11, 22)),
    "Sub": ("Sub", [(1, 2), (10, 20)], (-19, -8)),
    "Mul": ("Mul", [(-2, 3), (4, 5)], (-10, 15)),
    "Mul of both signs": ("Mul", [(-2, 3), (-7, 5)], (-21, 15)),
    "Add of anything": ("Add", [None, (10, 20)], None),
    "Add to anything": ("Add", [(1, 2), None], None),
    "Max": ("Max", [(1, 9), (3, 4)], (3, 9)),
    "Min": ("Min", [(1, 9), (3, 4)], (1, 4)),
    "Max of three": ("Max", [(1, 2), (0, 9), (3, 4)], (3, 9)),
    "Max of anything": ("Max", [(1, 2), None, (0, 5)], None),
    "Min of anything": ("Min", [None, (0, 5)], None),
    "Div": ("Div", [(-7, 3), (1, 2)], (-7, 7)),
    "Div, more above 0": ("Div", [(-3, 7), (1, 2)], (-7, 7)),
    "Div of what is not below 0": ("Div", [(0, 9), (0, 2)], (0, 9)),
    "Div of what is above 0": ("Div", [(3, 9), (1, 2)], (0, 9)),
    "Div by what may be below 0": ("Div", [(3, 9), (-1, 2)], (-9, 9)),
    "Div of what may be below 0": ("Div", [(-1, 9), (1, 2)], (-9, 9)),
    "Div by anything": ("Div", [(0, 9), None], (-9, 9)),
    "Div of anything": ("Div", [None, (1, 2)], None),
    "Mod": ("Mod", [None, (2, 5)], (0, 4)),
    "Mod by either sign": ("Mod", [None, (-6, 3)], (-5, 5)),
    "Mod by either sign, more above 0": ("Mod", [None, (-3, 6)], (-5, 5)),
    "Mod by what is below 0": ("Mod", [None, (-6, -2)], (-5, 0)),
    "Mod by 0": ("Mod", [None, (0, 0)], (0, 0)),
    "Mod by what is not below 0": ("Mod", [None, (0, 3)], (0, 2)),
    "Mod by what is not above 0": ("Mod", [None, (-3, 0)], (-2, 0)),
    "Mod by anything": ("Mod", [(1, 2), None], None),
    "Clip": ("Clip", [(-10, 10), (-2, 3), (4, 6)], (-2, 6)),
    "Clip above all": ("Clip", [(-10, -5), (-2, 3), (4, 6)], (-2, 3)),
    "Clip below all": ("Clip", [(20, 30), (-2, 3), (4, 6)], (4, 6)),
    "Clip from anything": ("Clip", [(-10, 10), None, (4, 6)], None),
    "Clip to anything": ("Clip", [(-10, 10), (-2, 3), None], None),
    "Clip of anything": ("Clip", [None, (-2, 3), (4, 6)], None),
    "Where": ("Where", [(0, 1), (-3, 4), (2, 9)], (-3, 9)),
}


@pytest.mark.parametrize(("op", "given", "wanted"), RULES.values(), ids=RULES)
def test_the_rule_of_an_operator_bounds_its_results(op: str, given: list[Given], wanted: Given) -> None:
    assert arithmetic.BOUNDS[op](node(ABOUT), given, 0) == wanted


@pytest.mark.parametrize(
    ("text", "given", "wanted"),
    [
        ("y:int64[2] = Mod(a:int64[2], b:int64[2], fmod=1)", [None, (2, 5)], (-4, 4)),
        ("y:int64[2] = Mod(a:int64[2], b:int64[2], fmod=1)", [(1, 2), None], None),
        ("y:int64[2] = Clip(a:int64[2], b:int64[])", [(-10, 10), (-2, 3)], (-2, 10)),
        ("y:int64[2] = Clip(a:int64[2], , c:int64[])", [(-10, 10), None, (4, 6)], (-10, 6)),
        ("y:int64[2] = Clip(a:int64[2])", [(-10, 10)], (-10, 10)),
        ("y:int64[2] = Clip(a:int64[2], b:int64[])", [(-10, 10), None], None),
    ],
)
def test_the_rule_of_an_operator_heeds_what_is_absent(text: str, given: list[Given], wanted: Given) -> None:
    made = node(text)
    assert arithmetic.BOUNDS[made.op](made, given, 0) == wanted
