"""An ONNX Loop of known trip count: its body takes its place so many times, proved and bit-equal."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx import numpy_helper

from graphfix import api, formats
from graphfix.results import Outcome
from rewrites.tosa.unroll_loops import INEXACT
from tests.support.bits import same_bits
from tests.support.notation import parsed
from tests.support.runtimes.onnx_runs import run

LOOP = """main (float[2,4] h0, float[3,2,4] x) => (float[2,4] h, float[3,2,4] all) <int64 n = {3}, bool c = {1}> {
    h, all = Loop (n, c, h0) <body = turn (int64 i, bool go, float[2,4] s) => (bool on, float[2,4] t, float[2,4] u) {
        on = Identity(go)
        g = Gather(x, i)
        a = Add(s, g)
        t = Tanh(a)
        u = Neg(t) }> }"""
ZERO = "z = Constant <value = int64[1] {0}> ()"
TRIP = ["Gather", "Add", "Tanh", "Neg"]
STACK = ["Unsqueeze"] * 3 + ["Concat"]


def file(folder: Path, text: str, name: str = "before", opset: int = 18) -> Path:
    path = folder / f"{name}.onnx"
    onnx.save(parsed(text, opset=opset), path)
    return path


def unrolled(path: Path, only: tuple[str, ...] = ("unroll-loops", "fold-shape-arithmetic")) -> Outcome:
    return api.fix_file(path, path.with_name("after.onnx"), target="tosa", only=only)


def ops(path: Path) -> list[str]:
    return [node.op for node in formats.load(path).graphs[0].nodes if node.op != "Constant"]


def assert_proved(outcome: Outcome) -> None:
    assert outcome.verdict is not None
    assert outcome.verdict.status == "proved"
    assert all(run.status == "equal" for run in outcome.verdict.runs)


@pytest.mark.ci
@pytest.mark.parametrize("opset", [11, 12, 13, 16, 18, 21])
def test_the_trips_take_the_nodes_place(tmp_path: Path, opset: int) -> None:
    path, after = file(tmp_path, LOOP, opset=opset), tmp_path / "after.onnx"
    outcome = unrolled(path)
    assert_proved(outcome)
    assert outcome.rewrites["unroll-loops"] == 1
    assert sorted(ops(after)) == sorted(TRIP * 3 + STACK)
    again = api.fix_file(after, tmp_path / "again.onnx", target="tosa", only=["unroll-loops"])
    assert again.rewrites["unroll-loops"] == 0


@pytest.mark.ci
def test_the_results_are_those_of_the_loop_bit_for_bit(tmp_path: Path) -> None:
    path = file(tmp_path, LOOP)
    unrolled(path)
    random = np.random.default_rng(0)
    feeds = {"h0": random.normal(size=(2, 4)), "x": random.normal(size=(3, 2, 4))}
    given = {name: array.astype(np.float32) for name, array in feeds.items()}
    models = [onnx.load(path.with_name(name)) for name in ("before.onnx", "after.onnx")]
    assert all(same_bits(a, b) for a, b in zip(*(run(model, **given) for model in models), strict=True))


@pytest.mark.ci
@pytest.mark.parametrize(
    ("changes", "trips"),
    [
        (("{3}", "{2}", "float[3,2,4] all", "float[2,2,4] all"), 2),
        (("{3}", "{1}", "float[3,2,4] all", "float[1,2,4] all"), 1),
        (("Loop (n, c,", "Loop (n, ,"), 3),
        (("on = Identity(go)", "k = Constant <value = int64 {2}> () on = Less(i, k)"), 3),
        (("Loop (n, c,", "Loop (, c,", "on = Identity(go)", "k = Constant <value = int64 {2}> () on = Less(i, k)"), 3),
        (("int64 i", "int64[1] i", "g = Gather(x, i)", f"{ZERO} f = Gather(x, i) g = Squeeze(f, z)"), 3),
        (("on = Identity(go)", "on = Identity(c)"), 3),
    ],
    ids=["two", "one", "no condition", "a counter ends it", "a counter alone", "it has an axis", "an outer one"],
)  # fmt: skip
def test_the_count_is_followed(tmp_path: Path, changes: tuple[str, ...], trips: int) -> None:
    assert_proved(unrolled(file(tmp_path, changed(LOOP, changes))))
    assert ops(tmp_path / "after.onnx").count("Tanh") == trips
    assert "Loop" not in ops(tmp_path / "after.onnx")


def changed(text: str, changes: tuple[str, ...]) -> str:
    for old, new in zip(changes[::2], changes[1::2], strict=True):
        assert old in text
        text = text.replace(old, new)
    return text


COUNTED = """main (float[2,4] h0) => (float[2,4] h) <int64 n = {100}, bool c = {1}, int64 k0 = {0}> {
    h, k = Loop (n, c, h0, k0) <body = turn (int64 i, bool go, float[2,4] s, int64 k)
                                         => (bool on, float[2,4] t, int64 l) {
        one = Constant <value = int64 {2}> ()
        most = Constant <value = int64 {7}> ()
        l = Add(k, one)
        on = Less(l, most)
        t = Tanh(s) }> }"""


@pytest.mark.ci
def test_a_carried_counter_ends_it(tmp_path: Path) -> None:
    """2, 4, 6 are less than 7."""
    assert_proved(unrolled(file(tmp_path, COUNTED)))
    assert ops(tmp_path / "after.onnx") == ["Tanh"] * 4


@pytest.mark.parametrize(
    "changes",
    [
        ("k0 = {0}> {", "z = {0}> {", "float[2,4] h0)", "float[2,4] h0, int64 k0)"),
        (", bool c = {1}", "", "float[2,4] h0)", "float[2,4] h0, bool c)"),
        ("int64 n = {100}, ", "", "float[2,4] h0)", "float[2,4] h0, int64 n)"),
        ("on = Less(l, most)", "v = ReduceMax <keepdims = 0> (s) w = Cast <to = 7> (v) on = Less(w, most)"),
        ("Loop (n, c,", "Loop (n, ,"),
    ],
    ids=["its start is an input", "the condition", "the count", "a state decides", "a condition that nobody heeds"],
)
def test_an_unknown_trip_count_leaves_it(tmp_path: Path, changes: tuple[str, ...]) -> None:
    unrolled(file(tmp_path, changed(COUNTED, changes)))
    assert "Loop" in ops(tmp_path / "after.onnx")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Tanh(a)", "Sigmoid(a)"),
        ("Gather(x, i)", "Gather(x, f)"),
        ("Add(s, g)", "Add(g, g)"),
        ("u = Neg(t)", "u = Abs(t)"),
        ("u = Neg(t)", "u = Neg(s)"),
    ],
    ids=["another body", "another index", "another state", "another row", "a row of the trip before"],
)
def test_a_fault_in_the_trips_is_seen(tmp_path: Path, old: str, new: str) -> None:
    path, after = file(tmp_path, LOOP), tmp_path / "after.onnx"
    wrong = changed(LOOP, (old, new)).replace(
        "on = Identity(go)", "on = Identity(go) f = Constant <value = int64 {1}> ()"
    )
    unrolled(file(tmp_path, wrong, "wrong"))
    assert "Loop" not in ops(after)
    assert api.verify(path, after, proof="only").status != "proved"


@pytest.mark.parametrize("order", [(1, 0, 2), (0, 1), (0, 1, 2, 2), (0, 2, 1)])
def test_another_stack_is_seen(tmp_path: Path, order: tuple[int, ...]) -> None:
    path, after = file(tmp_path, LOOP), tmp_path / "after.onnx"
    unrolled(path)
    model = onnx.load(after)
    (joined,) = (node for node in model.graph.node if node.op_type == "Concat")
    joined.input[:] = [joined.input[at] for at in order]
    onnx.save(model, after)
    assert api.verify(path, after, proof="only").status != "proved"


@pytest.mark.ci
@pytest.mark.parametrize("count", [2, 4])
def test_another_number_of_trips_is_seen(tmp_path: Path, count: int) -> None:
    path, after = file(tmp_path, COUNTED), tmp_path / "after.onnx"
    unrolled(file(tmp_path, changed(COUNTED, ("{7}", f"{{{2 * count - 1}}}")), "wrong"))
    assert ops(after) == ["Tanh"] * count
    assert api.verify(path, after, proof="only").status == ("proved" if count == 4 else "undecided")


def test_a_loop_that_does_not_run_is_what_it_is_given(tmp_path: Path) -> None:
    assert_proved(unrolled(file(tmp_path, changed(COUNTED, ("{100}", "{0}")))))
    assert ops(tmp_path / "after.onnx") == ["Identity"]


MIXED = """main (bool d, float[2,4] p0, float[2,4] q0) => (float[2,4] p, float[2,4] q, float[2,2,4] r) <int64 n = {2}> {
    v = Abs(p0)
    p, q, r = Loop (n, , p0, q0) <body = turn (int64 i, bool go, float[2,4] a, float[2,4] b)
            => (bool go, float[2,4] b, float[2,4] e, float[2,4] e)
            <float[4] w = {1.0, 2.0, 3.0, 4.0}> {
        v1 = Mul(a, w)
        e = If (d) <then_branch = yes () => (float[2,4] m) { k = Neg(v1) m = Add(k, v) },
                    else_branch = not () => (float[2,4] m) { m = Sub(v1, b) }> }> }"""


def test_states_change_places_and_bodies_stay_apart(tmp_path: Path) -> None:
    text = MIXED.replace(
        "=> (bool go, float[2,4] b, float[2,4] e, float[2,4] e)",
        "=> (bool on, float[2,4] c, float[2,4] e, float[2,4] f)",
    )
    text = text.replace("v1 = Mul(a, w)", "on = Identity(go) c = Identity(b) v1 = Mul(a, w)").replace(
        "m = Sub(v1, b) }> }>", "m = Sub(v1, b) }> f = Identity(e) }>"
    )
    path = file(tmp_path, text)
    assert_proved(unrolled(path))
    model = onnx.load(tmp_path / "after.onnx")
    onnx.checker.check_model(model, full_check=True)
    assert [tensor.name for tensor in model.graph.initializer].count("w") == 1, "all trips read one constant"
    assert ops(tmp_path / "after.onnx").count("If") == 2


def test_what_is_random_stays_a_loop(tmp_path: Path) -> None:
    text = LOOP.replace("a = Add(s, g)", "z = RandomNormalLike(g) a = Add(s, z)")
    sites = api.check(file(tmp_path, text), target="tosa").sites
    reasons = [site.reason for site in sites if site.op == "Loop" and site.code == "GF304"]
    assert reasons == ["its body has a RandomNormalLike, which may return something else each time it runs"]


@pytest.mark.ci
def test_a_loop_in_the_body_of_another_is_written_out_behind_it(tmp_path: Path) -> None:
    inner = """e = Loop (m, c, s) <body = deep (int64 j, bool more, float[2,4] v) => (bool still, float[2,4] w) {
                still = Identity(more)
                w = Sigmoid(v) }>
            a = Add(e, g)"""
    text = LOOP.replace("int64 n = {3}", "int64 n = {3}, int64 m = {2}").replace("a = Add(s, g)", inner)
    assert_proved(unrolled(file(tmp_path, text)))
    found = ops(tmp_path / "after.onnx")
    assert "Loop" not in found
    assert found.count("Sigmoid") == 6


@pytest.mark.ci
def test_one_of_two_loops_may_stay(tmp_path: Path) -> None:
    text = LOOP.replace("(float[2,4] h0,", "(int64 k, float[2,4] h0,").replace(
        "(float[2,4] h,", "(float[2,4] y, float[2,4] h,"
    )
    text = (
        text[: text.rindex("}")]
        + """
    y = Loop (k, c, h) <body = last (int64 j, bool more, float[2,4] v) => (bool still, float[2,4] w) {
        still = Identity(more)
        w = Sigmoid(v) }> }"""
    )
    assert_proved(unrolled(file(tmp_path, text)))
    assert ops(tmp_path / "after.onnx").count("Loop") == 1


def test_too_many_trips_are_named(tmp_path: Path) -> None:
    text = (
        COUNTED.replace("{7}", "{9999}").replace("{100}", "{2000}").replace("on = Less(l, most)", "on = Identity(go)")
    )
    sites = api.check(file(tmp_path, text), target="tosa").sites
    (reason,) = [site.reason or "" for site in sites if site.op == "Loop" and site.code == "GF305"]
    assert reason.endswith("nodes, and 4096 are the most: bind a shorter length")


def test_other_targets_leave_it(tmp_path: Path) -> None:
    after = tmp_path / "after.onnx"
    api.fix_file(file(tmp_path, LOOP), after)
    assert "Loop" in ops(after)


SCAN = """main (float[2,4] h0, float[3,2,4] x, float[2,4,3] y) => (float[2,4] h, float[3,2,4] all, float[2,3,4] back) {
    h, all, back = Scan <num_scan_inputs = 2, scan_input_axes = [0, 2], scan_input_directions = [0, 1],
                         scan_output_axes = [0, 1], scan_output_directions = [0, 1],
                         body = turn (float[2,4] s, float[2,4] p, float[2,4] q)
                                     => (float[2,4] t, float[2,4] u, float[2,4] v) {
        a = Add(s, p)
        m = Mul(a, q)
        t = Tanh(m)
        u = Neg(t)
        v = Abs(p) }> (h0, x, y) }"""


@pytest.mark.parametrize("opset", [11, 13, 18, 21])
def test_a_scan_is_written_out(tmp_path: Path, opset: int) -> None:
    path, after = file(tmp_path, SCAN, opset=opset), tmp_path / "after.onnx"
    outcome = unrolled(path)
    assert_proved(outcome)
    assert outcome.rewrites["unroll-loops"] == 1
    found = ops(after)
    assert [found.count(op) for op in ("Scan", "Tanh", "Gather", "Unsqueeze", "Concat")] == [0, 3, 6, 6, 2]


@pytest.mark.ci
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("scan_input_axes = [0, 2], scan_input_directions = [0, 1]", "scan_input_axes = [0, 2]"),
        ("scan_output_directions = [0, 1]", "scan_output_directions = [1, 1]"),
        ("scan_output_directions = [0, 1]", "scan_output_directions = [0, 0]"),
        ("m = Mul(a, q)", "m = Mul(q, q)"),
        ("u = Neg(t)", "u = Neg(s)"),
    ],
    ids=["read forwards", "stacked backwards", "stacked forwards", "another body", "a row of the trip before"],
)
def test_a_fault_in_a_written_out_scan_is_seen(tmp_path: Path, old: str, new: str) -> None:
    path, after = file(tmp_path, SCAN), tmp_path / "after.onnx"
    unrolled(file(tmp_path, changed(SCAN, (old, new)), "wrong"))
    assert "Scan" not in ops(after)
    assert api.verify(path, after, proof="only").status != "proved"


def test_a_scan_of_an_unknown_length_stays(tmp_path: Path) -> None:
    text = SCAN.replace("float[3,2,4]", "float[N,2,4]").replace("[2,4,3]", "[2,4,N]").replace("[2,3,4]", "[2,N,4]")
    sites = api.check(file(tmp_path, text), only=["unroll-loops"]).sites
    assert not [site for site in sites if site.code == "GF304"]


MATRIX_STATE = """g (float[1] x) => (float[1,64] y) { j = Cast<to = 7>(x)  e = Gather(table, j)
    y, w = Loop(count, yes, e, r) <body = b (int64 i, bool k, float[1,64] h, float[64,64] m) =>
    (bool k2, float[1,64] h2, float[64,64] m2) { k2 = Identity(k)  p = MatMul(h, m)  h2 = Tanh(p)
        m2 = Identity(m) }> }"""


@pytest.mark.ci
def test_a_matrix_that_is_a_state_is_said_to_be_rounded_otherwise_by_default(tmp_path: Path) -> None:
    """The criterion is a session that packs no matrix ahead of time; onnxruntime's default one does."""
    source = np.random.default_rng(0)
    constants = {
        "r": source.normal(size=(64, 64)).astype(np.float32), "table": source.normal(size=(20, 64)).astype(np.float32),
        "count": np.int64(3), "yes": np.bool_(True),
    }  # fmt: skip
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> {MATRIX_STATE}')
    model.graph.initializer.extend(numpy_helper.from_array(np.asarray(each), name) for name, each in constants.items())
    before, after = tmp_path / "before.onnx", tmp_path / "after.onnx"
    onnx.save(model, before)
    outcome = unrolled(before)
    assert outcome.verdict is not None
    assert outcome.verdict.status == "proved"
    (site,) = (site for site in outcome.sites if site.rewrite == "unroll-loops")
    assert site.inexact == INEXACT
    rows = [[run(onnx.load(path), x=np.float32([row]))[0] for row in range(20)] for path in (before, after)]
    assert np.allclose(*rows, rtol=0, atol=1e-4)
