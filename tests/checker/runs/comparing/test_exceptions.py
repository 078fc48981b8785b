"""Rows of the table of exceptions, by the runs that they explain."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import pytest

from graphfix.checker.runs.comparing import exceptions
from graphfix.checker.runs.comparing.difference import Difference
from graphfix.results import Run, Verdict


def run(
    status: Literal["equal", "different", "undecided"],
    *,
    outputs: int = 1,
    on: bool = False,
    signature: str = "",
    **sizes: int,
) -> Run:
    return Run(sizes, "on" if on else "off", status, outputs=outputs, signature=signature)


EQUAL, DIFFERENT = run("equal", N=3), run("different", N=0)


@pytest.mark.parametrize(
    ("runs", "site", "count"),
    [
        pytest.param([EQUAL, DIFFERENT], "N=0", 1, id="one of two"),
        pytest.param([EQUAL, DIFFERENT, run("different", N=2, M=0, K=1)], "N=0, M=0", 2, id="two symbols"),
        pytest.param([EQUAL, DIFFERENT, DIFFERENT], "N=0", 2, id="one symbol twice"),
        pytest.param([EQUAL, DIFFERENT, run("different", on=True, N=3)], "N=0", 1, id="optimized runs do not decide"),
        pytest.param([EQUAL, run("different", N=0, outputs=0)], "N=0", 1, id="a failure"),
        pytest.param([EQUAL, DIFFERENT, run("different", N=1)], None, 0, id="another size differs"),
        pytest.param([DIFFERENT], None, 0, id="no other run"),
        pytest.param([DIFFERENT, run("undecided", N=3)], None, 0, id="the other run is undecided"),
        pytest.param([DIFFERENT, run("equal", N=0)], None, 0, id="the equal run has a size of 0"),
        pytest.param([DIFFERENT, run("equal", on=True, N=3)], None, 0, id="the equal run is optimized"),
    ],
)
def test_a_size_of_0_explains_differences_where_other_sizes_are_equal(
    runs: list[Run], site: str | None, count: int
) -> None:
    expected = {"class": "size-0", "output": None, "site": site, "count": count}
    assert exceptions.size_0(runs) == (expected if site else None)


CAST = Verdict("different", runs=(run("different", N=2), run("equal", N=3)))
KEPT = Verdict("equal", runs=(run("equal", N=2), run("equal", N=3)))


@pytest.mark.parametrize(
    ("verdict", "kept", "count"),
    [
        pytest.param(CAST, KEPT, 1, id="equal with every rounding"),
        pytest.param(replace(CAST, runs=(*CAST.runs, run("different", on=True, N=9))), KEPT, 1, id="an optimized run"),
        pytest.param(replace(CAST, runs=(*CAST.runs, run("different", N=3))), KEPT, 2, id="both"),
        pytest.param(CAST, replace(KEPT, status="undecided"), 0, id="the copies are undecided"),
        pytest.param(CAST, replace(KEPT, runs=(run("equal", N=3),)), 0, id="the copies ran other sizes"),
        pytest.param(CAST, replace(KEPT, runs=(run("undecided", N=2),)), 0, id="that run is undecided"),
        pytest.param(CAST, replace(KEPT, runs=(run("equal", signature="s", N=2),)), 0, id="another signature"),
        pytest.param(replace(CAST, runs=(run("different", outputs=0, N=2),)), KEPT, 0, id="a failure"),
        pytest.param(replace(CAST, runs=(*CAST.runs, run("different", N=9))), KEPT, 0, id="one of two"),
    ],
)
@pytest.mark.parametrize("site", ["Add#3", None])
def test_dropped_casts_explain_runs_that_are_equal_with_every_rounding_kept(
    verdict: Verdict, kept: Verdict, count: int, site: str | None
) -> None:
    found = exceptions.dropped_cast(replace(verdict, first_difference={"producer": site} if site else None), kept)
    assert found == ({"class": "dropped-cast", "output": None, "site": site, "count": count} if count else None)


ONE = replace(run("different", N=2), kernels="xnnpack")
OTHERS = tuple(replace(run("equal", N=2), kernels=kernels) for kernels in ("builtin", "reference"))


@pytest.mark.parametrize(
    ("runs", "count"),
    [
        pytest.param((*OTHERS, ONE), 1, id="one set"),
        pytest.param((*OTHERS, ONE, replace(ONE, optimizations="on", kernels="builtin")), 1, id="an optimized run"),
        pytest.param((*OTHERS, ONE, replace(ONE, largest_difference=None)), 2, id="no numbers"),
        pytest.param((*OTHERS, ONE, replace(ONE, outputs=0)), 0, id="one of two fails"),
        pytest.param((*OTHERS, ONE, replace(ONE, bindings={"N": 3})), 0, id="one of two ran elsewhere"),
        pytest.param((OTHERS[0], replace(OTHERS[1], bindings={"N": 3}), ONE), 0, id="one sibling ran elsewhere"),
        pytest.param((replace(OTHERS[0], status="undecided"), ONE), 0, id="the sibling is undecided"),
        pytest.param((*OTHERS, replace(OTHERS[0], kernels="xnnpack", bindings={"N": 3}), ONE), 1, id="equal elsewhere"),
        pytest.param(tuple(replace(each, kernels="") for each in (*OTHERS, ONE)), 0, id="a runtime without sets"),
        pytest.param((*OTHERS, replace(ONE, kernels="")), 0, id="a set without a name"),
    ],
)
def test_one_kernel_set_alone_explains_its_differences(runs: tuple[Run, ...], count: int) -> None:
    expected = {"class": "one-kernel-set", "output": None, "site": "xnnpack", "count": count, "kernels": "xnnpack"}
    assert exceptions.one_kernel_set(runs) == (expected if count else None)


@pytest.mark.parametrize("op", ["Add", "Mul", "Sum", "Mean", "Max", "Min", "PRelu", "Sub", "Div", None])
@pytest.mark.parametrize("runtime", ["onnxruntime", "onnx.reference", "LiteRT", "XNNPACK"])
def test_what_excuses_a_class_of_differences_depends_on_runtime_and_operator(
    runtime: exceptions.Runtime, op: str | None
) -> None:
    broadcasts = op in ("Add", "Mul", "Sum", "Mean", "Max", "Min", "PRelu")
    expected = {
        "value": False,
        "nan-payload": True,
        "tolerance": True,
        "signed-zero": broadcasts and runtime in ("onnxruntime", "onnx.reference"),
        "unstable": False,
    }
    for kind, is_excused in expected.items():
        found = Difference((), 0, 0, {kind: 1})
        assert exceptions.excused(found, runtime, op) == is_excused
        assert not exceptions.excused(replace(found, counts={kind: 1, "value": 1}), runtime, op)


def test_the_table_says_what_each_row_leaves() -> None:
    excused = {row.name for row in exceptions.TABLE if row.effect == "excused"}
    assert excused == {
        "nan-payload", "tolerance", "signed-zero", "reused-interpreter", "one-kernel-set", "dropped-cast", "size-0",
    }  # fmt: skip
