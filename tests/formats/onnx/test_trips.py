"""How often a Loop or Scan runs where constants decide it, and which loops can't be written out."""

from __future__ import annotations

import onnx
import pytest
from onnx import AttributeProto, NodeProto, SparseTensorProto, helper

from graphfix.formats.onnx.edit.unroll import check_loop
from graphfix.graph.edits import Refused
from tests.support import engine
from tests.support.notation import parsed

KEEP = "on = Identity(go)"


def loop(count: str, condition: str, body: str, *, carried: str = "x", constants: str = "") -> str:
    """A loop that carries v and computes the next one, w."""
    return f"""main (float[2] x, int64 f, bool b) => (float[2] y) <{constants}
        int64 n = {{5}}, int64 one = {{1}}, int64 none = {{0}}, int64 less = {{-3}}, int64[1] n1 = {{5}},
        int64[2] n2 = {{5, 5}}, bool yes = {{1}}, bool no = {{0}}> {{
        y = Loop ({count}, {condition}, {carried}) <
            body = turn (int64 i, bool go, float[2] v) => (bool on, float[2] w) {{
            {body} w = Neg(v) }}> }}"""


STOPS = "three = Constant <value = int64 {3}> () on = Less(i, three)"
TRIPS: dict[str, tuple[str, int | None]] = {
    "a count": (loop("n", "yes", KEEP), 5),
    "a count without a condition": (loop("n", "", "on = Identity(yes)"), 5),
    "a count of one element": (loop("n1", "yes", KEEP), 5),
    "a count of two elements": (loop("n2", "yes", KEEP), None),
    "a count that is an input": (loop("f", "yes", KEEP), None),
    "a condition that is an input": (loop("n", "b", KEEP), None),
    "a condition that is false at once": (loop("n", "no", KEEP), 0),
    "a condition that is false at once, without a count": (loop("", "no", KEEP), 0),
    "no trips": (loop("none", "yes", KEEP), 0),
    "fewer than none": (loop("less", "yes", KEEP), 0),
    "one": (loop("one", "yes", KEEP), 1),
    "no count and a condition that stays": (loop("", "yes", KEEP), None),
    "a condition that ends it": (loop("n", "yes", STOPS), 4),
    "a condition that ends it, without a count": (loop("", "yes", STOPS), 4),
    "a condition that would end it later": (loop("one", "yes", STOPS), 1),
    "a condition that is false after the first trip": (loop("n", "yes", "on = Identity(no)"), 1),
    "a condition that is false, and none is stated": (loop("n", "", "on = Identity(no)"), None),
    "a condition of an input": (loop("n", "yes", "on = Identity(b)"), None),
    "a condition of what is carried": (
        loop("n", "yes", "s = ReduceSum <keepdims = 0> (v) z = Sub(s, s) on = Less(z, s)"),
        None,
    ),
    "256 trips by a condition of the number": (
        loop("most", "yes", STOPS.replace("3}", "300}"), constants="int64 most = {256},"),
        256,
    ),
    "257 trips by a condition of the number": (
        loop("most", "yes", STOPS.replace("3}", "300}"), constants="int64 most = {257},"),
        None,
    ),
    "many trips by a condition that stays": (loop("most", "yes", KEEP, constants="int64 most = {16384},"), 16384),
    "more trips than are counted": (loop("most", "yes", KEEP, constants="int64 most = {99999},"), 99999),
}


@pytest.mark.parametrize(("text", "number"), TRIPS.values(), ids=TRIPS)
def test_trips_of_a_loop(text: str, number: int | None) -> None:
    found = engine.load(parsed(text)).graphs[0].nodes[0].trips
    assert (None if found is None else found.number) == number


COUNTED = """main (float[2] x) => (float[2] y) <int64 n = {9}, int64 k0 = {1}, bool yes = {1}> {
    y, k = Loop (n, yes, x, k0) <body = turn (int64 i, bool go, float[2] v, int64 k) => (bool on, float[2] w, int64 m) {
        w = Neg(v) m = Add(k, k) limit = Constant <value = int64 {10}> () on = Less(m, limit) }> }"""


def test_a_condition_of_a_carried_number_is_followed() -> None:
    """1, 2, 4, 8, and 16 is no longer below 10."""
    found = engine.load(parsed(COUNTED)).graphs[0].nodes[0].trips
    assert found is not None
    assert (found.number, found.nodes) == (4, 3)


def scan(attributes: str, rows: str = "float[7,2] r", opset: int = 18) -> onnx.ModelProto:
    text = f"""main (float[2] x, {rows}) => (float[2] y, float[7,2] z) {{
        y, z = Scan <{attributes} body = turn (float[2] v, float[2] p) => (float[2] w, float[2] q) {{
            w = Add(v, p) q = Neg(w) }}> (x, r) }}"""
    return parsed(text, opset=opset)


SCANS: dict[str, tuple[onnx.ModelProto, int | None]] = {
    "the first axis": (scan("num_scan_inputs = 1,"), 7),
    "another axis": (scan("num_scan_inputs = 1, scan_input_axes = [1],", "float[2,6] r"), 6),
    "an axis from the end": (scan("num_scan_inputs = 1, scan_input_axes = [-1],", "float[2,6] r"), 6),
    "an axis that is not there": (scan("num_scan_inputs = 1, scan_input_axes = [2],"), None),
    "a free axis": (scan("num_scan_inputs = 1,", "float[N,2] r"), None),
    "an axis of 0": (scan("num_scan_inputs = 1,", "float[0,2] r"), None),
    "no number of scanned operands": (scan("num_scan_inputs = 0,"), None),
    "more scanned operands than there are": (scan("num_scan_inputs = 3,"), None),
}


@pytest.mark.parametrize(("proto", "number"), SCANS.values(), ids=SCANS)
def test_trips_of_a_scan_are_the_size_of_the_scanned_axis(proto: onnx.ModelProto, number: int | None) -> None:
    found = engine.load(proto).graphs[0].nodes[0].trips
    assert (None if found is None else (found.number, found.nodes)) == (None if number is None else (number, 3))


NESTED = """main (float[2] x) => (float[2] y) <int64 n = {{3}}, int64 k = {{1}}, int64 z = {{0}}, bool yes = {{1}}> {{
    y = Loop (n, yes, x) <body = turn (int64 i, bool go, float[2] v) => (bool on, float[2] w) {{
        on = Identity(go) a = Neg(v)
        w = Loop ({count}, yes, a) <body = inner (int64 j, bool more, float[2] s) => (bool still, float[2] t) {{
            still = Identity(more) t = Abs(s) }}> }}> }}"""


@pytest.mark.parametrize(("count", "nodes"), [("n", 3 + 3 * 2), ("k", 3 + 2), ("z", 3 + 2), ("i", 3 + 1024 * 2)])
def test_a_trip_has_the_nodes_of_the_loops_inside_it_as_often_as_they_run(count: str, nodes: int) -> None:
    """Of an unknown number 1024 trips are assumed."""
    found = engine.load(parsed(NESTED.format(count=count))).graphs[0].nodes[0].trips
    assert found is not None
    assert (found.number, found.nodes) == (3, nodes)


# --- loops that can't be written out ----------------------------------------------------------------------------------


def turn(
    *,
    takes: str = "iga",
    returns: str = "oab",
    op: str = "Neg",
    domain: str = "",
    sparse: bool = False,
    notes: bool = False,
) -> onnx.GraphProto:
    inputs = [helper.make_empty_tensor_value_info(name) for name in takes]
    outputs = [helper.make_empty_tensor_value_info(name) for name in returns]
    made = helper.make_graph([helper.make_node(op, ["a"], ["b"], domain=domain)], "turn", inputs, outputs)
    if sparse:
        made.sparse_initializer.append(SparseTensorProto())
    if notes:
        made.quantization_annotation.add(tensor_name="a")
    return made


def looping(
    body: onnx.GraphProto | None, inputs: str = "ncx", results: str = "yz", op: str = "Loop", scanned: int = 0
) -> NodeProto:
    node = helper.make_node(op, [*inputs], [*results])
    if body is not None:
        node.attribute.append(helper.make_attribute("body", body))
    if scanned:
        node.attribute.append(helper.make_attribute("num_scan_inputs", scanned))
    return node


def mistaken() -> NodeProto:
    node = looping(None)
    node.attribute.append(AttributeProto(name="body", type=AttributeProto.INT, i=1))
    return node


REPEATED = "its body has a {}, which may return something else each time it runs"
REFUSED: dict[str, tuple[NodeProto, int, str]] = {
    "no body": (looping(None), 2, "it has no body"),
    "a body that is no graph": (mistaken(), 2, "it has no body"),
    "a value too few": (looping(turn(takes="ig")), 2, "its body takes 2 values, the node 3"),
    "an operand that is left out": (
        helper.make_node("Loop", ["n", "c", ""], ["y", "z"], body=turn()),
        2,
        "its body takes 3 values, the node 3",
    ),
    "too few operands": (looping(turn(takes="i"), inputs="n"), 2, "its body takes 1 values, the node 1"),
    "a result too few": (looping(turn(returns="oa")), 2, "its body returns 2 results, the node 2"),
    "fewer results than are carried": (
        looping(turn(takes="igab", returns="oa"), inputs="ncxw", results="y"),
        2,
        "its body returns 2 results, the node 1",
    ),
    "a stack of no trips": (looping(turn()), 0, "it stacks nothing: it does not run"),
    "sparse constants": (looping(turn(sparse=True)), 2, "its body holds sparse constants, or notes of quantization"),
    "notes": (looping(turn(notes=True)), 2, "its body holds sparse constants, or notes of quantization"),
    "an operator of another domain": (looping(turn(op="Thing", domain="own")), 2, REPEATED.format("Thing")),
    **{
        op: (looping(turn(op=op)), 2, REPEATED.format(op))
        for op in "RandomNormal RandomUniform RandomNormalLike RandomUniformLike Multinomial Bernoulli Dropout".split()
    },
    "a random operator in a branch": (
        looping(
            helper.make_graph(
                [helper.make_node("If", ["g"], ["b"], then_branch=turn(op="Bernoulli"), else_branch=turn())],
                "turn",
                [helper.make_empty_tensor_value_info(name) for name in "iga"],
                [helper.make_empty_tensor_value_info(name) for name in "oab"],
            )
        ),
        2,
        REPEATED.format("Bernoulli"),
    ),
    "a Scan whose body returns a condition": (
        looping(turn(takes="ap", returns="oab"), inputs="xr", op="Scan", scanned=1),
        2,
        "its body returns 3 results, the node 2",
    ),
}


@pytest.mark.parametrize(("node", "trips", "why"), REFUSED.values(), ids=REFUSED)
def test_a_loop_that_can_not_be_written_out_is_refused(node: NodeProto, trips: int, why: str) -> None:
    with pytest.raises(Refused) as caught:
        check_loop(node, trips)
    assert str(caught.value) == why


ALLOWED: dict[str, tuple[NodeProto, int]] = {
    "a state and a stack": (looping(turn()), 2),
    "no trips of a state": (looping(turn(returns="oa"), results="y"), 0),
    "a Scan": (looping(turn(takes="ap", returns="ab"), inputs="xr", op="Scan", scanned=1), 2),
    "the standard domain by its other name": (looping(turn(domain="ai.onnx")), 2),
    "an operator of trees": (looping(turn(op="Binarizer", domain="ai.onnx.ml")), 2),
    "no count": (helper.make_node("Loop", ["", "c", "x"], ["y", "z"], body=turn()), 2),
}


@pytest.mark.parametrize(("node", "trips"), ALLOWED.values(), ids=ALLOWED)
def test_a_loop_that_can_be_written_out_is_not_refused(node: NodeProto, trips: int) -> None:
    check_loop(node, trips)
