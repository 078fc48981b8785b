"""Edits inside of If, Loop, Scan and functions: what is made stands in the scope of its reader."""

from __future__ import annotations

import pytest
from onnx.helper import make_attribute

from graphfix.graph.edits import Fold
from tests.support import engine
from tests.support.notation import model, parsed
from tests.support.onnx.fixing import fixed


def test_new_nodes_stand_in_the_scope_of_their_reader() -> None:
    proto = parsed("""main (int64 n, float[2,3] x, float[3] b) => (float[2,3] y) <bool go = {1}> {
        s = Add(x, b)
        [loop] y = Loop (n, go, s) <body = turn (int64 i, bool c, float[2,3] v) => (bool again, float[2,3] w) {
            again = Identity(c) w = Add(v, b) }> }""")
    result = fixed(proto, target="ranks")
    assert result.everything == [
        "main: b_lifted[1,3] = Reshape(b[3], shape_1x3[2])",
        "main: s[2,3] = Add(x[2,3], b_lifted[1,3])",
        "main: y[2,3] = Loop(n[], go[], s[2,3])",
        "loop.body: again[] = Identity(c[])",
        "loop.body: b_lifted_1[1,3] = Reshape(b[3], shape_1x3_1[2])",
        "loop.body: w[2,3] = Add(v[2,3], b_lifted_1[1,3])",
    ]


@pytest.mark.parametrize("attribute", ["body", "bodies"])
def test_a_node_with_a_body_stays_where_its_last_reader_goes(attribute: str) -> None:
    proto = model("s:int64[2] = com.example.Sizes(c:int64[2], count=1)\ne[2,3] = Expand(x[2,3], s)\ny[2,3] = Neg(e)")
    body = model("t[2] = Neg(v[2])").graph
    proto.graph.node[0].attribute.append(make_attribute(attribute, [body] if attribute == "bodies" else body))
    opened = engine.load(proto)
    opened.apply(opened.graphs[0].nodes[1], [Fold()])
    assert [node.op for node in opened.finish()[0].nodes] == ["Sizes", "Neg"]


def test_an_outer_constant_of_two_bodies_is_lifted_where_it_is() -> None:
    proto = parsed("""main (bool c, float[2,3] x) => (float[2,3] y) <float[3] b = {1.0, 2.0, 3.0}> {
        y = If (c) <then_branch = yes () => (float[2,3] t) { t = Add(x, b) },
                    else_branch = no () => (float[2,3] t) { t = Sub(x, b) }> }""")
    result = fixed(proto, target="ranks")
    assert result.everything[1:] == [
        "If#0.then_branch: t[2,3] = Add(x[2,3], b_lifted[1,3])",
        "If#0.else_branch: t[2,3] = Sub(x[2,3], b_lifted[1,3])",
    ]
    assert [(tensor.name, list(tensor.dims)) for tensor in result.after.graph.initializer] == [("b_lifted", [1, 3])]


def test_a_scan_body_is_rewritten() -> None:
    proto = parsed("""main (float[2,3] s, float[T,3] rows) => (float[2,3] last, float[T,2,3] all) {
        last, all = Scan <num_scan_inputs: int = 1, body = turn (float[2,3] v, float[3] row) =>
            (float[2,3] w, float[2,3] seen) { w = Add(v, row) seen = Identity(w) }> (s, rows) }""")
    result = fixed(proto, target="explicit")
    assert result.everything[1:] == [
        "Scan#0.body: row_lifted[1,3] = Reshape(row[3], shape_1x3[2])",
        "Scan#0.body: row_lifted_stretched[2,3] = Expand(row_lifted[1,3], shape_2x3[2])",
        "Scan#0.body: w[2,3] = Add(v[2,3], row_lifted_stretched[2,3])",
        "Scan#0.body: seen[2,3] = Identity(w[2,3])",
    ]


def test_a_function_is_rewritten_where_its_calls_agree() -> None:
    proto = parsed("""main (float[2,3] x, float[3] b) => (float[2,3] y) { v = local.f(x, b) y = local.f(v, b) }
        <domain: "local", opset_import: ["" : 18]>
        f (p, q) => (r) { two = Constant <value = float {2.0}> () s = Mul(p, two) r = Add(s, q) }""")
    result = fixed(proto, target="ranks")
    assert result.everything[2:] == [
        "function local.f: two[1,1] = Constant()",
        "function local.f: s[2,3] = Mul(p[2,3], two[1,1])",
        "function local.f: shape_1x3[2] = Constant()",
        "function local.f: q_lifted[1,3] = Reshape(q[3], shape_1x3[2])",
        "function local.f: r[2,3] = Add(s[2,3], q_lifted[1,3])",
    ]


def test_a_function_called_at_two_ranks_gets_the_run_time_form() -> None:
    proto = parsed("""main (float[2,3] x, float[2,2,3] y, float[3] b) => (float[2,3] o, float[2,2,3] p) {
            o = local.f(x, b) p = local.f(y, b) }
        <domain: "local", opset_import: ["" : 18]>
        f (v, w) => (r) { r = Add(v, w) }""")
    result = fixed(proto, target="explicit")
    assert [line.partition(": ")[2] for line in result.everything[2:]] == [
        "w_shape[1] = Shape(w[3])",
        "v_stretched[*] = Expand(v[*], w_shape[1])",
        "v_shape[?] = Shape(v[*])",
        "w_stretched[*] = Expand(w[3], v_shape[?])",
        "r[*] = Add(v_stretched[*], w_stretched[*])",
    ]
    ranks = fixed(proto, target="ranks")
    assert ranks.after == ranks.before
    assert [code for code, _, _ in ranks.left] == ["GF104"]


def test_a_constant_of_a_function_is_lifted_by_a_node_for_a_reader_in_a_branch() -> None:
    """A function holds no initializers: nothing can be added beside its constant."""
    proto = parsed("""main (float[2,3] x, bool b) => (float[2,3] y) { y = local.f(x, b) }
        <domain: "local", opset_import: ["" : 18, "local" : 1]> f (p, q) => (r) {
            c = Constant <value = float[3] {1,2,3}> () s = Neg(c)
            [if] r = If(q) <then_branch = yes () => (float[2,3] t) { t = Add(p, c) },
                else_branch = no () => (float[2,3] e) { e = Mul(p, s) }> }""")
    found = fixed(proto, target="ranks").everything
    assert [line for line in found if "c" in line.partition(": ")[2]] == [
        "function local.f: c[3] = Constant()",
        "function local.f: s[3] = Neg(c[3])",
        "if.then_branch: c_lifted[1,3] = Reshape(c[3], shape_1x3[2])",
        "if.then_branch: t[2,3] = Add(p[2,3], c_lifted[1,3])",
    ]
