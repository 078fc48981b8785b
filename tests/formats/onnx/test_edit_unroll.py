"""The trips of a Loop or a Scan as one body: what each result is made of, and which loops stay."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from onnx import GraphProto, NodeProto, helper, numpy_helper

from graphfix.formats.neutral.editing import FreshNames
from graphfix.formats.onnx.edit.inline import rename_values
from graphfix.formats.onnx.edit.unroll import check_loop, each_number, scanned, unrolled
from graphfix.graph.edits import Refused
from tests.support.notation import parsed

TYPES = "bool go, int64 n, float[2] x, float[2] w, float[3,2] rows, float[3,2] more"


def loop(text: str, returned: str = "h, all") -> NodeProto:
    """The last node of a graph of this text."""
    outputs = ", ".join(f"float[] {name}" for name in returned.split(", "))
    return parsed(f"main ({TYPES}) => ({outputs}) {{ {text} }}").graph.node[-1]


LOOP = """h, all = Loop (n, go, x) <body = turn (int64 i, bool c, float[2] s) => (bool on, float[2] t, float[2] u) {
    on = Identity(c) two = Constant <value = float {2.0}> () k = Cast <to: int = 1> (i)
    t = Add(s, k) u = Mul(t, two) }>"""
SWAP = """a, b = Loop (n, go, x, w) <body = turn (int64 i, bool c, float[2] p, float[2] q)
    => (bool on, float[2] r, float[2] p) { on = Identity(c) r = Neg(q) }>"""
AGAIN = """h, all = Loop (n, go, x) <body = turn (int64[1] i, bool[1] c, float[2] s) => (bool on, float[2] t, bool d) {
    on = Not(c) t = Neg(s) d = Identity(c) }>"""
SCAN = """h, all = Scan <num_scan_inputs: int = 1, body = turn (float[2] s, float[2] r) => (float[2] t, float[2] u)
    { t = Add(s, r) u = Neg(t) }> (x, rows)"""
BACK = """h, all = Scan <num_scan_inputs: int = 2, scan_input_directions: ints = [1, 0], scan_input_axes: ints = [0, 1],
    scan_output_directions: ints = [1], scan_output_axes: ints = [1],
    body = turn (float[2] s, float[2] r, float[2] m) => (float[2] t, float[2] u)
    { t = Sub(r, m) u = Neg(t) }> (x, rows, more)"""


def expressions(whole: GraphProto) -> list[str]:
    """What each result is, down to what stands outside."""
    known = {each.name: str(numpy_helper.to_array(each).tolist()) for each in whole.initializer}
    for node in whole.node:
        said = [
            f"{held.name}={helper.get_attribute_value(held)}" for held in node.attribute if node.op_type != "Constant"
        ]
        if node.op_type == "Constant":
            known[node.output[0]] = str(numpy_helper.to_array(node.attribute[0].t).tolist())
            continue
        given = [known.get(name, name) for name in node.input]
        known[node.output[0]] = f"{node.op_type}({', '.join([*given, *said])})"
    return [known.get(value.name, value.name) for value in whole.output]


def made(text: str, trips: int, wanted: Sequence[str], version: int = 18, returned: str = "h, all") -> GraphProto:
    node = loop(text, returned)
    return unrolled(node, trips, version, wanted, FreshNames({*NAMES}), rename_values)


NAMES = "h all a b x w rows more go n i c s on t u k two p q r d m".split()
K = ["Cast(0, to=1)", "Cast(1, to=1)"]
FIRST = f"Add(x, {K[0]})"
SECOND = f"Add({FIRST}, {K[1]})"
ROWS = [f"Gather(rows, {at}, axis=0)" for at in range(3)]


def stack(parts: Sequence[str], axis: int = 0) -> str:
    return f"Concat({', '.join(f'Unsqueeze({part}, [{axis}])' for part in parts)}, axis={axis})"


MADE: dict[str, tuple[GraphProto, list[str]]] = {
    "one trip": (made(LOOP, 1, ["h", "all"]), [FIRST, stack([f"Mul({FIRST}, 2.0)"])]),
    "two trips": (
        made(LOOP, 2, ["h", "all"]),
        [SECOND, stack([f"Mul({FIRST}, 2.0)", f"Mul({SECOND}, 2.0)"])],
    ),
    "the last state alone": (made(LOOP, 2, ["h"]), [SECOND]),
    "the stack alone": (made(LOOP, 1, ["all"]), [stack([f"Mul({FIRST}, 2.0)"])]),
    "no trip": (made(LOOP, 0, ["h"]), ["x"]),
    "states that change places": (made(SWAP, 2, ["a", "b"], returned="a, b"), ["Neg(x)", "Neg(w)"]),
    "a condition that is read, of rank 1": (
        made(AGAIN, 2, ["h", "all"]),
        ["Neg(Neg(x))", stack(["Identity([True])", "Identity(Not([True]))"])],
    ),
    "a scan": (
        made(SCAN, 2, ["h", "all"]),
        [
            f"Add(Add(x, {ROWS[0]}), {ROWS[1]})",
            stack([f"Neg(Add(x, {ROWS[0]}))", f"Neg(Add(Add(x, {ROWS[0]}), {ROWS[1]}))"]),
        ],
    ),
    "a scan backwards, and along other axes": (
        made(BACK, 2, ["h", "all"]),
        [
            f"Sub({ROWS[0]}, Gather(more, 1, axis=1))",
            stack(
                [
                    f"Neg(Sub({ROWS[0]}, Gather(more, 1, axis=1)))",
                    f"Neg(Sub({ROWS[1]}, Gather(more, 0, axis=1)))",
                ],
                1,
            ),
        ],
    ),
}


@pytest.mark.parametrize(("whole", "found"), MADE.values(), ids=MADE)
def test_a_result_is_what_the_trips_make_of_it(whole: GraphProto, found: list[str]) -> None:
    assert expressions(whole) == found
    names = [name for node in whole.node for name in node.output]
    assert len(set(names)) == len(names)
    read = {name for node in whole.node for name in node.input} | {value.name for value in whole.output}
    assert {name for node in whole.node for name in node.output} <= read
    assert {tensor.name for tensor in whole.initializer} <= read


@pytest.mark.parametrize(("version", "attribute"), [(11, True), (12, True), (13, False), (18, False)])
def test_axes_are_an_attribute_before_opset_13(version: int, attribute: bool) -> None:
    rows = [node for node in made(BACK, 2, ["all"], version).node if node.op_type == "Unsqueeze"]
    assert [[list(held.ints) for held in row.attribute] for row in rows] == [[[1]] if attribute else []] * 2
    assert [len(row.input) for row in rows] == [1 if attribute else 2] * 2


def changed(old: str, new: str, text: str = LOOP) -> NodeProto:
    assert old in text
    return loop(text.replace(old, new))


def without_body() -> NodeProto:
    node = loop(LOOP)
    del node.attribute[:]
    return node


def absent() -> NodeProto:
    node = loop(LOOP)
    node.input[2] = ""
    return node


def noted() -> NodeProto:
    node = loop(LOOP)
    node.attribute[0].g.quantization_annotation.add(tensor_name="t")
    return node


def sparse() -> NodeProto:
    node = loop(LOOP)
    node.attribute[0].g.sparse_initializer.add()
    return node


RANDOM = "its body has a {}, which may return something else each time it runs"
CHECKED: dict[str, tuple[NodeProto, int, str]] = {
    "a loop": (loop(LOOP), 2, ""),
    "a scan": (loop(SCAN), 2, ""),
    "a loop without a body": (without_body(), 2, "it has no body"),
    "an operand too few": (changed("(n, go, x)", "(n, go)"), 2, "its body takes 3 values, the node 2"),
    "an operand too many": (changed("(n, go, x)", "(n, go, x, w)"), 2, "its body takes 3 values, the node 4"),
    "an operand that is not there": (absent(), 2, "its body takes 3 values, the node 3"),
    "no count and no condition": (changed("(n, go, x)", "(, , x)"), 2, ""),
    "a result too few": (loop(LOOP.replace("h, all", "h"), "h"), 2, "its body returns 3 results, the node 1"),
    "a stack of nothing": (loop(LOOP), 0, "it stacks nothing: it does not run"),
    "no trip, and nothing is stacked": (loop(SWAP, "a, b"), 0, ""),
    "notes of quantization": (noted(), 2, "its body holds sparse constants, or notes of quantization"),
    "a sparse constant": (sparse(), 2, "its body holds sparse constants, or notes of quantization"),
    "random numbers": (
        changed("k = Cast <to: int = 1> (i)", "k = RandomNormalLike(s)"),
        2,
        RANDOM.format("RandomNormalLike"),
    ),
    "random numbers in a branch": (
        changed(
            "k = Cast <to: int = 1> (i)",
            "k = If (c) <then_branch = y () => (float[2] a) { a = Dropout(s) },"
            " else_branch = z () => (float[2] b) { b = Neg(s) }>",
        ),
        2,
        RANDOM.format("Dropout"),
    ),
    "an operator that may have a state": (
        changed("k = Cast <to: int = 1> (i)", "k = my.Thing(s)"),
        2,
        RANDOM.format("Thing"),
    ),
    "an operator that has none": (changed("k = Cast <to: int = 1> (i)", "k = ai.onnx.ml.Scaler(s)"), 2, ""),
}


@pytest.mark.parametrize(("node", "trips", "why"), CHECKED.values(), ids=CHECKED)
def test_a_loop_stays_where_a_trip_can_not_take_its_place(node: NodeProto, trips: int, why: str) -> None:
    if why:
        with pytest.raises(Refused) as caught:
            check_loop(node, trips)
        assert str(caught.value) == why
    else:
        check_loop(node, trips)


def test_numbers_of_a_scan_are_those_of_the_attribute_of_that_name() -> None:
    node = helper.make_node("Scan", ["x"], ["y"], other=5, num_scan_inputs=2, axes=[4, 7], scan_input_axes=[1, 3])
    assert (scanned(node), scanned(helper.make_node("Scan", ["x"], ["y"], other=5))) == (2, 0)
    assert [each_number(node, name, 2) for name in ("axes", "scan_input_axes", "none")] == [[4, 7], [1, 3], [0, 0]]
    assert [each_number(node, "axes", count) for count in (1, 3)] == [[0], [0, 0, 0]]
