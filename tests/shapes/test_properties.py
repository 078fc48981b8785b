"""Broadcasting against numpy: the same answers for static shapes, none that a run contradicts for others."""

from __future__ import annotations

import itertools
import math
import random
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphfix.shapes.dim import UNKNOWN, Dim, Incompatible, Shape, Size, never_one, same, symbol
from graphfix.shapes.shape import broadcast, cstr_broadcastable, cstr_eq, join, stretches
from tests.support.shape_dialect import add, equalize_ranks, infer_result, mul, num_elements, of, parse, verify_result

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

Sizes = tuple[int, ...]

STATIC: list[Sizes] = [sizes for rank in range(4) for sizes in itertools.product(range(4), repeat=rank)]


def numpy_broadcast(*operands: Sizes) -> Sizes | None:
    try:
        return np.broadcast_shapes(*operands)
    except ValueError:
        return None


def lifted(sizes: Sizes, rank: int) -> Sizes:
    return (1,) * (rank - len(sizes)) + sizes


def assert_answers_are_numpys(*operands: Sizes) -> None:
    shapes = [of(*sizes) for sizes in operands]
    result = numpy_broadcast(*operands)
    assert cstr_broadcastable(*shapes) is (result is not None)
    assert cstr_eq(*shapes) is (len(set(operands)) == 1)
    if result is None:
        for question in (broadcast, infer_result, lambda *shapes: stretches(shapes, 0)):
            with pytest.raises(Incompatible):
                question(*shapes)
        return
    assert broadcast(*shapes).axes == result
    verify_result(shapes, of(*result), strict=True)
    for at, shape in enumerate(equalize_ranks(*shapes)):
        assert shape.axes == lifted(operands[at], len(result))
        repeated = tuple("yes" if here != out else "no" for here, out in zip(shape.dims, result, strict=True))
        assert stretches(shapes, at) == repeated


@pytest.mark.ci
def test_all_pairs_of_static_shapes_up_to_rank_3_are_answered_as_numpy_does() -> None:
    for pair in itertools.product(STATIC, repeat=2):
        assert_answers_are_numpys(*pair)


@pytest.mark.ci
def test_random_triples_of_static_shapes_are_answered_as_numpy_does() -> None:
    draw = random.Random(20240)  # noqa: S311  # repeatable, no secret
    ranks = [draw.choices(range(5), k=3) for _ in range(3000)]
    triples = [tuple(tuple(draw.choices((0, 1, 1, 1, 1, 2, 3), k=rank)) for rank in triple) for triple in ranks]
    assert 500 < sum(numpy_broadcast(*triple) is not None for triple in triples) < 2500  # both kinds are met
    for triple in triples:
        assert_answers_are_numpys(*triple)


@pytest.mark.ci
@given(st.lists(st.integers(0, 2**40), max_size=5), st.data())
def test_sizes_beyond_64_bits_broadcast_and_multiply_exactly(result: list[int], data: st.DataObject) -> None:
    kept = data.draw(st.lists(st.lists(st.booleans(), min_size=len(result), max_size=len(result)), min_size=1))
    operands = [of(*(size if keep else 1 for size, keep in zip(result, keeps, strict=True))) for keeps in kept]
    seen = [size if any(keeps[at] for keeps in kept) else 1 for at, size in enumerate(result)]
    assert broadcast(*operands).axes == tuple(seen)
    assert num_elements(of(*result)) == math.prod(result)


class Free(NamedTuple):
    """Operands with every anonymous dim given a name of its own, so that sizes can be substituted for all."""

    shapes: tuple[Shape, ...]
    named: tuple[tuple[Size, ...], ...]

    def substitutions(self, limit: int) -> Iterator[tuple[Mapping[str, int], tuple[Sizes, ...]]]:
        names = sorted({name for dims in self.named for dim in dims if isinstance(dim, Dim) for name in dim.parts})
        rows: Iterator[Sizes] = itertools.product(range(4), repeat=len(names))
        if 4 ** len(names) > limit:
            draw = random.Random(len(names))  # noqa: S311  # repeatable, no secret
            rows = iter([tuple(draw.choices((0, 1, 1, 2, 3), k=len(names))) for _ in range(limit)])
        for row in rows:
            values = dict(zip(names, row, strict=True))
            sizes = [[value(dim, values) for dim in dims] for dims in self.named]
            if all(size is not None for axes in sizes for size in axes):
                yield values, tuple(tuple(size for size in axes if size is not None) for axes in sizes)


def free(*shapes: Shape) -> Free:
    count = itertools.count()
    named = [
        tuple(Dim((f"!{next(count)}",), d.lo, d.hi) if isinstance(d, Dim) and not d.parts else d for d in shape.dims)
        for shape in shapes
    ]
    return Free(shapes, tuple(named))


def value(dim: Size, values: Mapping[str, int]) -> int | None:
    """Give the size of a dim under a substitution; None where the dim cannot have it."""
    if isinstance(dim, int):
        return dim
    size = numpy_broadcast(*((values[name],) for name in dim.parts))
    if size is None or size[0] < dim.lo or (dim.hi is not None and size[0] > dim.hi):
        return None
    return size[0]


def describes(dim: Size, size: int, values: Mapping[str, int]) -> bool:
    if isinstance(dim, int):
        return dim == size
    within = dim.lo <= size and (dim.hi is None or size <= dim.hi)
    return within and (not dim.parts or value(dim, values) == size)


def assert_no_run_contradicts(*shapes: Shape, limit: int = 256) -> None:
    try:
        result = broadcast(*shapes)
    except Incompatible:
        result = None
    able, equal, joined = cstr_broadcastable(*shapes), cstr_eq(*shapes), join(*shapes)
    answers = [stretches(shapes, at) for at in range(len(shapes))] if result else []
    assert (able is False) == (result is None)
    for values, operands in free(*shapes).substitutions(limit):
        actual = numpy_broadcast(*operands)
        assert able is None or able == (actual is not None)
        assert equal is None or equal == (len(set(operands)) == 1)
        if len(set(operands)) == 1:
            assert all(describes(dim, size, values) for dim, size in zip(joined.dims, operands[0], strict=True))
        for shape, sizes in zip(shapes, operands, strict=True):
            assert describes(num_elements(shape), int(np.prod(sizes)), values)
        if result is None or actual is None:
            continue
        assert all(describes(dim, size, values) for dim, size in zip(result.dims, actual, strict=True))
        for sizes, said in zip(operands, answers, strict=True):
            repeated = [here != out for here, out in zip(lifted(sizes, len(actual)), actual, strict=True)]
            assert not any(was and word == "no" for was, word in zip(repeated, said, strict=True))


N, M = symbol("N"), symbol("M")
POOL: list[Size] = [
    *(0, 1, 2, 3, N, M, UNKNOWN),
    symbol("N", 2),
    symbol("A", 2, 3),
    symbol("B", 0, 1),
    symbol("C", 1, 2),
    symbol("D", 3, 9),
    Dim((), 2),
    Dim((), 0, 2),
    Dim(("?x.0",)),
    Dim(("M", "N")),
    Dim(("?x.0", "M", "N")),
    Dim(("M", "N"), 2),
]
CLEAN = [dim for dim in POOL if dim not in (symbol("N", 2), Dim(("M", "N"), 2))]
"""One range a name: what a model declares."""


@pytest.mark.ci
def test_no_substitution_contradicts_an_answer_about_one_axis() -> None:
    for size in (1, 2, 3):
        for dims in itertools.combinations_with_replacement(POOL, size):
            assert_no_run_contradicts(*map(of, dims), limit=64)


shapes_of_pool = st.lists(st.sampled_from(POOL), max_size=3).map(lambda dims: of(*dims))


@pytest.mark.ci
@settings(max_examples=300)
@given(st.lists(shapes_of_pool, min_size=1, max_size=4))
def test_no_substitution_contradicts_an_answer_about_whole_shapes(shapes: list[Shape]) -> None:
    assert_no_run_contradicts(*shapes)


def test_every_literal_one_under_another_dim_is_a_stretch_and_no_other_dim_surely_is() -> None:
    for dims in itertools.product(POOL, repeat=2):
        shapes = tuple(map(of, dims))
        if cstr_broadcastable(*shapes) is False:
            continue
        assert (stretches(shapes, 0) == ("yes",)) == (dims[0] == 1 and dims[1] != 1)


@pytest.mark.ci
def test_a_stretch_that_may_be_does_happen_for_some_sizes() -> None:
    bounded = [dim for dim in CLEAN if dim != symbol("D", 3, 9)]  # all their sizes are among those substituted
    for dims in itertools.product(bounded, repeat=3):
        shapes = tuple(map(of, dims))
        if cstr_broadcastable(*shapes) is False or stretches(shapes, 0) != ("maybe",):
            continue
        runs = [operands for _values, operands in free(*shapes).substitutions(4**6)]
        assert any((out := numpy_broadcast(*operands)) is not None and operands[0] != out for operands in runs), dims


def outcome(*shapes: Shape | None) -> Shape | None:
    try:
        return None if None in shapes else broadcast(*(shape for shape in shapes if shape is not None))
    except Incompatible:
        return None


def test_the_order_and_the_grouping_of_operands_do_not_matter() -> None:
    for dims in itertools.combinations_with_replacement(CLEAN, 3):
        a, b, c = map(of, dims)
        whole = outcome(a, b, c)
        assert {outcome(*order) for order in itertools.permutations((a, b, c))} == {whole}
        assert outcome(outcome(a, b), c) == outcome(a, outcome(b, c)) == whole


def test_a_second_broadcast_to_a_named_result_has_nothing_left_to_do() -> None:
    named = [dim for dim in CLEAN if isinstance(dim, int) or dim.parts]
    for dims in itertools.product(named, repeat=3):
        operands = tuple(map(of, dims))
        result = outcome(*operands)
        if result is not None:
            assert broadcast(result, *operands) == result
            assert stretches((result, *operands), 0) == ("no",)
            assert stretches((result, result), 1) == ("no",)


def test_sizes_add_and_multiply_within_what_is_said_of_them() -> None:
    for a, b in itertools.product(POOL, repeat=2):
        assert str(add(a, b)) == str(add(b, a))
        for values, ((x,), (y,)) in free(of(a), of(b)).substitutions(256):
            assert describes(add(a, b), x + y, values)
            assert describes(mul(a, b), x * y, values)
            assert not (same(a, b) and x != y)
            assert not (never_one(a) and x == 1)


names = st.from_regex(r"[A-Za-z_]([\w.*/ -]*\w)?", fullmatch=True).filter(lambda name: name != "invalid")


@pytest.mark.ci
@given(st.lists(st.one_of(st.integers(0, 2**70), st.just(UNKNOWN), names.map(symbol)), max_size=6))
def test_what_str_writes_of_plain_dims_parse_reads_back(dims: list[Size]) -> None:
    assert parse(str(of(*dims))) == of(*dims)
