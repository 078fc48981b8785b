"""What is known before a model runs: the witness is onnxruntime, asked for the same model."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, ValueInfoProto, helper, numpy_helper

from graphfix.formats.onnx import OnnxModel
from graphfix.formats.onnx.constants import folding
from graphfix.graph.view import Value
from tests.support import engine
from tests.support.bits import same_bits
from tests.support.notation import model, node
from tests.support.runtimes.onnx_runs import run

KNOWN = {
    "Shape": "y:int64[3] = Shape(x[2,3,4])",
    "Shape of some axes": "y:int64[2] = Shape(x[2,3,4], start=1)",
    "Shape from the end": "y:int64[1] = Shape(x[2,3,4], start=-2, end=-1)",
    "Size": "y:int64[] = Size(x[2,3,4])",
    "Gather": "y:int64[2] = Gather(a:const[3]{5,6,7}, i:const[2]{0,-1})",
    "Gather a scalar": "y:int64[] = Gather(a:const[3]{5,6,7}, i:const[]{1})",
    "Slice": "y:int64[2] = Slice(a:const[4]{5,6,7,8}, s:const[1]{1}, e:const[1]{9223372036854775807}, x:const[1]{0}, "
    "t:const[1]{2})",
    "Slice backwards": "y:int64[4] = Slice(a:const[4]{5,6,7,8}, s:const[1]{-1}, e:const[1]{-9223372036854775808}, "
    "x:const[1]{0}, t:const[1]{-1})",
    "Concat": "y:int64[3] = Concat(a:const[1]{5}, b:const[2]{6,-1}, axis=0)",
    "Split": "y:int64[1], z:int64[2] = Split(a:const[3]{5,6,7}, s:const[2]{1,2})",
    "Unsqueeze": "y:int64[1,1] = Unsqueeze(a:const[]{5}, x:const[2]{0,1})",
    "Squeeze": "y:int64[] = Squeeze(a:const[1]{5})",
    "Reshape": "y:int64[2,2] = Reshape(a:const[4]{5,6,7,8}, s:const[2]{2,-1})",
    "Flatten": "y:int64[1,4] = Flatten(a:const[4]{5,6,7,8}, axis=0)",
    "Transpose": "y:int64[3,2] = Transpose(a:const[2,3]{1,2,3,4,5,6})",
    "Expand": "y:int64[2,3] = Expand(a:const[3]{1,2,3}, s:const[2]{2,1})",
    "Tile": "y:int64[6] = Tile(a:const[3]{1,2,3}, s:const[1]{2})",
    "ConstantOfShape": "y[2,3] = ConstantOfShape(s:const[2]{2,3})",
    "ConstantOfShape of nothing": "y[0] = ConstantOfShape(s:const[1]{0})",
    "Range": "y:int64[4] = Range(a:const[]{3}, b:const[]{10}, c:const[]{2})",
    "Range downwards": "y:int64[3] = Range(a:const[]{3}, b:const[]{0}, c:const[]{-1})",
    "Range of floats": "y[4] = Range(a:const[]{-2.0}, b:const[]{10.0}, c:const[]{3.0})",
    "Cast to float": "y[2] = Cast(a:const[2]{3,16777217}, to=1)",
    "Cast to whole": "y:int64[3] = Cast(a:const[3]{3.9,-3.9,0.0}, to=7)",
    "Cast to bool": "y:bool[3] = Cast(a:const[3]{0,1,-2}, to=9)",
    "Cast to int32": "y:int32[2] = Cast(a:const[2]{2147483647,-2147483648}, to=6)",
    "Add": "y:int64[2] = Add(a:const[2]{5,6}, b:const[]{-7})",
    "Sub": "y:int64[2] = Sub(a:const[2]{5,6}, b:const[2]{7,7})",
    "Mul": "y:int64[2] = Mul(a:const[2]{5,6}, b:const[1]{7})",
    "Div": "y:int64[2] = Div(a:const[2]{15,6}, b:const[1]{4})",
    "Mod": "y:int64[2] = Mod(a:const[2]{15,6}, b:const[1]{4})",
    "Neg": "y:int64[2] = Neg(a:const[2]{15,-6})",
    "Abs": "y:int64[2] = Abs(a:const[2]{15,-6})",
    "Min": "y:int64[2] = Min(a:const[2]{15,6}, b:const[1]{7})",
    "Max": "y:int64[2] = Max(a:const[2]{15,6}, b:const[1]{7})",
    "float Add": "y[2] = Add(a:const[2]{0.1,6.5}, b:const[1]{0.2})",
    "float Sub": "y[2] = Sub(a:const[2]{0.1,6.5}, b:const[1]{0.3})",
    "float Mul": "y[2] = Mul(a:const[2]{0.1,6.5}, b:const[1]{-0.3})",
    "float Div": "y[2] = Div(a:const[2]{0.1,6.5}, b:const[1]{3.0})",
    "Floor": "y[3] = Floor(a:const[3]{0.9,-6.5,2.0})",
    "Sqrt": "y[4] = Sqrt(a:const[4]{0.9,6.5,2.0,0.0})",
    "Sqrt of float64": "y:float64[3] = Sqrt(a:const:float64[3]{0.9,6.5,2.0})",
    "Ceil": "y[3] = Ceil(a:const[3]{0.9,-6.5,2.0})",
    "Equal": "y:bool[2] = Equal(a:const[2]{5,6}, b:const[]{6})",
    "Greater": "y:bool[2] = Greater(a:const[2]{0.1,0.2}, b:const[]{0.1})",
    "LessOrEqual": "y:bool[2] = LessOrEqual(a:const[2]{5,6}, b:const[]{5})",
    "And": "y:bool[2] = And(a:const:bool[2]{True,False}, b:const:bool[1]{True})",
    "Not": "y:bool[2] = Not(a:const:bool[2]{True,False})",
    "Where": "y:int64[2] = Where(c:const:bool[2]{True,False}, a:const[2]{5,6}, b:const[2]{-7,-8})",
    "ReduceProd": "y:int64[1] = ReduceProd(a:const[3]{5,6,7})",
    "ReduceSum": "y:int64[] = ReduceSum(a:const[3]{5,6,7}, x:const[1]{0}, keepdims=0)",
    "ReduceMin": "y:int64[1] = ReduceMin(a:const[3]{5,6,7})",
    "CumSum": "y:int64[3] = CumSum(a:const[3]{5,6,7}, x:const[]{0})",
    "Identity": "y:int64[3] = Identity(a:const[3]{5,6,7})",
    "a chain": "s:int64[2] = Shape(x[6,4])\nf[2] = Cast(s, to=1)\ng[2] = Mul(f, k:const[1]{0.3})\nh[2] = Floor(g)\n"
    "y:int64[2] = Cast(h, to=7)",
    "NonZero in between": "n:int64[1,?] = NonZero(a:const[3]{0,5,7})\ny:int64[2] = Reshape(n, s:const[1]{-1})\n",
    "Gather along the last axis": "y:int64[2,1] = Gather(a:const[2,3]{1,2,3,4,5,6}, i:const[1]{1}, axis=-1)",
    "Mod of what is 0": "y:int64[2] = Mod(a:const[2]{0,6}, b:const[1]{4})",
    "fmod": "y:int64[1] = Mod(a:const[1]{7}, b:const[1]{4}, fmod=1)",
    "Div of float64": "y:float64[2] = Div(a:const:float64[2]{1.0,-6.5}, b:const:float64[1]{3.0})",
    "Div of negative floats": "y[2] = Div(a:const[2]{-1.0,6.5}, b:const[1]{-3.0})",
    "ReduceMax of floats": "y[1] = ReduceMax(a:const[3]{0.5,-6.0,7.25})",
    "Or": "y:bool[2] = Or(a:const:bool[2]{True,False}, b:const:bool[1]{False})",
    "Xor": "y:bool[2] = Xor(a:const:bool[2]{True,False}, b:const:bool[1]{True})",
    "GreaterOrEqual": "y:bool[2] = GreaterOrEqual(a:const[2]{5,6}, b:const[]{6})",
    "Less": "y:bool[2] = Less(a:const[2]{5,6}, b:const[]{6})",
    "Sign": "y:int64[3] = Sign(a:const[3]{5,-6,0})",
    "Shape of nothing": "y:int64[2] = Shape(x[0,4])",
    "Shape of a free size that is left out": "y:int64[1] = Shape(x[3,4], end=1)",
    "Range of nothing": "y:int64[0] = Range(a:const[]{3}, b:const[]{3}, c:const[]{2})",
    "Range of floats below 2**22": "y[1] = Range(a:const[]{4194302.0}, b:const[]{4194303.0}, c:const[]{1.0})",
    "the longest Range": "y:int64[4096] = Range(a:const[]{0}, b:const[]{4096}, c:const[]{1})",
    "the largest ConstantOfShape": "y[4096] = ConstantOfShape(s:const[1]{4096})",
    "Cast to the largest byte": "y:uint8[2] = Cast(a:const[2]{0,255}, to=2)",
    "Cast to the smallest byte": "y:int8[2] = Cast(a:const[2]{-128,127}, to=3)",
    "Cast of a fraction to a byte": "y:int8[2] = Cast(a:const[2]{-128.5,127.5}, to=3)",
    "Cast of nothing": "y:int8[0] = Cast(a:const[0]{}, to=3)",
    "Cast of a bool": "y:int64[2] = Cast(a:const:bool[2]{True,False}, to=7)",
    "Cast to float64": "y:float64[2] = Cast(a:const[2]{3,-4}, to=11)",
    "a second result": "z:int64[1], y:int64[2] = Split(a:const[3]{5,6,7}, s:const[2]{1,2})\nw:int64[1] = Neg(z)",
}


def first(opened: OnnxModel, name: str = "y") -> Value:
    nodes = opened.graphs[0].nodes
    return next(value for node in nodes for value in node.results if value is not None and value.name == name)


@pytest.mark.parametrize("text", KNOWN.values(), ids=KNOWN)
def test_what_is_known_is_what_the_runtime_gives(text: str) -> None:
    proto = model(text)
    opened = engine.load(proto)
    assert isinstance(opened, OnnxModel)
    value = first(opened)
    given = run(proto, **{it.name: np.zeros(_sizes(it), np.float32) for it in proto.graph.input})[0]
    array = opened._views.evaluator.array(value)
    assert array is not None
    assert same_bits(array, given)
    if value.shape.static:
        assert value.computed_elements == tuple(given.reshape(-1).tolist())


def _sizes(info: ValueInfoProto) -> list[int]:
    return [dim.dim_value for dim in info.type.tensor_type.shape.dim]


UNKNOWN = {
    "an input": "y:int64[2] = Neg(a:int64[2])",
    "an initializer that can be overridden": "y:int64[2] = Neg(a:overridable:int64[2]{1,2})",
    "a size that is not known": "y:int64[2] = Shape(x[N,3])",
    "an operator that rounds": "y[2] = Exp(a:const[2]{0.5,1.0})",
    "the root of a negative number": "y[1] = Sqrt(a:const[1]{-1.0})",
    "the order of a sum": "y[1] = ReduceSum(a:const[3]{0.1,0.2,0.3})",
    "steps of a float": "y[*] = Range(a:const[]{0.0}, b:const[]{1.0}, c:const[]{0.1})",
    "steps of a float that is large": "y[*] = Range(a:const[]{5e6}, b:const[]{5000002.0}, c:const[]{1.0})",
    "steps from a negative zero": "n[] = Neg(z:const[]{0.0})\ny[*] = Range(n, b:const[]{2.0}, c:const[]{1.0})",
    "a negative quotient": "y:int64[1] = Div(a:const[1]{-7}, b:const[1]{2})",
    "division by 0": "y:int64[1] = Div(a:const[1]{7}, b:const[1]{0})",
    "a negative zero": "n[1] = Mul(a:const[1]{-1.0}, z:const[1]{0.0})\ny[1] = Where(c:const:bool[1]{True}, n, n)",
    "too large for the type": "y:int32[1] = Cast(a:const[1]{2147483648}, to=6)",
    "too large for any whole number": "y:int64[1] = Cast(a:const[1]{1e30}, to=7)",
    "random": "y[2] = RandomNormal(shape=[2])",
    "too many elements": "y[5000] = ConstantOfShape(s:const[1]{5000})",
    "too many elements to read": "y:int64[5000] = Neg(a:const:int64[5000])",
    "a Range that is too long": "y:int64[*] = Range(a:const[]{0}, b:const[]{9000000000}, c:const[]{1})",
    "another domain": "y:int64[1] = own.Neg(a:const[1]{7})",
    "operands that the operator refuses": "y:int64[*] = Gather(a:const[1]{7}, i:const[1]{3})",
    "steps of a float at 2**22": "y[*] = Range(a:const[]{4194304.0}, b:const[]{4194306.0}, c:const[]{1.0})",
    "a Range one too long": "y:int64[*] = Range(a:const[]{0}, b:const[]{4097}, c:const[]{1})",
    "a ConstantOfShape one too large": "y[4097] = ConstantOfShape(s:const[1]{4097})",
    "a Range by 0": "y:int64[*] = Range(a:const[]{0}, b:const[]{4}, c:const[]{0})",
    "a remainder of floats": "y[1] = Mod(a:const[1]{7.0}, b:const[1]{4.0}, fmod=1)",
    "a remainder by a negative number": "y:int64[1] = Mod(a:const[1]{7}, b:const[1]{-4})",
    "a float divided by 0": "y[1] = Div(a:const[1]{7.0}, b:const[1]{0.0})",
    "a running sum of floats": "y[2] = CumSum(a:const[2]{0.1,0.2}, x:const[]{0})",
    "an endless number": "i[1] = Div(a:const[1]{7.0}, b:const[1]{0.0})\ny[1] = Neg(i)",
    "a byte too large": "y:uint8[2] = Cast(a:const[2]{0,256}, to=2)",
    "a byte too small": "y:int8[2] = Cast(a:const[2]{-129,127}, to=3)",
    "a float beyond a byte": "y:int8[1] = Cast(a:const[1]{128.0}, to=3)",
    "text": "y:string[1] = Cast(a:const[1]{1}, to=8)",
    "half floats": "y:float16[1] = Cast(a:const[1]{0.1}, to=10)",
    "the sizes of a free shape": "y:int64[] = Size(x[N,3])",
    "one operand of two": "y:int64[2] = Add(a:const[2]{5,6}, b:int64[1])",
}


@pytest.mark.parametrize("text", UNKNOWN.values(), ids=UNKNOWN)
def test_nothing_is_known(text: str) -> None:
    opened = engine.load(model(text))
    assert isinstance(opened, OnnxModel)
    assert first(opened).computed_elements is None
    assert opened._views.evaluator.array(first(opened)) is None


def test_a_constant_is_literal_not_known() -> None:
    opened = engine.load(model("y:int64[1] = Neg(a:const[1]{7})"))
    constant = opened.graphs[0].nodes[0].operand(0)
    assert (constant.literal, constant.computed_elements, constant.known) == ((7,), None, None)


def test_constant_nodes_of_every_kind_are_read() -> None:
    nodes = [
        helper.make_node("Constant", [], ["a"], value_ints=[3, 4]),
        helper.make_node("Constant", [], ["b"], value_int=5),
        helper.make_node("Constant", [], ["c"], value=numpy_helper.from_array(np.int64([6, 7]))),
        helper.make_node("Add", ["a", "b"], ["d"]),
        helper.make_node("Mul", ["d", "c"], ["y"]),
    ]
    graph = helper.make_graph(nodes, "g", [], [helper.make_tensor_value_info("y", TensorProto.INT64, [2])])
    opened = engine.load(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8))
    assert isinstance(opened, OnnxModel)
    assert first(opened).computed_elements == (48, 63)


@pytest.mark.ci
def test_a_long_chain_is_followed_without_recursion() -> None:
    lines = ["v0:int64[1] = Neg(a:const[1]{1})"] + [f"v{at}:int64[1] = Neg(v{at - 1})" for at in range(1, 3000)]
    opened = engine.load(model("\n".join(lines)))
    assert isinstance(opened, OnnxModel)
    assert first(opened, "v2999").computed_elements == (1,)


@pytest.mark.ci
def test_nothing_is_computed_where_nobody_asks() -> None:
    program = (
        "import sys, graphfix; from graphfix import fix; import onnx.helper as h; "
        "n = h.make_node('Shape', ['x'], ['y']); i = h.make_tensor_value_info('x', 1, [2]); "
        "o = h.make_tensor_value_info('y', 7, [1]); "
        "m = graphfix.load(h.make_model(h.make_graph([n], 'g', [i], [o]), ir_version=8)); fix(m); "
        "print('onnx.reference' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert done.stdout == "False\n"


OUTER = {
    "Add": "m[4096,4096] = Add(a:const[4096,1], b:const[1,4096])",
    "Max": "m[4096,4096,4096] = Max(a:const[4096,1,1], b:const[1,4096,1], c:const[1,1,4096])",
    "Less": "m:bool[4096,4096] = Less(a:const[4096,1], b:const[1,4096])",
}


@pytest.mark.parametrize("op", OUTER)
def test_operands_that_stretch_each_other_are_not_computed(op: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_run(*_: object) -> None:
        raise AssertionError("it would take 2**24 elements and more")

    opened = engine.load(model(OUTER[op]))
    assert isinstance(opened, OnnxModel)
    monkeypatch.setattr(folding, "_run", no_run)
    assert opened._views.evaluator.array(first(opened, "m")) is None


@pytest.mark.parametrize(
    ("most", "held"),
    [
        (2 * 8, [True, False, False]),
        (3 * 8, [True, False, False]),
        (5 * 8 - 1, [True, True, False]),
        (5 * 8, [True, True, True]),
    ],
)
def test_values_are_held_as_long_as_there_is_room(most: int, held: list[bool], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folding, "MOST_HELD", most)
    opened = engine.load(model("a:int64[2] = Neg(k:const[2]{1,2})\ny:int64[2] = Neg(a)\nz:int64[1] = Shape(y)"))
    assert isinstance(opened, OnnxModel)
    assert [opened._views.evaluator.array(first(opened, name)) is not None for name in "ayz"] == held


@pytest.mark.parametrize(
    ("op", "shapes", "count"),
    [
        ("Add", [(3,), (2, 3)], 6),
        ("Add", [(3,), (1, 3)], 3),
        ("Add", [(2, 1), (1, 3)], 6),
        ("Add", [(), ()], 1),
        ("Add", [(0,), (5,)], 0),
        ("Neg", [(2, 3)], 6),
        ("Concat", [(2,), (3,)], 5),
        ("Gather", [(4, 3, 2), (5,)], 30),
    ],
)
def test_as_many_elements_are_counted_as_a_node_may_make(op: str, shapes: list[tuple[int, ...]], count: int) -> None:
    names = [f"x{at}" for at in range(len(shapes))]
    message = helper.make_node(op, names, ["y"], **({"axis": 0} if op == "Concat" else {}))
    proto = helper.make_graph(
        [message],
        "g",
        [helper.make_tensor_value_info(name, 7, shape) for name, shape in zip(names, shapes, strict=True)],
        [helper.make_tensor_value_info("y", 7, None)],
    )
    (node,) = engine.load(helper.make_model(proto, opset_imports=[helper.make_opsetid("", 18)])).graphs[0].nodes
    assert folding._computed(node, message, [np.zeros(shape, np.int64) for shape in shapes]) == count


@pytest.mark.parametrize(
    ("first", "to", "array", "casts"),
    [
        ({"saturate": 1}, TensorProto.INT8, np.int64([-128, 127]), True),
        ({"saturate": 1}, TensorProto.INT8, np.int64([-129, 127]), False),
        ({"saturate": 1}, TensorProto.INT8, np.int64([-128, 128]), False),
        ({"saturate": 0}, TensorProto.INT8, np.float32([-128.9, 127.9]), True),
        ({}, TensorProto.FLOAT, np.int64([1 << 40]), True),
        ({}, TensorProto.INT8, np.int64([]), True),
        ({}, TensorProto.INT8, np.float32([np.nan]), False),
        ({}, TensorProto.STRING, np.int64([1]), False),
        ({}, TensorProto.FLOAT, np.array(["1"], object), False),
    ],
)
def test_every_runtime_casts_alike_what_is_in_the_range_of_the_type(
    first: dict[str, int], to: TensorProto.DataType, array: np.ndarray, *, casts: bool
) -> None:
    message = helper.make_node("Cast", ["x"], ["y"])
    message.attribute.extend(helper.make_attribute(name, value) for name, value in {**first, "to": to}.items())
    assert folding._casts(message, array) == casts


@pytest.mark.parametrize(
    ("left", "right", "fmod", "divides"),
    [
        ([7, 0], [4, 2], 0, True),
        ([7], [4], 1, False),
        ([7, 8], [4, 0], 0, False),
        ([7, -8], [4, 2], 0, False),
        ([7, 8], [4, -2], 0, False),
        ([7.0, -8.0], [-4.0, 2.0], 0, True),
        ([7.0, 8.0], [0.0, 2.0], 0, False),
        ([7.0], [4.0], 1, False),
    ],
)
def test_every_rounding_gives_the_quotients_of_what_is_not_below_0(
    left: list[float], right: list[float], fmod: int, *, divides: bool
) -> None:
    message = helper.make_node("Mod", ["x", "z"], ["y"], fmod=fmod)
    assert folding._divides(message, np.array(left), np.array(right)) is divides


@pytest.mark.parametrize(
    ("start", "stop", "step", "short"),
    [
        (0, 4096, 1, True),
        (0, 4097, 1, False),
        (4096, 0, -1, True),
        (4097, 0, -1, False),
        (0, 8192, -2, True),
        (0, 4, 0, False),
    ],
)
def test_a_range_of_at_most_4096_elements_is_short(start: int, stop: int, step: int, *, short: bool) -> None:
    assert folding._short(np.array(start), np.array(stop), np.array(step)) is short


@pytest.mark.parametrize(("kind", "numbers"), [("value_floats", [1.5, 2.0]), ("value_ints", [3, 4])])
def test_the_numbers_of_a_constant_node_have_its_type(kind: str, numbers: list[float]) -> None:
    nodes = [helper.make_node("Constant", [], ["a"], **{kind: numbers}), helper.make_node("Add", ["a", "a"], ["y"])]
    code = TensorProto.FLOAT if kind == "value_floats" else TensorProto.INT64
    graph = helper.make_graph(nodes, "g", [], [helper.make_tensor_value_info("y", code, [2])])
    opened = engine.load(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8))
    assert isinstance(opened, OnnxModel)
    array = opened._views.evaluator.array(first(opened, "a"))
    assert array is not None
    assert (array.dtype.name, array.tolist()) == ("float32" if kind == "value_floats" else "int64", numbers)


FITTING: dict[str, tuple[str, tuple[int, ...], str, dict[str, Any], bool]] = {
    "its sizes": ("[2,3]", (2, 3), "float32", {}, True),
    "another size": ("[2,3]", (2, 4), "float32", {}, False),
    "another rank": ("[2,3]", (3,), "float32", {}, False),
    "a rank more": ("[2,3]", (1, 2, 3), "float32", {}, False),
    "any size of a free axis": ("[N,3]", (7, 3), "float32", {}, True),
    "another size beside a free axis": ("[N,3]", (7, 4), "float32", {}, False),
    "any sizes of an unknown rank": ("[*]", (7, 4), "float32", {}, True),
    "another type": ("[2,3]", (2, 3), "int64", {}, False),
    "any type of an unknown one": ("[2,3]", (2, 3), "int64", {"dtype": "?"}, True),
    "its sizes, whose stored ones are others": ("[2,3]", (2, 3), "float32", {"stale": "why"}, False),
    "as many elements as are computed": ("[4096]", (4096,), "float32", {}, True),
    "one more": ("[4097]", (4097,), "float32", {}, False),
}


@pytest.mark.parametrize(("shape", "dims", "dtype", "said", "fits"), FITTING.values(), ids=FITTING)
def test_an_array_fits_a_value_of_its_type_and_sizes(
    shape: str, dims: tuple[int, ...], dtype: str, said: dict[str, Any], *, fits: bool
) -> None:
    result = node(f"y{shape} = Neg(x)").results[0]
    assert result is not None
    assert folding._fits(replace(result, **said), np.zeros(dims, dtype)) is fits
