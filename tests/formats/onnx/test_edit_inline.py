"""A decided branch in the place of its If: names, constants, results, and what only the other branch read."""

from __future__ import annotations

from collections import Counter

import numpy as np
import onnx
import pytest
from onnx import ModelProto, helper, numpy_helper

from graphfix.formats.onnx.edit.inline import _all_names
from graphfix.graph.edits import Inline, Refused
from tests.support import engine
from tests.support.bits import same_bits
from tests.support.named import rules
from tests.support.notation import parsed
from tests.support.onnx.fixing import Fixed, fixed
from tests.support.runtimes.onnx_runs import run

RULES = rules("inline-decided-branches", "fold-shape-arithmetic")
X = np.float32([[1, -2, 3], [-4, 5, -6]])


def inlined(proto: ModelProto, **feeds: np.ndarray) -> Fixed:
    """Inline, and see that the outputs are the same bit for bit."""
    result = fixed(proto, rewrites=RULES)
    given = feeds or {"x": X}
    assert all(same_bits(a, b) for a, b in zip(run(proto, **given), run(result.after, **given), strict=True))
    return result


@pytest.mark.parametrize(("value", "op"), [(1, "Relu"), (0, "Neg")])
def test_the_branch_that_is_taken_stands_in_the_place_of_the_if(value: int, op: str) -> None:
    proto = parsed(f"""main (float[2,3] x) => (float[2,3] z) <bool c = {{{value}}}> {{
        a = Abs(x)
        y = If (c) <then_branch = yes () => (float[2,3] t) {{ t = Relu(x) }},
                    else_branch = no () => (float[2,3] e) {{ e = Neg(x) }}>
        z = Add(a, y) }}""")
    result = inlined(proto)
    assert result.view == ["a[2,3] = Abs(x[2,3])", f"y[2,3] = {op}(x[2,3])", "z[2,3] = Add(a[2,3], y[2,3])"]
    assert not result.after.graph.initializer, "the condition has no reader"


def test_an_output_of_the_graph_keeps_its_name() -> None:
    proto = parsed("""main (float[2,3] x) => (float[2,3] y) <bool c = {1}> {
        y = If (c) <then_branch = yes () => (float[2,3] t) { u = Relu(x) t = Neg(u) },
                    else_branch = no () => (float[2,3] t) { t = Neg(x) }> }""")
    assert inlined(proto).view == ["u[2,3] = Relu(x[2,3])", "y[2,3] = Neg(u[2,3])"]


def test_two_branches_with_the_same_names_do_not_meet() -> None:
    body = "(float[2,3] t) { u = Relu(v) t = Neg(u) }"
    proto = parsed(f"""main (float[2,3] x) => (float[2,3] y) <bool c = {{1}}> {{
        v = Abs(x)
        p = If (c) <then_branch = yes () => {body}, else_branch = no () => {body}>
        q = If (c) <then_branch = yes () => {body}, else_branch = no () => {body}>
        y = Sub(p, q) }}""")
    result = inlined(proto)
    names = [it for node in result.after.graph.node for it in node.output]
    assert len(set(names)) == len(names) == 6
    assert result.view[1:5] == [
        "u[2,3] = Relu(v[2,3])",
        "p[2,3] = Neg(u[2,3])",
        "u_1[2,3] = Relu(v[2,3])",
        "q[2,3] = Neg(u_1[2,3])",
    ]


def test_what_only_the_other_branch_read_goes() -> None:
    proto = parsed("""main (float[2,3] x) => (float[2,3] y) <bool c = {1}, float[3] w = {1.0, 2.0, 3.0}> {
        a = Add(x, w)
        y = If (c) <then_branch = yes () => (float[2,3] t) { t = Relu(x) },
                    else_branch = no () => (float[2,3] t) { t = Neg(a) }> }""")
    result = inlined(proto)
    assert result.view == ["y[2,3] = Relu(x[2,3])"]
    assert not result.after.graph.initializer


def test_an_if_inside_of_a_branch_is_decided_next() -> None:
    proto = parsed("""main (float[2,3] x) => (float[2,3] y) <bool c = {1}> {
        y = If (c) <then_branch = yes () => (float[2,3] t) {
                s = Shape(x) i = Constant <value = int64[1] {1}> () n = Gather(s, i)
                k = Constant <value = int64[1] {3}> () d = Equal(n, k)
                t = If (d) <then_branch = deep () => (float[2,3] r) { r = Relu(x) },
                            else_branch = not () => (float[2,3] r) { r = Neg(x) }> },
                    else_branch = no () => (float[2,3] t) { t = Neg(x) }> }""")
    result = inlined(proto)
    assert result.view == ["y[2,3] = Relu(x[2,3])"]
    assert result.counts == {"inline-decided-branches": 2, "fold-shape-arithmetic": 3}


def test_bodies_of_the_branch_come_along_and_their_names_stay_apart() -> None:
    proto = parsed("""main (bool d, float[2,3] x) => (float[2,3] z) <bool c = {1}> {
        u = Abs(x)
        y = If (c) <then_branch = yes () => (float[2,3] t) {
                w = Neg(x)
                t = If (d) <then_branch = deep () => (float[2,3] r) { r = Add(w, x) },
                            else_branch = not () => (float[2,3] r) { r = Sub(w, x) }> },
                    else_branch = no () => (float[2,3] t) { w = Neg(x) t = Neg(w) }>
        z = Add(y, u) }""")
    for d in (True, False):
        result = inlined(proto, x=X, d=np.array(d))
    assert result.everything == [
        "main: u[2,3] = Abs(x[2,3])",
        "main: w[2,3] = Neg(x[2,3])",
        "main: y[2,3] = If(d[])",
        "main: z[2,3] = Add(y[2,3], u[2,3])",
        "If#2.then_branch: r[2,3] = Add(w[2,3], x[2,3])",
        "If#2.else_branch: r[2,3] = Sub(w[2,3], x[2,3])",
    ]


def test_a_body_that_makes_a_value_of_the_same_name_keeps_its_own() -> None:
    """A body hides what is outside by its own name; only what it reads of the branch is renamed."""
    proto = parsed("""main (bool d, float[2,3] x) => (float[2,3] y) <bool c = {1}> {
        y = If (c) <then_branch = yes () => (float[2,3] t) {
                w = Neg(x)
                u = Abs(w)
                t = If (d) <then_branch = deep () => (float[2,3] r) { w = Relu(u) r = Neg(w) },
                            else_branch = not () => (float[2,3] r) { r = Sub(w, x) }> },
                    else_branch = no () => (float[2,3] t) { t = Neg(x) }> }""")
    assert fixed(proto, rewrites=RULES).everything == [
        "main: w_1[2,3] = Neg(x[2,3])",
        "main: u[2,3] = Abs(w_1[2,3])",
        "main: y[2,3] = If(d[])",
        "If#2.then_branch: w[2,3] = Relu(u[2,3])",
        "If#2.then_branch: r[2,3] = Neg(w[2,3])",
        "If#2.else_branch: r[2,3] = Sub(w_1[2,3], x[2,3])",
    ]


def if_node(then: onnx.GraphProto, otherwise: onnx.GraphProto, *results: str) -> onnx.NodeProto:
    return helper.make_node(
        "If", ["c"], list(results), name=f"if {results[0]}", then_branch=then, else_branch=otherwise
    )


def branch(nodes: list[onnx.NodeProto], outputs: list[str], *tensors: onnx.TensorProto) -> onnx.GraphProto:
    infos = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [2, 3]) for name in outputs]
    return helper.make_graph(nodes, "branch", [], infos, list(tensors))


def whole(*nodes: onnx.NodeProto, outputs: tuple[str, ...] = ("y",), ir: int = 8) -> ModelProto:
    infos = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [2, 3]) for name in outputs]
    x = helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [2, 3])
    condition = helper.make_node("Constant", [], ["c"], value=numpy_helper.from_array(np.array(True)))
    graph = helper.make_graph([condition, *nodes], "main", [x], infos)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=ir)


NEG = branch([helper.make_node("Neg", ["x"], ["e"])], ["e"])
WEIGHT = numpy_helper.from_array(np.float32([[1, 2, 3]]), "w")
ADD = branch([helper.make_node("Add", ["x", "w"], ["t"])], ["t"], WEIGHT)


def test_an_initializer_of_the_branch_is_one_of_the_graph() -> None:
    result = inlined(whole(if_node(ADD, NEG, "y")))
    assert result.view == ["y[2,3] = Add(x[2,3], w[1,3])"]
    assert [tensor.name for tensor in result.after.graph.initializer] == ["w"]


def test_initializers_of_two_branches_with_the_same_name_do_not_meet() -> None:
    other = numpy_helper.from_array(np.float32([[4, 5, 6]]), "w")
    first = if_node(ADD, NEG, "v")
    second = if_node(branch([helper.make_node("Mul", ["v", "w"], ["t"])], ["t"], other), NEG, "y")
    result = inlined(whole(first, second))
    held = {tensor.name: numpy_helper.to_array(tensor).tolist() for tensor in result.after.graph.initializer}
    assert held == {"w": [[1, 2, 3]], "w_1": [[4, 5, 6]]}
    assert result.view == ["v[2,3] = Add(x[2,3], w[1,3])", "y[2,3] = Mul(v[2,3], w_1[1,3])"]


def test_every_value_and_node_is_counted_where_it_is_named_and_an_input_with_a_default_once() -> None:
    proto = parsed("""main (float[2] x, float[2] d, bool c) => (float[2] y) <float[2] w = {1.0, 2.0}> {
        v = local.f(x)
        [pick] y = If (c) <then_branch = yes () => (float[2] t) <float[2] w = {3.0, 4.0}> { t = Add(v, w) },
                           else_branch = no () => (float[2] e) { [last] e = Sub(v, d) }> }
        <domain: "local", opset_import: ["" : 18]> f (p) => (r) { r = Neg(p) }""")
    proto.graph.initializer.append(numpy_helper.from_array(np.float32([5, 6]), "d"))
    sparse = proto.graph.sparse_initializer.add(dims=[2])
    sparse.values.CopyFrom(numpy_helper.from_array(np.float32([5]), "few"))
    sparse.indices.CopyFrom(numpy_helper.from_array(np.int64([0]), ""))
    counted = Counter(_all_names(proto))
    assert sorted(name for name, times in counted.items() if times == 1) == [
        *("c", "d", "e", "few", "last", "p", "pick", "r", "t", "v", "x", "y")
    ]
    assert counted["w"] == 2
    assert "" not in counted


def test_where_every_initializer_is_an_input_it_is_a_constant_node() -> None:
    result = fixed(whole(if_node(ADD, NEG, "y"), ir=3), rewrites=RULES)
    assert result.view == ["w[1,3] = Constant()", "y[2,3] = Add(x[2,3], w[1,3])"]


@pytest.mark.parametrize("ir", [3, 8])
def test_a_sparse_constant_of_the_branch_moves_along(ir: int) -> None:
    """Before IR version 4 it is a node, as every initializer is an input there."""
    proto = parsed("""main (float[2,3] x) => (float[2,3] z) {
        c = Constant <value = bool {1}> ()
        y = If (c) <then_branch = yes () => (float[2,3] t) { t = Add(x, few) },
                    else_branch = no () => (float[2,3] e) { e = Neg(x) }>
        z = Neg(y) }""")
    proto.ir_version = ir
    body = next(held.g for held in proto.graph.node[1].attribute if held.name == "then_branch")
    values, places = numpy_helper.from_array(np.float32([5]), "few"), numpy_helper.from_array(np.int64([4]))
    sparse = helper.make_sparse_tensor(values, places, [2, 3])
    body.sparse_initializer.append(sparse)
    after = fixed(proto, rewrites=RULES).after.graph
    assert after.node[-2].op_type == "Add"
    if ir < 4:
        held = [node for node in after.node if node.op_type == "Constant" and node.attribute[0].name == "sparse_value"]
        assert [[*node.output] for node in held] == [[after.node[-2].input[1]]]
        kept = held[0].attribute[0].sparse_tensor
    else:
        (kept,) = after.sparse_initializer
        assert kept.values.name == after.node[-2].input[1]
    assert (kept.dims, kept.indices) == (sparse.dims, sparse.indices)
    assert numpy_helper.to_array(kept.values).tolist() == [5]


def test_a_result_that_is_a_constant_of_the_branch() -> None:
    ones = numpy_helper.from_array(np.ones((2, 3), np.float32), "k")
    given = branch([], ["k"], ones)
    result = inlined(whole(if_node(given, NEG, "v"), helper.make_node("Add", ["v", "x"], ["y"])))
    assert result.view == ["y[2,3] = Add(v[2,3], x[2,3])"]
    assert [tensor.name for tensor in result.after.graph.initializer] == ["v"]
    shown = inlined(whole(if_node(given, NEG, "y")))
    assert shown.view == ["y[2,3] = Constant()"]


def test_a_result_that_is_given_twice() -> None:
    then = branch([helper.make_node("Relu", ["x"], ["t"])], ["t", "t"])
    other = branch([helper.make_node("Neg", ["x"], ["e"]), helper.make_node("Abs", ["x"], ["f"])], ["e", "f"])
    result = fixed(whole(if_node(then, other, "y", "z"), outputs=("y", "z")), rewrites=RULES)
    assert result.view == ["y[2,3] = Relu(x[2,3])", "z[2,3] = Identity(y[2,3])"]


def test_a_big_weight_of_a_branch_keeps_its_bytes() -> None:
    big = numpy_helper.from_array(np.random.default_rng(0).standard_normal((2, 3000)).astype(np.float32), "w")
    nodes = [helper.make_node("MatMul", ["x", "big"], ["m"]), helper.make_node("MatMul", ["m", "w"], ["t"])]
    side = numpy_helper.from_array(np.ones((3, 2), np.float32), "big")
    then = helper.make_graph(nodes, "then", [], [onnx.ValueInfoProto(name="t")], [big, side])
    then.output[0].CopyFrom(helper.make_tensor_value_info("t", 1, [2, 3000]))
    other = helper.make_graph(
        [helper.make_node("ConstantOfShape", ["s"], ["e"])],
        "else",
        [],
        [helper.make_tensor_value_info("e", 1, [2, 3000])],
        [numpy_helper.from_array(np.int64([2, 3000]), "s")],
    )
    proto = whole(if_node(then, other, "y"))
    proto.graph.output[0].CopyFrom(helper.make_tensor_value_info("y", 1, [2, 3000]))
    result = inlined(proto)
    kept = next(tensor for tensor in result.after.graph.initializer if tensor.name == "w")
    assert kept.raw_data == big.raw_data


def test_in_a_function_constants_are_nodes() -> None:
    proto = parsed("""main (float[2,3] x) => (float[2,3] y) { y = local.f(x) }
        <domain: "local", opset_import: ["" : 18]> f (p) => (r) {
            c = Constant <value = bool {1}> ()
            r = If (c) <then_branch = yes () => (float[2,3] t) <float[1,3] w = {1.0, 2.0, 3.0}> { t = Add(p, w) },
                        else_branch = no () => (float[2,3] t) { t = Neg(p) }> }""")
    result = inlined(proto)
    assert result.everything[1:] == [
        "function local.f: w[1,3] = Constant()",
        "function local.f: r[2,3] = Add(p[2,3], w[1,3])",
    ]


def test_stored_shapes_and_quantization_notes_move_along() -> None:
    nodes = [helper.make_node("Relu", ["x"], ["u"], name="n"), helper.make_node("Neg", ["u"], ["t"])]
    then = branch(nodes, ["t"])
    then.value_info.append(helper.make_tensor_value_info("u", onnx.TensorProto.FLOAT, [2, 3]))
    then.quantization_annotation.add(tensor_name="u")
    twice = [if_node(then, NEG, "a"), if_node(then, NEG, "b"), helper.make_node("Add", ["a", "b"], ["y"])]
    result = inlined(whole(*twice))
    assert [info.name for info in result.after.graph.value_info] == ["u_1", "u"]
    assert [note.tensor_name for note in result.after.graph.quantization_annotation] == ["u_1", "u"]
    names = [node.name for node in result.after.graph.node]
    assert names == ["n", "", "n_1", "", ""]


def test_a_branch_of_another_number_of_results_is_refused() -> None:
    proto = whole(if_node(ADD, NEG, "y"))
    proto.graph.node[1].output.append("")
    opened = engine.load(proto)
    with pytest.raises(Refused, match="returns 1 results, the node 2"):
        opened.apply(opened.graphs[0].nodes[1], [Inline("then_branch")])
    assert not opened.changed
    with pytest.raises(Refused, match="has no body"):
        opened.apply(opened.graphs[0].nodes[1], [Inline("other")])


def test_an_if_on_an_input_stays() -> None:
    proto = parsed("""main (bool c, float[2,3] x) => (float[2,3] y) {
        y = If (c) <then_branch = yes () => (float[2,3] t) { t = Relu(x) },
                    else_branch = no () => (float[2,3] e) { e = Neg(x) }> }""")
    assert fixed(proto, rewrites=RULES).after == proto
