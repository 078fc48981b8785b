"""Arithmetic on known integers, against numbers: what is computed, what is assumed, and what is left open."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from graphfix.checker.proof.core.arithmetic import Arithmetic
from graphfix.checker.proof.core.polynomials import MOST_TERMS
from graphfix.checker.proof.core.sizes import Algebra, Size
from graphfix.checker.proof.core.terms import ProofValue, TermTable, value_of
from graphfix.checker.proof.neutral.integer_values import (
    LARGE,
    NO_DIVISOR_IS_0,
    SMALL,
    computed,
    cut_size,
    decided,
    fitted_size,
    paired,
    slice_indices,
    span,
    span_of,
)

MOST = 2**31 - 1
Made = tuple[TermTable, Size, Size]


def made() -> Made:
    algebra = Algebra()
    return TermTable(algebra), algebra.symbol(("N",), "N"), algebra.symbol(("M",), "M")


def known(size: Size | None) -> Size:
    assert size is not None
    return size


NUMBERS: list[tuple[str, str, tuple[int, ...], tuple[int, ...], tuple[int, ...] | None]] = [
    ("add", "int64", (1, 2), (3,), (4, 5)),
    ("add", "int32", (MOST,), (1,), None),
    ("add", "int32", (MOST - 1,), (1,), (MOST,)),
    ("sub", "int32", (-MOST,), (1,), (-MOST - 1,)),
    ("sub", "int32", (-MOST,), (2,), None),
    ("add", "int64", (2**63 - 1,), (1,), None),
    ("sub", "int64", (3,), (5, 1), (-2, 2)),
    ("mul", "int64", (-3,), (5,), (-15,)),
    ("max", "int64", (3, -4), (2, 1), (3, 1)),
    ("min", "int64", (3, -4), (2, 1), (2, -4)),
    ("max", "int64", (1 << 31,), (2,), None),
    ("min", "int64", (MOST,), (2,), (2,)),
    ("div", "int64", (7, 0), (2,), (3, 0)),
    ("div", "int64", (-7,), (2,), None),
    ("div", "int64", (7,), (0,), None),
    ("div", "int64", (7,), (-2,), None),
    ("mod", "int64", (7, 0), (4,), (3, 0)),
    ("mod", "int64", (-7,), (4,), None),
    ("mod", "int64", (7,), (0,), None),
    ("add", "int64", (1, 2), (1, 2, 3), None),
    ("add", "int8", (1,), (2,), None),
]


@pytest.mark.parametrize(("rule", "dtype", "one", "two", "expected"), NUMBERS, ids=str)
def test_an_operator_of_numbers(
    rule: str, dtype: str, one: tuple[int, ...], two: tuple[int, ...], expected: tuple[int, ...] | None
) -> None:
    table, *_ = made()
    kind = "int32" if dtype == "int32" else "int64"
    found = computed(table, rule, [table.integers(each, kind) for each in (one, two)], dtype)
    assert (None if found is None else found.content) == expected
    assert not table.assumptions
    if found is not None:
        assert (found.sizes, found.core.key[1]) == ((len(expected or ()),), dtype)


def test_a_scalar_is_computed_of_scalars_alone() -> None:
    table, *_ = made()
    scalar, vector = (table.integers((2,), "int64", scalar=alone) for alone in (True, False))
    shapes = [
        None if (found := computed(table, "add", pair, "int64")) is None else found.sizes
        for pair in ([scalar, scalar], [scalar, vector], [vector, scalar], [scalar], [scalar, None])
    ]
    assert shapes == [(), (1,), (1,), None, None]


def test_what_is_no_known_integer_is_not_computed() -> None:
    table, *_ = made()
    core, _ = table.find_or_create_core(("input", "x"), "x")
    core.sizes = (2,)
    pairs: list[tuple[ProofValue, ProofValue]] = [(value_of(core), table.integers((1,), "int64"))]
    assert all(computed(table, "add", pair, "int64") is None for one, two in pairs for pair in ([one, two], [two, one]))
    five, seven = table.integers((5,), "int64"), table.integers((7, 8), "int64")
    assert paired(five, seven, lambda one, two: None if two == 8 else one) is None
    assert paired(five, seven, lambda one, _: one) == (5, 5)
    assert paired(table.integers((), "int64"), table.integers((), "int64"), lambda one, _: one) == ()


Rule = Callable[[Arithmetic, Size], Size | None]
TERMS: dict[str, tuple[str, str, Rule, int, Rule, list[str]]] = {
    "a sum": ("add", "int64", lambda _a, n: n, 4, lambda a, n: a.add(n, 4), []),
    "a sum of int32": ("add", "int32", lambda _a, n: n, 4, lambda a, n: a.add(n, 4), [SMALL]),
    "a minimum": ("min", "int64", lambda _a, n: n, 4, lambda a, n: a.lesser(n, 4), [SMALL]),
    "a product that fits": ("mul", "int64", lambda _a, n: n, 1 << 30, lambda a, n: a.mul(n, 1 << 30), []),
    "a product that may not": (
        "mul", "int64", lambda a, n: a.mul(n, n), 2, lambda a, n: a.mul(n, n, 2), [LARGE]),
    "a product of a large number": (
        "mul", "int64", lambda _a, n: n, 1 << 62, lambda a, n: a.mul(n, 1 << 62), [LARGE]),
    "a factor out of the type": ("mul", "int32", lambda _a, n: n, 1 << 31, lambda _a, _n: None, []),
    "a half": ("div", "int64", lambda _a, n: n, 2, lambda a, n: a.floordiv(n, 2), []),
    "a half by no positive number": ("div", "int64", lambda _a, n: n, 0, lambda _a, _n: None, [NO_DIVISOR_IS_0]),
    "an eighth of one less": (
        "div", "int64", lambda a, n: a.sub(n, 1), 8,
        lambda a, n: a.floordiv(known(a.greater(known(a.sub(n, 1)), 0)), 8), []),
    "all of one less": ("div", "int64", lambda a, n: a.sub(n, 1), 1, lambda a, n: a.sub(n, 1), []),
    "all of a size": ("div", "int64", lambda _a, n: n, 1, lambda _a, n: n, []),
    "one less by no number above 0": ("div", "int64", lambda a, n: a.sub(n, 1), 0, lambda _a, _n: None, []),
    "one less by a number below 0": ("div", "int64", lambda a, n: a.sub(n, 1), -2, lambda _a, _n: None, []),
    "a product that just may not": ("mul", "int64", lambda _a, n: n, 1 << 31, lambda a, n: a.mul(n, 1 << 31), [LARGE]),
    "a sum with 0": ("add", "int64", lambda _a, n: n, 0, lambda _a, n: n, []),
    "one factor of two out of the type": (
        "add", "int32", lambda a, n: a.mul(n, 1 << 31), 5, lambda _a, _n: None, []),
    "a rest by 1": ("mod", "int64", lambda _a, n: n, 1, lambda _a, _n: 0, []),
    "a rest by 0": ("mod", "int64", lambda _a, n: n, 0, lambda _a, _n: None, []),
    "a rest by a number below 0": ("mod", "int64", lambda _a, n: n, -3, lambda _a, _n: None, []),
    "a rest": ("mod", "int64", lambda _a, n: n, 3, lambda a, n: a.mod(n, 3), []),
    "a rest of one less": ("mod", "int64", lambda a, n: a.sub(n, 1), 3, lambda _a, _n: None, []),
}  # fmt: skip


@pytest.mark.parametrize(("rule", "dtype", "one", "two", "expected", "assumes"), TERMS.values(), ids=TERMS)
def test_an_operator_of_terms(rule: str, dtype: str, one: Rule, two: int, expected: Rule, assumes: list[str]) -> None:
    table, n, _ = made()
    arithmetic = table.arithmetic
    pair = [table.integers((known(one(arithmetic, n)),), dtype), table.integers((two,), dtype)]
    found, wanted = computed(table, rule, pair, dtype), expected(arithmetic, n)
    assert (None if found is None or found.content is None else found.content[0]) is wanted
    assert found is None or list(table.assumptions) == assumes


def test_a_division_by_a_size_assumes_that_it_is_not_0() -> None:
    table, n, m = made()
    product = table.integers((known(table.arithmetic.mul(n, m)),), "int64")
    assert known_content(computed(table, "div", [product, table.integers((n,), "int64")], "int64")) == (m,)
    assert list(table.assumptions) == [NO_DIVISOR_IS_0]
    negative = table.integers((known(table.arithmetic.sub(n, 5)),), "int64")
    assert computed(table, "div", [negative, negative], "int64") is None


def test_a_number_beside_a_term() -> None:
    table, n, m = made()
    a = table.arithmetic

    def found(rule: str, one: Size | None, two: Size | None, dtype: str = "int64") -> object:
        pair = [table.integers((known(each),), dtype) for each in (one, two)]
        return known_content(computed(table, rule, pair, dtype))

    assert found("sub", 3, n) == (a.sub(3, n),)
    assert found("max", 3, n) == (a.greater(3, n),)
    assert found("mod", 3, n) is None is found("mod", n, m)
    assert found("div", a.mul(known(a.sub(n, 1)), m), m) is None
    assert found("div", 0, a.sub(m, 1)) is None
    assert found("add", a.add(a.mul(n, 1 << 31) or 0, m), 1, "int32") is None
    one = table.integers((n,), "int64")
    assert computed(table, "add", [None, one], "int64") is None is computed(table, "add", [one, None], "int64")
    assert computed(table, "add", [one, one], None) is None is computed(table, "add", [one, one, one], "int64")


def test_no_divisor_is_assumed_to_be_another_where_nothing_is_computed() -> None:
    table, n, _ = made()
    pair = [table.integers((each,), "int64") for each in (n, 0)]
    assert computed(table, "div", pair, "int64") is computed(table, "mod", pair, "int64") is None
    assert not table.assumptions


def known_content(view: ProofValue | None) -> object:
    return None if view is None else view.content


def test_numbers_are_held_up_to_the_ends_of_their_type() -> None:
    table, n, _ = made()
    ends = (-(1 << 31) - 1, -(1 << 31), MOST, MOST + 1)
    assert [fitted_size(table, end, "int32") for end in ends] == [None, ends[1], MOST, None]
    assert fitted_size(table, None, "int64") is None
    beyond, below = known(table.arithmetic.add(n, 1 << 31)), known(table.arithmetic.sub(-(1 << 31) - 1, n))
    assert fitted_size(table, beyond, "int32") is None
    assert fitted_size(table, below, "int32") is None
    assert fitted_size(table, known(table.arithmetic.sub(-(1 << 31), n)), "int32") is not None
    assert fitted_size(table, known(table.arithmetic.add(n, MOST)), "int32") is not None


DECIDED: list[tuple[str, Rule, int | None]] = [
    ("equal", lambda _a, n: n, None),
    ("equal", lambda a, n: a.add(n, 1), 0),
    ("equal", lambda a, n: a.sub(-1, n), 0),
    ("equal", lambda a, n: a.sub(0, n), None),
    ("equal", lambda _a, _n: 0, 1),
    ("greater", lambda a, n: a.add(n, 1), 1),
    ("greater", lambda _a, n: n, None),
    ("greater", lambda a, n: a.sub(0, n), 0),
    ("greater or equal", lambda _a, n: n, 1),
    ("greater or equal", lambda a, n: a.sub(n, 1), None),
    ("greater or equal", lambda a, n: a.sub(-1, n), 0),
    ("less", lambda a, n: a.sub(-1, n), 1),
    ("less", lambda a, n: a.sub(0, n), None),
    ("less", lambda _a, n: n, 0),
    ("less or equal", lambda a, n: a.sub(0, n), 1),
    ("less or equal", lambda _a, n: n, None),
    ("less or equal", lambda a, n: a.add(n, 1), 0),
]


@pytest.mark.parametrize(("relation", "one", "expected"), DECIDED)
def test_a_relation_to_0_that_holds_for_all_sizes(relation: str, one: Rule, expected: int | None) -> None:
    table, n, _ = made()
    assert decided(table.arithmetic, relation, known(one(table.arithmetic, n)), 0) == expected


@pytest.mark.parametrize(
    ("start", "limit", "step"),
    [(0, 5, 1), (0, 5, 2), (1, 5, 2), (0, 6, 3), (5, 0, -1), (5, 0, -2), (0, 5, -1), (5, 0, 1), (3, 3, 1), (-2, 2, 3)],
)
def test_a_range_holds_as_many_numbers_as_in_python(start: int, limit: int, step: int) -> None:
    table, *_ = made()
    assert span(start, limit, step) == len(range(start, limit, step)) == span_of(table.arithmetic, start, limit, step)


def test_a_range_of_terms() -> None:
    table, n, _ = made()
    a = table.arithmetic
    assert span(0, 5, 0) is None is span_of(a, 0, n, 0)
    assert span_of(a, 0, n, 1) is n
    assert span_of(a, 0, n, 2) is a.ceildiv(n, 2)
    assert span_of(a, n, 0, -1) is n
    assert span_of(a, 3, n, 1) is a.greater(known(a.sub(n, 3)), 0)
    assert span_of(a, 0, MOST, 1) == MOST
    assert span_of(a, 0, MOST + 1, 1) is None
    assert span_of(a, 1 << 53, (1 << 53) + 5, 1) is None
    assert span_of(a, (1 << 53) - 6, (1 << 53) - 1, 1) == 5
    assert span_of(a, (1 << 53) - 6, (1 << 53) + 5, 1) is None is span_of(a, (1 << 53) - 6, 1 << 53, 1)
    assert span_of(a, 1 << 53, (1 << 53) - 6, -1) is None


CUTS: list[tuple[int, int, int, int, list[int] | None]] = [
    (5, 0, 5, 1, [0, 1, 2, 3, 4]),
    (5, 1, -1, 1, [1, 2, 3]),
    (5, -2, MOST, 1, [3, 4]),
    (5, -9, 2, 1, [0, 1]),
    (5, 0, 5, 2, [0, 2, 4]),
    (5, 4, 0, -2, [4, 2]),
    (5, -1, -6, -1, [4, 3, 2, 1, 0]),
    (5, -5, -9, -1, [0]),
    (5, -6, -9, -1, None),
    (5, 4, MOST - 1, -1, []),
    (5, 4, MOST, -1, None),
    (5, 0, 5, 0, None),
]


@pytest.mark.parametrize(("size", "start", "end", "step", "expected"), CUTS, ids=str)
def test_the_places_that_a_slice_takes(size: int, start: int, end: int, step: int, expected: list[int] | None) -> None:
    found = slice_indices(size, start, end, step)
    assert (None if found is None else list(found)) == expected
    if expected is not None and step > 0:
        table, *_ = made()
        assert cut_size(table.arithmetic, size, start, end, step) == len(expected)


def test_the_size_of_a_slice_of_terms() -> None:
    table, n, m = made()
    a = table.arithmetic
    less = known(a.sub(n, 2))
    assert cut_size(a, n, 0, MOST, 1) is n
    assert cut_size(a, n, 0, MOST - 1, 1) is a.lesser(MOST - 1, n)
    assert cut_size(a, n, -(1 << 31), n, 1) is n
    assert cut_size(a, n, 0, -2, 1) is a.greater(less, 0)
    assert cut_size(a, n, 0, m, 1) is a.lesser(m, n)
    assert cut_size(a, n, 0, MOST, 2) is a.ceildiv(n, 2)
    assert cut_size(a, n, 0, less, 1) is None  # it counts from the back where N is 0 or 1
    behind = known(a.greater(known(a.sub(n, known(a.add(m, 1)))), 0))
    assert cut_size(a, n, 0, known(a.sub(-1, m)), 1) is a.greater(behind, 0)
    assert cut_size(a, n, 0, known(a.sub(0, m)), 1) is None  # all of it where M is 0
    assert cut_size(a, n, less, n, 1) is None
    assert cut_size(a, n, 0, n, -1) is None
    assert cut_size(a, n, 0, n, 0) is None
    assert cut_size(a, n, 0, n, m) is None


def test_a_slice_between_two_long_sums_is_not_followed() -> None:
    table, n, _ = made()
    a = table.arithmetic
    sums = [
        known(a.add(*(table.algebra.symbol((name, at), f"{name}{at}") for at in range(MOST_TERMS - 2))))
        for name in "ab"
    ]
    assert cut_size(a, n, 0, sums[0], 1) is a.lesser(sums[0], n)
    assert cut_size(a, n, sums[0], sums[0], 1) == 0
    assert cut_size(a, n, *sums, 1) is None
    assert span_of(a, *sums, 1) is None
    assert cut_size(a, sums[1], 0, known(a.sub(-1, sums[0])), 1) is None
