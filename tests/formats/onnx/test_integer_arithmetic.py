"""ONNX's arithmetic on integer elements: numbers as onnxruntime computes them, and sizes where their ranges decide."""

from __future__ import annotations

from collections.abc import Callable
from math import fmod

import pytest

from graphfix.formats.onnx.infer.operators.arithmetic import (
    ARITHMETIC,
    _divided,
    _negated,
    c_remainder,
    floor_remainder,
)
from graphfix.shapes.dim import UNKNOWN, Dim, Size
from graphfix.shapes.terms import Terms

NUMBERS = range(-9, 10)
N, SMALL = Dim(("N",)), Dim(("S",), 2, 4)
PLAIN: dict[str, Callable[[int, int], int]] = {
    "Add": lambda a, b: a + b,
    "Sub": lambda a, b: a - b,
    "Mul": lambda a, b: a * b,
    "Max": max,
    "Min": min,
    "Equal": lambda a, b: a == b,
    "Greater": lambda a, b: a > b,
    "Less": lambda a, b: a < b,
    "GreaterOrEqual": lambda a, b: a >= b,
    "LessOrEqual": lambda a, b: a <= b,
}


@pytest.mark.parametrize("op", PLAIN)
def test_numbers_are_computed(op: str) -> None:
    terms = Terms()
    for a in NUMBERS:
        for b in NUMBERS:
            assert ARITHMETIC[op](terms, a, b) == int(PLAIN[op](a, b)), (a, b)


def test_a_quotient_is_rounded_towards_0_and_unknown_by_0_and_of_numbers_below() -> None:
    terms = Terms()
    for a in NUMBERS:
        for b in range(1, 5):
            assert ARITHMETIC["Div"](terms, a, b) == int(a / b), (a, b)
            assert floor_remainder(terms, a, b) == a % b
            assert c_remainder(terms, a, b) == int(fmod(a, b))
        assert (
            ARITHMETIC["Div"](terms, a, 0) == floor_remainder(terms, a, 0) == floor_remainder(terms, a, -2) == UNKNOWN
        )
    assert ARITHMETIC["Div"](terms, -3, -2) == c_remainder(terms, -3, -2) == UNKNOWN
    assert ARITHMETIC["Div"](terms, -3, 1) == -3


def test_a_size_that_may_be_less_than_1_too_small_is_divided_towards_0() -> None:
    terms = Terms()
    nearly = ARITHMETIC["Div"](terms, terms.sub(N, 1), 4)
    assert nearly == terms.floordiv(terms.maximum(terms.sub(N, 1), 0), 4)
    lower = ARITHMETIC["Div"](terms, terms.sub(N, 9), 4)
    assert lower == terms.sub(
        terms.floordiv(terms.maximum(terms.sub(N, 9), 0), 4), terms.floordiv(terms.maximum(terms.sub(9, N), 0), 4)
    )


COMPARED: dict[str, tuple[str, Size, Size, Size]] = {
    "a size of 2 to 4 is more than 1": ("Greater", SMALL, 1, 1),
    "it is not more than 4": ("Greater", SMALL, 4, 0),
    "it may be more than 2": ("Greater", SMALL, 2, UNKNOWN),
    "it is at least 2": ("GreaterOrEqual", SMALL, 2, 1),
    "it may be at least 3": ("GreaterOrEqual", SMALL, 3, UNKNOWN),
    "it is not at least 5": ("GreaterOrEqual", SMALL, 5, 0),
    "it is less than 5": ("Less", SMALL, 5, 1),
    "it is at most 4": ("LessOrEqual", SMALL, 4, 1),
    "it is not at most 1": ("LessOrEqual", SMALL, 1, 0),
    "it is itself": ("Equal", SMALL, SMALL, 1),
    "it is not 5": ("Equal", SMALL, 5, 0),
    "it is not 1": ("Equal", SMALL, 1, 0),
    "it may be 4": ("Equal", SMALL, 4, UNKNOWN),
    "false and anything": ("And", UNKNOWN, 0, 0),
    "true and anything": ("And", 1, UNKNOWN, UNKNOWN),
    "true and true": ("And", 1, 1, 1),
    "true or anything": ("Or", UNKNOWN, 1, 1),
    "false or anything": ("Or", 0, UNKNOWN, UNKNOWN),
    "false or false": ("Or", 0, 0, 0),
    "the greater of more than 32 bits": ("Max", 1 << 31, 0, UNKNOWN),
    "the greater of 32 bits": ("Max", (1 << 31) - 1, 0, (1 << 31) - 1),
    "the smaller of more than 32 bits": ("Min", -(1 << 31), 0, UNKNOWN),
}


@pytest.mark.parametrize(("op", "a", "b", "expected"), COMPARED.values(), ids=COMPARED)
def test_a_comparison_is_known_where_the_ranges_decide_it(op: str, a: Size, b: Size, expected: Size) -> None:
    assert ARITHMETIC[op](Terms(), a, b) == expected


def test_a_truth_value_is_turned() -> None:
    assert [_negated(0), _negated(1), _negated(N)] == [1, 0, UNKNOWN]


@pytest.mark.parametrize("divisor", [-2, -1, 0, Dim(("d",), -3, 3)])
def test_a_quotient_of_what_may_be_below_0_is_known_by_a_positive_number_alone(divisor: Size) -> None:
    terms, below = Terms(), Dim(("n",), -5, None)
    assert _divided(terms, below, divisor) == UNKNOWN
    assert _divided(terms, below, 1) == below
    assert _divided(terms, below, 2) != UNKNOWN


def test_a_number_that_is_not_negative_is_not_divided_by_0() -> None:
    terms, size = Terms(), Dim(("n",), 0, None)
    assert _divided(terms, size, 0) == UNKNOWN
    assert _divided(terms, size, Dim(("d",), -3, 3)) == UNKNOWN
    assert _divided(terms, 7, Dim(("d",), -3, 3)) == UNKNOWN
    assert _divided(terms, size, Dim(("m",), 0, None)) != UNKNOWN
