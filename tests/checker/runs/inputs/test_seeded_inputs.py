"""Seeded inputs: what they index bounds them."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto

from graphfix.checker.files.onnx.skeleton import read
from graphfix.checker.runs.inputs.input_limits import Limits
from graphfix.checker.runs.inputs.interface import onnx_interface
from graphfix.checker.runs.inputs.seeded_inputs import Choice, seeded
from graphfix.checker.runs.onnx.input_limits import limits
from tests.support.by_runs import verify
from tests.support.runtimes.onnx_runs import run
from tests.support.tiers import tiered
from tests.support.written import Written

TABLE = np.arange(20, dtype=np.float32).reshape(5, 4)


@pytest.mark.parametrize(
    ("text", "interval"),
    [
        ("y = Gather(w, i)", (0, 4)),
        ("y = Gather<axis = 1>(w, i)", (0, 3)),
        ("y = Gather<axis = -1>(w, i)", (0, 3)),
        ("a = Cast<to = 6>(i) y = Gather(w, a)", (0, 4.5)),
        ("a = Neg(i) y = Gather(w, a)", (-4, 0)),
        ("three = Constant<value_int = 3>() a = Mod(i, three) y = Gather(w, a)", (0, 2)),
        ("two = Constant<value_int = 2>() a = Add(i, two) y = Gather(w, a)", (-2, 2)),
        ("two = Constant<value_int = 2>() a = Sub(i, two) y = Gather(w, a)", (2, 6)),
        ("two = Constant<value_int = 2>() a = Sub(two, i) y = Gather(w, a)", (-2, 2)),
        ("two = Constant<value_int = 2>() a = Mul(two, i) y = Gather(w, a)", (0, 2)),
        ("z = Constant<value_ints = [0]>() a = Unsqueeze(i, z) b = Concat<axis = 0>(a, a) y = Gather(w, b)", (0, 4)),
        ("y = GatherElements<axis = 1>(w, i)", (0, 3)),
        ("y = GatherND(w, i)", (0, 3)),
        ("y = Gather<axis = 1>(w, i) a = Gather(w, i)", (0, 3)),
        ("d = Constant<value_int = 7>() v = Constant<value_floats = [0.0, 1.0]>() y = OneHot(i, d, v)", (0, 6)),
        (
            ("y = If (c) <then_branch = t () => (float[?] p) { p = Gather(w, i) },"
            " else_branch = e () => (float[?] q) { q = Neg(w) }>"),
            (0, 4),
        ),
        (
            ("n = Constant<value_int = 2>() y, s = Loop (n, c, i) <body = b (int64 k, bool d, int64 v) =>"
            " (bool d2, int64 v2, float[?] p) { d2 = Identity(d) v2 = Identity(v) p = Gather(w, v) }>"),
            (0, 4),
        ),
        ("y = own.Look(w, i)", (0, 4)),
    ],
    ids=[
        "Gather", "axis 1", "axis -1", "through Cast", "minus", "modulo 3", "plus 2", "minus 2", "2 minus", "times 2",
        "through Unsqueeze and Concat", "GatherElements", "GatherND", "two axes", "OneHot", "If", "Loop", "function",
    ],
)  # fmt: skip
def test_an_index_is_bounded_by_the_axis_it_indexes(written: Written, text: str, interval: tuple[int, int]) -> None:
    outputs = "int64 y, float[?] s" if "Loop" in text else "float[?] y"
    model = written(
        f"g (int64[2] i, bool c) => ({outputs}) {{ {text} }}",
        domains=', "own" : 1',
        functions='<domain: "own", opset_import: ["" : 17]> Look (t, j) => (o) { k = Identity(j) o = Gather(t, k) }',
        w=TABLE,
    )
    assert limits(read(model), {"i": (2,), "c": ()}).intervals["i"] == interval


def test_an_index_into_an_input_is_bounded_by_the_size_of_the_run(written: Written) -> None:
    model = read(written("g (float[N] x, int64[K] i) => (float[K] y) { t = Neg(x) y = Gather(t, i) }"))
    assert limits(model, {"x": (7,), "i": (3,)}).intervals["i"] == (0, 6)
    assert limits(model, {"x": (1,), "i": (3,)}).intervals["i"] == (0, 0)


def test_sequence_lengths_count_the_steps_of_the_sequence(written: Written) -> None:
    text = "g (float[T,N,2] x, int32[N] n) => (float[T,1,N,3] y) { y = GRU<hidden_size = 3>(x, w, r, , n) }"
    model = read(written(text, w=np.ones((1, 9, 2), np.float32), r=np.ones((1, 9, 3), np.float32)))
    assert limits(model, {"x": (6, 2, 2), "n": (2,)}).intervals["n"] == (1, 6)


def test_seeded_indices_reach_the_whole_interval_and_nothing_else(written: Written) -> None:
    model = read(written("g (int64[K] i) => (float[K,4] y) { y = Gather(w, i) }", w=TABLE))
    interface = onnx_interface(model)
    case = seeded(interface, {"K": 200}, limits(model, {"i": (200,)}), Choice(), (0, 0))
    assert set(np.asarray(case.feeds["i"]).tolist()) == {0, 1, 2, 3, 4}


def test_an_index_behind_a_cast_from_float_stays_in_the_table(written: Written) -> None:
    model = written("g (float[K] x) => (float[K,4] y) { i = Cast<to = 7>(x) y = Gather(w, i) }", w=TABLE)
    verdict = verify(model, model)
    assert verdict.status == "equal"
    assert all(run.status == "equal" for run in verdict.runs)


FLOATS = {
    "Cast": "i = Cast<to = 7>(x)",
    "times 4.5": "k = Constant<value_float = 4.5>() a = Mul(x, k) i = Cast<to = 7>(a)",
    "times 10": "k = Constant<value_float = 10.0>() a = Mul(x, k) i = Cast<to = 7>(a)",
    "times a quarter, rounded down": (
        "k = Constant<value_float = 0.25>() a = Mul(x, k) b = Floor(a) i = Cast<to = 7>(b)"),
    "times -2": "k = Constant<value_float = -2.0>() a = Mul(x, k) i = Cast<to = 7>(a)",
    "by a fifth, cut off": (
        "k = Constant<value_float = 0.2>() l = Constant<value_float = 0.0>() h = Constant<value_float = 4.0>()"
        " a = Div(x, k) b = Clip(a, l, h) i = Cast<to = 7>(b)"),
    "times 3 plus a half, in another shape": (
        "k = Constant<value_float = 3.0>() h = Constant<value_float = 0.5>() a = Mul(x, k) b = Add(a, h)"
        " s = Constant<value_ints = [-1]>() r = Reshape(b, s) i = Cast<to = 7>(r)"),
    "rounded up": "k = Constant<value_float = 0.1>() a = Div(x, k) b = Ceil(a) i = Cast<to = 7>(b)",
    "rounded": "k = Constant<value_float = 8.0>() a = Mul(x, k) b = Round(a) i = Cast<to = 7>(b)",
    "as another is": "a = Constant<value_int = 0>() i = CastLike(x, a)",
    "from the end": "f = Constant<value_int = 4>() a = Cast<to = 7>(x) i = Sub(f, a)",
    "modulo 5": "k = Constant<value_float = 50.0>() f = Constant<value_int = 5>() b = Mul(x, k) a = Cast<to = 7>(b)"
                " i = Mod(a, f)",
    "the rest of a division by 5": "k = Constant<value_float = 5.0>() a = Mod<fmod = 1>(x, k) i = Cast<to = 7>(a)",
    "not below 0": "a = Relu(x) i = Cast<to = 7>(a)",
    "counted from the end where it is negative": (
        "f = Constant<value_int = 5>() z = Constant<value_int = 0>() c = Cast<to = 7>(x) n = Less(c, z) a = Add(c, f)"
        " i = Where(n, a, c)"),
}  # fmt: skip


@pytest.mark.parametrize("case", FLOATS)
def test_floats_that_become_an_index_reach_every_row_and_no_other(written: Written, case: str) -> None:
    """They were 0 and 1, or normal, so that row 0 alone was compared."""
    text = f"g (float[K] x) => (float[K,4] y, int64[K] i) {{ {FLOATS[case]} y = Gather(w, i) }}"
    path = written(text, w=TABLE)
    model = read(path)
    feeds = [seeded(onnx_interface(model), {"K": 200}, limits(model, {"x": (200,)}), Choice(), (0, at)).feeds
             for at in range(4)]  # fmt: skip
    _, rows = zip(*(run(onnx.load(path), **each) for each in feeds), strict=True)
    assert set(np.concatenate(rows).tolist()) == {0, 1, 2, 3, 4}


def test_a_scalar_takes_each_constant_it_is_compared_with_in_turn_and_none_of_them(written: Written) -> None:
    text = """g (float[N] x, int64 rate) => (float[N] y) {
        k = Constant<value_int = 16000>() c = Equal(rate, k)
        y = If (c) <then_branch = a () => (float[N] p) { p = Identity(x) },
                    else_branch = b () => (float[N] q) { k8 = Constant<value_int = 8000>() d = Equal(rate, k8)
                        z = Cast<to = 1>(d) q = Div(x, z) }>
    }"""
    model = read(written(text))
    known = limits(model, {"x": (3,), "rate": ()})
    assert known.compared["rate"] == (16000.0, 8000.0)
    values = [seeded(onnx_interface(model), {"N": 3}, known, Choice(turn), (0, 0)).feeds["rate"] for turn in range(4)]
    assert values[:2] == [16000, 8000]
    assert values[2] not in (16000, 8000)
    assert values[3] == 16000


@pytest.mark.ci
@pytest.mark.parametrize("changed", [0, 1], ids=["the constant's branch", "the other branch"])
def test_both_branches_of_a_comparison_are_compared(written: Written, changed: int) -> None:
    text = """g (float[N] x, int64 rate) => (float[N] y) {{
        k = Constant<value_int = 16000>() c = Equal(rate, k)
        y = If (c) <then_branch = a () => (float[N] p) {{ p = {}(x) }},
                    else_branch = b () => (float[N] q) {{ q = {}(x) }}>
    }}"""
    other = ["Sin", "Sin"]
    other[changed] = "Cos"
    assert verify(written(text.format("Sin", "Sin")), written(text.format(*other))).status == "different"


def test_rows_of_floats_are_loud_and_soft_in_turn_and_runs_begin_elsewhere(written: Written) -> None:
    interface = onnx_interface(read(written("g (float[N,1000] x, float s) => (float[N,1000] y) { y = Mul(x, s) }")))
    for softness, expected in ((0, [1, 0.1, 0.01, 1]), (1, [0.1, 0.01, 1, 0.1])):
        case = seeded(interface, {"N": 4}, Limits(), Choice(softness=softness), (0, 0))
        deviations = np.asarray(case.feeds["x"]).std(axis=1)
        np.testing.assert_allclose(deviations, expected, rtol=0.15)
        assert np.shape(case.feeds["s"]) == ()


def test_a_model_that_saturates_on_loud_inputs_is_reported_from_another(written: Written) -> None:
    text = (
        "g (float[N,8] x) => (float[N,8] y) { t = Mul(x, k) u = Mul(t, t) v = Exp(u) w = Reciprocal(v) y = Mul(w, b) }"
    )
    before, after = (written(text, k=np.float32([70]), b=np.float32([b])) for b in (1.0, 1.5))
    assert verify(before, after, runs=1).status == "different"


def test_integers_nothing_bounds_are_small_and_tried_smaller_when_refused(written: Written) -> None:
    # the bounds do not see through a square
    text = "g (int64[N] i) => (float[N,4] y) { k = Mul(i, i) y = Gather(w, k) }"
    model = written(text, w=TABLE[:3])
    assert dict(verify(model, model).runs[0].bindings) == {"N": 3}


ELEMENT_TYPES = [
    name
    for name in TensorProto.DataType.keys()  # noqa: SIM118 - a protobuf enum is no mapping
    if name != "UNDEFINED"
]


@pytest.mark.parametrize("name", ELEMENT_TYPES)
def test_every_element_type_gets_values_of_its_own_type(name: str) -> None:
    element = TensorProto.DataType.Value(name)
    model = onnx.helper.make_model(
        onnx.helper.make_graph(
            [onnx.helper.make_node("Identity", ["x"], ["y"])],
            "g",
            [onnx.helper.make_tensor_value_info("x", element, ["N", 2])],
            [onnx.helper.make_tensor_value_info("y", element, ["N", 2])],
        )
    )
    value = np.asarray(seeded(onnx_interface(model), {"N": 5}, Limits(), Choice(), (3, 0)).feeds["x"])
    assert value.shape == (5, 2)
    assert value.dtype == onnx.helper.tensor_dtype_to_np_dtype(element)
    again = np.asarray(seeded(onnx_interface(model), {"N": 5}, Limits(), Choice(), (3, 0)).feeds["x"])
    assert value.tolist() == again.tolist()
    other = np.asarray(seeded(onnx_interface(model), {"N": 5}, Limits(), Choice(), (4, 0)).feeds["x"])
    assert value.tolist() != other.tolist()


ELEMENTS = """FLOAT FLOAT16 DOUBLE BFLOAT16 INT8 INT16 INT32 INT64 UINT8 UINT16 UINT32 UINT64 BOOL STRING FLOAT8E4M3FN
FLOAT8E5M2 INT4 UINT4""".split()


@pytest.mark.parametrize("name", tiered(ELEMENTS, lambda name: name in ("BFLOAT16", "STRING")))
def test_models_of_every_element_type_are_run(written: Written, name: str) -> None:
    element = TensorProto.DataType.Value(name)
    model = onnx.helper.make_model(
        onnx.helper.make_graph(
            [onnx.helper.make_node("Identity", ["x"], ["y"])],
            "g",
            [onnx.helper.make_tensor_value_info("x", element, ["N", 2])],
            [onnx.helper.make_tensor_value_info("y", element, ["N", 2])],
        ),
        opset_imports=[onnx.helper.make_opsetid("", 21)],
        ir_version=10,
    )
    path = written("g (float[N] x) => (float[N] y) { y = Neg(x) }")
    onnx.save(model, path)
    verdict = verify(path, path)
    assert verdict.status == "equal", verdict.reason
    assert verdict.runs[0].outputs == 1


@pytest.mark.ci
def test_sequences_and_optionals_are_fed_and_compared(written: Written) -> None:
    text = """g (seq(float[N,2]) s, optional(float[N,2]) o) => (seq(float[N,2]) t, float[N,2] y) {{
        e = OptionalGetElement(o) p = Constant<value_int = 1>() a = SequenceAt(s, p) y = Add(a, e)
        n = {}(a) t = SequenceInsert(s, n)
    }}"""
    model = written(text.format("Neg"))
    assert verify(model, model).status == "equal"
    verdict = verify(model, written(text.format("Abs")))
    assert verdict.status == "different"
    assert verdict.first_difference is not None
    assert verdict.first_difference["tensor"] == "n"
