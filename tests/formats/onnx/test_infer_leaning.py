"""Which shapes lean on stored sizes that are believed, and attributes that calls pass on by another name."""

from __future__ import annotations

import onnx
import pytest
from onnx import TensorProto, helper

from graphfix.formats.neutral.equal_sizes import Sum
from graphfix.formats.onnx.infer.analysis import Facts, analyse
from tests.support.notation import parsed

TEXT = """main (float[N,3] x, bool[N] c) => (float[M,3] z) {
    a = Compress <axis: int = 0> (x, c)
    b = Neg(a)
    d = Neg(x)
    z = Exp(b) }"""


def analysed(text: str, stored: dict[str, list[int | str]], *, trust: bool | None) -> Facts:
    proto = parsed(text)
    for name, dims in stored.items():
        proto.graph.value_info.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, dims))
    return analyse(proto, {}, trust=trust)


@pytest.mark.parametrize("trust", [True, None, False])
def test_what_follows_from_a_stored_size_that_is_believed_leans_on_it(*, trust: bool | None) -> None:
    facts = analysed(TEXT, {"a": ["N", 3]}, trust=trust)
    believed = trust is True
    assert facts.main.leaning == ({"a", "b", "z"} if believed else set())
    assert (str(facts.main.shape("b")) == "[N, 3]") == believed
    assert str(facts.main.shape("d")) == "[N, 3]"
    assert len(facts.believed) == believed


def test_a_stored_size_that_says_what_is_known_is_not_leant_on() -> None:
    facts = analysed(TEXT, {"b": ["?", 3], "d": ["N", 3]}, trust=True)
    assert facts.main.leaning == set()


def test_a_loop_into_which_a_leaning_value_goes_leans_too() -> None:
    text = """main (float[N,3] x, bool[N] c, int64 n, bool go) => (float[M,3] z) {
        a = Compress <axis: int = 0> (x, c)
        z = Loop (n, go, a) <body = turn (int64 i, bool k, float[K,3] p) => (bool again, float[K,3] q)
            { again = Identity(k) q = Neg(p) }>
        u = Loop (n, go, x) <body = turn (int64 j, bool l, float[K,3] r) => (bool more, float[K,3] s)
            { more = Identity(l) s = Neg(r) }> }"""
    facts = analysed(text, {"a": ["N", 3]}, trust=True)
    assert facts.main.leaning == {"a", "z"}


def test_a_branch_that_reads_a_leaning_value_makes_a_result_that_leans() -> None:
    text = """main (float[N,3] x, bool[N] c, bool go) => (float[M,3] z) {
        a = Compress <axis: int = 0> (x, c)
        z = If (go) <then_branch = yes () => (float[M,3] t) { t = Neg(a) },
                     else_branch = no () => (float[M,3] e) { e = Neg(x) }>
        u = If (go) <then_branch = yes () => (float[M,3] v) { v = Abs(x) },
                     else_branch = no () => (float[M,3] w) { w = Neg(x) }> }"""
    facts = analysed(text, {"a": ["N", 3]}, trust=True)
    assert facts.main.leaning == {"a", "z"}


HEAD = '<domain: "local", opset_import: ["" : 18, "local" : 1]>'


@pytest.mark.parametrize(("order", "shape"), [("[1, 0]", "[3, 2]"), ("[0, 1]", "[*]")])
def test_an_attribute_that_is_passed_on_by_another_name_is_the_one_that_is_given(order: str, shape: str) -> None:
    proto = parsed(f"""main (float[2,3] x) => (float[] y, float[] z) {{
            y = local.g <axes = [1, 0]> (x) z = local.f <order = {order}> (x) }}
        {HEAD} g <axes> (p) => (r) {{ r = local.f <order: ints = @axes> (p) }}
        {HEAD} f <order> (p) => (r) {{ r = Transpose <perm: ints = @order> (p) }}""")
    for value in proto.graph.output:
        value.type.tensor_type.ClearField("shape")
    facts = analyse(proto, {})
    assert str(facts.functions["local", "f"].shape("r")) == shape


def test_a_size_that_is_a_sum_of_others_is_computed_of_them() -> None:
    proto = parsed("main (float[N] x, float[M] w, float[K] v, float u) => (float[] y) { y = Concat <axis = 0> (x, w) }")
    proto.graph.output[0].type.tensor_type.ClearField("shape")
    facts = analyse(proto, {}, sums={"K": Sum(("N", "M"), 0)})
    assert str(facts.main.shape("v")) == str(facts.main.shape("y"))


def test_constants_that_state_numbers_in_an_attribute_have_its_rank_and_type() -> None:
    stated: dict[str, tuple[object, int, list[int]]] = {
        "value_int": (3, TensorProto.INT64, []),
        "value_ints": ([3, 4], TensorProto.INT64, [2]),
        "value_float": (1.5, TensorProto.FLOAT, []),
        "value_floats": ([1.5, 2.5, 3.5], TensorProto.FLOAT, [3]),
        "value_string": ("a", TensorProto.STRING, []),
        "value_strings": (["a", "b"], TensorProto.STRING, [2]),
    }
    nodes = [helper.make_node("Constant", [], [name], **{name: held}) for name, (held, _, _) in stated.items()]
    graph = helper.make_graph(nodes, "g", [], [helper.make_tensor_value_info("value_int", TensorProto.INT64, [])])
    main = analyse(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)]), {}).main
    for name, (_, code, dims) in stated.items():
        assert (main.shape(name).axes, main.dtype(name)) == (tuple(dims), code), name
    assert {name: list(main.elements[name]) for name in main.elements} == {"value_int": [3], "value_ints": [3, 4]}


def test_a_sparse_constant_has_its_dims_and_the_type_of_its_values() -> None:
    values = helper.make_tensor("v", TensorProto.DOUBLE, [1], [5.0])
    places = helper.make_tensor("i", TensorProto.INT64, [1], [2])
    node = helper.make_node("Constant", [], ["c"], sparse_value=helper.make_sparse_tensor(values, places, [2, 3]))
    graph = helper.make_graph([node], "g", [], [onnx.ValueInfoProto(name="c")])
    main = analyse(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)]), {}).main
    assert (str(main.shape("c")), main.dtype("c")) == ("[2, 3]", TensorProto.DOUBLE)
