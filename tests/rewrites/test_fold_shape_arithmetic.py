"""Which nodes are written as constants: plans without a format, and whole models of both kinds of sizes."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from graphfix.graph.edits import Evaluate
from graphfix.graph.view import Graph, Node
from rewrites.tosa.fold_shape_arithmetic import plan
from tests.support.named import rules
from tests.support.notation import model, node, parsed
from tests.support.onnx.fixing import fixed, initializer
from tests.support.runtimes.onnx_runs import run

FOLD = "fold-shape-arithmetic"


def planned(text: str, *known: str, used: tuple[str, ...] = ("y",)) -> list[object]:
    """Plan a node some of whose results are known; those in `used` are outputs of the graph."""
    one = node(text)
    results = {value.name: value for value in one.results if value is not None}
    one.graph.outputs = {results[name] for name in used}
    values = {results[name]: (1,) for name in known}
    one.graph.read_known = values.get
    return list(plan(one))


def test_what_is_known_is_evaluated() -> None:
    assert planned("y:int64[1] = Neg(x:int64[1])", "y") == [Evaluate("GF303")]


def test_a_result_that_nobody_wants_need_not_be_known() -> None:
    assert planned("y:int64[1], z[1] = TopK(x[1], k:int64[1])", "y") == [Evaluate("GF303")]


def test_no_elements_are_known_too() -> None:
    one = node("y:int64[0] = Neg(x:int64[0])")
    one.graph.outputs = {value for value in one.results if value is not None}
    one.graph.read_known = lambda _: ()
    assert list(plan(one)) == [Evaluate("GF303")]


NOT = {
    "nothing is known of it": (("y:int64[1] = Neg(x:int64[1])",), ("y",)),
    "nobody reads it": (("y:int64[1] = Neg(x:int64[1])", "y"), ()),
    "only one of two results is known": (("y:int64[1], z:int64[1] = Split(x:int64[2])", "y"), ("y", "z")),
}


@pytest.mark.parametrize(("given", "used"), NOT.values(), ids=NOT)
def test_nothing_is_done(given: tuple[str, ...], used: tuple[str, ...]) -> None:
    assert planned(*given, used=used) == []


def test_a_body_may_never_run() -> None:
    inner = node("y:int64[1] = Neg(x:int64[1])")
    body = Graph("main/if.then_branch", inner.graph)
    body.outputs = {value for value in inner.results if value is not None}
    body.read_known = lambda _: (1,)
    assert list(plan(Node("Neg", "", 18, "", 0, body, inner.operands, inner.results, {}, None))) == []


def test_a_shape_that_is_put_together_becomes_a_constant() -> None:
    result = fixed(
        """s:int64[3] = Shape(x[2,3,4])
           n:int64[1] = Gather(s, i:const[1]{0})
           t:int64[2] = Concat(n, m:const[1]{-1}, axis=0)
           y[2,12] = Reshape(x, t)""",
        rewrites=rules(FOLD),
    )
    assert result.view == ["y[2,12] = Reshape(x[2,3,4], t[2])"]
    assert result.counts == {FOLD: 3}
    assert initializer(result.after, "t").tolist() == [2, -1]
    assert [tensor.name for tensor in result.after.graph.initializer] == ["t"], "what only it read went"


def test_what_is_folded_tells_the_sizes_behind_it() -> None:
    """No inference follows a Max: the second Shape is known once the first Reshape is."""
    result = fixed(
        """s:int64[2] = Shape(x[2,6])
           m:int64[2] = Max(s, k:const[2]{3,4})
           f:int64[2] = Min(m, s2:const[2]{3,4})
           u[*] = Reshape(x, f)
           v:int64[*] = Shape(u)
           y[*] = ConstantOfShape(v)""",
        rewrites=rules(FOLD),
    )
    assert result.view[-1] == "y[3,4] = Constant()"
    assert result.after.graph.output[0].type.tensor_type.shape.dim[1].dim_value == 4


def test_a_symbol_keeps_its_shape_arithmetic_until_it_is_bound() -> None:
    text = """s:int64[2] = Shape(x[N,3])
              t:int64[1] = Gather(s, i:const[1]{0})
              y[N,3] = Reshape(x, c:int64[2])
              z:int64[1] = Identity(t)"""
    assert fixed(text, rewrites=rules(FOLD)).counts == {}
    bound = fixed(text, bind={"N": 5}, rewrites=rules(FOLD))
    assert bound.counts == {FOLD: 3}
    assert run(bound.after, x=np.zeros((5, 3), np.float32), c=np.int64([5, 3]))[1].tolist() == [5]


def test_a_size_that_is_a_number_is_known_though_another_is_not() -> None:
    result = fixed(
        """s:int64[2] = Shape(x[N,3])
           y:int64[1] = Gather(s, i:const[1]{1})""",
        rewrites=rules(FOLD),
    )
    assert result.view == ["y[1] = Constant()"]
    assert run(result.after, x=np.zeros((2, 3), np.float32))[0].tolist() == [3]


def test_an_output_keeps_its_name_and_a_producer() -> None:
    result = fixed("y:int64[2] = Shape(x[2,3])", rewrites=rules(FOLD))
    assert result.view == ["y[2] = Constant()"]
    assert run(result.after, x=np.zeros((2, 3), np.float32))[0].tolist() == [2, 3]
    assert result.after.graph.node[0].output[:] == ["y"]


def test_an_output_that_others_read_is_reported_to_them() -> None:
    result = fixed("s:int64[2] = Shape(x[2,3])\ny[2,3] = Reshape(z[6], s)", rewrites=rules(FOLD))
    assert result.view == ["y[2,3] = Reshape(z[6], s[2])"]


def test_readers_in_bodies_read_on() -> None:
    proto = parsed("""main (bool c, float[2,3] x, float[6] z) => (float[2,3] y) {
        s = Shape(x)
        y = If (c) <then_branch = yes () => (float[2,3] t) { t = Reshape(z, s) },
                    else_branch = no () => (float[2,3] t) { t = Identity(x) }> }""")
    result = fixed(proto, rewrites=rules(FOLD))
    assert result.everything == [
        "main: y[2,3] = If(c[])",
        "If#0.then_branch: t[2,3] = Reshape(z[6], s[2])",
        "If#0.else_branch: t[2,3] = Identity(x[2,3])",
    ]


def test_a_function_gets_a_constant_node() -> None:
    proto = parsed("""main (float[2,3] x, float[6] z) => (float[2,3] y) { y = local.f(x, z) }
        <domain: "local", opset_import: ["" : 18]> f (p, q) => (r) { s = Shape(p) r = Reshape(q, s) }""")
    result = fixed(proto, rewrites=rules(FOLD))
    assert result.everything[1:] == [
        "function local.f: s[2] = Constant()",
        "function local.f: r[2,3] = Reshape(q[6], s[2])",
    ]


def test_where_every_initializer_is_an_input_a_constant_is_a_node() -> None:
    proto = model("s:int64[2] = Shape(x[2,3])\ny[2,3] = Reshape(z[6], s)", opset=9, ir=3)
    result = fixed(proto, rewrites=rules(FOLD))
    assert result.view == ["s[2] = Constant()", "y[2,3] = Reshape(z[6], s[2])"]


def test_the_constant_replaces_every_result_that_is_read() -> None:
    result = fixed(
        """s:int64[2] = Shape(x[2,3])
           a:int64[1], b:int64[1] = Split(s, p:const[2]{1,1})
           c:int64[1] = Add(a, b)
           y[5] = Reshape(v[5], c)
           z[5] = Mul(y, y)""",
        rewrites=rules(FOLD),
    )
    assert result.view == ["y[5] = Reshape(v[5], c[1])", "z[5] = Mul(y[5], y[5])"]
    assert initializer(result.after, "c").tolist() == [5]


def test_what_a_range_reads_with_an_axis_stays_computed() -> None:
    """A Range is run on operands of one axis, but refused where onnxruntime sees that they are constants."""
    result = fixed(
        """s:int64[2] = Shape(x[2,3])
           n:int64[1] = Gather(s, i:const[1]{0})
           f[1] = Cast(n, to=1)
           y[?] = Range(a:const[]{0.0}, f, d[])""",
        rewrites=rules(FOLD),
    )
    assert result.view[-2:] == ["f[1] = Cast(n[1])", "y[?] = Range(a[], f[1], d[])"]
    assert "a Range reads it" in result.left[0][2]


def test_where_nobody_overrides_an_input_its_lift_is_a_vector_that_a_second_run_leaves() -> None:
    proto = model("y[5] = Add(x:int64[5], c:int64[])", opset=9, ir=3)
    proto.graph.initializer.append(onnx.helper.make_tensor("c", onnx.TensorProto.INT64, [], [2]))
    once = fixed(proto, target="ranks", rewrites=rules("equalize-ranks", FOLD))
    assert once.view == ["shape_2[1] = Constant()", "y[5] = Add(x[5], shape_2[1])"]
    assert fixed(once.after, target="ranks", rewrites=rules("equalize-ranks", FOLD)).view == once.view
