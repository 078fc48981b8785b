"""The texts of what is assumed of sizes."""

from __future__ import annotations

import pytest

from graphfix.results.claims import equal_dims

EQUAL = {
    2: "the dims named 'N' are equal: x0[0], x1[0]",
    6: "the dims named 'N' are equal: x0[0], x1[0], x2[0], x3[0], x4[0], x5[0]",
    7: "the dims named 'N' are equal: x0[0], x1[0], x2[0] and 4 more",
    58: "the dims named 'N' are equal: x0[0], x1[0], x2[0] and 55 more",
}


@pytest.mark.parametrize(("number", "text"), EQUAL.items(), ids=str)
def test_the_first_of_many_equal_dims_are_named(number: int, text: str) -> None:
    assert equal_dims("N", [f"x{index}[0]" for index in range(number)]) == text
