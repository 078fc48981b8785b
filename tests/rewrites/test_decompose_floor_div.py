"""FLOOR_DIV and FLOOR_MOD of int32: the plan, LiteRT's bits at the ends of 32 bits, and TOSA's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

import graphfix
from graphfix.graph.edits import Lift, Replace
from rewrites.tosa.decompose_floor_div import plan
from tests.support.notation import node
from tests.support.runtimes.tosa_loop import litert_reference, needs_tools, prepared, ran, tflite
from tests.support.tflite.fixing import fixed

if TYPE_CHECKING:
    from pathlib import Path

OPERATORS = ["FLOOR_DIV", "FLOOR_MOD"]
ENDS = (-(2**31), -(2**31) + 1, -46341, -300, -7, -1, 0, 1, 7, 300, 2**31 - 2, 2**31 - 1)
DIVISORS = (-(2**31) + 1, -300, -7, -2, 1, 2, 7, 100, 2**31 - 1)
A, B = (np.array(each, np.int32).ravel() for each in np.meshgrid(ENDS, DIVISORS))


def test_the_operands_are_lifted_to_one_rank() -> None:
    lift, replaced = plan(node("y:int32[2,3] = tflite.FLOOR_DIV(a:int32[3], b:int32[2,3])"))
    assert lift == Lift(0, (0,), "GF304")
    assert isinstance(replaced, Replace)


@pytest.mark.parametrize("dtype", ["float32", "int8", "int64"])
def test_other_types_stay(dtype: str) -> None:
    assert not list(plan(node(f"y:{dtype}[2,3] = tflite.FLOOR_DIV(a:{dtype}[2,3], b:{dtype}[3])")))


FORMS = {
    "a scalar": "b:int32[]",
    "a positive constant": "b:const:int32[]{7}",
    "a negative constant": "b:const:int32[]{-7}",
    "constants of both signs": "b:const:int32[3]{-7,7,2}",
}


@pytest.mark.parametrize("op", OPERATORS)
@pytest.mark.parametrize("divisor", FORMS.values(), ids=FORMS)
def test_a_second_run_does_nothing(op: str, divisor: str) -> None:
    assert fixed(f"y:int32[2,3] = {op}(a:int32[2,3], {divisor})", target="tosa").counts["decompose-floor-div"]


@pytest.mark.ci
@pytest.mark.parametrize("op", OPERATORS)
@pytest.mark.parametrize("divisor", FORMS.values(), ids=FORMS)
def test_it_is_proved(op: str, divisor: str, tmp_path: Path) -> None:
    before = tflite(tmp_path, f"y:int32[2,3] = {op}(a:int32[2,3], {divisor})")
    verdict = graphfix.fix_file(before, tmp_path / "after.tflite", target="tosa").verdict
    assert verdict is not None
    assert verdict.status == "proved"


@pytest.mark.parametrize("op", OPERATORS)
def test_every_bit_is_the_same_in_litert(op: str, tmp_path: Path) -> None:
    before, after = tflite(tmp_path, f"y:int32[108] = {op}(a:int32[108], b:int32[108])"), tmp_path / "after.tflite"
    graphfix.fix_file(before, after, target="tosa", check_result=False)
    want, got = (litert_reference(path, {"a": A, "b": B})["y"] for path in (before, after))
    np.testing.assert_array_equal(got, want)


@pytest.mark.ci
@needs_tools
@pytest.mark.parametrize("op", OPERATORS)
def test_tosa_computes_the_same(op: str, tmp_path: Path) -> None:
    before = tflite(tmp_path, f"y:int32[108] = {op}(a:int32[108], b:int32[108])")
    want = litert_reference(before, {"a": A, "b": B})["y"]
    np.testing.assert_array_equal(ran(prepared(before), A, B).outputs[0], want)
