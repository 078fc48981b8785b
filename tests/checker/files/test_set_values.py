"""The value of an input that is taken for a constant, as the checker reads it by itself."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, nan

import numpy as np
import pytest
from numpy.typing import ArrayLike

from graphfix.checker.files.binding_error import BindingError
from graphfix.checker.files.set_values import _MOST_SHOWN, assumed, named_sizes, refuse_unknown, typed
from graphfix.results import InputValue

Dims = Sequence[int | str | None] | None
KINDS = "only numbers and truth values can be set"


@pytest.mark.parametrize(
    ("value", "dtype", "dims", "expected"),
    [
        (5, "int64", [], 5),
        (5, "int64", [1, 1], [[5]]),
        (5, "int64", None, 5),
        ((5,), "int64", None, [5]),
        ((1, 2, 3), "float32", [3], [1, 2, 3]),
        ((1, 2, 3, 4, 5, 6), "int64", [3, 2], [[1, 2], [3, 4], [5, 6]]),
        ((1, 2, 3, 4, 5, 6), "int64", ["N", 2], [[1, 2], [3, 4], [5, 6]]),
        ((1, 2, 3, 4, 5, 6), "int64", [3, None], [[1, 2], [3, 4], [5, 6]]),
        ((), "int64", ["N", 3], np.zeros((0, 3))),
        ((), "int64", [0, 3], np.zeros((0, 3))),
        ((True, False), "bool", [2], [True, False]),
        ((1, 0), "bool", [2], [True, False]),
        ((0, 255), "uint8", [2], [0, 255]),
        ((-128, 127), "int8", [2], [-128, 127]),
        ((-65504.0, 65504), "float16", [2], [-65504, 65504]),
        ((inf, -inf), "float16", [2], [inf, -inf]),
    ],
)
def test_a_value_that_fits_fills_its_input(value: InputValue, dtype: str, dims: Dims, expected: ArrayLike) -> None:
    found = typed("x", value, np.dtype(dtype), dims)
    assert (found.dtype, found.tolist()) == (np.dtype(dtype), np.asarray(expected, dtype).tolist())
    assert found.shape == np.shape(expected)


def test_what_is_no_number_is_a_float() -> None:
    assert np.isnan(typed("x", nan, np.dtype("float32"), []))


@pytest.mark.parametrize(
    ("value", "dtype", "dims", "said"),
    [
        (1, None, [], f"the input holds another type; {KINDS}"),
        (1, "object", [], f"the input holds object; {KINDS}"),
        (1, "complex64", [], f"the input holds complex64; {KINDS}"),
        (2, "bool", [], "2 does not fit bool; give values of that type"),
        (True, "int64", [], "true does not fit int64; give values of that type"),
        (False, "float32", [], "false does not fit float32; give values of that type"),
        (1.5, "int8", [], "1.5 does not fit int8; give values of that type"),
        (256, "uint8", [], "256 does not fit uint8; give values of that type"),
        (-1, "uint8", [], "-1 does not fit uint8; give values of that type"),
        (128, "int8", [], "128 does not fit int8; give values of that type"),
        (-129, "int8", [], "-129 does not fit int8; give values of that type"),
        ((1, 300), "uint8", [2], "[1, 300] does not fit uint8; give values of that type"),
        (65520.0, "float16", [], "65520.0 does not fit float16; give values of that type"),
        ((1, 2, 3), "int64", [2], "3 elements do not fill [2]; give as many as the input has, and bind its sizes"),
        ((1, 2), "int64", [], "2 elements do not fill []; give as many as the input has, and bind its sizes"),
        ((1, 2, 3), "int64", ["N", 2], "3 elements do not fill ['N', 2]; give as many"),
        ((1,), "int64", [None, 0], "1 elements do not fill [None, 0]; give as many"),
        ((1, 2), "int64", ["N", None], "2 elements do not fill ['N', None]; give as many"),
        ((1,), "int64", ["N", "N"], "1 elements do not fill ['N', 'N']; give as many"),
    ],
)
def test_a_value_that_does_not_fit_is_refused(value: InputValue, dtype: str | None, dims: Dims, said: str) -> None:
    with pytest.raises(BindingError) as refused:
        typed("x", value, None if dtype is None else np.dtype(dtype), dims)
    assert str(refused.value).startswith(f"--set x: {said}")


def test_a_name_that_no_input_has_is_refused_with_those_that_there_are() -> None:
    refuse_unknown({"x": 1, "y": 2}, ["y", "x"])
    with pytest.raises(BindingError, match=r"^--set z: there is no input 'z'; inputs: y, x$"):
        refuse_unknown({"x": 1, "z": 2}, ["y", "x"])
    with pytest.raises(BindingError, match=r"inputs: none$"):
        refuse_unknown({"z": 2}, [])


@pytest.mark.parametrize(
    ("dims", "expected"),
    [
        (None, {}),
        ([], {}),
        (["N", 3], {"N": 2}),
        (["N", "M"], {"N": 2, "M": 3}),
        ([2, None], {}),
        (["N", "N"], {"N": 3}),
    ],
)
def test_a_value_gives_the_symbols_of_its_input_their_sizes(dims: Dims, expected: dict[str, int]) -> None:
    assert named_sizes(dims, np.zeros((2, 3))) == expected


@pytest.mark.parametrize("number", [1, 7, 8, 9, 15, 16, 17, 33])
def test_what_is_assumed_names_the_first_of_many_numbers(number: int) -> None:
    shown = ", ".join(str(at) for at in range(min(number, _MOST_SHOWN)))
    more = ", ..." * (number > _MOST_SHOWN)
    assert assumed({"y": True, "x": tuple(range(number))}) == ("y is true, as set", f"x is [{shown}{more}], as set")
