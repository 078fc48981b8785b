"""Two values, bit by bit."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest

from graphfix.checker.runs.comparing.difference import difference
from graphfix.checker.task import Criterion

EXACT = Criterion()
A = np.float32([1.0, np.nan, 0.0, np.inf])


def test_equal_bits_are_no_difference_nan_and_infinity_included() -> None:
    assert difference(A, A.copy(), EXACT) is None


@pytest.mark.parametrize(
    ("index", "value", "counts", "largest"),
    [
        (0, 1.5, {"value": 1}, 0.5),
        (1, 3.0, {"value": 1}, math.inf),
        (2, -0.0, {"signed-zero": 1}, 0.0),
        (3, -np.inf, {"value": 1}, math.inf),
        (1, -np.nan, {"nan-payload": 1}, 0.0),
    ],
    ids=["a number", "a NaN that became a number", "the sign of zero", "the sign of infinity", "the sign of NaN"],
)
def test_each_class_is_reported_from_the_others(
    index: int, value: float, counts: dict[str, int], largest: float
) -> None:
    other = A.copy()
    other[index] = value
    found = difference(A, other, EXACT)
    assert found is not None
    assert (found.index, dict(found.counts), found.largest) == ((index,), counts, largest)


def test_the_first_real_difference_is_shown_before_the_harmless_ones() -> None:
    found = difference(np.float32([0.0, 1.0]), np.float32([-0.0, 2.0]), EXACT)
    assert found is not None
    assert (found.index, found.before, found.after) == ((1,), 1.0, 2.0)
    assert dict(found.counts) == {"signed-zero": 1, "value": 1}


@pytest.mark.parametrize(
    "dtype", [ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, np.float16, np.complex64, ml_dtypes.int4]
)
def test_types_that_numpy_lacks_are_compared_by_bits_too(dtype: type) -> None:
    one, other = (np.array(values).astype(dtype) for values in ([1, 2], [1, 3]))
    assert difference(one, one.copy(), EXACT) is None
    found = difference(one, other, EXACT)
    assert found is not None
    assert found.index[0] == 1
    assert dict(found.counts) == {"value": 1}


def test_the_nan_of_bfloat16_equals_itself_and_its_zeros_have_signs() -> None:
    nan, zeros = np.array([np.nan], ml_dtypes.bfloat16), np.array([0.0, -0.0], ml_dtypes.bfloat16)
    assert difference(nan, nan.copy(), EXACT) is None
    found = difference(zeros, zeros[::-1], EXACT)
    assert found is not None
    assert dict(found.counts) == {"signed-zero": 2}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (np.zeros((2, 3)), np.zeros((3, 2))),
        (np.zeros(2), np.zeros((1, 2))),
        (np.zeros(2, np.float32), np.zeros(2, np.float64)),
        ([np.zeros(2)], [np.zeros(2), np.zeros(2)]),
        ([np.zeros(2)], [np.ones(2)]),
        ({"a": 1.0}, {"b": 1.0}),
        ({"a": 1.0}, {"a": 2.0}),
        (None, np.zeros(2)),
        (np.array(["a", "b"], object), np.array(["a", "c"], object)),
        (np.array([True]), np.array([False])),
        (np.int64([2**62]), np.int64([2**62 + 1])),
        (np.zeros(0, np.float32), np.zeros((0, 1), np.float32)),
    ],
    ids=["shape", "rank", "type", "length", "element", "key", "entry", "absent", "string", "bool", "wide int", "empty"],
)
def test_every_kind_of_value_can_differ(before: object, after: object) -> None:
    assert difference(before, before, EXACT) is None
    found = difference(before, after, EXACT)
    assert found is not None
    assert "value" in found.counts


def test_a_tolerance_is_relative_to_the_second_value_and_spares_no_integer() -> None:
    loose = Criterion(atol=0.5, rtol=0.1)
    found = difference(np.float32([10.0, 0.0]), np.float32([11.4, -0.0]), loose)
    assert found is not None
    assert dict(found.counts) == {"tolerance": 2}
    found = difference(np.float32([10.0]), np.float32([12.0]), loose)
    assert found is not None
    assert dict(found.counts) == {"value": 1}


def test_scalars_have_the_empty_index() -> None:
    found = difference(np.float32(1), np.float32(2), EXACT)
    assert found is not None
    assert (found.index, found.before) == ((), 1.0)
