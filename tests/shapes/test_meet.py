"""Two descriptions of one size: the name, the range, and the sizes with which it is 1 together."""

from __future__ import annotations

import pytest

from graphfix.shapes.axis import meet
from graphfix.shapes.dim import INVALID_SIZE, Dim, Parts, Size

N, M, AXIS = ("N",), ("M",), ("?x.0",)
MET: dict[str, tuple[list[Size], Size, Parts | None]] = {
    "a symbol is a better name than an axis": ([Dim(AXIS, 0, 9), Dim(N, 2)], Dim(N, 2, 9), ()),
    "any name is better than none": ([Dim(), Dim(AXIS)], Dim(AXIS), ()),
    "the name's own word counts": ([Dim(AXIS, one=None), Dim(N, one=M)], Dim(N), M),
    "and not that of the first": ([Dim(N, one=M), Dim(AXIS, one=None)], Dim(N), M),
    "a name of which nothing is said": ([Dim(AXIS, one=None), Dim(N)], Dim(N), ()),
}


@pytest.mark.parametrize(("sizes", "expected", "one"), MET.values(), ids=MET)
def test_the_best_name_is_kept_with_the_range_of_all(sizes: list[Size], expected: Size, one: Parts | None) -> None:
    found = meet(sizes)
    assert found == expected
    assert isinstance(found, Dim)
    assert found.one == one


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [([3, Dim(N)], 3), ([Dim(N, 0, 4), Dim(M, 4)], 4), ([3, Dim(N, 4)], INVALID_SIZE), ([3, 4], INVALID_SIZE)],
)
def test_a_range_of_one_size_is_the_number_and_an_empty_one_is_invalid(sizes: list[Size], expected: Size) -> None:
    assert meet(sizes) == expected
