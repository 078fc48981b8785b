"""int64 on the way to TOSA, which has none: what fits into int32 becomes that, and what may not is named."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import graphfix
from graphfix.tosa import tosa_file
from tests.support.runtimes.tosa_loop import onnx_file

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.tosa, pytest.mark.ci]

TABLE = "t = Constant<value = float[4,2] {1.,2.,3.,4.,5.,6.,7.,8.}>() "
FITS = {
    "a vector of constant indices": "g (float[4,3] x) => (float[2,3] y)"
    " {i = Constant<value = int64[2] {1,-2}>() y = Gather(x, i)}",
    "the place of the largest": "g (float[4,3] x) => (float[4,2] y)"
    " {a = ArgMax<axis=1, keepdims=0>(x) " + TABLE + "y = Gather(t, a)}",
    "the places of the largest": "g (float[4,3] x) => (float[4,2] y)"
    " {k = Constant<value = int64[1] {2}>() v, i = TopK(x, k) y = Cast<to=1>(i)}",
    "places that are compared": "g (float[4,3] x) => (float[4] y)"
    " {a = ArgMax<axis=1, keepdims=0>(x) k = Constant<value = int64 {1}>() b = Equal(a, k) y = Cast<to=1>(b)}",
    "pairs of indices": "g (float[4,3] x) => (float[2] y)"
    " {i = Constant<value = int64[2,2] {1,2,3,0}>() y = GatherND(x, i)}",
    "a count": "g (bool[4,3] x) => (float[4] y)"
    " {c = Cast<to=7>(x) a = Constant<value = int64[1] {1}>() s = ReduceSum<keepdims=0>(c, a) y = Cast<to=1>(s)}",
}
OF_INPUTS = {
    "an index": f"g (int64[3] i) => (float[3,2] y) {{{TABLE}y = Gather(t, i)}}",
    "a mask": "g (int64[2,3] m, float[2,3] x) => (float[2,3] y) {f = Cast<to=1>(m) y = Mul(f, x)}",
    "an index that is moved": f"g (int64[3] i) => (float[3,2] y)"
    f" {{o = Constant<value = int64 {{1}}>() j = Add(i, o) {TABLE}y = Gather(t, j)}}",
    "tokens that are compared": "g (int64[2,3] i, float[2,3] x) => (float[2,3] y)"
    " {p = Constant<value = int64 {1}>() e = Equal(i, p) z = Constant<value = float {0.}>() y = Where(e, z, x)}",
}
TOO_LARGE = {
    "a float": "g (float[4,3] x) => (float[4,3] y) {c = Cast<to=7>(x) y = Cast<to=1>(c)}",
    "a product of inputs": "g (int64[3] i) => (float[3] y) {m = Mul(i, i) y = Cast<to=1>(m)}",
    "a constant": "g (bool[3] c) => (float[3] y) {a = Constant<value = int64 {9000000000}>()"
    " b = Constant<value = int64 {0}>() w = Where(c, a, b) y = Cast<to=1>(w)}",
    "an output": "g (float[4,3] x) => (int64[4,1] y) {y = ArgMax<axis=1>(x)}",
}


@pytest.mark.parametrize("case", [*FITS, *OF_INPUTS])
def test_what_fits_converts_and_agrees(case: str, tmp_path: Path) -> None:
    path = onnx_file(tmp_path, {**FITS, **OF_INPUTS}[case])
    assert not [site for site in graphfix.check(path, target="tosa", narrow_inputs=True).sites if site.code == "GF305"]
    outcome = tosa_file(path, tmp_path / "m.tosa", narrow_inputs=True, run=True)
    assert outcome.verdict is not None
    assert outcome.verdict.status == "proved"
    assert outcome.conversion is not None
    assert outcome.conversion.status == "agrees", outcome.conversion.reason


@pytest.mark.parametrize("case", OF_INPUTS)
def test_an_input_of_int64_is_named_with_the_option(case: str, tmp_path: Path) -> None:
    sites = graphfix.check(onnx_file(tmp_path, OF_INPUTS[case]), target="tosa").sites
    assert "--narrow-inputs" in str(next(site.reason for site in sites if site.code == "GF305"))


@pytest.mark.parametrize("case", TOO_LARGE)
def test_what_may_not_fit_is_named_and_not_converted(case: str, tmp_path: Path) -> None:
    path = onnx_file(tmp_path, TOO_LARGE[case])
    assert any(site.code == "GF305" for site in graphfix.check(path, target="tosa", narrow_inputs=True).sites)
    outcome = tosa_file(path, tmp_path / "m.tosa", narrow_inputs=True)
    assert outcome.conversion is not None
    assert outcome.conversion.status == "refused"
    assert not (tmp_path / "m.tosa").exists()
