"""The value of an input that is taken for a constant: what fits the input's type and sizes, and what is said else."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

import numpy as np
import pytest
from numpy.typing import ArrayLike

from graphfix.formats.neutral.set_values import array_of, assumed
from graphfix.results import GraphfixError, InputValue

Dims = Sequence[int | str | None] | None
FITTING: dict[str, tuple[InputValue, str, Dims, ArrayLike]] = {
    "a scalar": (5, "int64", [], 5),
    "the only element": (5, "int64", [1, 1], [[5]]),
    "a vector": ((1, 2), "int64", [2], [1, 2]),
    "the elements of a matrix in their order": ((1, 2, 3, 4), "int64", [2, 2], [[1, 2], [3, 4]]),
    "a size that follows": ((1, 2, 3, 4), "int64", ["N", 2], [[1, 2], [3, 4]]),
    "a size without a name that follows": ((1, 2), "int64", [2, None], [[1], [2]]),
    "nothing": ((), "int64", ["N", 3], np.zeros((0, 3))),
    "a scalar of an unknown rank": (5, "int64", None, 5),
    "a vector of an unknown rank": ((5,), "int64", None, [5]),
    "a truth value": (True, "bool", [], True),
    "a truth value as 1": (1, "bool", [], True),
    "a truth value as 0": (0, "bool", [], False),
    "the largest byte": (255, "uint8", [], 255),
    "the smallest byte": (-128, "int8", [], -128),
    "the largest number of 16 bits": (65504.0, "float16", [], 65504),
    "no finite number": (-inf, "float16", [], -inf),
    "a whole number for a float": (3, "float32", [], 3),
}


@pytest.mark.parametrize(("value", "dtype", "dims", "expected"), FITTING.values(), ids=FITTING)
def test_a_value_that_fits_has_the_type_and_the_sizes_of_its_input(
    value: InputValue, dtype: str, dims: Dims, expected: ArrayLike
) -> None:
    found = array_of("m", "x", value, dtype, dims)
    assert found.dtype == dtype
    assert found.shape == np.shape(expected)
    assert np.array_equal(found, np.asarray(expected, dtype))


REFUSED: dict[str, tuple[InputValue, str, Dims, str]] = {
    "text": (1, "string", [], "x=1: the input holds string; only numbers and truth values can be set"),
    "a number for a truth value": (2, "bool", [], "x=2: 2 does not fit: the input holds bool; give true or false"),
    "a truth value for a number": (
        True,
        "int64",
        [],
        "x=true: true does not fit: the input holds int64; give a number",
    ),
    "a truth value for a float": (False, "float32", [], "false does not fit: the input holds float32; give a number"),
    "a fraction": (1.5, "int8", [], "1.5 does not fit: the input holds int8; give whole numbers from -128 to 127"),
    "a byte too large": (256, "uint8", [], "give whole numbers from 0 to 255"),
    "a byte too small": (-129, "int8", [], "give whole numbers from -128 to 127"),
    "the second of two": ((1, 300), "uint8", [2], "x=[1, 300]: 300 does not fit"),
    "a number beyond 16 bits": (65520.0, "float16", [], "the input holds float16, which is at most 65504"),
    "too many elements": ((1, 2, 3), "int64", [2], "3 given, the input [2] has 2 elements"),
    "too few for a size": ((1, 2, 3), "int64", ["N", 2], "3 given, the input [N,2] has a multiple of 2 elements"),
    "a free size beside 0": ((1,), "int64", [None, 0], "1 given, the input [?,0] has a multiple of 0 elements"),
    "two free sizes": ((1, 2), "int64", ["N", None], "the input is [N,?]; bind its sizes too, by --shape"),
}


@pytest.mark.parametrize(("value", "dtype", "dims", "words"), REFUSED.values(), ids=REFUSED)
def test_a_value_that_does_not_fit_is_refused_by_what_the_input_holds(
    value: InputValue, dtype: str, dims: Dims, words: str
) -> None:
    with pytest.raises(GraphfixError) as caught:
        array_of("m", "x", value, dtype, dims)
    assert str(caught.value).startswith("m: --set x=")
    assert words in str(caught.value)


SAID: dict[str, tuple[InputValue, str]] = {
    "a number": (2.5, "x is 2.5, as set"),
    "a truth value": (True, "x is true, as set"),
    "a list": ((1, 2), "x is [1, 2], as set"),
    "60 letters": (tuple([10] * 15), f"x is [{', '.join(['10'] * 15)}], as set"),
    "more": ((*[10] * 15, 123), f"x is [{', '.join(['10'] * 15)}, ...], as set"),
}


@pytest.mark.parametrize(("value", "line"), SAID.values(), ids=SAID)
def test_what_is_assumed_says_the_value_or_its_beginning(value: InputValue, line: str) -> None:
    assert assumed("x", value) == line


@pytest.mark.parametrize("dtype", "float16 float32 float64 int8 int16 int32 int64 uint8 uint16 uint32 uint64".split())
def test_numbers_of_every_type_are_set(dtype: str) -> None:
    assert array_of("m", "x", (1, 2), dtype, [2]).dtype == dtype
