"""Hand-made ONNX models on their way to TOSA: what `check --target tosa` names, the tools refuse, and the other way."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import graphfix
from graphfix.runtimes.session import RefusedError
from tests.support.runtimes.tosa_loop import onnx_file, validated

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.tosa, pytest.mark.ci]

REFUSED = {
    "indices given at run time": "g (float[4,3] x, int64[2] i) => (float[2,3] y) {y = Gather(x, i)}",
    "the place of the largest": "g (float[4,3] x) => (int64[4,1] y) {y = ArgMax<axis=1>(x)}",
    "a cast to int64": "g (float[4,3] x) => (float[4,3] y) {c = Cast<to=7>(x) y = Cast<to=1>(c)}",
    "float64": "g (double[4,3] x) => (double[4,3] y) {y = Neg(x)}",
    "places that are not zero": "g (float[4] x) => (int64[1,N] y) {y = NonZero(x)}",
}
TAKEN = {
    "one index": "g (float[4,3] x) => (float[3] y) {i = Constant<value = int64 {1}>() y = Gather(x, i)}",
    "int32 indices": "g (float[4,3] x) => (float[2,3] y) {i = Constant<value = int32[2] {1,2}>() y = Gather(x, i)}",
    "an int64 shape": "g (float[4,3] x) => (float[3,4] y) {s = Constant<value = int64[2] {3,4}>() y = Reshape(x, s)}",
    "a square": "g (float[4,3] x) => (float[4,3] y) {e = Constant<value = float {2.0}>() y = Pow(x, e)}",
    "a root": "g (float[4,3] x) => (float[4,3] y) {e = Constant<value = float {0.5}>() a = Abs(x) y = Pow(a, e)}",
}


def stoppers(model: Path) -> list[str]:
    sites = graphfix.check(model, target="tosa").sites
    return [f"{site.op}: {site.reason}" for site in sites if site.code in ("GF301", "GF302", "GF305")]


def fixed(model: Path) -> Path:
    out = model.with_name("fixed.onnx")
    graphfix.fix_file(model, out, target="tosa", check_result=False)
    return out


@pytest.mark.parametrize("graph", REFUSED.values(), ids=REFUSED)
def test_what_the_tools_refuse_is_named_beforehand(graph: str, tmp_path: Path) -> None:
    model = onnx_file(tmp_path, graph)
    assert stoppers(model)
    try:
        errors = validated(fixed(model)).errors
    except RefusedError:
        return
    assert errors


@pytest.mark.parametrize("graph", TAKEN.values(), ids=TAKEN)
def test_what_the_tools_take_is_not_named(graph: str, tmp_path: Path) -> None:
    model = onnx_file(tmp_path, graph)
    assert stoppers(model) == []
    assert validated(fixed(model)).errors == ()
