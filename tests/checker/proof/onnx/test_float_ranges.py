"""A Range of float32 has as many elements as a size says that is cast: in steps of 1, between whole numbers."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.checker.proof.onnx.operators.shape_values import COUNTED_BY_FLOATS
from tests.support.notation import model
from tests.support.onnx.fixing import fixed
from tests.support.proving import maps, prove

RANGE = """s:int64[2] = Shape(x[N,4])
    n:int64[] = Gather(s, i:const[]{{0}})
    f = Cast(n, to=1)
    r = Range(a:const[]{{{start}}}, f, b:const[]{{{step}}})
    y = Add(r, z[1])"""
COUNTED = {
    "to the size": ("0.0", "1.0", "N"),
    "from 1 on": ("1.0", "1.0", "max(0, N-1)"),
    "in steps of 2": ("0.0", "2.0", None),
    "from a fraction on": ("0.5", "1.0", None),
}


@pytest.mark.parametrize(("start", "step", "size"), COUNTED.values(), ids=COUNTED)
def test_a_range_of_floats_is_as_long_as_the_size_that_is_cast(
    start: str, step: str, size: str | None, tmp_path: Path
) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(model(RANGE.format(start=start, step=step)).SerializeToString())
    (node,) = maps(path)
    told = [str(read.sizes[0]) for read in node.reads or () if read.sizes and read.value.startswith("r")]
    assert told == [size] if size is not None else told[0] not in {"N", "max(0, N-1)"}


FOLDED = {
    "whole numbers": ("-2.0", "7.0", "3.0", [-2.0, 1.0, 4.0], True),
    "to a fraction": ("0.0", "2.5", "1.0", [0.0, 1.0, 2.0], False),
    "in fractions": ("0.0", "1.0", "0.5", [0.0, 0.5], False),
    "from a negative zero": ("-0.0", "2.0", "1.0", [-0.0, 1.0], False),
    "large": ("8388608.0", "8388610.0", "1.0", [8388608.0, 8388609.0], False),
    "another constant": ("-2.0", "7.0", "3.0", [-2.0, 1.0, 5.0], False),
}


@pytest.mark.parametrize(("start", "limit", "step", "elements", "proved"), FOLDED.values(), ids=FOLDED)
def test_a_range_of_whole_floats_is_the_constant_that_it_computes(
    start: str, limit: str, step: str, elements: list[float], tmp_path: Path, *, proved: bool
) -> None:
    counted = f"r[*] = Range(a:const[]{{{start}}}, b:const[]{{{limit}}}, c:const[]{{{step}}})\ny = Add(r, z[1])"
    listed = ",".join(map(str, elements))
    stored = f"y = Add(r:const[{len(elements)}]{{{listed}}}, z[1])"
    paths = tmp_path / "before.onnx", tmp_path / "after.onnx"
    for path, text in zip(paths, (counted, stored), strict=True):
        path.write_bytes(model(text).SerializeToString())
    assert (prove(*paths).status == "proved") == proved


def test_the_view_and_the_proof_list_what_they_assume_of_floats(tmp_path: Path) -> None:
    proto = model(RANGE.format(start="0.0", step="1.0"))
    result = fixed(proto, target="explicit")
    assert COUNTED_BY_FLOATS in result.outcome.assumes
    paths = tmp_path / "before.onnx", tmp_path / "after.onnx"
    for path, written in zip(paths, (proto, result.after), strict=True):
        path.write_bytes(written.SerializeToString())
    found = prove(*paths)
    assert found.status == "proved"
    assert COUNTED_BY_FLOATS in found.assumes
