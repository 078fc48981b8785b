"""What is computed of constants, against literals: only what every runtime computes to the same bits."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from graphfix.checker.files.constant_bytes import stored_bytes
from graphfix.checker.proof.core.sizes import Algebra, Size
from graphfix.checker.proof.core.terms import ProofValue, TermTable, value_of
from graphfix.checker.proof.neutral.constant_folding import (
    as_constant,
    constant_array,
    converted,
    is_number,
    may_broadcast,
    paired,
    ranged,
    reduced,
    reproducible,
    single,
    small,
)
from graphfix.checker.proof.neutral.constants import Constants
from graphfix.results.runtime_facts import MOST_AXES

INF, NAN = math.inf, math.nan
MOST, LEAST = 2**31 - 1, -(2**31)
Numbers = list[Any]


def same(found: np.ndarray[Any, Any] | None, expected: object, dtype: str) -> None:
    """Assert that an array holds these numbers, of this type, with these signs of zeros."""
    if expected is None:
        assert found is None
        return
    assert found is not None
    assert (found.dtype.name, found.tolist()) == (dtype, expected)
    assert np.signbit(found).tolist() == np.signbit(np.array(expected, found.dtype)).tolist()


PAIRS: list[tuple[str, str, Numbers, Numbers, Numbers | None]] = [
    ("add", "int8", [100, 1], [27, -1], [127, 0]),
    ("add", "int8", [100], [28], None),
    ("add", "int8", [], [], []),
    ("sub", "int8", [-100], [28], [-128]),
    ("sub", "uint8", [1], [2], None),
    ("sub", "float32", [5, 2], [2, 5], [3.0, -3.0]),
    ("sub", "int64", [5, 2], [2, 5], [3, -3]),
    ("div", "float16", [1], [4], [0.25]),
    ("div", "float16", [1], [3], None),
    ("div", "float32", [0], [0], None),
    ("div", "int64", [0, 1], [1, 0], None),
    ("div", "uint8", [7, 200], [2, 3], [3, 66]),
    ("mod", "int32", [7], [1], [0]),
    ("mod", "uint8", [200], [7], [4]),
    ("min", "int64", [MOST + 1, 1], [2], None),
    ("max", "float32", [3e9], [1], [np.float32(3e9).item()]),
    ("min", "float32", [0.0], [-0.0], None),
    ("max", "float16", [2048, 1], [2, 3], [2048.0, 3.0]),
    ("greater", "float32", [NAN], [1], None),
    ("less", "float16", [2048], [2049], [False]),
    ("and", "bool", [True], [True, False], [True, False]),
    ("mul", "int64", [2**62], [2], None),
    ("mul", "int64", [2**61], [2], [2**62]),
    ("mul", "float32", [3, 0.5], [2], [6.0, 1.0]),
    ("mul", "float32", [-1], [0], [-0.0]),
    ("mul", "float32", [3e38], [2], None),
    ("mul", "float32", [-0.0], [2], None),
    ("add", "float32", [NAN], [2], None),
    ("add", "float32", [2], [INF], None),
    ("add", "float16", [2048], [2], [2050.0]),
    ("add", "float16", [2048], [1], None),
    ("div", "int32", [7, 0], [2, 2], [3, 0]),
    ("div", "int32", [7], [1], [7]),
    ("div", "float32", [7], [1], [7.0]),
    ("div", "int32", [-7], [2], None),
    ("div", "int32", [7], [-2], None),
    ("div", "int32", [7, 7], [2, 0], None),
    ("div", "float32", [-7], [2], [-3.5]),
    ("div", "float32", [7], [0], None),
    ("mod", "int32", [7, 0], [4, 4], [3, 0]),
    ("mod", "int32", [-7], [4], None),
    ("mod", "int32", [7], [-4], None),
    ("mod", "int32", [7], [0], None),
    ("mod", "float32", [7], [4], None),
    ("min", "int64", [3, -4], [2], [2, -4]),
    ("max", "int64", [3, -4], [2], [3, 2]),
    ("min", "int64", [MOST], [2], [2]),
    ("min", "int64", [MOST + 1], [2], None),
    ("max", "int64", [2], [LEAST], None),
    ("max", "int64", [2], [LEAST + 1], [2]),
    ("min", "float32", [1.5], [-2.5], [-2.5]),
    ("equal", "int64", [1, 2], [1], [True, False]),
    ("equal", "float32", [0], [-0.0], None),
    ("not equal", "int64", [1, 2], [1], [False, True]),
    ("less", "int64", [1, 2, 3], [2], [True, False, False]),
    ("less or equal", "int64", [1, 2, 3], [2], [True, True, False]),
    ("greater", "int64", [1, 2, 3], [2], [False, False, True]),
    ("greater or equal", "int64", [1, 2, 3], [2], [False, True, True]),
    ("and", "bool", [False, False, True, True], [False, True, False, True], [False, False, False, True]),
    ("or", "bool", [False, False, True, True], [False, True, False, True], [False, True, True, True]),
    ("xor", "bool", [False, False, True, True], [False, True, False, True], [False, True, True, False]),
]
ASKING = frozenset({"equal", "not equal", "less", "less or equal", "greater", "greater or equal"})


@pytest.mark.parametrize(("rule", "dtype", "one", "two", "expected"), PAIRS, ids=str)
def test_an_operator_of_two_constants(
    rule: str, dtype: str, one: Numbers, two: Numbers, expected: Numbers | None
) -> None:
    found = paired(rule, np.array(one, dtype), np.array(two, dtype))
    same(found, expected, "bool" if rule in ASKING else dtype)


def test_operands_of_two_types_or_too_many_elements_are_not_computed() -> None:
    assert paired("add", np.array([1], np.int32), np.array([1], np.int64)) is None
    row = np.ones((1, 257), np.int8)
    assert paired("add", row, np.ones((256, 1), np.int8)) is None
    assert paired("add", row[:, :256], np.ones((256, 1), np.int8)) is not None


@pytest.mark.parametrize(
    ("arrays", "few"),
    [([(256, 1), (1, 256)], True), ([(256, 1), (1, 257)], False), ([(0, 1), (1, 1 << 20)], True), ([()], True)],
)
def test_a_broadcast_has_few_elements(arrays: list[tuple[int, ...]], few: bool) -> None:
    held = [np.broadcast_to(np.int8(0), shape) for shape in arrays]
    assert small(*held) is few
    assert may_broadcast([None, *held]) is few


def test_arrays_that_do_not_fit_are_for_the_operator_to_refuse() -> None:
    assert may_broadcast([np.ones(2), np.ones(3)])


SINGLE: list[tuple[str, str, Numbers, Numbers | None]] = [
    ("neg", "int8", [127, -127], [-127, 127]),
    ("neg", "int8", [-128], None),
    ("neg", "int64", [1 << 40], [-(1 << 40)]),
    ("abs", "int8", [-127, 5], [127, 5]),
    ("abs", "int8", [-128], None),
    ("neg", "float32", [1.5], [-1.5]),
    ("neg", "float32", [0.0], None),
    ("abs", "float32", [-1.5], [1.5]),
    ("sign", "int64", [-5, 0, 7], [-1, 0, 1]),
    ("sign", "int64", [1 << 31], None),
    ("sign", "int8", [-128], [-1]),
    ("floor", "float32", [1.5, -1.5], [1.0, -2.0]),
    ("ceil", "float32", [1.5, 2.5], [2.0, 3.0]),
    ("ceil", "float32", [-0.5], None),
    ("sqrt", "float32", [4, 9], [2.0, 3.0]),
    ("sqrt", "float32", [4, -9], None),
    ("sqrt", "float64", [4, 0], [2.0, 0.0]),
    ("sqrt", "float16", [4], None),
    ("not", "bool", [True, False], [False, True]),
    ("floor", "float32", [NAN], None),
    ("abs", "float32", [-0.0], None),
    ("abs", "float32", [INF], None),
    ("sign", "float32", [-2.5, 3e9], [-1.0, 1.0]),
    ("neg", "int64", [], []),
    ("neg", "uint8", [1, 0], [255, 0]),
    ("abs", "int64", [-(2**63)], None),
    ("abs", "int64", [-(2**63) + 1], [2**63 - 1]),
    ("sign", "int64", [-(1 << 31), 5], None),
    ("sign", "int64", [1 - (1 << 31), 5], [-1, 1]),
]


@pytest.mark.parametrize(("rule", "dtype", "given", "expected"), SINGLE, ids=str)
def test_an_operator_of_one_constant(rule: str, dtype: str, given: Numbers, expected: Numbers | None) -> None:
    same(single(rule, np.array(given, dtype)), expected, dtype)


REDUCED: list[tuple[str, str, Numbers, tuple[int, ...] | None, bool, Numbers | float | None]] = [
    ("sum", "int64", [[1, 2], [3, 4]], None, False, 10),
    ("sum", "int64", [[1, 2], [3, 4]], (0,), False, [4, 6]),
    ("sum", "int64", [[1, 2], [3, 4]], (1,), True, [[3], [7]]),
    ("prod", "int64", [[1, 2], [3, 4]], None, False, 24),
    ("min", "int64", [[1, 2], [3, 4]], (0,), False, [1, 2]),
    ("max", "int64", [[1, 2], [3, 4]], (1,), False, [2, 4]),
    ("max", "float32", [1.5, 2.5], None, False, 2.5),
    ("sum", "float32", [1.5, 2.5], None, False, None),
    ("sum", "int64", [], None, False, None),
    ("max", "int64", [1 << 31], None, False, None),
    ("sum", "int64", [1 << 30, 1 << 30], None, False, None),
    ("sum", "int64", [1 << 30, (1 << 30) - 1], None, False, (1 << 31) - 1),
    ("sum", "int64", [5, 1 << 31], (0,), True, None),
    ("min", "float32", [3e9, 2.5], None, True, [2.5]),
    ("prod", "bool", [True, False], None, False, None),
    ("prod", "int8", [[2, 3], [4, 5]], (1,), False, [6, 20]),
    ("prod", "int8", [[2, 3], [4, 50]], (1,), False, None),
    ("min", "int32", [], None, False, None),
    ("sum", "uint8", [200, 56], None, False, None),
    ("sum", "uint8", [200, 55], None, False, 255),
    ("max", "float32", [0.0, -0.0], None, False, None),
]


@pytest.mark.parametrize(("rule", "dtype", "given", "axes", "keep", "expected"), REDUCED, ids=str)
def test_a_reduction(
    rule: str, dtype: str, given: Numbers, axes: tuple[int, ...] | None, keep: bool, expected: object
) -> None:
    same(reduced(rule, np.array(given, dtype), axes, keep=keep), expected, dtype)


CONVERTED: list[tuple[str, Numbers, str, Numbers | None]] = [
    ("float32", [1.9, -1.9], "int32", [1, -1]),
    ("float32", [300], "int8", None),
    ("int64", [127, -128], "int8", [127, -128]),
    ("int64", [128], "int8", None),
    ("int64", [-1], "uint8", None),
    ("int64", [0, 2, -1], "bool", [False, True, True]),
    ("float32", [0.5], "bool", [True]),
    ("int64", [2**24 + 1], "float32", [2.0**24]),
    ("float64", [0.1], "float32", [float(np.float32(0.1))]),
    ("float64", [1e300], "float32", None),
    ("float64", [-1e-300], "float32", None),
    ("float32", [0.5, 2], "float16", [0.5, 2.0]),
    ("float32", [0.1], "float16", None),
    ("float16", [0.5], "float32", [0.5]),
    ("bool", [True, False], "float32", [1.0, 0.0]),
    ("bool", [True], "int64", [1]),
    ("float32", [-0.0], "bool", None),
    ("float32", [NAN], "bool", None),
    ("float32", [-0.0], "int32", None),
    ("float32", [INF], "int32", None),
    ("int64", [2**53 + 1], "int64", [2**53 + 1]),
    ("int64", [2**53 + 1], "uint64", [2**53 + 1]),
    ("int64", [-1], "uint64", None),
    ("uint8", [0, 3], "bool", [False, True]),
    ("float16", [0.5], "float64", [0.5]),
    ("bool", [True, False], "float16", [1.0, 0.0]),
    ("int64", [2049], "float16", None),
    ("float32", [-0.0], "float64", None),
    ("float32", [NAN], "float64", None),
    ("float32", [1], "bfloat16", None),
]


@pytest.mark.parametrize(("dtype", "given", "to", "expected"), CONVERTED, ids=str)
def test_a_conversion(dtype: str, given: Numbers, to: str, expected: Numbers | None) -> None:
    same(converted(np.array(given, dtype), to), expected, to)


EXACT = 1 << 22
RANGES: list[tuple[str, Any, Any, Any, Numbers | None]] = [
    ("int64", 1, 8, 3, [1, 4, 7]),
    ("int64", 1, 7, 3, [1, 4]),
    ("int64", 5, 1, -2, [5, 3]),
    ("int64", 5, 1, 2, []),
    ("int64", 0, 3, 0, None),
    ("int64", 0, 2**16, 1, list(range(2**16))),
    ("int64", 0, 2**16 + 1, 1, None),
    ("int64", 0, (1 << 31) - 1, 1 << 30, [0, 1 << 30]),
    ("int64", 0, 1 << 31, 1 << 30, None),
    ("int64", 0, -(1 << 31), -(1 << 30), None),
    ("int64", 1 << 53, (1 << 53) + 1, 1, None),
    ("int64", (1 << 53) - 2, (1 << 53) - 1, 1, [(1 << 53) - 2]),
    ("int64", (1 << 53) - 2, 1 << 53, 1, None),
    ("int64", 1 << 53, (1 << 53) - 2, -1, None),
    ("int64", 2, 0, -1, [2, 1]),
    ("int64", -3, 4, 5, [-3, 2]),
    ("float64", 0, 3, 2, [0.0, 2.0]),
    ("float32", 3, 0, -1, [3.0, 2.0, 1.0]),
    ("float32", 0, 3, 0.5, None),
    ("float32", 0.5, 3, 1, None),
    ("float32", 0, 3, 0, None),
    ("float32", 0, 3, 1, [0.0, 1.0, 2.0]),
    ("float32", 0, 2.5, 1, None),
    ("float32", -0.0, 3, 1, None),
    ("float32", EXACT - 1, EXACT - 3, -1, [EXACT - 1.0, EXACT - 2.0]),
    ("float32", EXACT, EXACT - 2, -1, None),
    ("float16", 0, 3, 1, None),
]


@pytest.mark.parametrize(("dtype", "start", "limit", "step", "expected"), RANGES, ids=lambda each: str(each)[:20])
def test_a_range(dtype: str, start: float, limit: float, step: float, expected: Numbers | None) -> None:
    found = ranged(*(np.array(end, dtype) for end in (start, limit, step)))
    same(found, expected, dtype)


@pytest.mark.parametrize(
    ("dtype", "given", "expected"),
    [
        ("float32", [1, -2, 0], True), ("float32", [1, -0.0], False), ("float32", [INF], False),
        ("int8", [0, -1], True),
        ("float32", [NAN], False), ("float32", [], True),
    ],
    ids=str,
)  # fmt: skip
def test_what_leaves_nothing_open(dtype: str, given: Numbers, expected: bool) -> None:
    assert reproducible(np.array(given, dtype)) is expected


def constants() -> Constants:
    return Constants(TermTable(Algebra()))


SEEN: dict[str, np.ndarray[Any, Any]] = {
    "floats": np.arange(6, dtype=np.float32).reshape(2, 3),
    "unit axes": np.arange(3, dtype=np.float32).reshape(1, 3, 1),
    "the same rows": np.array([[1.5, 2.5]] * 3, np.float32),
    "the same columns": np.array([[1.5] * 3, [2.5] * 3], np.float32),
    "one element": np.full((2, 2), 7, np.int64),
    "shapes": np.array([2, 3, 4], np.int64),
    "truths": np.array([[True, False], [False, True]]),
    "a scalar": np.array(3.5),
    "no elements": np.zeros((2, 0), np.float16),
}


@pytest.mark.parametrize("array", SEEN.values(), ids=SEEN)
def test_a_constant_is_read_as_it_was_entered(array: np.ndarray[Any, Any]) -> None:
    view = as_constant(constants(), array, "c")
    found = constant_array(view)
    assert view.sizes == array.shape
    if array.size:
        assert found is not None
        assert (found.dtype, found.shape, found.tolist()) == (array.dtype, array.shape, array.tolist())
    else:
        assert view.core is as_constant(constants(), array, "c").core or found is None or found.size == 0


def test_only_the_elements_of_small_constants_are_read() -> None:
    made = constants()
    view = as_constant(made, np.arange(6, dtype=np.float32).reshape(2, 3), "c")
    n = made.table.algebra.symbol(("N",), "N")
    assert constant_array(ProofValue(view.core, (1, 0), (3, 2))) is None
    assert constant_array(ProofValue(view.core, None, None)) is None
    assert constant_array(None) is None
    one = as_constant(made, np.array([2.5], np.float32), "c")
    assert constant_array(ProofValue(one.core, (None,), (n,))) is None
    assert constant_array(ProofValue(one.core, (None,), (1 << 16,))) is not None
    assert constant_array(ProofValue(one.core, (None,), ((1 << 16) + 1,))) is None
    terms = made.table.integers((n, 2), "int64")
    assert constant_array(terms) is None
    assert (
        constant_array(ProofValue(view.core, None, (2, 3)))
        is None
        is constant_array(ProofValue(view.core, (0, 1), None))
    )
    for rank in (MOST_AXES, MOST_AXES + 1):
        assert (constant_array(ProofValue(one.core, (None,) * rank, (1,) * rank)) is None) == (rank > MOST_AXES)
    assert not is_number(ProofValue(one.core, None, None), 2)
    core, _ = made.table.find_or_create_core(("input", "x"), "x")
    core.sizes = (2,)
    assert constant_array(value_of(core)) is None


def test_bytes_that_are_no_truth_value_are_not_read() -> None:
    made = constants()
    assert constant_array(made.view("bool", (2, 2), stored_bytes(b"\0\1\1\0"), 1, "c")) is not None
    assert constant_array(made.view("bool", (2, 2), stored_bytes(b"\0\1\2\0"), 1, "c")) is None


@pytest.mark.parametrize(
    ("given", "number", "expected"),
    [([1], 1, True), ([[1]], 1, True), ([2], 1, False), ([1, 1], 1, False), (1, 1, True)],
    ids=str,
)
def test_a_constant_of_one_element_is_a_number(given: object, number: int, expected: bool) -> None:
    assert is_number(as_constant(constants(), np.array(given, np.float32), "c"), number) is expected


def test_a_constant_whose_bytes_or_sizes_do_not_say_its_elements_is_not_read() -> None:
    made = constants()
    n = made.table.algebra.symbol(("N",), "N")

    def read(dtype: str, sizes: tuple[Size, ...] | None, data: bytes | None, seen: tuple[Size, ...]) -> object:
        core, _ = made.table.find_or_create_core(("constant", dtype, data, sizes), "c")
        core.sizes, core.payload = sizes, None if data is None else stored_bytes(data)
        found = constant_array(ProofValue(core, tuple(range(len(seen))), seen))
        return None if found is None else found.tolist()

    assert read("int32", (2, 1), bytes([1, 0, 0, 0, 2, 0, 0, 0]), (2, 1)) == [[1], [2]]
    assert read("int32", (2, 1), bytes(12), (2, 1)) is None
    assert read("int32", (2, 1), bytes(4), (2, 1)) is None
    assert read("int32", (2, 1), None, (2, 1)) is None
    assert read("int32", None, bytes(8), (2, 1)) is None
    assert read("int32", (n, 2), bytes(8), (1, 2)) is None
    assert read("int32", (2, 1), bytes(8), (2,)) is None
    assert read("complex64", (2, 1), bytes(16), (2, 1)) is None
    assert read("int4", (2, 1), bytes(1), (2, 1)) is None
    assert read("int8", (1,) * 70, bytes(1), ()) is None
