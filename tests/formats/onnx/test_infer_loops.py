"""What a Loop or a Scan stacks and carries, by whether it surely runs, by axes, and by what its body declares."""

from __future__ import annotations

from collections.abc import Sequence

import onnx
import pytest

from graphfix.formats.onnx.infer import bodies
from graphfix.formats.onnx.infer.analysis import analyse
from graphfix.shapes.dim import Dim, Size, symbol
from tests.support import engine
from tests.support.notation import parsed
from tests.support.onnx.fixing import printed

Dims = Sequence[int | str | None] | None


def undeclared(proto: onnx.ModelProto, declared: Dims = None) -> onnx.ModelProto:
    """Take the shapes of all results out of the file; `declared` is that of the last result of the body."""
    body = proto.graph.node[-1].attribute[-1].g
    for value in (*proto.graph.output, *body.output):
        value.type.tensor_type.ClearField("shape")
    if declared is not None:
        last = onnx.helper.make_tensor_value_info("", onnx.TensorProto.FLOAT, declared)
        body.output[-1].type.CopyFrom(last.type)
    return proto


def stacking(count: str, condition: str, declared: Dims = None) -> onnx.ModelProto:
    """A loop that stacks u[2,3] of each turn."""
    text = f"""main (float[2,3] x, int64 f, bool b) => (float[] y, float[] s)
        <int64 n = {{5}}, int64 one = {{1}}, int64 none = {{0}}, bool yes = {{1}}, bool no = {{0}}> {{
        y, s = Loop ({count}, {condition}, x) <
            body = turn (int64 i, bool go, float[2,3] v) => (bool on, float[] w, float[] u) {{
                on = Identity(go) w = Neg(v) u = Abs(v) }}> }}"""
    return undeclared(parsed(text), declared)


STACKED: dict[str, tuple[str, str, Dims, str]] = {
    "a count and a condition that holds": ("n", "yes", None, "s[?,2,3]"),
    "a count alone": ("n", "", None, "s[?,2,3]"),
    "one turn": ("one", "", None, "s[?,2,3]"),
    "no turn": ("none", "", None, "s[?,?,?]"),
    "a count that is an input": ("f", "", None, "s[?,?,?]"),
    "no count": ("", "yes", None, "s[?,?,?]"),
    "a condition that does not hold": ("n", "no", None, "s[?,?,?]"),
    "a condition that is an input": ("n", "b", None, "s[?,?,?]"),
    "a stack that may be empty, of declared sizes": ("f", "", (2, 3), "s[?,2,3]"),
    "a stack that may be empty, of another declared size": ("f", "", (2, 7), "s[?,2,?]"),
    "a stack that may be empty, of a declared name": ("f", "", (2, "K"), "s[?,2,?]"),
    "a stack that may be empty, of another declared rank": ("f", "", (2,), "s[*]"),
    "a stack of a declared rank that is wrong": ("n", "", (2,), "s[?,2,3]"),
}


@pytest.mark.parametrize(("count", "condition", "declared", "stack"), STACKED.values(), ids=STACKED)
def test_a_stack_has_the_sizes_of_a_turn_where_there_surely_is_one(
    count: str, condition: str, declared: Dims, stack: str
) -> None:
    """Onnxruntime takes the declared sizes of a stack of nothing."""
    line = printed(engine.load(stacking(count, condition, declared)))[-1]
    assert line.partition(" = ")[0] == f"y[2,3], {stack}"


@pytest.mark.parametrize(("low", "stack"), [(0, "s[?,?]"), (1, "s[?,3]")])
def test_a_count_that_is_a_size_is_at_least_1_where_its_range_says_so(low: int, stack: str) -> None:
    text = """main (float[N] x, float[3] z) => (float[] y, float[] s) <int64 at = {0}, bool yes = {1}> {
        sizes = Shape(x) n = Gather(sizes, at)
        y, s = Loop (n, yes, z) <body = turn (int64 i, bool go, float[3] v) => (bool on, float[] w, float[] u) {
            on = Identity(go) w = Neg(v) u = Abs(v) }> }"""
    opened = engine.load(undeclared(parsed(text)))
    opened.bind({"N": symbol("N", low, 64)}, {})
    assert printed(opened)[-1].partition(" = ")[0] == f"y[3], {stack}"


def scanning(attributes: str, rows: str, body: str = "w = Add(v, p) q = Neg(w)", opset: int = 18) -> onnx.ModelProto:
    """A scan of r beside a state x, that stacks q."""
    text = f"""main (float[2] x, {rows}) => (float[] y, float[] z) {{
        y, z = Scan <{attributes} body = turn (float[2] v, float[2] p) => (float[] w, float[] q) {{
            {body} }}> (x, r) }}"""
    return undeclared(parsed(text, opset=opset))


SCANNED: dict[str, tuple[str, str, str, str]] = {
    "the first axis": ("", "float[7,2] r", "w = Add(v, p) q = Neg(w)", "y[2], z[7,2]"),
    "a free axis": ("", "float[N,2] r", "w = Add(v, p) q = Neg(w)", "y[2], z[N,2]"),
    "the second axis": ("scan_input_axes = [1],", "float[2,6] r", "w = Add(v, p) q = Neg(w)", "y[2], z[6,2]"),
    "an axis from the end": ("scan_input_axes = [-1],", "float[2,6] r", "w = Add(v, p) q = Neg(w)", "y[2], z[6,2]"),
    "an axis that is not there": ("scan_input_axes = [2],", "float[2,6] r", "w = Neg(v) q = Neg(w)", "y[2], z[?,2]"),
    "an axis before the first": ("scan_input_axes = [-3],", "float[2,6] r", "w = Neg(v) q = Neg(w)", "y[2], z[?,2]"),
    "parts of a higher rank": ("", "float[7,4,2] r", "w = Neg(v) q = Neg(p)", "y[2], z[7,4,2]"),
    "a stack along the second axis": (
        "scan_output_axes = [1],",
        "float[7,2] r",
        "w = Neg(v) q = Neg(w)",
        "y[2], z[2,7]",
    ),
    "a stack along the last axis": (
        "scan_output_axes = [-1],",
        "float[7,2] r",
        "w = Neg(v) q = Neg(w)",
        "y[2], z[2,7]",
    ),
    "a stack along the first, from the end": (
        "scan_output_axes = [-2],",
        "float[7,2] r",
        "w = Neg(v) q = Neg(w)",
        "y[2], z[7,2]",
    ),
    "a stack behind the last axis": ("scan_output_axes = [2],", "float[7,2] r", "w = Neg(v) q = Neg(w)", "y[2], z[*]"),
    "a stack before the first axis": (
        "scan_output_axes = [-3],",
        "float[7,2] r",
        "w = Neg(v) q = Neg(w)",
        "y[2], z[*]",
    ),
    "a state that grows": ("", "float[7,2] r", "w = Concat <axis = 0> (v, p) q = Neg(p)", "y[?], z[7,2]"),
    "a state of another rank": ("", "float[7,3,2] r", "w = Add(v, p) q = Neg(p)", "y[*], z[7,3,2]"),
}


@pytest.mark.parametrize(("attributes", "rows", "body", "results"), SCANNED.values(), ids=SCANNED)
def test_a_scan_stacks_along_its_axes(attributes: str, rows: str, body: str, results: str) -> None:
    line = printed(engine.load(scanning(f"num_scan_inputs = 1, {attributes}", rows, body)))[-1]
    assert line.partition(" = ")[0] == results


def test_a_scan_of_old_has_a_batch_axis_and_is_not_followed() -> None:
    text = """main (float[1,7,2] r) => (float[] z) {
        z = Scan <num_scan_inputs = 1, body = turn (float[2] p) => (float[] q) { q = Neg(p) }> (, r) }"""
    assert printed(engine.load(undeclared(parsed(text, opset=8))))[-1].startswith("z[*] = ")


def test_a_scan_of_opset_9_has_none_and_is_followed() -> None:
    text = """main (float[7,2] r) => (float[] z) {
        z = Scan <num_scan_inputs = 1, body = turn (float[2] p) => (float[] q) { q = Neg(p) }> (r) }"""
    assert printed(engine.load(undeclared(parsed(text, opset=9))))[-1].startswith("z[7,2] = ")


def boolean(*elements: bool, code: int = onnx.TensorProto.BOOL, place: int = 0) -> onnx.TensorProto:
    return onnx.TensorProto(data_type=code, dims=[len(elements)], int32_data=map(int, elements), data_location=place)


TRUTHS = {
    "true": (boolean(True), True),
    "false": (boolean(False), False),
    "two of them": (boolean(True, True), False),
    "a number": (boolean(True, code=onnx.TensorProto.INT32), False),
    "in another file": (boolean(True, place=onnx.TensorProto.EXTERNAL), False),
    "no constant": (None, False),
}


@pytest.mark.parametrize(("tensor", "holds"), TRUTHS.values(), ids=TRUTHS)
def test_a_condition_holds_where_it_is_one_constant_of_the_model_that_is_true(
    tensor: onnx.TensorProto | None, *, holds: bool
) -> None:
    assert bodies._is_true(tensor) is holds


@pytest.mark.parametrize(
    ("size", "positive"),
    [(0, False), (1, True), (symbol("N", 0), False), (symbol("N", 1), True), (Dim(("?x.0",), 1), False)],
)
def test_a_size_is_at_least_1_where_a_number_or_the_range_of_an_input_says_so(size: Size, *, positive: bool) -> None:
    assert bodies._is_positive(size) is positive


@pytest.mark.parametrize(
    ("inputs", "found"),
    [("", ("", "", [])), ("i", ("i", "", [])), ("ic", ("i", "c", [])), ("icvw", ("i", "c", ["v", "w"]))],
)
def test_inputs_that_a_body_does_not_have_have_no_name(inputs: str, found: tuple[str, str, list[str]]) -> None:
    graph = onnx.GraphProto()
    for name in inputs:
        graph.input.add(name=name)
    assert bodies._named(graph) == found


def test_a_body_reads_a_shape_that_the_graph_around_it_computes() -> None:
    text = """main (bool c, float[4,6] x, float[8,3] z) => (float[] y) {
        s = Shape(z)
        y = If (c) <then_branch = yes () => (float[] t) { t = Reshape(x, s) },
                    else_branch = no () => (float[] e) { e = Neg(z) }> }"""
    proto = parsed(text)
    for value in (proto.graph.output[0], *(held.g.output[0] for held in proto.graph.node[1].attribute)):
        value.type.tensor_type.ClearField("shape")
    assert printed(engine.load(proto))[-1].startswith("y[8,3] = ")


JOINED = {
    "the same": ("t = Neg(x)", "e = Abs(x)", "y[4,6]"),
    "another size": ("t = Neg(x)", "e = Concat <axis = 0> (x, x)", "y[?,6]"),
    "another rank": ("t = Neg(x)", "e = ReduceSum <keepdims = 0> (x)", "y[*]"),
    "an unknown rank": ("t = Neg(x)", "e = Reshape(x, k)", "y[*]"),
}


@pytest.mark.parametrize(("one", "other", "result"), JOINED.values(), ids=JOINED)
def test_an_if_returns_what_both_branches_agree_on(one: str, other: str, result: str) -> None:
    text = f"""main (bool c, float[4,6] x, int64[K] k) => (float[] y) {{
        y = If (c) <then_branch = yes () => (float[] t) {{ {one} }},
                    else_branch = no () => (float[] e) {{ {other} }}> }}"""
    proto = parsed(text)
    for value in (proto.graph.output[0], *(held.g.output[0] for held in proto.graph.node[0].attribute)):
        value.type.tensor_type.ClearField("shape")
    assert printed(engine.load(proto))[-1].partition(" = ")[0] == result


def test_an_input_of_a_body_of_which_nothing_is_known_has_no_type() -> None:
    proto = parsed("""main (float[1,7,2] r) => (float[] z) {
        z = Scan <num_scan_inputs = 1, body = turn (float[2] p, float16[2] s) => (float[] q) { q = Neg(p) }> (, r) }""")
    proto.opset_import[0].version = 8
    body = proto.graph.node[0].attribute[1].g
    body.input[0].type.Clear()
    body.output[0].type.Clear()
    scope = next(iter(analyse(proto, {}).main.children.values()))
    assert [scope.dtype(name) for name in ("p", "q", "s")] == [0, 0, onnx.TensorProto.FLOAT16]


def test_a_loop_of_a_count_alone_is_one_without_a_condition() -> None:
    """A model that has a function called Loop may hold such a node; its number of operands is not checked."""
    proto = stacking("n", "")
    del proto.graph.node[0].input[1:]
    proto.functions.add(name="Loop", input="a", output="r").opset_import.add(version=18)
    proto.functions[0].node.add(op_type="Neg", input="a", output="r")
    node, *_ = engine.load(proto).graphs[0].nodes
    assert [str(result) for result in node.results] == ["y[*]", "s[*]"]


CONDITIONS: dict[str, tuple[str, str, str]] = {
    "of the same rank": ("yes", "bool", "[]"),
    "of another rank inside": ("yes", "bool[1]", "[*]"),
    "of another rank outside": ("b", "bool", "[*]"),
    "that is left out": ("", "bool", "[*]"),
}


@pytest.mark.parametrize(("condition", "inside", "shape"), CONDITIONS.values(), ids=CONDITIONS)
def test_a_condition_is_a_scalar_inside_where_it_is_one_on_both_sides(condition: str, inside: str, shape: str) -> None:
    text = f"""main (float[2] x, bool[1] b) => (float[2] y) <int64 n = {{5}}, bool yes = {{1}}> {{
        y = Loop (n, {condition}, x) <
            body = turn (int64 i, {inside} go, float[2] v) => (bool on, float[2] w) {{
                on = Identity(go) w = Neg(v) }}> }}"""
    (scope,) = analyse(parsed(text), {}).main.children.values()
    assert str(scope.shape("go")) == shape


def test_what_is_forgotten_of_a_scope_is_all_that_was_known_of_its_values() -> None:
    proto = parsed("""main (float[2] x, int64[K] k) => (float[] y) <int64[1] c = {3}> {
        a = my.Thing(x) b = Reshape(x, k) y = Neg(a) }""")
    proto.opset_import.add(domain="my", version=1)
    for name in "ab":
        proto.graph.value_info.append(onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, ["N", 3]))
    main = analyse(proto, {}).main
    assert (main.assumed, main.leaning, main.vector("c"), main.dtype("c")) == ({"b"}, {"a", "b", "y"}, (3,), 7)
    main.clear()
    assert (main.assumed, main.leaning, main.vector("c"), main.dtype("c")) == (set(), set(), None, 0)
    assert (main.types, main.tensors, main.leans("a"), main.tensor("c")) == ({}, {}, False, None)


def test_where_nothing_stored_is_believed_no_result_of_a_body_leans() -> None:
    assert engine.load(stacking("n", "yes")).leaning == []
