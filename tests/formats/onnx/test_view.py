"""The view of an ONNX model: kinds of values, readers, attributes, literals, scopes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import onnx
import pytest

from tests.support import engine
from tests.support.notation import model, parsed
from tests.support.onnx.fixing import lines, printed
from tests.support.shape_dialect import parse

if TYPE_CHECKING:
    from graphfix.formats.onnx import OnnxModel
    from graphfix.graph.view import Value


def value(opened: OnnxModel, name: str) -> Value:
    """Find a value by name among what the nodes of all scopes read and make."""
    for graph in opened.graphs:
        for node in graph.nodes:
            for found in (*node.operands, *node.results):
                if found is not None and found.name == name:
                    return found
    raise AssertionError(name)


def test_the_notation_of_a_model() -> None:
    opened = engine.load(model("y[N,3] = Add(x[N,3], b:const[3])\nz[N,3] = Clip(y, , m[])"))
    assert printed(opened) == ["y[N,3] = Add(x[N,3], b[3])", "z[N,3] = Clip(y[N,3], , m[])"]


def test_kinds() -> None:
    opened = engine.load(model("b = Constant(value_float=2.0)\ny[2] = Sum(x[2], c:const[2], o:overridable[2], b)"))
    kinds = {name: value(opened, name).kind for name in "xcoby"}
    assert kinds == {"x": "input", "c": "constant", "o": "overridable", "b": "constant", "y": "result"}
    assert [given.name for given in opened.graphs[0].inputs] == ["x"]
    assert {given.name for given in opened.graphs[0].outputs} == {"y"}


@pytest.mark.parametrize(
    ("dtype", "name"),
    [
        ("float32", "float32"),
        ("float64", "float64"),
        ("int64", "int64"),
        ("bool", "bool"),
        ("uint8", "uint8"),
        ("bfloat16", "bfloat16"),
    ],
)
def test_element_types_have_numpys_names(dtype: str, name: str) -> None:
    opened = engine.load(model(f"y:{dtype}[2] = Identity(x:{dtype}[2])"))
    assert value(opened, "x").dtype == name
    assert value(opened, "y").dtype == name


LITERALS = {
    "an initializer": ("y:int64[2] = Identity(b:const{7,8})", (7, 8)),
    "a matrix in row-major order": ("y:int64[2,2] = Identity(b:const[2,2]{1,2,3,4})", (1, 2, 3, 4)),
    "a scalar": ("y[] = Identity(b:const[]{2.5})", (2.5,)),
    "a Constant's tensor": ("b = Constant(value=([2], [5, 6]))\ny:int64[2] = Identity(b)", (5, 6)),
    "a Constant's float": ("b = Constant(value_float=1.5)\ny[] = Identity(b)", (1.5,)),
    "a Constant's ints": ("b:int64[2] = Constant(value_ints=[1,2])\ny:int64[2] = Identity(b)", (1, 2)),
    "64 elements": ("y[64] = Identity(b:const[64])", tuple(float(at % 5 + 1) for at in range(64))),
    "65 are too many": ("y[65] = Identity(b:const[65])", None),
    "it may be overridden": ("y:int64[2] = Identity(b:overridable{7,8})", None),
    "an input": ("y[2] = Identity(b[2])", None),
}


@pytest.mark.parametrize(("text", "elements"), LITERALS.values(), ids=LITERALS)
def test_small_constants_can_be_read(text: str, elements: tuple[float, ...] | None) -> None:
    assert value(engine.load(model(text)), "b").literal == elements


def test_attributes_keep_what_a_plan_may_ask() -> None:
    proto = model("y[2,4] = Gemm(a[3,2], b[3,4], transA=1, alpha=0.5)\nz[2,4] = Gelu(y, approximate='tanh')", opset=20)
    gemm, gelu = engine.load(proto).graphs[0].nodes
    assert gemm.attributes == {"transA": 1, "alpha": 0.5}
    assert gelu.attributes == {"approximate": "tanh"}


def test_the_domain_ai_onnx_is_the_default_domain() -> None:
    proto = model("y[2,3] = Add(x[2,3], b[3])")
    proto.graph.node[0].domain = "ai.onnx"
    proto.opset_import.add(domain="ai.onnx", version=18)
    (node,) = engine.load(proto).graphs[0].nodes
    assert (node.domain, node.version) == ("", 18)
    assert node.row is not None


def test_scopes_are_visited_outer_first_and_named_by_their_node() -> None:
    proto = parsed("""main (bool c, float[2,3] x, float[3] b) => (float[2,3] y) {
        [pick] y = If (c) <then_branch = yes () => (float[2,3] t) {
            [deep] t = If (c) <then_branch = a () => (float[2,3] p) { p = Add(x, b) },
                               else_branch = n () => (float[2,3] q) { q = Sub(x, b) }> },
            else_branch = no () => (float[2,3] e) { e = Mul(x, b) }> }""")
    opened = engine.load(proto)
    assert [graph.path for graph in opened.graphs] == [
        "main",
        "main/pick.then_branch",
        "main/pick.then_branch/deep.then_branch",
        "main/pick.then_branch/deep.else_branch",
        "main/pick.else_branch",
    ]
    b = value(opened, "b")
    assert [(node.op, at) for node, at in b.reads] == [("Add", 1), ("Sub", 1), ("Mul", 1)]
    assert b.graph is opened.graphs[0]


def test_equal_names_in_two_branches_are_two_values() -> None:
    proto = parsed("""main (bool c, float[2,3] x, float[3] b) => (float[2,3] y) {
        [pick] y = If (c) <then_branch = yes () => (float[2,3] t) { v = Add(x, b) t = Neg(v) },
                          else_branch = no () => (float[2,3] t) { v = ReduceSum(x) t = Add(x, v) }> }""")
    opened = engine.load(proto)
    assert [line for line in lines(opened.graphs) if " v" in line and "= Neg" not in line] == [
        "pick.then_branch: v[2,3] = Add(x[2,3], b[3])",
        "pick.else_branch: v[1,1] = ReduceSum(x[2,3])",
        "pick.else_branch: t[2,3] = Add(x[2,3], v[1,1])",
    ]


def test_functions_are_scopes_of_their_own_if_they_are_called() -> None:
    proto = parsed("""main (float[2,3] x, float[3] b) => (float[2,3] y) { y = local.f(x, b) }
        <domain: "local", opset_import: ["" : 18]> f (p, q) => (r) { r = Add(p, q) }
        <domain: "local", opset_import: ["" : 18]> unused (p, q) => (r) { r = Mul(p, q) }""")
    opened = engine.load(proto)
    assert [graph.path for graph in opened.graphs] == ["main", "function local.f"]
    assert str(opened.graphs[1].nodes[0]) == "r[2,3] = Add(p[2,3], q[3])"
    assert opened.graphs[1].outer is None


def test_a_value_has_its_producer() -> None:
    opened = engine.load(model("y[2] = Neg(x[2])\nz[2] = Abs(y)"))
    y = value(opened, "y")
    assert y.producer is opened.graphs[0].nodes[0]
    assert value(opened, "x").producer is None


def test_a_sparse_initializer_is_a_constant_without_a_literal() -> None:
    proto = model("y[3] = Neg(b[3])")
    del proto.graph.input[:]
    values = onnx.helper.make_tensor("b", onnx.TensorProto.FLOAT, [1], [2.0])
    indices = onnx.helper.make_tensor("at", onnx.TensorProto.INT64, [1], [1])
    proto.graph.sparse_initializer.append(onnx.helper.make_sparse_tensor(values, indices, [3]))
    b = value(engine.load(proto), "b")
    assert (b.kind, b.shape, b.dtype, b.literal) == ("constant", parse("[3]"), "float32", None)


def test_a_constant_whose_payload_stays_in_the_file_has_no_literal_and_no_weights() -> None:
    proto = model("y[2048] = Neg(b:const[2048])")
    proto.graph.initializer[0].CopyFrom(onnx.numpy_helper.from_array(np.ones(2048, np.float32), "b"))
    opened = engine.load(proto)
    assert value(opened, "b").literal is None
    assert len(opened.proto.SerializeToString()) < 1000


def test_a_constant_node_may_name_the_default_domain() -> None:
    proto = model("b = Constant(value=([2], [5, 6]))\ny:int64[2] = Identity(b)")
    proto.graph.node[0].domain = "ai.onnx"
    proto.opset_import.add(domain="ai.onnx", version=18)
    assert value(engine.load(proto), "b").literal == (5, 6)


def test_a_constant_in_another_file_is_not_read_for_the_view(tmp_path: Path) -> None:
    proto = model("y[2] = Mul(x[2], c:const[1]{2.0})")
    held = proto.graph.initializer[0]
    held.CopyFrom(onnx.TensorProto(name="c", data_type=onnx.TensorProto.FLOAT, dims=[1], data_location=1))
    held.external_data.add(key="location", value="w.bin")
    (tmp_path / "w.bin").write_bytes(np.float32(2).tobytes())
    (tmp_path / "m.onnx").write_bytes(proto.SerializeToString())
    constant = value(engine.load(tmp_path / "m.onnx"), "c")
    assert (constant.kind, constant.literal, constant.computed_elements) == ("constant", None, None)
