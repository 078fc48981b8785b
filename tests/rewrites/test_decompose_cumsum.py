"""CUMSUM as a few sums: the plan, LiteRT's bits, the proof with faults planted, and what TOSA makes of it."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pytest

import graphfix
from graphfix.graph.edits import Numbers, Replace
from models.builders.tflite.text import model
from rewrites.tosa.decompose_cumsum import plan
from tests.support.notation import node
from tests.support.proving import prove
from tests.support.runtimes.tosa_loop import litert_reference, needs_tools, prepared, ran, tflite
from tests.support.tflite.fixing import fixed

if TYPE_CHECKING:
    from pathlib import Path

WAYS = ["".join(pair) for pair in product(("", ", exclusive=True"), ("", ", reverse=True"))]
X = np.random.default_rng(0).integers(-40, 40, (2, 5, 3)).astype(np.int32)


def summed(dtype: str = "int32", axis: int = 1, way: str = "", sizes: str = "2,5,3") -> str:
    return f"y:{dtype}[{sizes}] = CUMSUM(x:{dtype}[{sizes}], a:const:int32[]{{{axis}}}{way})"


STAYING = {
    "another type": "y:int64[4] = tflite.CUMSUM(x:int64[4], a:const:int32[]{0})",
    "a free size": "y[N] = tflite.CUMSUM(x[N], a:const:int32[]{0})",
    "a computed axis": "y[4] = tflite.CUMSUM(x[4], a:int32[])",
}


@pytest.mark.parametrize("text", STAYING.values(), ids=STAYING)
def test_it_stays(text: str) -> None:
    assert not list(plan(node(text)))


@pytest.mark.parametrize("sizes", ["2,5,3", "1,1", "7"])
def test_a_second_run_does_nothing(sizes: str) -> None:
    assert fixed(summed(axis=-1, sizes=sizes), target="tosa").counts["decompose-cumsum"] == 1


@pytest.mark.ci
@pytest.mark.parametrize(("axis", "way"), [(axis, way) for axis in (0, 1, -1) for way in WAYS])
def test_of_whole_numbers_every_bit_is_the_same_and_it_is_proved(axis: int, way: str, tmp_path: Path) -> None:
    before, after = tflite(tmp_path, summed(axis=axis, way=way)), tmp_path / "after.tflite"
    verdict = graphfix.fix_file(before, after, target="tosa").verdict
    assert verdict is not None
    assert verdict.status == "proved"
    want, got = (litert_reference(path, {"x": X})["y"] for path in (before, after))
    np.testing.assert_array_equal(got, want)


@pytest.mark.ci
@pytest.mark.parametrize("way", WAYS)
def test_of_floats_it_is_held_to_its_bound(way: str, tmp_path: Path) -> None:
    before = tflite(tmp_path, summed("float32", way=way, sizes="2,37"))
    verdict = graphfix.fix_file(before, tmp_path / "after.tflite", target="tosa").verdict
    assert verdict is not None
    assert (verdict.status, (verdict.proof or {})["status"]) == ("equal", "bounded")


FORM = """
    c:int32[2,3] = SLICE(x:int32[2,4], b:const:int32[2]{0,0}, s:const:int32[2]{2,3})
    p:int32[2,4] = PAD(c, q:const:int32[2,2]{0,0,1,0})
    d:int32[2,4] = ADD(x, p)
    e:int32[2,2] = SLICE(d, b, t:const:int32[2]{2,2})
    f:int32[2,4] = PAD(e, r:const:int32[2,2]{0,0,2,0})
    y:int32[2,4] = ADD(d, f)
    """
FAULTS = (
    ("{0,0,2,0}", "{0,0,0,2}"),
    ("ADD(d, f)", "ADD(x, f)"),
    ("ADD(d, f)", "SUB(d, f)"),
    ("SLICE(d, b, t", "SLICE(x, b, t"),
    ("PAD(c, q:const:int32[2,2]{0,0,1,0})", "PAD(c, q:const:int32[2,2]{0,0,0,1})"),
)


def proved(folder: Path, before: str, after: str) -> str:
    paths = folder / "before.tflite", folder / "after.tflite"
    for path, text in zip(paths, (before, after), strict=True):
        path.write_bytes(model(text))
    return prove(*paths, tflite=True).status


def test_the_definition_is_proved(tmp_path: Path) -> None:
    assert proved(tmp_path, summed(sizes="2,4"), FORM) == "proved"


@pytest.mark.parametrize("fault", FAULTS)
def test_another_one_is_not(fault: tuple[str, str], tmp_path: Path) -> None:
    assert FORM.replace(*fault) != FORM
    assert proved(tmp_path, summed(sizes="2,4"), FORM.replace(*fault)) == "not proved"


@pytest.mark.parametrize("other", [summed(sizes="2,4", axis=0), *(summed(sizes="2,4", way=way) for way in WAYS[1:])])
def test_another_sum_is_not(other: str, tmp_path: Path) -> None:
    assert proved(tmp_path, other, FORM) == "not proved"


@pytest.mark.ci
@needs_tools
@pytest.mark.parametrize("way", WAYS)
def test_tosa_computes_the_same(way: str, tmp_path: Path) -> None:
    before = tflite(tmp_path, summed(way=way))
    np.testing.assert_array_equal(ran(prepared(before), X).outputs[0], litert_reference(before, {"x": X})["y"])


@pytest.mark.parametrize(
    ("text", "op", "inexact"),
    [
        ("y[2,1] = tflite.CUMSUM(x[2,1], a:const:int32[]{1})", "ADD", True),
        ("y:int32[2,1] = tflite.CUMSUM(x:int32[2,1], a:const:int32[]{-1})", "RESHAPE", False),
        ("y:int32[2,2] = tflite.CUMSUM(x:int32[2,2], a:const:int32[]{-1})", "ADD", False),
        ("y[2,1] = tflite.CUMSUM(x[2,1], a:const:int32[]{1}, exclusive=True)", "", False),
        ("y[2,2] = tflite.CUMSUM(x[2,2], a:const:int32[]{1}, exclusive=True)", "ADD", True),
        ("y[2,1] = tflite.CUMSUM(x[2,1], a:const:int32[]{0}, exclusive=True)", "ADD", True),
        ("y[0,2] = tflite.CUMSUM(x[0,2], a:const:int32[]{1})", "", False),
        ("y[1,1,1,1,2] = tflite.CUMSUM(x[1,1,1,1,2], a:const:int32[]{4})", "ADD", True),
        ("y[1,1,1,1,1,2] = tflite.CUMSUM(x[1,1,1,1,1,2], a:const:int32[]{5})", "", False),
    ],
)
def test_what_is_written_for_a_sum(text: str, op: str, inexact: bool) -> None:
    edits = list(plan(node(text)))
    if not op:
        assert edits == []
        return
    (edit,) = edits
    assert isinstance(edit, Replace)
    assert (edit.node.op, edit.code, edit.inexact is not None) == (op, "GF304", inexact)
    result = node(text).results[0]
    assert result is not None
    assert (edit.node.shape, edit.node.dtype) == (result.shape, result.dtype)


def test_a_sum_of_one_float_adds_a_zero_so_that_none_is_negative() -> None:
    (edit,) = plan(node("y[2,1] = tflite.CUMSUM(x[2,1], a:const:int32[]{1})"))
    assert isinstance(edit, Replace)
    assert edit.node.operands == (0, Numbers((0.0,), (1, 1), "float32"))
