"""A TFLite WHILE of known trip count: its body takes its place so many times, proved and bit-equal."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix import api, formats
from graphfix.results import Outcome
from models.builders.tflite.text import model, pack, tree

LOOP = """
subgraph main(h0[2,4], x[3,2,4]) -> y:
n:int32[], m:int32[], h[2,4], z[3,2,4] = WHILE(i:const:int32[]{0}, j:const:int32[]{0}, h0, x, cond=test, body=turn)
u[2,4] = GATHER(z, o:const:int32[]{0}, axis=0)
y[2,4] = MUL(h, u)
subgraph test(i:int32[], j:int32[], h[2,4], x[3,2,4]) -> b:
p:bool[] = LESS(i, c:const:int32[]{3})
q:bool[] = LESS(j, c)
b:bool[] = LOGICAL_AND(p, q)
subgraph turn(i:int32[], j:int32[], h[2,4], x[3,2,4]) -> k, l, t, x:
k:int32[] = ADD(i, c:const:int32[]{1})
l:int32[] = ADD(j, c)
g[2,4] = GATHER(x, i, axis=0)
s[2,4] = ADD(h, g)
t[2,4] = TANH(s)
"""
TRIP = ["GATHER", "ADD", "TANH"]
END = ["GATHER", "MUL"]


def file(folder: Path, text: str, name: str = "before") -> Path:
    path = folder / f"{name}.tflite"
    path.write_bytes(model(text))
    return path


def unrolled(path: Path, **options: object) -> Outcome:
    return api.fix_file(path, path.with_name("after.tflite"), target="tosa", **options)  # type: ignore[arg-type]


def ops(path: Path) -> list[str]:
    return [node.op for node in formats.load(path).graphs[0].nodes]


def assert_proved(outcome: Outcome) -> None:
    assert outcome.verdict is not None
    assert outcome.verdict.status == "proved"
    assert all(run.status == "equal" for run in outcome.verdict.runs)


@pytest.mark.ci
@pytest.mark.parametrize("trips", [1, 2, 3])
def test_the_trips_take_the_operators_place(tmp_path: Path, trips: int) -> None:
    path, after = file(tmp_path, LOOP.replace("{3}", f"{{{trips}}}")), tmp_path / "after.tflite"
    outcome = unrolled(path)
    assert_proved(outcome)
    assert outcome.rewrites["unroll-loops"] == 1
    assert ops(after) == TRIP * trips + END  # the counters are constants
    assert len(formats.load(after).graphs) == 1
    again = api.fix_file(after, tmp_path / "again.tflite", target="tosa")
    assert again.rewrites["unroll-loops"] == 0


def test_a_loop_that_does_not_run_is_what_it_is_given(tmp_path: Path) -> None:
    path = file(tmp_path, LOOP.replace("c:const:int32[]{3}", "c:const:int32[]{0}"))
    assert_proved(unrolled(path))
    assert ops(tmp_path / "after.tflite") == END


@pytest.mark.ci
def test_each_condition_is_asked(tmp_path: Path) -> None:
    text = LOOP.replace("j:const:int32[]{0}", "j:const:int32[]{1}")
    assert_proved(unrolled(file(tmp_path, text)))
    assert ops(tmp_path / "after.tflite") == TRIP * 2 + END


@pytest.mark.ci
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("TANH(s)", "LOGISTIC(s)"),
        ("LESS(j, c)", "LESS(j, d:const:int32[]{2})"),
        ("ADD(i, c:const:int32[]{1})", "ADD(i, c:const:int32[]{2})"),
        ("i:const:int32[]{0}", "i:const:int32[]{1}"),
        ("GATHER(x, i", "GATHER(x, k"),
        ("ADD(h, g)", "ADD(g, g)"),
    ],
    ids=["another body", "a trip less", "another step", "another start", "another counter", "another state"],
)
def test_a_fault_in_the_trips_is_seen(tmp_path: Path, old: str, new: str) -> None:
    assert old in LOOP
    path, after = file(tmp_path, LOOP), tmp_path / "after.tflite"
    unrolled(file(tmp_path, LOOP.replace(old, new), "wrong"))
    assert "WHILE" not in ops(after)
    assert api.verify(path, after, proof="only").status != "proved"


@pytest.mark.parametrize(
    "changes",
    [
        ("main(h0[2,4]", "main(i:int32[], h0[2,4]", "i:const:int32[]{0}", "i"),
        ("b:bool[] = LOGICAL_AND(p, q)", "b:bool[] = LOGICAL_OR(p, q)"),
        ("main(h0[2,4]", "main(j:int32[], h0[2,4]", "j:const:int32[]{0}", "j"),
    ],
    ids=["a counter that is an input", "a condition that is not followed", "one of two counters"],
)
def test_an_unknown_trip_count_leaves_it(tmp_path: Path, changes: tuple[str, ...]) -> None:
    text = LOOP
    for old, new in zip(changes[::2], changes[1::2], strict=True):
        assert old in text
        text = text.replace(old, new)
    unrolled(file(tmp_path, text))
    assert "WHILE" in ops(tmp_path / "after.tflite")


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("TANH(s)", "ADD(s, v:variable[2,4])", "its branch holds a variable or a sparse constant"),
        (
            "t[2,4] = TANH(s)",
            "r[2,4] = RANDOM_UNIFORM(e:const:int32[2]{2,4}, seed=1, seed2=2)\nt[2,4] = ADD(s, r)",
            "an operator of its body has a state, or may have one",
        ),
        ("-> k, l, t, x", "-> k, l, h, x", None),
        ("-> k, l, t, x", "-> k, k, t, x", "its branch returns what it is given, a constant, or one value twice"),
    ],
    ids=["a variable", "random numbers", "a state that is passed on", "one value twice"],
)
def test_what_a_body_may_hold(tmp_path: Path, old: str, new: str, reason: str | None) -> None:
    assert old in LOOP
    sites = api.check(file(tmp_path, LOOP.replace(old, new)), target="tosa").sites
    reasons = [site.reason for site in sites if site.op == "WHILE" and site.code == "GF304" and site.status == "left"]
    assert reasons == ([] if reason is None else [reason])


@pytest.mark.ci
def test_too_many_trips_are_named(tmp_path: Path) -> None:
    text = LOOP.replace("c:const:int32[]{3}", "c:const:int32[]{1000}").replace(
        "GATHER(x, i,", "GATHER(x, o:const:int32[]{0},"
    )
    sites = api.check(file(tmp_path, text), target="tosa").sites
    assert [site.reason for site in sites if site.op == "WHILE" and site.code == "GF305"] == [
        "its 1000 trips take 5000 nodes, and 4096 are the most: bind a shorter length"
    ]


def test_a_body_that_is_still_run_may_not_be_missing(tmp_path: Path) -> None:
    path, made = file(tmp_path, LOOP), tree(LOOP)
    made.subgraphs = made.subgraphs[:-1]  # the WHILE names it
    cut = tmp_path / "cut.tflite"
    cut.write_bytes(pack(made))
    assert api.verify(path, cut, proof="only").status != "proved"


@pytest.mark.ci
def test_another_loop_with_the_same_body_stays(tmp_path: Path) -> None:
    more = "a:int32[], d:int32[], e[2,4], f[3,2,4] = WHILE(w, w, h, z, cond=test, body=turn)\n"
    text = (
        LOOP.replace("main(", "main(w:int32[], ")
        .replace("u[2,4] =", f"{more}u[2,4] =")
        .replace("MUL(h, u)", "MUL(e, u)")
    )
    assert_proved(unrolled(file(tmp_path, text)))
    assert ops(tmp_path / "after.tflite") == TRIP * 3 + ["WHILE", *END]


@pytest.mark.ci
def test_a_loop_in_the_body_of_another_is_written_out_behind_it(tmp_path: Path) -> None:
    inner = """
r:int32[], v[2,4] = WHILE(e:const:int32[]{0}, h, cond=few, body=inside)
s[2,4] = ADD(v, g)
t[2,4] = TANH(s)
subgraph few(i:int32[], h[2,4]) -> b:
b:bool[] = LESS(i, c:const:int32[]{2})
subgraph inside(i:int32[], h[2,4]) -> k, t:
k:int32[] = ADD(i, c:const:int32[]{1})
t[2,4] = ABS(h)
"""
    text = LOOP[: LOOP.index("s[2,4] = ADD")] + inner.lstrip("\n")
    assert_proved(unrolled(file(tmp_path, text)))
    assert ops(tmp_path / "after.tflite") == ["GATHER", "ABS", "ABS", "ADD", "TANH"] * 3 + END


def test_other_targets_leave_it(tmp_path: Path) -> None:
    after = tmp_path / "after.tflite"
    api.fix_file(file(tmp_path, LOOP), after)
    assert "WHILE" in ops(after)


MOVED = {
    "SLICE": "r[1,4] = SLICE(h, e:const:int32[2]{1,0}, f:const:int32[2]{1,4})",
    "STRIDED_SLICE": "r[2,2] = STRIDED_SLICE(h, e:const:int32[2]{0,0}, f:const:int32[2]{2,4}, v:const:int32[2]{1,2})",
    "GATHER": "r[4] = GATHER(h, e:const:int32[]{1}, axis=0)",
    "CONCATENATION": "r[4,4] = CONCATENATION(h, h, axis=0)",
    "RESHAPE": "r[4,2] = RESHAPE(h, e:const:int32[2]{4,2}, new_shape=[4,2])",
    "EXPAND_DIMS": "r[1,2,4] = EXPAND_DIMS(h, e:const:int32[1]{0})",
    "PACK": "r[2,2,4] = PACK(h, h, values_count=2, axis=0)",
}


def summed(moved: str) -> str:
    """A state that adds the sum of what was moved: r[1,4] -> [1,1] -> [1]."""
    rank = moved.partition("]")[0].count(",") + 1
    axes, ones = (",".join(map(str, each)) for each in (range(rank), [1] * rank))
    return f"""{moved}
w[{ones}] = SUM(r, a:const:int32[{rank}]{{{axes}}}, keep_dims=True)
o[1] = RESHAPE(w, d:const:int32[1]{{1}}, new_shape=[1])
s[2,4] = ADD(h, o)"""


@pytest.mark.ci
@pytest.mark.parametrize("op", sorted(MOVED))
def test_a_first_trip_moves_the_elements_of_a_constant(tmp_path: Path, op: str) -> None:
    """What the loop computes of a copy of a constant its first trip computes of the constant, in each kernel set."""
    text = LOOP.replace("g[2,4] = GATHER(x, i, axis=0)\ns[2,4] = ADD(h, g)", summed(MOVED[op]))
    text = text.replace("main(h0[2,4], x", "main(x").replace("h0, x,", "h0:const[2,4], x,")
    outcome = unrolled(file(tmp_path, text))
    assert_proved(outcome)
    assert ops(tmp_path / "after.tflite").count(op) >= 3
    assert outcome.verdict is not None
    assert {run.kernels for run in outcome.verdict.runs} == {"reference", "builtin", "xnnpack"}
