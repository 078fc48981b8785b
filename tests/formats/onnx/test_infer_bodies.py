"""What is known inside of bodies: by induction over the turns of a Loop, and of both branches of an If."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from onnx import TensorProto, helper

from graphfix.formats.onnx import OnnxModel
from graphfix.formats.onnx.infer import bodies
from graphfix.shapes.dim import UNKNOWN, Dim, Shape, Size, symbol
from tests.support import engine
from tests.support.notation import parsed
from tests.support.onnx.fixing import lines, printed


def loop(step: str, *, carried: str = "float[2,3] v") -> str:
    return f"""main (int64 n, float[2,3] x, float[3] b, float[2,1] c, float[1,2,3] d) => (float[*] y)
        <bool go = {{1}}> {{
        [loop] y = Loop (n, go, x) <body = turn (int64 i, bool k, {carried}) => (bool again, float[*] w) {{
            again = Identity(k) {step} }}> }}"""


def body(step: str, **more: str) -> list[str]:
    text = loop(step, **more).replace("float[*] y", "float[] y").replace("float[*] w", "float[] w")
    proto = parsed(text)
    for value in (*proto.graph.output, proto.graph.node[0].attribute[0].g.output[1]):
        value.type.tensor_type.ClearField("shape")
    return [line.partition(": ")[2] for line in lines(engine.load(proto).graphs) if "again" not in line]


def test_a_carried_shape_that_the_body_gives_back_holds_in_every_turn() -> None:
    assert body("w = Add(v, b)") == ["y[2,3] = Loop(n[], go[], x[2,3])", "w[2,3] = Add(v[2,3], b[3])"]


@pytest.mark.parametrize(("rank", "result"), [("", "r[3]"), ("[1]", "r[1,3]"), ("[One]", "r[1,3]")])
def test_the_number_of_the_iteration_has_the_rank_that_the_body_declares(rank: str, result: str) -> None:
    found = lines(
        engine.load(
            parsed(f"""main (int64 n, float[2,3] x, float[9,3] b) => (float[2,3] y) <bool go = {{1}}> {{
        y = Loop (n, go, x) <body = turn (int64{rank} i, bool k, float[2,3] v) => (bool again, float[2,3] w) {{
            again = Identity(k) r = Gather(b, i) w = Add(v, r) }}> }}""")
        ).graphs
    )
    (line,) = [line.partition(": ")[2] for line in found if "Gather" in line]
    assert line.startswith(f"{result} = ")


def test_a_carried_size_that_the_body_changes_is_not_known() -> None:
    assert body("w = Concat <axis = 0> (v, x)") == [
        "y[?,3] = Loop(n[], go[], x[2,3])",
        "w[?,3] = Concat(v[?,3], x[2,3])",
    ]


def test_a_carried_rank_that_the_body_changes_is_not_known() -> None:
    first, second = body("w = Add(v, d)")
    assert first == "y[*] = Loop(n[], go[], x[2,3])"
    assert second == "w[*] = Add(v[*], d[1,2,3])"


def test_a_stored_shape_of_a_carried_value_is_a_claim() -> None:
    assert body("w = Concat <axis = 0> (v, x)", carried="float[2,3] v")[1] == "w[?,3] = Concat(v[?,3], x[2,3])"


def test_a_widened_size_widens_what_is_computed_of_it() -> None:
    lines_ = body("u = Concat <axis = 0> (v, x) t = Neg(v) w = Concat <axis = 1> (u, u)")
    assert lines_[2] == "t[?,?] = Neg(v[?,?])"


@pytest.mark.parametrize("length", [2, 9, 30])
def test_a_change_that_takes_many_turns_to_arrive_is_never_overlooked(length: int) -> None:
    """Carried values hand their shape on: the last one is [4,3] after `length` turns, whatever it entered with."""
    names = range(length)
    steps = ["w0 = Concat <axis = 0> (v0, x)", *(f"w{at} = Identity(v{at - 1})" for at in names[1:])]
    listed = {
        stem: ", ".join(f"{stem}{at}" for at in names) for stem in ("float[] y", "y", "float[2,3] v", "float[] w")
    }
    proto = parsed(f"""main (int64 n, float[2,3] x) => ({listed["float[] y"]}) <bool go = {{1}}> {{
        [loop] {listed["y"]} = Loop (n, go, {", ".join("x" for _ in names)})
            <body = turn (int64 i, bool k, {listed["float[2,3] v"]}) => (bool again, {listed["float[] w"]}) {{
                again = Identity(k) {" ".join(steps)} }}> }}""")
    outer, inner = proto.graph.output, proto.graph.node[0].attribute[0].g.output
    for value in (*outer, *inner[1:]):
        value.type.tensor_type.ClearField("shape")
    last = lines(engine.load(proto).graphs)[-1]
    assert last.startswith(f"loop.body: w{length - 1}[")
    assert "[2,3]" not in last


def test_nested_loops_widen_from_the_inside() -> None:
    step = """w = Loop (n, k, v) <body = inner (int64 j, bool l, float[2,3] p) => (bool more, float[] q) {
        more = Identity(l) q = Concat <axis = 0> (p, x) }>"""
    proto = parsed(loop(step).replace("float[*] y", "float[] y").replace("float[*] w", "float[] w"))
    body_graph = proto.graph.node[0].attribute[0].g
    inner_graph = body_graph.node[1].attribute[0].g
    for value in (proto.graph.output[0], body_graph.output[1], inner_graph.output[1]):
        value.type.tensor_type.ClearField("shape")
    found = lines(engine.load(proto).graphs)
    assert [line.partition(": ")[2] for line in found if "more" not in line and "again" not in line] == [
        "y[?,3] = Loop(n[], go[], x[2,3])",
        "w[?,3] = Loop(n[], k[], v[?,3])",
        "q[?,3] = Concat(p[?,3], x[2,3])",
    ]


SAME = "u = Neg(s)"
STACKS = {
    "a number of turns": ("five", "", SAME, "[?,N,3]"),
    "a condition that is true": ("five", "true", SAME, "[?,N,3]"),
    "a condition that is false": ("five", "false", SAME, "[?,?,3]"),
    "a condition that is computed": ("five", "go", SAME, "[?,?,3]"),
    "no turn": ("none", "", SAME, "[?,?,3]"),
    "a number that is computed": ("n", "", SAME, "[?,?,3]"),
    "the length of an input": ("turns", "", SAME, "[?,?,3]"),
    "a size of each turn": ("five", "", "u = Compress<axis = 0>(s, picked)", "[?,?,3]"),
    "a size that grows": ("five", "", "u = Identity(grown)", "[?,?,3]"),
}


def stacked(count: str, condition: str, step: str) -> OnnxModel:
    proto = parsed(f"""main (int64 n, bool go, float[N,3] x, float[T] z, bool[N] picked) => (float[a,b,c] y)
        <int64 five = {{5}}, int64 none = {{0}}, int64 first = {{0}}, bool true = {{1}}, bool false = {{0}}> {{
        sizes = Shape(z)  turns = Gather(sizes, first)
        last, other, y = Loop ({count}, {condition}, x, x) <body = turn (int64 i, bool k, float[A,3] s, float[B,3] g) =>
            (bool again, float[C,3] t, float[D,3] grown, float[E,3] u) {{
            again = Identity(k)  t = Relu(s)  grown = Concat<axis = 0>(g, g)  {step} }}> }}""")
    opened = engine.load(proto)
    assert isinstance(opened, OnnxModel)
    return opened


def shape_of_stack(opened: OnnxModel) -> str:
    (node,) = [node for node in opened.graphs[0].nodes if node.op == "Loop"]
    result = node.results[2]
    assert result is not None
    return str(result.shape)


@pytest.mark.parametrize("case", STACKS)
def test_a_stack_has_the_sizes_of_states_if_the_loop_surely_has_a_turn(case: str) -> None:
    """After no turn, onnxruntime returns size 0 for each size that the body does not declare as a number."""
    count, condition, step, expected = STACKS[case]
    assert shape_of_stack(stacked(count, condition, step)).replace(", ", ",") == expected


@pytest.mark.parametrize(("least", "expected"), [(0, "[?,?,3]"), (1, "[?,N,3]")])
def test_a_range_without_0_says_that_a_loop_has_a_turn(least: int, expected: str) -> None:
    opened = stacked("turns", "", SAME)
    opened.bind({"T": symbol("T", least, 64)}, {})
    assert shape_of_stack(opened).replace(", ", ",") == expected


SCANS = {
    "a known length": ("5", {}, SAME, "[5,N,3]"),
    "a free length": ("T", {}, SAME, "[T,?,3]"),
    "a range without 0": ("T", {"T": symbol("T", 1, 64)}, SAME, "[T,N,3]"),
    "a range with 0": ("T", {"T": symbol("T", 0, 64)}, SAME, "[T,?,3]"),
    "no step": ("0", {}, SAME, "[0,?,3]"),
    "a size of each step": ("5", {}, "u = Compress<axis = 0>(s, picked)", "[5,?,3]"),
}


@pytest.mark.parametrize("case", SCANS)
def test_a_stack_has_the_sizes_of_states_if_the_scan_surely_has_a_step(case: str) -> None:
    length, ranges, step, expected = SCANS[case]
    opened = engine.load(
        parsed(f"""main (float[N,3] x, float[{length},4] z, bool[N] picked) => (float[a,b,c] y) {{
            last, y = Scan (x, z) <num_scan_inputs = 1, body = turn (float[A,3] s, float[4] w) =>
                (float[B,3] t, float[C,3] u) {{ t = Relu(s)  {step} }}> }}""")
    )
    opened.bind(ranges, {})
    (node,) = opened.graphs[0].nodes
    result = node.results[1]
    assert result is not None
    assert str(result.shape).replace(", ", ",") == expected


BRANCHES = {
    "equal shapes": ("t = Neg(x)", "e = Abs(x)", "y[2,3]"),
    "one size differs": ("t = Neg(x)", "e = Concat <axis = 0> (x, x)", "y[?,3]"),
    "ranks differ": ("t = Neg(x)", "e = Neg(b)", "y[*]"),
}


@pytest.mark.parametrize(("yes", "no", "result"), BRANCHES.values(), ids=BRANCHES)
def test_an_if_has_what_both_branches_have(yes: str, no: str, result: str) -> None:
    proto = parsed(f"""main (bool c, float[2,3] x, float[3] b) => (float[] y) {{
        y = If (c) <then_branch = yes () => (float[] t) {{ {yes} }},
                    else_branch = no () => (float[] e) {{ {no} }}> }}""")
    for attribute in proto.graph.node[0].attribute:
        attribute.g.output[0].type.tensor_type.ClearField("shape")
    proto.graph.output[0].type.tensor_type.ClearField("shape")
    assert printed(engine.load(proto))[0].startswith(f"{result} = If")


def test_a_size_of_a_body_that_is_read_again_may_be_less_than_it_was_at_first() -> None:
    """At first v has 4 elements, and `held` as many or more; when v was widened that does not follow any more."""
    proto = parsed("""main (int64 n, float[4] x, int64[1] open) => (float[M] y) <bool go = {1}> {
        [loop] y = Loop (n, go, x) <body = turn (int64 i, bool k, float[A] v) => (bool again, float[B] w) {
            again = Identity(k)
            size = Shape(v)
            both = Concat <axis = 0> (open, size)
            zero = Constant <value_ints = [0]> ()
            unknown = Gather(both, zero)
            most = Max(size, unknown)
            held = ConstantOfShape(most)
            two = Constant <value_ints = [2]> ()
            count = Shape(held)
            least = Min(count, two)
            more = ConstantOfShape(least)
            w = Concat <axis = 0> (v, more) }> }""")
    opened = engine.load(proto)
    assert isinstance(opened, OnnxModel)
    sizes = {
        result.name: result.shape.axes for graph in opened.graphs for node in graph.nodes for result in node.results
    }
    assert sizes["held"] != (4,)
    assert sizes["more"] != (2,)


def test_the_names_of_sizes_that_enter_a_loop_are_those_that_are_known() -> None:
    known = Shape((2, symbol("N"), UNKNOWN))
    assert bodies._names_of([None, Shape(None), known]) == {symbol("N").parts}


@pytest.mark.parametrize(
    ("size", "positive"),
    [
        (1, True),
        (0, False),
        (-1, False),
        (symbol("N", 1, None), True),
        (symbol("N", 0, 9), False),
        (Dim(("?x.0",), 1, None), False),
        (Dim((), 1, None), False),
    ],
)
def test_a_loop_runs_where_its_number_is_stated_to_be_at_least_1(size: Size, positive: bool) -> None:
    assert bodies._is_positive(size) == positive


@pytest.mark.parametrize(
    ("tensor", "true"),
    [
        (None, False),
        (helper.make_tensor("c", TensorProto.BOOL, [], [True]), True),
        (helper.make_tensor("c", TensorProto.BOOL, [1], [True]), True),
        (helper.make_tensor("c", TensorProto.BOOL, [], [False]), False),
        (helper.make_tensor("c", TensorProto.BOOL, [2], [True, True]), False),
        (helper.make_tensor("c", TensorProto.INT32, [], [1]), False),
        (TensorProto(data_type=TensorProto.BOOL, data_location=TensorProto.EXTERNAL), False),
    ],
)
def test_a_condition_is_true_where_the_file_holds_that_one_truth_value(tensor: TensorProto | None, true: bool) -> None:
    assert bodies._is_true(tensor) == true


@pytest.mark.parametrize(
    ("size", "outside", "lasts"),
    [
        (3, [], True),
        (symbol("N"), ["N"], True),
        (symbol("N"), ["M"], False),
        (symbol("N"), [], False),
        (UNKNOWN, ["N"], False),
    ],
)
def test_a_size_of_a_turn_is_one_of_the_stack_where_it_has_a_name_outside(
    size: Size, outside: list[str], lasts: bool
) -> None:
    assert bodies._lasting(size, frozenset((name,) for name in outside)) == (size if lasts else UNKNOWN)


@pytest.mark.parametrize(
    ("axes", "said", "runs", "stacked"),
    [
        ((2, 3), None, True, Shape((UNKNOWN, 2, 3))),
        ((2, 3), (4, 5, 6), True, Shape((UNKNOWN, 2, 3))),
        ((2, 3), None, False, Shape((UNKNOWN, UNKNOWN, UNKNOWN))),
        ((2, 3), (2, 4), False, Shape((UNKNOWN, 2, UNKNOWN))),
        ((2, 3), (2,), False, None),
        (None, (2,), False, None),
        (None, None, True, None),
    ],
)
def test_what_a_loop_stacks_that_may_not_run_has_the_sizes_that_are_declared(
    axes: tuple[int, ...] | None, said: tuple[int, ...] | None, runs: bool, stacked: Shape | None
) -> None:
    body: Any = SimpleNamespace(shape=lambda _: Shape(axes), claims={} if said is None else {"v": said})
    assert bodies._collected(body, "v", frozenset(), runs=runs) == stacked
