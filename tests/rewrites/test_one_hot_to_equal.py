"""ONE_HOT as a comparison: the plan, LiteRT's bits of indices beyond the classes too, the proof, and TOSA's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

import graphfix
from rewrites.tosa.one_hot_to_equal import plan
from tests.support.notation import node
from tests.support.runtimes.tosa_loop import litert_reference, needs_tools, prepared, ran, tflite
from tests.support.tflite.fixing import fixed

if TYPE_CHECKING:
    from pathlib import Path

INDICES = np.int32([[0, 3, -1], [4, 2, -5]])
FORMS = {-1: "2,3,4", 0: "4,2,3", 1: "2,4,3"}


def one_hot(axis: int, dtype: str = "float32") -> str:
    choices = f"a:const:{dtype}[]{{5}}, b:const:{dtype}[]{{2}}"
    return f"y:{dtype}[{FORMS[axis]}] = ONE_HOT(i:int32[2,3], d:const:int32[]{{4}}, {choices}, axis={axis})"


STAYING = {
    "indices of int64": "y[3,4] = tflite.ONE_HOT(i:int64[3], d:const:int32[]{4}, a[], b[], axis=-1)",
    "a computed number of classes": "y[3,?] = tflite.ONE_HOT(i:int32[3], d:int32[], a[], b[], axis=-1)",
    "a free size": "y[N,4] = tflite.ONE_HOT(i:int32[N], d:const:int32[]{4}, a[], b[], axis=-1)",
}


@pytest.mark.parametrize("text", STAYING.values(), ids=STAYING)
def test_it_stays(text: str) -> None:
    assert not list(plan(node(text)))


@pytest.mark.parametrize("axis", FORMS)
def test_a_second_run_does_nothing(axis: int) -> None:
    assert fixed(one_hot(axis), target="tosa").counts == {"one-hot-to-equal": 3}


@pytest.mark.ci
@pytest.mark.parametrize("dtype", ["float32", "int32", "int8"])
@pytest.mark.parametrize("axis", FORMS)
def test_every_bit_is_the_same_in_litert_and_it_is_proved(axis: int, dtype: str, tmp_path: Path) -> None:
    before, after = tflite(tmp_path, one_hot(axis, dtype)), tmp_path / "after.tflite"
    verdict = graphfix.fix_file(before, after, target="tosa").verdict
    assert verdict is not None
    assert verdict.status == "proved"
    want, got = (litert_reference(path, {"i": INDICES})["y"] for path in (before, after))
    np.testing.assert_array_equal(got, want)


@pytest.mark.ci
@needs_tools
@pytest.mark.parametrize("axis", FORMS)
def test_tosa_computes_the_same(axis: int, tmp_path: Path) -> None:
    before = tflite(tmp_path, one_hot(axis))
    want = litert_reference(before, {"i": INDICES})["y"]
    np.testing.assert_array_equal(ran(prepared(before), INDICES).outputs[0], want)
