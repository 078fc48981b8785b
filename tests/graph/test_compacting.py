"""What a whole model need not read: long ways, wide ones, and what is not read to find out."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace

import pytest
from onnx import TensorProto, helper

import graphfix
from graphfix.graph.compacting import _behind_a_stretch, _place
from graphfix.graph.view import Graph, Value
from rewrites.broadcasts.fold_broadcasts import plan_model
from tests.support import engine
from tests.support.notation import model, node, parsed
from tests.support.onnx import fixing
from tests.support.proved import unproved
from tests.support.tflite import fixing as tflite_fixing


def carriers(count: int, first: str, shape: str) -> list[str]:
    lines = []
    for at in range(count):
        read = f"d{at - 1}" if at else first
        lines += [
            f"q{at}:uint8{shape} = QuantizeLinear({read}, k:const[]{{0.5}}, z:const:uint8[]{{0}})",
            f"d{at}{shape} = DequantizeLinear(q{at}, k, z)",
        ]
    return lines


@pytest.mark.ci
def test_a_lift_in_front_of_a_long_chain_of_carriers_goes() -> None:
    lines = ["r[1,4] = Reshape(b[4], s:const{1,4})", *carriers(600, "r", "[1,4]"), "y[2,4] = Add(x[2,4], d599)"]
    done = fixing.fixed("\n".join(lines), target="compact")
    assert done.view[0] == "q0[4] = QuantizeLinear(b[4], k[], z[])"
    assert done.view[-1] == "y[2,4] = Add(x[2,4], d599[4])"


def test_of_two_lifts_that_can_not_both_go_the_one_of_an_outer_graph_stays() -> None:
    """It is computed first, though it stands behind more nodes of its own graph."""
    text = """main (bool c, float[4] b, float[1,4] u) => (float[1,4] y) <int64[2] s = {1, 4}> {
        v = Neg (u)
        w = Abs (v)
        r = Reshape (b, s)
        y = If (c) <then_branch = yes () => (float[1,4] t) { q = Reshape (b, s) t = Add (q, r) },
                    else_branch = no () => (float[1,4] e) { e = Exp (w) }> }"""
    done = fixing.fixed(parsed(text), target="compact")
    assert "r[1,4] = Reshape(b[4], s[2])" in done.view
    (then,) = [each.g for each in done.after.graph.node[-1].attribute if each.name == "then_branch"]
    assert [(each.op_type, list(each.input)) for each in then.node] == [("Add", ["b", "r"])]


def test_a_lift_behind_a_carrier_and_one_in_front_of_it_go() -> None:
    lines = ["r[1,4] = Reshape(b[4], s:const{1,4})", *carriers(1, "r", "[1,4]")]
    lines += ["u[1,1,4] = Reshape(d0, t:const{1,1,4})", "y[2,3,4] = Add(x[2,3,4], u)"]
    assert fixing.fixed("\n".join(lines), target="compact").view == [
        "q0[4] = QuantizeLinear(b[4], k[], z[])",
        "d0[4] = DequantizeLinear(q0[4], k[], z[])",
        "y[2,3,4] = Add(x[2,3,4], d0[4])",
    ]


def test_what_is_dequantized_already_is_not_dequantized_once_more_where_a_lift_goes() -> None:
    given = "k:const[]{0.5}, z:const:int8[]{0}"
    text = f"""e[3] = DequantizeLinear(x:int8[3], {given})
    r:int8[1,3] = Reshape(x, s:const{{1,3}})
    d[1,3] = DequantizeLinear(r, k, z)
    y[2,3] = Add(w[2,3], d)
    u[3] = Neg(e)"""
    assert fixing.fixed(text, target="compact").view == [
        "e[3] = DequantizeLinear(x[3], k[], z[])",
        "y[2,3] = Add(w[2,3], e[3])",
        "u[3] = Neg(e[3])",
    ]


def test_a_wide_computation_of_sizes_is_followed_once() -> None:
    """Sixteen steps that each read the one before four times: 4 ** 16 ways lead from the first to the last."""
    steps = "\n".join(f"s{at + 1}:int64[1] = Max({', '.join([f's{at}'] * 4)})" for at in range(16))
    text = (
        "k[1] = Abs(x[1])\ns0:int64[1] = Shape(k)\n" + steps + "\n"
        "e[?] = Expand(c:const[1]{2.0}, s16)\ny[?] = Add(w[N], e)\nz[N] = Mul(w, c)"
    )
    assert fixing.fixed(text, target="compact").outcome.verdict is None  # it ends


def test_operands_that_do_not_broadcast_end_the_run() -> None:
    clash = "y[?,3] = Add(x[2,3], c:const[4,3])"
    with pytest.raises(graphfix.GraphfixError, match=r"Add 'Add#0': \[2, 3\] and \[4, 3\] do not broadcast \(GF105\)"):
        fixing.fixed(clash, target="compact")
    with pytest.raises(graphfix.GraphfixError, match="GF105"):
        fixing.fixed("y[?,3] = Add(x[2,3], z[4,3])", target="compact")


@pytest.mark.parametrize(
    ("text", "goes"),
    [
        ("e[3,4] = Expand(b[1,4], s:const{3,4})\ny[1,4] = Neg(b)\nz[1,4] = Abs(b)", True),
        ("e[3,4] = Expand(b[N,4], s:const{3,4})\ny[N,4] = Neg(b)\nz[N,4] = Abs(b)", False),
    ],
    ids=["it never fails", "it fails for N = 2"],
)
def test_a_stretch_that_nobody_reads_goes_where_it_asks_for_no_size(text: str, goes: bool) -> None:
    proto = model(text)
    del proto.graph.output[:]
    proto.graph.output.extend([helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in "yz"])
    loaded = engine.load(proto)
    engine.fix(loaded, target="compact")
    assert ("Expand" in [each.op for each in loaded.finish()[0].nodes]) != goes


def test_what_stays_for_a_fusion_stays_for_all_who_read_it() -> None:
    """The sum is fused with the normalization only while its second operand has the first one's shape."""
    text = """
    e[2,3,8] = Expand(k[8], s:const{2,3,8})
    a[2,3,8] = Add(x[2,3,8], e)
    n[2,3,8] = LayerNormalization(a, g:const[8], h:const[8])
    m[2,3,8] = Mul(w[2,3,8], e)
    o[2,3,8] = Neg(n)
    """
    proto = model(text, opset=17)
    assert "Expand" not in [each.op_type for each in fixing.fixed(proto, target="compact").after.graph.node]
    kept = fixing.fixed(proto, target="onnxruntime")
    assert [(each.op_type, each.input[1]) for each in kept.after.graph.node if "e" in each.input] == [
        ("Add", "e"),
        ("Mul", "e"),
    ]


# --- numbers that change nothing --------------------------------------------------------------------------------------

REAL = ("float16", "float32", "float64")
WHOLE = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")


@pytest.mark.parametrize("dtype", [*REAL, *WHOLE])
@pytest.mark.parametrize(("op", "number"), [("Mul", 1), ("Div", 1), ("Sub", 0)])
def test_the_rewriter_and_the_proof_know_the_same_types_of_neutral_numbers(dtype: str, op: str, number: int) -> None:
    text = f"m:{dtype}[4] = {op}(x:{dtype}[4], c:const:{dtype}[]{{{number}}})\ny:{dtype}[4] = Add(m, m)"
    done = fixing.fixed(model(text, opset=17), target="compact")
    assert done.view == ["y[4] = Add(x[4], x[4])"]
    assert unproved(done.before.SerializeToString(), done.after.SerializeToString()) is None


@pytest.mark.parametrize("dtype", ["bfloat16", "complex64"])
def test_of_other_types_a_product_with_ones_stays(dtype: str) -> None:
    kind = {"bfloat16": TensorProto.BFLOAT16, "complex64": TensorProto.COMPLEX64}[dtype]
    graph = helper.make_graph(
        [helper.make_node("Mul", ["x", "one"], ["m"]), helper.make_node("Add", ["m", "m"], ["y"])],
        "g",
        [helper.make_tensor_value_info("x", kind, [4])],
        [helper.make_tensor_value_info("y", kind, [4])],
        [helper.make_tensor("one", kind, [], [1.0])],
    )
    loaded = engine.load(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9))
    assert not engine.fix(loaded, target="compact").changed


@pytest.mark.parametrize(("number", "goes"), [(1.0, True), (2.0, False), (None, False)])
def test_ones_of_the_size_of_what_they_multiply_go_with_their_computation(number: float | None, goes: bool) -> None:
    given = {} if number is None else {"value": helper.make_tensor("v", TensorProto.FLOAT, [1], [number])}
    float_ = TensorProto.FLOAT
    graph = helper.make_graph(
        [
            helper.make_node("Shape", ["x"], ["s"]),
            helper.make_node("ConstantOfShape", ["s"], ["o"], **given),
            helper.make_node("Mul", ["x", "o"], ["m"]),
            helper.make_node("Neg", ["m"], ["y"]),
        ],
        "g",
        [helper.make_tensor_value_info("x", float_, ["N", 4])],
        [helper.make_tensor_value_info("y", float_, ["N", 4])],
    )
    loaded = engine.load(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9))
    engine.fix(loaded, target="compact")
    assert ([each.op for each in loaded.finish()[0].nodes] == ["Neg"]) == goes


# --- what is not read -------------------------------------------------------------------------------------------------


def read_by_the_plan(graphs: Sequence[Graph]) -> set[str]:
    """The constants whose numbers are looked at."""
    asked: set[str] = set()

    def note(value: Value) -> None:
        asked.add(value.name)

    for graph in graphs:
        graph.read_repeats = note
    list(plan_model(graphs))
    return asked


def test_the_numbers_of_a_matrix_are_not_read() -> None:
    assert read_by_the_plan([node("y[N,6] = MatMul(x[N,5], w:const[5,6])").graph]) == set()
    assert read_by_the_plan([node("y[2,N,6] = MatMul(x[2,N,5], w:const[1,5,6])").graph]) == {"w"}
    assert read_by_the_plan([node("y[N,6] = Add(x[N,6], w:const[5,6])").graph]) == {"w"}


def test_tflite_ones_beside_a_lift_go() -> None:
    text = (
        "r:int32[1,4] = RESHAPE(x:int32[4], s:const:int32[2]{1,4})\nm:int32[1,4] = MUL(r, c:const:int32[]{1})\n"
        "z:int32[2,4] = ADD(y:int32[2,4], m)"
    )
    assert tflite_fixing.fixed(text, target="compact").view == ["z[2,4] = ADD(y[2,4], x[4])"]


def test_what_another_edit_took_out_or_changed_in_the_meantime_is_planned_again() -> None:
    lifted = """
    s:int64[4] = Shape(n[1,3,3,1])
    e[1,3,3,1] = Expand(x[3,3,1], s)
    t[1,3,3,2] = Tile(e, r:const{1,1,1,2})
    y[1,3,3,2] = Mul(w[1,2], t)
    """
    renewed = """
    q:uint8[1,3,1] = QuantizeLinear(u[1,3,1], k:const[]{0.5}, z:const:uint8[]{0})
    d[1,3,1] = DequantizeLinear(q, k, z)
    e[1,1,3,4] = Expand(d, s:const{1,1,3,4})
    y[1,1,3,4] = Div(w[1,1,3,4], e)
    """
    first = "u[1,3,1] = Reshape(x[1,1,3,1], g:const{1,3,1})\n" + renewed.replace("u[1,3,1]", "u")
    for text in (lifted, renewed, first):
        done = fixing.fixed(text, target="compact")
        assert done.outcome.changed
        assert unproved(done.before.SerializeToString(), done.after.SerializeToString()) is None


def test_values_are_computed_from_the_outer_graph_inwards_and_what_was_made_comes_last() -> None:
    main = SimpleNamespace(outer=None)
    inner = SimpleNamespace(outer=SimpleNamespace(outer=main))
    places = [(main, None), (main, 3), (main, 7), (inner, 1), (main, -1), (main, -2), (inner, -1)]
    found = [_place(SimpleNamespace(graph=graph, place=place)) for graph, place in places]  # type: ignore[arg-type]
    assert found == sorted(found)
    assert found[3] == (False, 2, 1)
    assert found[5] == (True, 0, 2)


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("g[2,3] = Expand(x[1,3], s:const{2,3})\ne[4,2,3] = Expand(g, t:const{4,2,3})", "[1, 3]"),
        ("g[2,3] = Expand(x[1,3], s:const{2,3})\ne[4,2,3] = Expand(g, t:const{4,1,3})", None),
        ("g[2,3] = Expand(x[1,3], s:const{2,3})\ne[?,2,3] = Expand(g, t:int64[3])", None),
        ("g[1,3] = Reshape(x[3], s:const{1,3})\ne[4,2,3] = Expand(g, t:const{4,2,3})", "[3]"),
        ("g[1,3] = Reshape(x[3], s:const{1,3})\ne[?,2,3] = Expand(g, t:int64[3])", "[3]"),
        ("g[1,3] = Reshape(x[3], s:const{1,3})\ne[*] = Expand(g, t:int64[K])", None),
        ("e[4,2,3] = Expand(x[2,3], t:const{4,2,3})", None),
    ],
)
def test_a_stretch_that_states_every_size_reads_what_is_behind_another(text: str, shape: str | None) -> None:
    found = _behind_a_stretch(engine.load(model(text)).graphs[0].nodes[-1])
    assert {at: str(value.shape) for at, value in found.items()} == ({} if shape is None else {0: shape})
