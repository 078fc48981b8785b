"""Two values, bit by bit."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest

from graphfix.checker.runs.comparing.difference import (
    difference,
    has_number,
    is_float,
    nothing_compared,
    only_nan,
    plain,
)
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
        (np.array(["a"], object), np.float32([1])),
        (np.array([True]), np.array([False])),
        (np.int64([2**62]), np.int64([2**62 + 1])),
        (np.zeros(0, np.float32), np.zeros((0, 1), np.float32)),
    ],
    ids=[
        "shape",
        "rank",
        "type",
        "length",
        "element",
        "key",
        "entry",
        "absent",
        "string",
        "string or number",
        "bool",
        "wide int",
        "empty",
    ],
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


@pytest.mark.parametrize("held", ["U", "S"])
def test_strings_are_compared_by_their_text_whatever_numpy_holds_them_in(held: str) -> None:
    before = np.array(["a", "bc"]).astype(held)
    after, changed = (np.array([*before[:1].tolist(), last], object) for last in (before[1], before[0]))
    for one, same, other in ((before, after, changed), (after, before, before[[0, 0]])):
        assert difference(one, same, EXACT) is None
        found = difference(one, other, EXACT)
        assert found is not None
        assert (found.index, dict(found.counts), found.largest) == ((1,), {"value": 1}, None)
    texts = difference(np.array(["a"]), np.array(["a"]).astype("S"), EXACT)
    assert texts is not None  # text is no bytes


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [
        ([1], [1, 2], ("1 elements", "2 elements")),
        ({"b": 1, "a": 1}, {"c": 1}, (["a", "b"], ["c"])),
        (None, np.zeros((2, 3), np.float32), ("absent", "float32[2, 3]")),
        ([np.zeros(1)], None, ("list", "absent")),
        (np.zeros(2, np.int8), np.zeros((1, 2), np.int8), ("int8[2]", "int8[1, 2]")),
    ],
    ids=["length", "keys", "absent before", "absent after", "rank"],
)
def test_another_structure_is_one_difference_that_says_both(
    before: object, after: object, shown: tuple[object, object]
) -> None:
    found = difference(before, after, EXACT)
    assert found is not None
    assert (found.before, found.after) == shown
    assert (found.index, dict(found.counts), found.count, found.largest) == ((), {"value": 1}, 1, math.inf)


def test_a_sequence_shows_its_first_element_that_differs_in_value_and_adds_up_all() -> None:
    before = [np.float32([0, 5]), np.float32([0, 0, 3]), np.array(["a"], object), np.float32([1])]
    after = [np.float32([0, 5]), np.float32([-0.0, -0.0, 3]), np.array(["b"], object), np.float32([9])]
    found = difference(before, after, EXACT)
    assert found is not None
    assert (found.index, found.before, found.after) == ((2, 0), "a", "b")
    assert (dict(found.counts), found.count, found.largest) == ({"signed-zero": 2, "value": 2}, 4, 8.0)
    mild = difference(before[:2], after[:2], EXACT)
    assert mild is not None
    assert (mild.index, mild.before) == ((1, 0), 0.0)
    named = difference({"x": 1.0, "y": 1.0}, {"x": 1.0, "y": 3.0}, EXACT)
    assert named is not None
    assert (named.index, named.before, named.after, named.largest) == (("y",), 1.0, 3.0, 2.0)


@pytest.mark.parametrize(
    ("before", "after", "criterion", "counts"),
    [
        (np.uint8([0, 100, 255]), np.uint8([1, 99, 253]), Criterion(of_largest=1e-4), {"tolerance": 2, "value": 1}),
        (np.int32([10]), np.int32([11]), Criterion(of_largest=1e-4), {"value": 1}),
        (np.uint8([10]), np.uint8([11]), Criterion(atol=5), {"value": 1}),
        (np.float32([100, 0]), np.float32([100, 0.9]), Criterion(of_largest=0.01), {"tolerance": 1}),
        (np.float32([100, 0]), np.float32([100, 1.1]), Criterion(of_largest=0.01), {"value": 1}),
        (np.float32([1, 0]), np.float32([1, 0.4]), Criterion(atol=0.5), {"tolerance": 1}),
        (np.float32([1, 0]), np.float32([1, 0.4]), Criterion(rtol=0.5), {"value": 1}),
        (np.float32([10]), np.float32([12]), Criterion(rtol=0.18), {"tolerance": 1}),
        (np.float32([12]), np.float32([10]), Criterion(rtol=0.18), {"value": 1}),
        (np.float32([np.nan, 1]), np.float32([-np.nan, 1]), Criterion(atol=1), {"nan-payload": 1}),
        (np.float32([np.nan]), np.float32([1]), Criterion(atol=1), {"value": 1}),
    ],
    ids=[
        "a step of quantized numbers", "no step of others", "no step with atol", "of the largest", "beyond it", "atol",
        "no atol", "rtol of the second", "rtol of the first", "NaN", "NaN and a number",
    ],
)  # fmt: skip
def test_a_tolerance_covers_what_it_says(
    before: np.ndarray, after: np.ndarray, criterion: Criterion, counts: dict[str, int]
) -> None:
    found = difference(before, after, criterion)
    assert found is not None
    assert dict(found.counts) == counts
    assert (found.index == (2,)) == (len(before) > 2)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (np.float32(0.5), 0.5), (np.array(3), 3), (np.bool_(True), True), (np.nan, "nan"), (np.float32("inf"), "inf"),
        (ml_dtypes.bfloat16(2), 2.0), (np.complex64(1j), "1j"), ("a", "a"), (b"a", "b'a'"), (None, "None"),
    ],
)  # fmt: skip
def test_a_scalar_is_shown_as_what_json_can_write(value: object, expected: object) -> None:
    found = plain(value)
    assert (found, type(found)) == (expected, type(expected))


@pytest.mark.parametrize(
    ("value", "known"),
    [
        (np.float32([np.nan, 1]), True),
        (np.float32([1, np.nan]), True),
        (np.float32([np.nan, np.nan]), False),
        (np.array([np.nan], ml_dtypes.bfloat16), False),
        (np.float32([np.inf]), True),
        (np.int64([0]), True),
        (np.array([1], ml_dtypes.int4), True),
        (np.array(["a"], object), True),
        (np.zeros((2, 0), np.float32), None),
        ([np.float32([np.nan])], True),
    ],
)
def test_an_output_has_a_number_unless_it_is_nan_throughout(value: object, known: bool | None) -> None:
    assert has_number(value) is known


def test_an_output_is_only_nan_where_no_run_shows_a_number() -> None:
    runs: list[dict[str, bool | None]] = [
        {"a": False, "b": False, "c": None, "d": True},
        {"a": True, "b": None, "c": None, "d": False},
    ]
    assert only_nan(runs) == ["b"]
    assert nothing_compared(["b", "c"]).endswith(": b, c")


def test_floats_are_told_from_other_types_that_numpy_lacks() -> None:
    types = [np.float16, np.int8, ml_dtypes.bfloat16, ml_dtypes.float8_e5m2, ml_dtypes.int4, np.bool_]
    assert [is_float(np.zeros(1, dtype)) for dtype in types] == [True, False, True, True, False, False]
