"""Where the runs alone decide, they look at larger sizes: small ones become 1 behind strides, which hides much."""

from __future__ import annotations

import numpy as np
import pytest

from graphfix.checker.runs.inputs.interface import TensorSpec
from graphfix.checker.runs.sizes.free_sizes import Free, alternatives
from graphfix.results import Verdict
from tests.support.by_runs import verify
from tests.support.checked import verify as verify_both
from tests.support.written import Written

SHARES = """g (float[N,2,W] x) => (float[N,2,V] y) {
    p = MaxPool<kernel_shape = [8], strides = [8], auto_pad = "SAME_UPPER">(x)
    q = Mul(p, k) y = Softmax<axis = -1>(q) }"""
LINEAR = "g (float[N,M] x) => (float[N,M] y) { y = Add(x, b) }"
POSITIONS = """g (float[N,M] x) => (float[N,M] y) {
    s = Shape<start = 1>(x) m = Squeeze(s) r = Range(zero, m, one) p = Gather(table, r) y = Add(x, p) }"""


def sizes_run(verdict: Verdict) -> list[list[int]]:
    off = [run for run in verdict.runs if run.optimizations == "off" and run.status != "undecided"]
    return [[*run.bindings.values()] for run in off]


def test_a_fault_that_shows_where_an_axis_is_longer_than_1_behind_a_stride_is_found(written: Written) -> None:
    verdict = verify_both(*(written(SHARES, k=np.float32([k])) for k in (2, 3)))
    differ = [dict(run.bindings) for run in verdict.runs if run.status == "different" and run.optimizations == "off"]
    assert (verdict.status, differ) == ("different", [{"N": 2, "W": 37}])


@pytest.mark.parametrize(("runs", "sizes"), [(1, [[3, 5], [2, 37]]), (2, [[3, 5], [1, 1], [2, 37]])])
def test_the_larger_sizes_are_one_more_run(written: Written, runs: int, sizes: list[list[int]]) -> None:
    model = written(SHARES, k=np.float32([2]))
    assert sizes_run(verify(model, model, runs=runs)) == sizes


def test_what_is_proved_is_not_run_at_larger_sizes(written: Written) -> None:
    verdict = verify_both(*(written(LINEAR, b=np.float32(b)) for b in ([1], [[1]])))
    assert (verdict.status, sizes_run(verdict)) == ("proved", [[3, 5], [1, 1], [2, 2], [0, 0]])


def test_a_model_that_takes_no_larger_sizes_is_run_at_the_others(written: Written) -> None:
    model = written(POSITIONS, zero=np.int64(0), one=np.int64(1), table=np.ones(9, np.float32))
    verdict = verify(model, model)
    assert (verdict.status, sizes_run(verdict)) == ("equal", [[3, 5], [1, 1], [2, 2], [0, 0]])


@pytest.mark.parametrize(
    ("inputs", "base", "expected"),
    [
        ([("N", 3, "H", "W")], (3, 5, 7), [(2, 37, 67), (3, 37, 67), (3, 64, 64), (3, 64, 7), (3, 5, 64)]),
        ([("N", 2)], (3,), []),
        ([("N",)], (3,), [(37,), (64,)]),
        ([("N", "T"), ("N",)], (3, 5), [(2, 37), (3, 37), (3, 64)]),
        ([("N", "H", "W")], (3, 64, 96), []),
        ([(1, 3, "H", "W")], (5, 7), [(37, 67), (64, 64), (64, 7), (5, 64)]),
        ([("N", 4096, 4096, "W")], (3, 1), []),
        ([("N", "D", "H", "W")], (3, 5, 7, 11), [(3, 5, 64, 11), (3, 5, 7, 64)]),
        ([("N", "C", "D", "H", "W")], (3, 5, 7, 11, 13), []),
    ],
    ids=[
        "odd and distinct, else even and equal, else one by one", "a batch stays small", "a vector has no batch",
        "the lengths of a batch are of its size", "they are large", "no batch is free", "too large to be made",
        "of three one alone", "more are too many",
    ],
)  # fmt: skip
def test_what_is_tried(
    inputs: list[tuple[str | int, ...]], base: tuple[int, ...], expected: list[tuple[int, ...]]
) -> None:
    labels = tuple(dict.fromkeys(dim for dims in inputs for dim in dims if isinstance(dim, str)))
    leading = frozenset(dims[0] for dims in inputs if isinstance(dims[0], str))
    specs = tuple(TensorSpec(str(at), "tensor", np.dtype(np.float32), dims) for at, dims in enumerate(inputs))
    tried = alternatives(Free(labels, leading, {}, specs), "larger", dict(zip(labels, base, strict=True)))
    assert [tuple(sizes[label] for label in labels) for sizes in tried] == expected
