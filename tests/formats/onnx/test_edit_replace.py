"""A node replaced by a few others, or by what it computes: text in, text out, all else as it was."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import onnx
import pytest
from onnx import helper

from graphfix.formats.onnx import OnnxModel
from graphfix.graph.edits import Edit, Evaluate, New, Numbers, Refused, Replace
from graphfix.graph.protocols import Plan, Rewrite
from graphfix.graph.view import Node
from graphfix.shapes.dim import Shape
from tests.support import engine
from tests.support.notation import model, parsed
from tests.support.onnx.fixing import attribute, difference, fixed, initializer, made_by

SHAPE = Shape((2, 3))
HALF = Numbers((0.5,), (), "float32")


def twice(_: Node) -> Iterator[Edit]:
    """Relu(x) -> Mul(Relu(x), 0.5): the first node is the old one."""
    first = New("Relu", (0,), SHAPE, "float32")
    yield Replace(New("Mul", (first, HALF), SHAPE, "float32"), "GF304")


def with_attributes(node: Node) -> Iterator[Edit]:
    """Relu(x) -> own.Scaled(LeakyRelu(x, alpha), by=[1,2])."""
    first = New("LeakyRelu", (node.operand(0),), SHAPE, "float32", (("alpha", 0.25),))
    yield Replace(New("Scaled", (first,), SHAPE, "float32", (("by", (1, 2)),), "own"), "GF304")


def rule(plan: Plan, op: str = "Relu") -> tuple[Rewrite, ...]:
    return (Rewrite("ad-hoc", "", frozenset({("", op)}), "GF304", plan),)


def test_the_last_node_takes_the_place_and_keeps_name_and_result() -> None:
    proto = model("a[2,3] = Relu(x[2,3])\ny[2,3] = Add(a, x)")
    proto.graph.node[0].name = "act"
    proto.graph.node[0].doc_string = "said"
    proto.graph.node[0].metadata_props.add(key="k", value="v")
    result = fixed(proto, rewrites=rule(twice), stable=False)
    assert result.view == [
        "a_relu[2,3] = Relu(x[2,3])",
        "a[2,3] = Mul(a_relu[2,3], act_constant[])",
        "y[2,3] = Add(a[2,3], x[2,3])",
    ]
    assert result.counts == {"ad-hoc": 1}
    found = difference(result.before, result.after)
    assert (found.changed, found.added, found.gone) == ({"a"}, {"a_relu", "act_constant"}, set())
    kept = made_by(result.after, "a")
    assert (kept.name, kept.doc_string, kept.metadata_props[0].value) == ("act", "said", "v")
    assert not kept.HasField("domain"), "protobuf would write an empty one"
    assert initializer(result.after, "act_constant").tolist() == 0.5


def test_attributes_and_domains_are_stated() -> None:
    proto = model("a[2,3] = Relu(x[2,3])\ny[2,3] = own.F(a)")
    result = fixed(proto, rewrites=rule(with_attributes), stable=False)
    leaky, scaled, _ = result.after.graph.node
    assert (leaky.op_type, leaky.domain, attribute(leaky, "alpha")) == ("LeakyRelu", "", 0.25)
    assert (scaled.op_type, scaled.domain, list(attribute(scaled, "by"))) == ("Scaled", "own", [1, 2])


@pytest.mark.parametrize(
    ("plan", "domain", "op", "version"), [(twice, "", "Mul", 18), (with_attributes, "own", "Scaled", 1)]
)
def test_a_node_that_was_replaced_is_of_the_version_of_its_own_operator_set(
    plan: Plan, domain: str, op: str, version: int
) -> None:
    """What the operator set of the old node says is not that of another one."""
    opened = engine.load(model("a[2,3] = Relu(x[2,3])\ny[2,3] = own.F(a)"))
    node = opened.graphs[0].nodes[0]
    now = opened.apply(node, list(plan(node)))
    assert (now.domain, now.op, now.version, now.row is None) == (domain, op, version, bool(domain))


def test_attributes_of_the_old_node_go() -> None:
    result = fixed(
        "a[2,3] = LeakyRelu(x[2,3], alpha=0.5)\ny[2,3] = Neg(a)", rewrites=rule(twice, "LeakyRelu"), stable=False
    )
    assert list(made_by(result.after, "a").attribute) == []


def test_equal_numbers_are_one_constant_and_a_negative_zero_is_another() -> None:
    def zeros(_: Node) -> Iterator[Edit]:
        plus, minus = (Numbers((zero,), (), "float32") for zero in (0.0, -0.0))
        first = New("Add", (0, plus), SHAPE, "float32")
        second = New("Add", (first, minus), SHAPE, "float32")
        yield Replace(New("Add", (second, plus), SHAPE, "float32"), "GF304")

    result = fixed("y[2,3] = Relu(x[2,3])", rewrites=rule(zeros), stable=False)
    values = [onnx.numpy_helper.to_array(tensor) for tensor in result.after.graph.initializer]
    assert [str(value) for value in values] == ["0.0", "-0.0"]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64", "int8", "int64", "bool", "uint32"])
def test_numbers_are_of_the_element_type_that_is_asked_for(dtype: str) -> None:
    def added(_: Node) -> Iterator[Edit]:
        constant = Numbers((1, 0), (2,), dtype)
        yield Replace(New("Identity", (constant,), Shape((2,)), dtype), "GF304")

    result = fixed(f"y:{dtype}[2] = Identity(x:{dtype}[2])", rewrites=rule(added, "Identity"), stable=False)
    (tensor,) = result.after.graph.initializer
    assert onnx.TensorProto.DataType.Name(tensor.data_type) == dtype.upper().replace("FLOAT64", "DOUBLE")
    assert onnx.numpy_helper.to_array(tensor).astype(np.int64).tolist() == [1, 0]


def test_what_only_the_old_node_read_goes() -> None:
    def plain(_: Node) -> Iterator[Edit]:
        yield Replace(New("Relu", (0,), SHAPE, "float32"), "GF304")

    result = fixed("a[3] = Neg(w:const[3])\ny[2,3] = PRelu(x[2,3], a)", rewrites=rule(plain, "PRelu"), stable=False)
    assert result.view == ["y[2,3] = Relu(x[2,3])"]
    assert not result.after.graph.initializer


def test_a_result_besides_the_first_that_is_read_is_refused() -> None:
    def plain(_: Node) -> Iterator[Edit]:
        yield Replace(New("Relu", (0,), SHAPE, "float32"), "GF304")

    text = "v[2,3], i:int64[2,3] = TopK(x[2,3], k:const[1]{3})"
    result = fixed(text, rewrites=rule(plain, "TopK"))
    assert result.after == result.before
    assert result.left == [("GF304", None, "more than its first result is read")]


def test_in_a_function_numbers_are_constant_nodes() -> None:
    proto = parsed("""main (float[2,3] x) => (float[2,3] y) { y = local.f(x) }
        <domain: "local", opset_import: ["" : 18]> f (p) => (r) { r = Relu(p) }""")
    result = fixed(proto, rewrites=rule(twice), stable=False)
    assert result.everything[1:] == [
        "function local.f: r_relu[2,3] = Relu(p[2,3])",
        "function local.f: Relu#0_constant[] = Constant()",
        "function local.f: r[2,3] = Mul(r_relu[2,3], Relu#0_constant[])",
    ]


def test_a_new_node_in_a_body_stands_in_it() -> None:
    proto = parsed("""main (bool c, float[2,3] x) => (float[2,3] y) {
        y = If (c) <then_branch = yes () => (float[2,3] t) { t = Relu(x) },
                    else_branch = no () => (float[2,3] t) { t = Relu(x) }> }""")
    result = fixed(proto, rewrites=rule(twice), stable=False)
    assert result.everything == [
        "main: y[2,3] = If(c[])",
        "If#0.then_branch: t_relu[2,3] = Relu(x[2,3])",
        "If#0.then_branch: t[2,3] = Mul(t_relu[2,3], Relu#0_constant[])",
        "If#0.else_branch: t_relu_1[2,3] = Relu(x[2,3])",
        "If#0.else_branch: t[2,3] = Mul(t_relu_1[2,3], Relu#0_constant_1[])",
    ]


# --- evaluated ----------------------------------------------------------------------------------------------------


def test_what_is_not_known_is_refused_and_nothing_is_changed() -> None:
    opened = engine.load(model("y[2,3] = Relu(x[2,3])"))
    with pytest.raises(Refused, match=r"is not known before the model runs: .*--dim.*--set"):
        opened.apply(opened.graphs[0].nodes[0], [Evaluate("GF303")])
    assert not opened.changed


def test_several_outputs_cannot_all_be_one_constant_node() -> None:
    text = "y:int64[1], z:int64[1] = Split(s:const[2]{5,6}, p:const[2]{1,1})"
    opened = engine.load(model(text))
    with pytest.raises(Refused, match="several of its results"):
        opened.apply(opened.graphs[0].nodes[0], [Evaluate("GF303")])


def test_before_opset_9_a_constant_node_holds_no_integers() -> None:
    proto = model("s:int64[2] = Shape(x[2,3])\ny[2,3] = Reshape(z[6], s)", opset=8, ir=3)
    opened = engine.load(proto)
    with pytest.raises(Refused, match="opset 8 has no Constant of int64"):
        opened.apply(opened.graphs[0].nodes[0], [Evaluate("GF303")])


def test_the_stored_shape_of_what_is_a_constant_now_goes_and_open_ones_are_filled_in() -> None:
    proto = model("s:int64[2] = Shape(x[2,3])\na[*] = Reshape(z[6], s)\ny[*] = Neg(a)")
    proto.graph.value_info.append(helper.make_tensor_value_info("s", onnx.TensorProto.INT64, [2]))
    proto.graph.value_info.append(helper.make_tensor_value_info("a", onnx.TensorProto.FLOAT, ["k", None]))

    def known(_: Node) -> Iterator[Edit]:
        yield Evaluate("GF303")

    result = fixed(proto, rewrites=rule(known, "Shape"))
    (info,) = result.after.graph.value_info
    assert (info.name, [dim.dim_value for dim in info.type.tensor_type.shape.dim]) == ("a", [2, 3])
    assert [dim.dim_value for dim in result.after.graph.output[0].type.tensor_type.shape.dim] == [2, 3]


def test_a_value_that_takes_the_place_of_an_output_is_read_and_returned_in_its_place() -> None:
    opened = engine.load(model("v[2,3] = Neg(x[2,3])\ny[2,3] = Abs(v)\nw[2,3] = Add(v, y)"))
    assert isinstance(opened, OnnxModel)
    state, (graph,) = opened._state, opened.graphs
    old = graph.nodes[1].operand(0)
    state.dead[old] = None
    graph.outputs.add(old)
    new = state.renew(old, replace(old, shape=Shape((6,))))
    assert (old in graph.outputs, new in graph.outputs, old in state.dead) == (False, True, False)
    assert [graph.nodes[at].operand(0) is new for at in (1, 2)] == [True, True]
    assert graph.nodes[2].operand(1) is graph.nodes[1].results[0]
    assert graph.nodes[0].results == (new,)
    assert state.reshape(new, Shape((3, 2))).shape == Shape((3, 2))
