"""What is known of every value: the rules in one pass, bodies by induction, stored shapes as claims."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

import graphfix
from graphfix.formats.onnx import OnnxModel
from graphfix.formats.onnx.infer.analysis import _unnamed, analyse
from graphfix.formats.onnx.infer.operators.windows import SOME_IMAGE
from graphfix.formats.onnx.infer.scope import unknown_name
from graphfix.shapes.dim import Dim
from tests.support import engine
from tests.support.notation import model, parsed
from tests.support.onnx.fixing import fixed, printed

SHAPES = {
    "a symbol through element-wise operators": ("y[*] = Neg(x[N,4])", "y[N,4]"),
    "two symbols are no one size": ("y[*] = Add(x[N,4], b[M,4])", "y[?,4]"),
    "Transpose": ("y[*] = Transpose(x[N,4,T], perm=[2,0,1])", "y[T,N,4]"),
    "MatMul": ("y[*] = MatMul(x[N,T,8], w[8,5])", "y[N,T,5]"),
    "Gemm": ("y[*] = Gemm(x[N,8], w[5,8], transB=1)", "y[N,5]"),
    "Concat of unknown parts keeps the other axes": ("y[*] = Concat(x[N,4], z[M,4], axis=0)", "y[?,4]"),
    "Reshape to a computed shape has its rank": ("y[*] = Reshape(x[N,4], s:int64[3])", "y[?,?,?]"),
    "Reshape with -1 by its own arithmetic": ("y[*] = Reshape(x[N,4,6], s:const{0,-1})", "y[N,24]"),
    "NonZero": ("y:int64[*] = NonZero(x[N,4])", "y[2,?]"),
    "Range": ("y[*] = Range(a[], b[], c[])", "y[?]"),
    "ReduceMean with computed axes keeps the rank": ("y[*] = ReduceMean(x[N,4], a:int64[1])", "y[?,?]"),
    "Expand by a computed shape keeps what is never 1": ("y[*] = Expand(x[1,4], s:int64[2])", "y[?,4]"),
    "a contrib operator": ("y[*] = com.microsoft.FastGelu(x[N,4])", "y[N,4]"),
    "a contrib product": ("y[*] = com.microsoft.FusedMatMul(a[N,4], b[4,5])", "y[N,5]"),
    "an operator nobody knows": ("y[*] = my.Thing(x[N,4])", "y[*]"),
    "an unranked operand": ("y[*] = Add(x[*], b[3])", "y[*]"),
}


@pytest.mark.parametrize(("text", "result"), SHAPES.values(), ids=SHAPES)
def test_shapes_are_inferred(text: str, result: str) -> None:
    (line,) = printed(engine.load(model(text)))
    assert line.startswith(f"{result} = ")


CHAINS = {
    "Shape, Gather, Concat, Reshape": (
        """s:int64[3] = Shape(x[N,4,6])
           n:int64[1] = Gather(s, i:const{0})
           c:int64[2] = Concat(n, k:const{24}, axis=0)
           v = Reshape(x, c)
           y[*] = Neg(v)""",
        "y[N,24]",
    ),
    "a slice of a shape": (
        """s:int64[3] = Shape(x[N,T,6])
           c:int64[2] = Slice(s, b:const{0}, e:const{2})
           v = ConstantOfShape(c)
           y[*] = Neg(v)""",
        "y[N,T]",
    ),
    "a computed size that stays the same": (
        """s:int64[2] = Shape(x[N,4])
           p:int64[2] = Mul(s, k:const{1,2})
           v = ConstantOfShape(p)
           y[*] = Neg(v)""",
        "y[N,8]",
    ),
    "a computed size that is another": (
        """s:int64[2] = Shape(x[N,4])
           p:int64[2] = Add(s, k:const{1,0})
           v = ConstantOfShape(p)
           y[*] = Neg(v)""",
        "y[?,4]",
    ),
    "a Range of floats": (
        """s:int64[2] = Shape(x[N,4])
           n:int64[] = Gather(s, i:const[]{0})
           f[*] = Cast(n, to=1)
           y[*] = Range(a:const[]{0.0}, f, b:const[]{1.0})""",
        "y[N]",
    ),
    "a Concat of a value of unknown rank": ("a[*] = my.Thing(x[4])\ny[*] = Concat(a, b[3], axis=0)", "y[?]"),
    "parts of a split as a sequence": (
        """q[*] = SplitToSequence(x[N,7], s:const[]{3}, axis=1)
           i[*] = SequenceInsert(q, z[N,5], j:const[]{-1})
           a[*] = SequenceAt(i, k:const[]{2})
           b[*] = SequenceAt(i, l:const[]{-1})
           y[*] = Concat(a, b, axis=1)""",
        "y[N,6]",
    ),
    "a sequence that is joined": (
        """q[*] = SequenceConstruct(x[N,7], z[N,5])
           e[*] = SequenceInsert(q, x)
           y[*] = ConcatFromSequence(e, axis=1)""",
        "y[N,19]",
    ),
    "a sequence that is stacked": (
        """q[*] = SplitToSequence(x[N,3], axis=1, keepdims=0)
           e[*] = SequenceErase(q)
           y[*] = ConcatFromSequence(e, axis=-1, new_axis=1)""",
        "y[N,2]",
    ),
    "squeezed and cast": (
        """s:int64[2] = Shape(x[N,4])
           n:int64[] = Gather(s, i:const[]{0})
           u:int64[1] = Unsqueeze(n, z:const{0})
           v = ConstantOfShape(u)
           y[*] = Neg(v)""",
        "y[N]",
    ),
}


@pytest.mark.parametrize(("text", "result"), CHAINS.values(), ids=CHAINS)
def test_shape_arithmetic_is_followed(text: str, result: str) -> None:
    assert printed(engine.load(model(text)))[-1].startswith(f"{result} = ")


def test_a_quotient_of_what_may_be_below_0_is_rounded_towards_0() -> None:
    """The size of a convolution as exporters write it, (N - 1) / 4 + 1: of N = 0 the quotient is 0, and not -1."""
    text = """s:int64[2] = Shape(x[N,4])
              n:int64[1] = Gather(s, i:const{0})
              a:int64[1] = Add(n, j:const{-1})
              q:int64[1] = Div(a, k:const{4})
              p:int64[1] = Add(q, l:const{1})
              v = ConstantOfShape(p)
              w:int64[1] = Concat(p, m:const{1}, axis=0)
              u = Reshape(z[M], w)
              t = Squeeze(u, o:const{1})
              y[*] = Add(v, t)"""
    assert fixed(text, target="explicit").counts == {}
    sizes = [result.shape.axes for node in engine.load(model(text)).graphs[0].nodes[5:6] for result in node.results]
    assert sizes == [(Dim(("?={?=floor(({?=max(0, {N}-1)})/4)}+1",), 1),)]


def test_two_unknown_sizes_are_the_same_only_where_that_is_proved() -> None:
    """Halves of one axis: the same computation twice is not evidence, the same value is."""
    text = """a[*] = Slice(x[N,4], b:const{0}, e:int64[1])
              c[*] = Neg(a)
              y[*] = Add(a, c)
              z[*] = Add(a, d[M,4])"""
    result = fixed(text, target="explicit")
    assert result.counts == {"materialize-broadcasts": 2}
    assert [line for line in result.view if line.startswith("y")] == ["y[?,4] = Add(a[?,4], c[?,4])"]


def test_names_that_onnx_makes_up_are_never_evidence() -> None:
    """A stored name of onnx's own making (`unk__0`) on two unrelated values says nothing."""
    proto = model("y[*] = Add(a[*], b[*])")
    for at, name in enumerate(("a", "b")):
        proto.graph.input[at].CopyFrom(onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [None, 4]))
    proto.graph.value_info.append(onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, ["unk__0", 4]))
    assert fixed(proto).counts == {"materialize-broadcasts": 2}


def test_a_stored_symbol_of_an_intermediate_value_is_no_evidence() -> None:
    proto = model("a[*] = my.Thing(x[2])\nc[*] = my.Thing(x)\ny[*] = Add(a, c)")
    for name in "ac":
        proto.graph.value_info.append(onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, ["S", 4]))
    result = fixed(proto)
    assert result.counts == {"materialize-broadcasts": 2}
    assumed = ["the stored shapes of 2 results of my.Thing"]
    assert list(result.outcome.assumes) == assumed
    assert engine.load(result.after).assumes == assumed  # what was made since follows from those


def test_a_rank_that_an_operator_without_attributes_leaves_open_is_taken_from_the_file() -> None:
    proto = model("c[*] = Neg(a[*])\ny[*] = Neg(c)")
    proto.graph.value_info.append(onnx.helper.make_tensor_value_info("c", onnx.TensorProto.FLOAT, [2, 4]))
    opened = engine.load(proto)
    assert printed(opened)[0] == "c[?,?] = Neg(a[*])"
    assert list(opened.assumes) == ["the stored rank of 'c' in main"]


def test_only_a_shape_that_nothing_else_tells_is_taken_from_the_file() -> None:
    proto = model("a[*] = my.Thing(x[2])\nc = Neg(a)\ny[*] = my.Thing(c)")
    for name in "ac":
        proto.graph.value_info.append(onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [2, 4]))
    opened = engine.load(proto)
    assert printed(opened)[1] == "c[2,4] = Neg(a[2,4])"
    assert list(opened.assumes) == ["the stored shape of 'a', a result of my.Thing"]


def test_of_a_standard_operator_no_more_than_the_rank_is_taken_from_the_file() -> None:
    proto = model("r[*] = Reshape(x[N,4], s:int64[*])\ny[*] = Neg(r)")
    proto.graph.value_info.append(onnx.helper.make_tensor_value_info("r", onnx.TensorProto.FLOAT, [2, 4]))
    opened = engine.load(proto)
    assert printed(opened)[1] == "y[?,?] = Neg(r[?,?])"
    assert list(opened.assumes) == ["the stored rank of 'r' in main"]


def test_a_symbol_on_two_inputs_is_trusted_and_recorded() -> None:
    opened = engine.load(model("y[*] = Add(x[N,4], b[N,4])"))
    assert printed(opened) == ["y[N,4] = Add(x[N,4], b[N,4])"]
    assert opened.assumes == ["the dims named 'N' are equal: x[0], b[0]"]


UNKNOWN_MARKS = {
    "a question mark": "?",
    "an empty name": "",
    "the name of an axis": "?a.0",
    "the name of a term": "?=2*{N}",
}


@pytest.mark.parametrize("mark", UNKNOWN_MARKS.values(), ids=UNKNOWN_MARKS)
def test_a_mark_of_an_unknown_dim_is_no_symbol(mark: str) -> None:
    proto = model("y[*] = Add(a[4], b[4])")
    for value in proto.graph.input:
        value.type.tensor_type.shape.dim[0].dim_param = mark
    assert printed(engine.load(proto)) == ["y[?] = Add(a[?], b[?])"]
    assert fixed(proto).counts == {"materialize-broadcasts": 2}


def test_a_negative_dim_is_unknown() -> None:
    proto = model("y[*] = Neg(a[4])")
    proto.graph.input[0].type.tensor_type.shape.dim[0].dim_value = -1
    assert printed(engine.load(proto)) == ["y[?] = Neg(a[?])"]


@pytest.mark.parametrize(
    ("size", "left"), [(6, 5), (2, 1), (1, "?"), ("W", "?")], ids=["several", "one", "too few", "free"]
)
def test_a_window_that_moves_by_one_leaves_fewer_places(size: int | str, left: int | str) -> None:
    pool = onnx.helper.make_node("MaxPool", ["x"], ["y"], kernel_shape=[2])
    given = onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [1, 3, size])
    graph = onnx.helper.make_graph([pool], "g", [given], [onnx.helper.make_empty_tensor_value_info("y")])
    proto = onnx.helper.make_model(graph, ir_version=8, opset_imports=[onnx.helper.make_opsetid("", 17)])
    assert printed(engine.load(proto)) == [f"y[1,3,{left}] = MaxPool(x[1,3,{size}])"]


@pytest.mark.parametrize(("batch", "listed"), [("B", True), (2, False)])
def test_a_pool_that_may_stand_on_nothing_is_assumed_away(batch: str | int, *, listed: bool) -> None:
    """Onnxruntime pools an axis of size 0 for an empty batch alone, and there one window is left."""
    pool = onnx.helper.make_node("MaxPool", ["x"], ["y"], kernel_shape=[3], strides=[2], pads=[1, 1])
    given = onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [batch, 1, "W"])
    graph = onnx.helper.make_graph([pool], "g", [given], [onnx.helper.make_empty_tensor_value_info("y")])
    proto = onnx.helper.make_model(graph, ir_version=8, opset_imports=[onnx.helper.make_opsetid("", 17)])
    assert (SOME_IMAGE in engine.load(proto).assumes) == listed


def test_arithmetic_along_an_axis_of_operator_set_6_is_not_followed_as_numpy_s() -> None:
    """[[1,2],[3,4]] and [10,20] along axis 0 are [11,12] in the first row, not [11,22]."""
    nodes = [
        onnx.helper.make_node("Add", ["a", "b"], ["q"], axis=0, broadcast=1),
        onnx.helper.make_node("Slice", ["q"], ["r"], starts=[0], ends=[1], axes=[0]),
        onnx.helper.make_node("Squeeze", ["r"], ["t"], axes=[0]),
        onnx.helper.make_node("Reshape", ["x", "t"], ["y"]),
    ]
    held = [
        onnx.numpy_helper.from_array(np.array([[1, 2], [3, 4]]), "a"),
        onnx.numpy_helper.from_array(np.array([10, 20]), "b"),
    ]
    given = [onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["N"])]
    graph = onnx.helper.make_graph(nodes, "g", given, [onnx.helper.make_empty_tensor_value_info("y")], held)
    proto = onnx.helper.make_model(graph, ir_version=4, opset_imports=[onnx.helper.make_opsetid("", 6)])
    assert printed(engine.load(proto))[-1] == "y[?,?] = Reshape(x[N], t[2])"


STALE = {
    "another number": [2, 5],
    "another rank": [2, 3, 1],
}


@pytest.mark.parametrize("stored", STALE.values(), ids=STALE)
def test_a_contradicted_shape_is_corrected_and_the_node_rewritten(stored: list[int]) -> None:
    proto = model("v = Neg(x[2,3])\ny[2,3] = Add(v, b[3])\nz[2,3] = Mul(x, b)")
    proto.graph.value_info.append(onnx.helper.make_tensor_value_info("v", onnx.TensorProto.FLOAT, stored))
    outcome = engine.fix(engine.load(proto), target="ranks")
    text = ",".join(map(str, stored))
    assert [(site.node, site.status, site.reason) for site in outcome.sites if site.code == "GF204"] == [
        ("Neg#0", "changed", f"the stored shape [{text}] of 'v' contradicts the computed [2, 3]")
    ]
    assert (outcome.rewrites["equalize-ranks"], len(outcome.sites)) == (2, 3)


@pytest.mark.parametrize(
    "text",
    ["y[2,3] = Add(x[2,3], v:const[3])", "v[3] = Constant(value_floats=[1.0,2.0,3.0])\ny[2,3] = Add(x[2,3], v)"],
    ids=["an initializer", "a Constant node"],
)
def test_of_a_constant_the_tensor_says_the_shape(text: str, tmp_path: Path) -> None:
    """So onnxruntime does, whatever is stored beside it; model builders store [] there."""
    proto = model(text)
    del proto.graph.value_info[:]
    proto.graph.value_info.append(onnx.helper.make_tensor_value_info("v", onnx.TensorProto.FLOAT, []))
    onnx.save(proto, tmp_path / "m.onnx")
    outcome = graphfix.fix_file(tmp_path / "m.onnx", tmp_path / "f.onnx")
    assert outcome.verdict is not None
    assert outcome.verdict.status == "proved"
    assert {site.status for site in outcome.sites} == {"changed"}
    assert not engine.load(tmp_path / "f.onnx").graphs[0].misstated


def test_a_looser_stored_shape_is_no_contradiction() -> None:
    proto = model("v = Neg(x[2,3])\ny[2,3] = Add(v, b[3])")
    proto.graph.value_info.append(onnx.helper.make_tensor_value_info("v", onnx.TensorProto.FLOAT, ["A", None]))
    assert not engine.load(proto).graphs[0].misstated


# --- what leans on the file ------------------------------------------------------------------------------------------


LEANING = "a[*] = my.Thing(x[N,3,3])\nc[*] = Neg(a)\nd[*] = Det(x)\ny[*] = Add(c, d)\nz[*] = Neg(x)"


def leaning() -> OnnxModel:
    proto = model(LEANING)
    proto.graph.value_info.append(onnx.helper.make_tensor_value_info("a", onnx.TensorProto.FLOAT, ["N"]))
    opened = engine.load(proto)
    assert isinstance(opened, OnnxModel)
    return opened


def test_what_leans_on_a_stored_shape_is_known() -> None:
    assert [name for _, name in leaning().leaning] == ["a", "c", "y"]


def test_where_nothing_stored_is_trusted_nothing_leans() -> None:
    opened = leaning()
    assert printed(opened)[1:3] == ["c[N] = Neg(a[N])", "d[N] = Det(x[N,3,3])"]
    opened.trust_stored(trust=False)
    assert opened.leaning == []
    assert opened.assumes == []
    assert printed(opened)[1:3] == ["c[*] = Neg(a[*])", "d[N] = Det(x[N,3,3])"]
    assert printed(opened)[4] == "z[N,3,3] = Neg(x[N,3,3])"


def test_a_constant_of_whole_numbers_that_holds_text_says_none() -> None:
    node = onnx.helper.make_node("Constant", [], ["s"], value_strings=["a"])
    node.attribute[0].name = "value_ints"
    graph = onnx.helper.make_graph(
        [node, onnx.helper.make_node("Reshape", ["x", "s"], ["y"])],
        "g",
        [onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [4])],
        [onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)],
    )
    built = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 11)], ir_version=8)
    loaded = engine.load(built)
    assert isinstance(loaded, OnnxModel)
    (result,) = loaded.graphs[0].nodes[1].results
    assert result is not None
    assert not result.shape.static


def test_a_constant_that_states_nothing_has_the_stored_rank_and_type() -> None:
    node = onnx.helper.make_node("Constant", [], ["c"])
    node.attribute.append(onnx.helper.make_attribute("another", 3))
    graph = onnx.helper.make_graph(
        [node], "g", [], [onnx.helper.make_tensor_value_info("c", onnx.TensorProto.INT64, [3])]
    )
    main = analyse(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 18)]), {}).main
    assert (main.shape("c").rank, main.dtype("c")) == (1, onnx.TensorProto.INT64)
    assert (main.assumed, main.leaning) == ({"c"}, {"c"})


def thing(text: str) -> OnnxModel:
    """A model whose first value `a` has the shape that is stored of it, and no other result a stored one."""
    proto = parsed(text)
    proto.opset_import.add(domain="my", version=1)
    bodies = [attribute.g for node in proto.graph.node for attribute in node.attribute if attribute.HasField("g")]
    for value in (value for graph in (proto.graph, *bodies) for value in graph.output):
        value.type.tensor_type.ClearField("shape")
    proto.graph.value_info.append(onnx.helper.make_tensor_value_info("a", onnx.TensorProto.FLOAT, ["N", 3]))
    opened = engine.load(proto)
    assert isinstance(opened, OnnxModel)
    return opened


def test_what_a_function_returns_leans_where_it_follows_from_an_operand_that_does() -> None:
    head = '<domain: "local", opset_import: ["" : 18, "local" : 1]>'
    opened = thing(f"""main (float[N,3] x) => (float[] y, float[] w, float[] z) {{
        a = my.Thing(x) y, w = local.f(a, x) z = local.g(x) }}
        {head} f (p, q) => (r, t) {{ r = Neg(p) t = Neg(q) }}
        {head} g (p) => (r) {{ r = Neg(p) }}""")
    function = [name for path, name in opened.leaning if path == "function local.f"]
    assert function == ["p", "r"]
    assert {"a", "y"} <= {name for path, name in opened.leaning if path == "main"}
    assert not any(path == "function local.g" for path, _ in opened.leaning)


def test_what_a_node_with_bodies_returns_leans_where_a_value_of_a_body_does() -> None:
    opened = thing("""main (float[N,3] x, bool b) => (float[] y, float[] z) {
        a = my.Thing(x)
        y = If(b) <then_branch = f () => (float[] t) { t = Neg(a) }, else_branch = g () => (float[] e) { e = Abs(x) }>
        z = If(b) <then_branch = h () => (float[] u) { u = Neg(x) }, else_branch = k () => (float[] v) { v = Abs(x) }>
        }""")
    assert [name for path, name in opened.leaning if path == "main"] == ["a", "y"]
    assert [name for path, name in opened.leaning if path != "main"] == ["t"]


def test_a_carried_value_leans_where_what_enters_does_and_not_where_nothing_enters() -> None:
    opened = thing("""main (int64 n, bool go, float[N,3] x) => (float[] y, float[] z, float[] w) {
        a = my.Thing(x)
        y, z, w = Loop (n, go, a, x, x) <
            body = turn (int64 i, bool k, float[] p, float[] q, int64[] r) =>
                (bool again, float[] s, float[] t, int64[] u) {
                again = Identity(k) s = Neg(p) t = Neg(q) u = Neg(r) }> }""")
    assert [name for path, name in opened.leaning if path != "main"] == ["p", "s"]
    assert [name for path, name in opened.leaning if path == "main"] == ["a", "w", "y", "z"]


def test_what_a_scan_reads_by_parts_leans_where_the_whole_does() -> None:
    opened = thing("""main (float[N,3] x) => (float[] y, float[] z) {
        a = my.Thing(x)
        y, z = Scan <num_scan_inputs = 2, body = turn (float[] p, float[] q) => (float[] s, float[] t) {
            s = Neg(p) t = Neg(q) }> (a, x) }""")
    assert [name for path, name in opened.leaning if path != "main"] == ["p", "s"]


def test_a_carried_value_that_nothing_enters_is_of_no_known_rank_and_of_the_declared_type() -> None:
    proto = parsed("""main (int64 n, bool go, float[N,3] x) => (float[N,3] y, int64[3] w) {
        a = my.Thing(x)
        y, w = Loop (n, go, x, x) <body = turn (int64 i, bool k, float[2] p, int64[2] r) =>
            (bool again, float[2] s, int64[2] u) { again = Identity(k) s = Neg(p) u = Neg(r) }> }""")
    proto.opset_import.add(domain="my", version=1)
    proto.graph.value_info.append(onnx.helper.make_tensor_value_info("a", onnx.TensorProto.FLOAT, ["N", 3]))
    proto.graph.node[1].input[3] = ""
    body = next(iter(analyse(proto, {}).main.children.values()))
    assert not body.shape("r").ranked
    assert not body.shape("u").ranked
    assert body.dtype("r") == onnx.TensorProto.INT64
    assert body.leaning == set()
    assert str(body.shape("p")) == "[N, 3]"


def test_a_size_without_a_symbol_is_called_by_its_input_and_axis() -> None:
    assert _unnamed("x[1]") == Dim((unknown_name("x", 1),))
    assert _unnamed("x") == Dim((unknown_name("x", 0),))
    assert _unnamed("x[1]") != _unnamed("x[0]")
