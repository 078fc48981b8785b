"""What is computed of integers, of which some are sizes: as C and the operators compute it, at every size tried."""

from __future__ import annotations

from collections.abc import Callable
from math import fmod

import pytest

from graphfix.formats.onnx.infer.operators.arithmetic import ARITHMETIC, c_remainder, floor_remainder
from graphfix.formats.onnx.infer.sizes import normalized_axes, quotient
from graphfix.shapes.dim import UNKNOWN, Dim, Size
from graphfix.shapes.terms import Terms, as_size

TERMS = Terms()
N, M = Dim(("N",)), Dim(("M",))
ANY = Dim((), -9)
"""A number of which is known that it is at least -9."""


def at(size: Size, number: int) -> int | None:
    return TERMS.number(size, {("N",): number})


def divided(a: int, b: int) -> int:
    return int(a / b)


COMPUTED: dict[str, tuple[Callable[[Terms, Size, Size], Size], Callable[[int, int], int]]] = {
    "Div": (ARITHMETIC["Div"], divided),
    "Mod with fmod": (c_remainder, lambda a, b: int(fmod(a, b))),
    "Mod": (floor_remainder, lambda a, b: a % b),
    "Add": (ARITHMETIC["Add"], lambda a, b: a + b),
    "Sub": (ARITHMETIC["Sub"], lambda a, b: a - b),
    "Mul": (ARITHMETIC["Mul"], lambda a, b: a * b),
    "Max": (ARITHMETIC["Max"], max),
    "Min": (ARITHMETIC["Min"], min),
}


@pytest.mark.parametrize(("rule", "right"), COMPUTED.values(), ids=COMPUTED)
@pytest.mark.parametrize("less", [0, 1, 3, 4, 5, 9])
@pytest.mark.parametrize("by", [1, 2, 4])
def test_what_is_computed_of_a_size_less_a_number_is_right_at_every_size(
    rule: Callable[[Terms, Size, Size], Size], right: Callable[[int, int], int], less: int, by: int
) -> None:
    found = rule(TERMS, TERMS.sub(N, less), by)
    assert [at(found, size) for size in range(12)] == [right(size - less, by) for size in range(12)]


def test_a_quotient_of_what_is_above_minus_the_divisor_is_never_below_0() -> None:
    found = ARITHMETIC["Div"](TERMS, TERMS.sub(N, 3), 4)
    assert isinstance(found, Dim)
    assert found.lo == 0


@pytest.mark.parametrize(("a", "b"), [(7, 0), (7, -2), (-7, 0), (N, 0), (N, -1), (TERMS.sub(N, 1), M), (ANY, N)])
def test_a_quotient_by_what_may_be_0_or_less_is_not_known(a: Size, b: Size) -> None:
    assert ARITHMETIC["Div"](TERMS, a, b) == UNKNOWN
    assert c_remainder(TERMS, a, b) == UNKNOWN
    assert floor_remainder(TERMS, a, b) == UNKNOWN


def test_a_remainder_by_a_size_is_not_known_where_its_sign_is_the_divisors() -> None:
    assert floor_remainder(TERMS, 7, N) == UNKNOWN


def test_of_two_sizes_the_quotient_has_a_name() -> None:
    assert TERMS.text(ARITHMETIC["Div"](TERMS, N, M)) == "{?=floordiv({N}, {M})}"


P = TERMS.add(N, 1)
COMPARED: dict[str, tuple[Size, Size, str]] = {
    "two numbers": (3, 5, "0 0 1 0 1"),
    "two others": (5, 3, "0 1 0 1 0"),
    "one number": (4, 4, "1 0 0 1 1"),
    "one size": (N, N, "1 0 0 1 1"),
    "a size and more": (N, P, "0 0 1 0 1"),
    "more and the size": (P, N, "0 1 0 1 0"),
    "a size and 0": (N, 0, "? ? 0 1 ?"),
    "0 and a size": (0, N, "? 0 ? ? 1"),
    "a size and less than 0": (N, -1, "0 1 0 1 0"),
    "less than 0 and a size": (-1, N, "0 0 1 0 1"),
    "two sizes": (N, M, "? ? ? ? ?"),
    "what is not known": (N, UNKNOWN, "? ? ? ? ?"),
}


@pytest.mark.parametrize(("a", "b", "found"), COMPARED.values(), ids=COMPARED)
def test_comparisons_are_decided_where_every_size_agrees(a: Size, b: Size, found: str) -> None:
    ops = "Equal Greater Less GreaterOrEqual LessOrEqual".split()
    answers = [ARITHMETIC[op](TERMS, a, b) for op in ops]
    assert " ".join("?" if answer == UNKNOWN else str(answer) for answer in answers) == found


@pytest.mark.parametrize(
    ("a", "b", "both", "either"),
    [
        (0, 0, 0, 0),
        (0, 1, 0, 1),
        (1, 0, 0, 1),
        (1, 1, 1, 1),
        (UNKNOWN, 0, 0, UNKNOWN),
        (0, UNKNOWN, 0, UNKNOWN),
        (UNKNOWN, 1, UNKNOWN, 1),
        (1, UNKNOWN, UNKNOWN, 1),
        (UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN),
    ],
)
def test_one_truth_value_may_decide(a: Size, b: Size, both: Size, either: Size) -> None:
    assert ARITHMETIC["And"](TERMS, a, b) == both
    assert ARITHMETIC["Or"](TERMS, a, b) == either


LIMIT = 1 << 31


@pytest.mark.parametrize(
    ("a", "b", "known"),
    [
        (LIMIT - 1, 0, True),
        (LIMIT, 0, False),
        (0, LIMIT, False),
        (-LIMIT, 0, False),
        (1 - LIMIT, 0, True),
        (N, LIMIT, False),
        (LIMIT, N, False),
        (N, 2, True),
    ],
)
def test_an_extreme_of_a_number_of_more_than_32_bits_is_not_known(a: Size, b: Size, known: bool) -> None:
    assert [ARITHMETIC[op](TERMS, a, b) != UNKNOWN for op in ("Max", "Min")] == [known, known]


QUOTIENTS: dict[str, tuple[Size, Size, Size]] = {
    "numbers": (12, 4, 3),
    "numbers with a remainder": (13, 4, UNKNOWN),
    "by 1": (13, 1, 13),
    "by 0": (12, 0, UNKNOWN),
    "by less than 0": (12, -4, UNKNOWN),
    "a size by a number": (N, 2, TERMS.floordiv(N, 2)),
    "a size by 0": (N, 0, UNKNOWN),
    "a size by less than 0": (N, -1, UNKNOWN),
    "a multiple by a size": (TERMS.mul(N, 6), N, 6),
    "a size by another": (N, M, UNKNOWN),
    "what may be less than 0 by a number": (TERMS.sub(N, 8), 2, as_size(TERMS.floordiv(TERMS.sub(N, 8), 2))),
    "what may be less than 0 by a size": (TERMS.mul(TERMS.sub(N, 8), M), M, as_size(TERMS.sub(N, 8))),
}


@pytest.mark.parametrize(("size", "by", "found"), QUOTIENTS.values(), ids=QUOTIENTS)
def test_a_quotient_of_sizes_has_no_remainder_and_is_no_less_than_0(size: Size, by: Size, found: Size) -> None:
    assert quotient(TERMS, size, by) == found


@pytest.mark.parametrize(
    ("axes", "rank", "found"),
    [
        ([0, -1], 3, [0, 2]),
        ([2, -3], 3, [2, 0]),
        ([], 3, []),
        ([3], 3, None),
        ([-4], 3, None),
        ([1, -2], 3, None),
        ([0], 0, None),
    ],
)
def test_axes_are_counted_from_the_front(axes: list[int], rank: int, found: list[int] | None) -> None:
    assert normalized_axes(axes, rank) == found
