"""What goes around a loop may change its shape, and what is stacked after no iteration has no known inner sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx.parser
import onnxruntime
import pytest

from graphfix.checker.proof.core.sizes import Algebra
from graphfix.checker.proof.onnx.closed_world import loop_results
from graphfix.checker.proof.onnx.closed_world.loop_results import INFERRED
from tests.support.needs import by_release
from tests.support.proving import prove

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from graphfix.checker.proof.core.sizes import Size

HEAD = '<ir_version: 8, opset_import: ["" : 17]>\n'
SCAN = (
    "g (float[1] s, float[1,3] x, int64[1] d) => (float[] y) <int64[1] one = {{1}}> {{ f, z = Scan<num_scan_inputs = 1,"
    " body = b (float[k] i, float[3] e) => (float[m] t, float[3] u) {{ v = Reshape(e, d)  t = Add(i, {by})"
    "  u = Identity(e) }}>(s, x)  {last} }}"
)
LOOP = (
    "g (float[2,3] x, int64 n) => (float[] y) <int64[2] sizes = {{1, 3}}, int64[1] three = {{3}}> {{ z = Loop(n, , )<"
    "body = b (int64 i, bool k) => (bool kk, {declared} u) {{ kk = Identity(k)  r = Constant<value_floats = [1.0, 2.0,"
    " 3.0]>()  v = Relu(r)  u = Identity(v) }}>  {last} }}"
)


def written(folder: Path, *texts: str) -> list[Path]:
    paths = [folder / f"{number}.onnx" for number in range(len(texts))]
    for path, text in zip(paths, texts, strict=True):
        path.write_bytes(onnx.parser.parse_model(HEAD + text).SerializeToString())
    return paths


def run(path: Path, values: Mapping[str, np.ndarray]) -> list[int]:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return list(session.run(None, dict(values))[0].shape)


@pytest.mark.parametrize(("by", "proved"), [("i", True), ("v", False)])
def test_a_state_of_a_scan_may_change_its_shape(by: str, proved: bool, tmp_path: Path) -> None:
    lasts = ("y = Identity(f)", "y = Reshape(f, one)")
    before, after = written(tmp_path, *(SCAN.format(by=by, last=last) for last in lasts))
    assert prove(before, after).proved is proved


@pytest.mark.parametrize(("declared", "proved"), [("float[3]", True), ("float[k]", False)])
def test_no_iteration_stacks_what_the_body_declares(declared: str, proved: bool, tmp_path: Path) -> None:
    before, after = written(
        tmp_path, *(LOOP.format(declared=declared, last=last) for last in ("y = Identity(z)", "y = Expand(z, three)"))
    )
    values = {"x": np.ones((2, 3), np.float32), "n": np.array(0)}
    assert run(before, values) == [0, 3]
    assert prove(before, after).proved is proved


ROWS = (
    "g (float[4,3] x) => (float[] y) <int64[2] sizes = {{4, 3}}> {{ z = Scan<num_scan_inputs = 1{options}, body = b"
    " (float[3] e) => (float[3] u) {{ u = Relu(e) }}>(x)  {last} }}"
)


@pytest.mark.parametrize(
    ("options", "proved"), [("", True), (", scan_output_axes = [0]", True), (", scan_output_axes = [1]", False)]
)
def test_what_a_scan_stacks_has_the_scanned_axis_in_front(options: str, proved: bool, tmp_path: Path) -> None:
    lasts = ("y = Identity(z)", "y = Reshape(z, sizes)")
    before, after = written(tmp_path, *(ROWS.format(options=options, last=last) for last in lasts))
    assert prove(before, after).proved is proved


COUNTED = (
    "g (float[3] x) => (float[3] f, int64[] y) <int64 n = {{2}}> {{ f, y = Loop(n, , x)<body = b ({trip} i, bool k,"
    " float[3] s) => (bool kk, float[3] t, {trip} u) {{ kk = Identity(k)  t = Relu(s)  u = Identity(i) }}> }}"
)
WRITTEN = (
    "g (float[3] x) => (float[3] f, int64[] y) <int64[{shape}] c = {{0, 1}}> {{ s = Relu(x)  f = Relu(s)"
    "  y = Identity(c) }}"
)


@pytest.mark.parametrize("trip", ["int64", "int64[1]"])
@pytest.mark.parametrize("shape", ["2", "2,1"])
def test_the_number_of_a_trip_has_the_rank_that_its_body_declares(trip: str, shape: str, tmp_path: Path) -> None:
    before, after = written(tmp_path, COUNTED.format(trip=trip), WRITTEN.format(shape=shape))
    assert prove(before, after).proved is ((trip, shape) in {("int64", "2"), ("int64[1]", "2,1")})


STACKED = (
    "g (float[N,3] x, int64 n) => (float[] y) {{ f, y = Loop(n, , x)<body = b (int64 i, bool k, float[N,3] s) =>"
    " (bool kk, float[N,3] t, {declared} u) {{ kk = Identity(k)  t = Relu(s)  {computed} }}> }}"
)
PLAIN = "u = Neg(s)"
CAST = "d = Shape(s)  e = Cast<to = 6>(d)  h = Cast<to = 7>(e)  r = Reshape(s, h)  u = Neg(r)"
PAIRS = {
    "declared less": (("float[a,3]", CAST), ("float[a,b]", CAST)),
    "declared without a rank": (("float[a,3]", CAST), ("float[]", CAST)),
    "declared more": (("float[a,b]", CAST), ("float[a,3]", CAST)),
    "declared wrongly": (("float[]", PLAIN), ("float", PLAIN)),
    "computed of sizes that are not inferred": (("float[a,b]", PLAIN), ("float[a,b]", CAST)),
}


# An older release infers one rank for both pairs that are declared wrongly.
@pytest.mark.parametrize("pair", by_release(PAIRS, {"declared wrongly": "onnxruntime>=1.31"}))
def test_what_no_iteration_stacks_is_compared(pair: str, tmp_path: Path) -> None:
    texts = [STACKED.format(declared=declared, computed=computed) for declared, computed in PAIRS[pair]]
    before, after = written(tmp_path, *texts)
    values = {"x": np.ones((2, 3), np.float32), "n": np.array(0)}
    assert run(before, values) != run(after, values)
    assert not prove(before, after).proved


@pytest.mark.parametrize("declared", ["float[N,3]", "float[a,3]"])
def test_what_is_stacked_and_declared_may_be_computed_otherwise(declared: str, tmp_path: Path) -> None:
    before, after = written(tmp_path, *(STACKED.format(declared=declared, computed=each) for each in (PLAIN, CAST)))
    found = prove(before, after)
    assert found.reason is None
    assert INFERRED not in found.assumes


def test_what_no_iteration_stacks_is_assumed_where_it_is_inferred(tmp_path: Path) -> None:
    text = STACKED.format(declared="float[a,b]", computed=PLAIN)
    before, after = written(tmp_path, text, text.replace(" u", " v"))
    assert prove(before, after).assumes == (INFERRED,)


RANKED = (
    "g (float[N,3] x, float[3] s) => (float[] y) {{ f, y = Scan<num_scan_inputs = 1, body = b (float[3] i, float[3] e)"
    " => (float[3] t, {declared} u) {{ {computed}  t = Add(i, e) }}>(s, x) }}"
)
UNRANKED = (
    "one = Constant<value_ints = [1]>()  none = Sub(one, one)  sizes = Constant<value_ints = [3, 3]>()"
    "  part = Slice(sizes, none, one)  v = Expand(e, part)  u = Neg(v)"
)


def test_a_scan_is_told_the_rank_of_what_it_stacks(tmp_path: Path) -> None:
    before, after = written(
        tmp_path, *(RANKED.format(declared="float[]", computed=each) for each in ("u = Neg(e)", UNRANKED))
    )
    values = {"x": np.ones((2, 3), np.float32), "s": np.ones(3, np.float32)}
    assert run(before, values) == [2, 3]
    with pytest.raises(Exception, match="must have the shape set"):
        run(after, values)
    assert not prove(before, after).proved


@pytest.mark.parametrize("target", ["Constant<value_ints = [3]>()", "Shape(e)"])
def test_a_scan_may_stretch_by_what_shows_the_rank(target: str, tmp_path: Path) -> None:
    stretched = f"d = {target}  v = Expand(e, d)  u = Neg(v)"
    before, after = written(
        tmp_path, *(RANKED.format(declared="float[]", computed=each) for each in ("u = Neg(e)", stretched))
    )
    assert run(after, {"x": np.ones((2, 3), np.float32), "s": np.ones(3, np.float32)}) == [2, 3]
    assert prove(before, after).reason is None


@pytest.mark.parametrize("axes", ["", "scan_output_axes = [1], "])
def test_a_scan_that_declares_the_rank_is_told_it_wherever_it_stacks(axes: str, tmp_path: Path) -> None:
    text = RANKED.replace("num_scan_inputs", f"{axes}num_scan_inputs")
    before, after = written(
        tmp_path, *(text.format(declared="float[3]", computed=each) for each in ("u = Neg(e)", UNRANKED))
    )
    given = {"x": np.ones((2, 3), np.float32), "s": np.ones(3, np.float32)}
    assert run(before, given) == run(after, given) == ([3, 2] if axes else [2, 3])
    proof = prove(before, after)
    assert (proof.reason, proof.assumes) == (None, ())


def test_a_scan_is_told_the_rank_through_the_functions_that_its_body_calls(tmp_path: Path) -> None:
    text = (
        '<ir_version: 8, opset_import: ["" : 17, "local" : 1]>\n'
        "g (float[N,3] x) => (float[] y) {{ y = Scan<num_scan_inputs = 1, body = b (float[3] e) => (float[] u)"
        ' {{ u = local.F(e) }}>(x) }}\n<domain: "local", opset_import: ["" : 17]>\nF (e) => (u) {{ {computed} }}'
    )
    paths = tmp_path / "before.onnx", tmp_path / "after.onnx"
    for path, computed in zip(paths, ("u = Neg(e)", UNRANKED), strict=True):
        path.write_bytes(onnx.parser.parse_model(text.format(computed=computed)).SerializeToString())
    values = {"x": np.ones((2, 3), np.float32)}
    assert run(paths[0], values) == [2, 3]
    with pytest.raises(Exception, match="must have the shape set"):
        run(paths[1], values)
    assert not prove(*paths).proved


BEHIND = """g (float[N,T,3] x, float[4] b) => (float[P,Q,4] y) {{
    i = Transpose<perm = [1,0,2]>(x)  e = Shape(i)  n = Slice(e, zero, one)  m = Squeeze(n, zero)
    c = Slice(e, one, two)  d = Concat<axis = 0>(c, four)  h = Expand(start, d)
    f, p = Loop(m, , h)<body = first (int64 i1, bool k1, float[A,4] s1) => (bool l1, float[B,4] t1, float[C,4] u1) {{
        l1 = Identity(k1)  g1 = Gather(i, i1)  j1 = MatMul(g1, w)  r1 = Add(j1, s1)  t1 = Tanh(r1)  u1 = Neg(t1) }}>
    ee = Shape(p)  nn = Slice(ee, zero, one)  mm = Squeeze(nn, zero)
    cc = Slice(ee, one, two)  dd = Concat<axis = 0>(cc, four)  hh = Expand(start, dd)
    ff, y = Loop(mm, , hh)<body = second (int64 i2, bool k2, float[{size},4] s2) =>
    (bool l2, float[E,4] t2, float[{stacked},4] u2) {{
        l2 = Identity(k2)  g2 = Gather(p, i2)  r2 = Add(g2, s2)  t2 = Tanh(r2)  {last} }}>
}}"""
LAST = "u2 = Add(t2, b)", "o = Shape(t2)  v = Expand(b, o)  u2 = Add(t2, v)"
NUMBERS = {"zero": [0], "one": [1], "two": [2], "four": [4]}


def stacked_loops(folder: Path, size: str, stacked: tuple[str, str]) -> list[Path]:
    """Two files of a Loop behind a Loop, as recurrent layers are written; the second file is written otherwise."""
    texts = [BEHIND.format(size=size, stacked=each, last=last) for each, last in zip(stacked, LAST, strict=True)]
    paths = []
    for number, text in enumerate(texts):
        model = onnx.parser.parse_model(HEAD + text)
        constants = {name: np.array(each, np.int64) for name, each in NUMBERS.items()}
        constants |= {"start": np.zeros((), np.float32), "w": np.ones((3, 4), np.float32)}
        model.graph.initializer.extend(onnx.numpy_helper.from_array(each, name) for name, each in constants.items())
        paths.append(folder / f"{number}.onnx")
        onnx.save(model, paths[-1])
    return paths


def test_a_loop_behind_a_loop_may_be_written_otherwise(tmp_path: Path) -> None:
    """The batch of the second Loop is the axis of a stack: no runtime infers a number for it."""
    proof = prove(*stacked_loops(tmp_path, "D", ("F", "F")))
    assert proof.reason is None
    assert INFERRED in proof.assumes


@pytest.mark.parametrize(("size", "stacked"), [("D", ("2", "F")), ("D", ("F", "2")), ("D", ("2", "3"))])
def test_numbers_that_a_body_declares_are_compared_behind_a_loop_too(
    size: str, stacked: tuple[str, str], tmp_path: Path
) -> None:
    before, after = stacked_loops(tmp_path, size, stacked)
    assert not prove(before, after).proved
    values = {"x": np.ones((2, 0, 3), np.float32), "b": np.ones(4, np.float32)}
    assert run(before, values) != run(after, values)


STACK = """g (float[N,3] x, float[T] z, float[3] b, int64 m, bool go, bool[N] pick) => (float[] y)
    <int64 five = {{5}}, int64 none = {{0}}, int64 first = {{0}}, bool true = {{1}}, bool false = {{0}}> {{
    e = Shape(z)  n = Gather(e, first)
    f, p = Loop({count}, {condition}, x)<body = first (int64 i, bool k, float[A,3] s) =>
        (bool l, float[B,3] t, float[C,3] u) {{ l = Identity(k)  t = Relu(s)  {step} }}>
    q = Gather(p, first)  r = Neg(q)  {last} }}"""
SAME, PICKED = "u = Neg(s)", "u = Compress<axis = 0>(s, pick)"
ENDS = "y = Add(r, b)", "d = Shape(x)  v = Expand(b, d)  y = Add(r, v)"
TURNS = {
    "a number": ("five", "", SAME, {}, True),
    "a condition that is true": ("five", "true", SAME, {}, True),
    "a condition that is false": ("five", "false", SAME, {}, False),
    "a condition that is computed": ("five", "go", SAME, {}, False),
    "no turn": ("none", "", SAME, {}, False),
    "a number that is computed": ("m", "", SAME, {}, False),
    "the length of an input": ("n", "", SAME, {}, False),
    "a range without 0": ("n", "", SAME, {"T": (1, 64)}, True),
    "a range with 0": ("n", "", SAME, {"T": (0, 64)}, False),
    "a size of each turn": ("five", "", PICKED, {}, False),
}


@pytest.mark.parametrize("case", TURNS)
def test_a_stack_has_the_sizes_of_states_if_the_loop_surely_has_a_turn(case: str, tmp_path: Path) -> None:
    """The stretch by the shape of x is right if the batch of the stack is that of x."""
    count, condition, step, ranges, proved = TURNS[case]
    before, after = written(
        tmp_path, *(STACK.format(count=count, condition=condition, step=step, last=last) for last in ENDS)
    )
    proof = prove(before, after, ranges=ranges)
    assert proof.proved is proved


SCANNED = """g (float[N,3] x, float[{length},4] z, float[3] b, bool[N] pick) => (float[] y) <int64 first = {{0}}> {{
    f, p = Scan(x, z)<num_scan_inputs = 1, body = step (float[A,3] s, float[4] w) =>
        (float[B,3] t, float[C,3] u) {{ t = Relu(s)  {step} }}>
    q = Gather(p, first)  r = Neg(q)  {last} }}"""
STEPS = {
    "a known length": ("5", SAME, {}, True),
    "a free length": ("T", SAME, {}, False),
    "a range without 0": ("T", SAME, {"T": (1, 64)}, True),
    "a range with 0": ("T", SAME, {"T": (0, 64)}, False),
    "no step": ("0", SAME, {}, False),
    "a size of each step": ("5", PICKED, {}, False),
}


@pytest.mark.parametrize("case", STEPS)
def test_a_stack_has_the_sizes_of_states_if_the_scan_surely_has_a_step(case: str, tmp_path: Path) -> None:
    length, step, ranges, proved = STEPS[case]
    before, after = written(tmp_path, *(SCANNED.format(length=length, step=step, last=last) for last in ENDS))
    assert prove(before, after, ranges=ranges).proved is proved


CALLS = """<ir_version: 10, opset_import: ["" : 17, "own" : 1]>
g (float[2] x, bool c) => (float[2] y) {{ {0} }}
<domain: "own", opset_import: ["" : 17, "own" : 1]> F (a) => (b) {{ b = own.G(a) }}
<domain: "own", opset_import: ["" : 17]> G (a) => (b) {{ b = Neg(a) }}
<domain: "own", opset_import: ["" : 17, "own" : 1]> R (a) => (b) {{ q = own.R(a) b = own.G(q) }}
<domain: "own", opset_import: ["" : 17]> N (a) => (b) {{ b = Neg(a) }}"""
INSIDE = (
    "y = If(c) <then_branch = t () => (float[2] p) {{ p = {0}(x) }},"
    " else_branch = e () => (float[2] q) {{ q = Neg(x) }}>"
)


FREE, OTHER = Algebra().symbol(("A",)), Algebra().symbol(("B",))


@pytest.mark.parametrize(
    ("declared", "sizes", "expected"),
    [
        ((2, 3), (2, 3), (2, 3)),
        ((2, 3), (FREE, 3), (2, 3)),
        ((2, 3), (FREE, OTHER), (2, 3)),
        ((2, 3), (2, 4), None),
        ((2, 3), (4, FREE), None),
        ((2, 3), (2, 3, 1), None),
        ((2, 3), (2,), None),
        ((2, 3), None, None),
        ((2, None), (2, 3), None),
        (("N", 3), (2, 3), None),
        ((), (), ()),
    ],
)
def test_declared_sizes_are_numbers_that_contradict_no_known_one(
    declared: tuple[int | str | None, ...], sizes: tuple[Size, ...] | None, expected: tuple[int, ...] | None
) -> None:
    output = onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, declared)
    assert loop_results._numbers(output, sizes) == expected


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        ("y = Neg(x)", ""),
        ("y = own.G(x)", "G"),
        ("y = own.F(x)", "FG"),
        ("y = own.R(x)", "RG"),
        ("a = own.G(x) y = own.N(a)", "GN"),
        ("a = own.G(x) y = own.G(a)", "G"),
        ("y = other.G(x)", ""),
        ("y = G(x)", ""),
        (INSIDE.format("own.F"), "FG"),
        (INSIDE.format("Abs"), ""),
    ],
)
def test_functions_that_a_body_calls_are_found_through_bodies_and_functions(nodes: str, expected: str) -> None:
    made = onnx.parser.parse_model(CALLS.format(nodes))
    functions = {("own", each.name, ""): each for each in made.functions}
    found = loop_results._called(made.graph, functions)
    assert {onnx.FunctionProto.FromString(each).name for each in found} == set(expected)
    assert loop_results._called(made.graph, {}) == frozenset()


@pytest.mark.parametrize(
    ("nodes", "shown"),
    [
        ("y = Neg(x)", True),
        ("y = Reshape(x, s)", True),  # from around the body
        ("s = Constant<value_ints = [2]>() y = Reshape(x, s)", True),
        ("s = Shape(x) y = Expand(x, s)", True),
        ("s = Abs(i) y = Reshape(x, s)", False),
        ("s = Abs(i) y = Tile(x, s)", False),
        ("s = Abs(i) y = Unsqueeze(x, s)", False),
        ("s = Abs(i) y = Squeeze(x, s)", False),
        ("s = Abs(i) y = ConstantOfShape(s)", False),
        ("s = Abs(i) y = Expand(s, i)", True),  # it is no target
        ("s = Abs(i) y = Gather(x, s)", True),
        ("y = Squeeze(x)", False),
        ("y = Squeeze(x, )", False),
        ("y = Squeeze<axes = [0]>(x)", True),
        ("y = Reshape<shape = [2]>(x)", True),
        ("y = Reshape<allowzero = 1>(x)", False),
        ("s = Abs(i) y = Unsqueeze<axes = [0]>(s)", True),
        ("y = com.microsoft.Gelu(x)", False),
        ("y = ai.onnx.Neg(x)", True),
        (INSIDE.format("Abs"), False),
        ("v = Neg(x) y = own.F(x) w = Neg(x)", False),
    ],
)
def test_ranks_are_shown_where_every_target_is(nodes: str, shown: bool) -> None:
    assert loop_results._shows_ranks(onnx.parser.parse_model(CALLS.format(nodes)).graph) is shown
