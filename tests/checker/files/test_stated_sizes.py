"""What is stated about inputs: sizes that are equal, and values that are taken for constants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from graphfix.checker.files.binding_error import BindingError, check_shape
from graphfix.checker.files.equal_sizes import EqualSizes, equal_sizes, stated
from graphfix.checker.files.pair import Pair
from graphfix.checker.files.set_values import assumed, named_sizes, refuse_unknown, typed
from graphfix.results import InputValue

INPUTS: Mapping[str, tuple[int | str, ...] | None] = {
    "x": ("N", "M", 4), "y": ("K", "L+1", "y[2]"), "u": None, "odd[0]": ("P",),
}  # fmt: skip


def pair(*same: Sequence[str], **changes: object) -> Pair:
    return replace(Pair(Path("a"), Path("b"), same=same), **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("same", "changes", "names", "numbers", "sums"),
    [
        pytest.param([], {}, {}, {}, {}, id="nothing"),
        pytest.param([("N", "K")], {}, {"N": "N", "K": "N"}, {}, {}, id="two symbols"),
        pytest.param([("x[0]", "y[0]")], {}, {"N": "N", "K": "N"}, {}, {}, id="two axes"),
        pytest.param([("y[2]", "N")], {}, {"y[2]": "y[2]", "N": "y[2]"}, {}, {}, id="an axis without a symbol"),
        pytest.param([("N", "x[2]")], {}, {"N": "N"}, {"N": 4}, {}, id="a number"),
        pytest.param(
            [("N", "K"), ("M", "P"), ("K", "M")], {}, dict.fromkeys("MPNK", "M"), {}, {}, id="groups that meet"
        ),
        pytest.param(
            [("N", "K"), ("M", "P")], {}, {"N": "N", "K": "N", "M": "M", "P": "M"}, {}, {}, id="groups apart"
        ),
        pytest.param(
            [("N", "K")], {"bindings": {"K": 5}}, {"N": "N", "K": "N"}, {"N": 5, "K": 5}, {}, id="a bound symbol"
        ),
        pytest.param(
            [("N", "K")], {"bindings": {"y[0]": 5}}, {"N": "N", "K": "N"}, {"N": 5, "K": 5}, {}, id="a bound axis"
        ),
        pytest.param(
            [("N", "K")], {"shapes": {"y": (6, 1, 1)}}, {"N": "N", "K": "N"}, {"N": 6, "K": 6}, {}, id="a shape"
        ),
        pytest.param([("N", "u[1]")], {"shapes": {"u": (6, 7)}}, {"N": "N"}, {"N": 7}, {}, id="a shape without rank"),
        pytest.param([("N", "M+2")], {}, {"N": "N"}, {}, {"N": (2, "M")}, id="a sum"),
        pytest.param([("N", "K + M")], {}, {"N": "N"}, {}, {"N": (0, "K", "M")}, id="a sum of two"),
        pytest.param([("N", "1+x[2]")], {}, {"N": "N"}, {"N": 5}, {}, id="a sum of numbers"),
        pytest.param([("N", "L+1")], {}, {"N": "N", "L+1": "N"}, {}, {}, id="a symbol that reads as a sum"),
        pytest.param(
            [("N", "M+2")], {"bindings": {"M": 3}}, {"N": "N"}, {"N": 5}, {}, id="a sum with a bound part"
        ),
        pytest.param(
            [("M", "P"), ("N", "P+2")], {}, {"M": "M", "P": "M", "N": "N"}, {}, {"N": (2, "M")}, id="a part by name"
        ),
        pytest.param(
            [("M", "x[2]"), ("N", "M+2")], {}, {"M": "M", "N": "N"}, {"M": 4}, {"N": (2, 4)}, id="a part's number"
        ),
    ],
)  # fmt: skip
def test_what_follows_from_sizes_that_are_equal(
    same: Sequence[Sequence[str]],
    changes: Mapping[str, object],
    names: Mapping[str, str],
    numbers: Mapping[str, int],
    sums: Mapping[str, tuple[int | str, ...]],
) -> None:
    assert equal_sizes(pair(*same, **changes), INPUTS) == EqualSizes(names, numbers, sums)


@pytest.mark.parametrize(
    ("same", "inputs", "said"),
    [
        (
            ("N", "Q"),
            INPUTS,
            r"--same Q: neither a symbol of the inputs nor an axis of one; the inputs are: x, y, u, odd",
        ),
        (("N", "Q"), {}, "the inputs are: none"),
        (("N", "q[0]"), INPUTS, r"--same q\[0\]: neither a symbol"),
        (("N", "x[3]"), INPUTS, r"--same x\[3\]: 'x' has 3 axes, numbered from 0"),
        (("N", "u[0]"), INPUTS, r"--same u\[0\]: the rank of 'u' is not known; give its --shape"),
        (("x[2]", "N", "5+x[2]"), INPUTS, r"--same x\[2\]=N=5\+x\[2\]: 4 and 9 can't be equal"),
        (("N", "M+"), INPUTS, r"--same M\+: neither"),
        (("N", "M+K", "M+1"), INPUTS, "can't be equal, or are not solved"),
        (("N", "M+N"), INPUTS, "a part of a sum is a sum itself"),
    ],
)
def test_what_can_not_be_equal_is_refused(
    same: Sequence[str], inputs: Mapping[str, tuple[int | str, ...] | None], said: str
) -> None:
    with pytest.raises(BindingError, match=said):
        equal_sizes(pair(same), inputs)


def test_two_bound_symbols_of_two_sizes_are_refused() -> None:
    with pytest.raises(BindingError, match="--same N=K: 3 and 4 can't be equal"):
        equal_sizes(pair(("N", "K"), bindings={"N": 3, "K": 4}), INPUTS)
    assert equal_sizes(pair(("N", "K"), bindings={"N": 3, "K": 3}), INPUTS).numbers == {"N": 3, "K": 3}


def test_statements_are_assumptions() -> None:
    assert stated([("N", "K"), ("M", "3")]) == [
        "the sizes N, K are equal (--same)",
        "the sizes M, 3 are equal (--same)",
    ]
    values: Mapping[str, InputValue] = {"a": True, "b": (1, 2.5), "c": tuple(range(9)), "d": tuple(range(8)), "e": 3}
    assert assumed(values) == (
        "a is true, as set", "b is [1, 2.5], as set", "c is [0, 1, 2, 3, 4, 5, 6, 7, ...], as set",
        "d is [0, 1, 2, 3, 4, 5, 6, 7], as set", "e is 3, as set",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("value", "dtype", "dims", "expected"),
    [
        (3, "int64", (), 3),
        (3, "int64", (1, 1), [[3]]),
        ((1, 2), "int64", None, [1, 2]),
        (3, "int64", None, 3),
        ((1, 2, 3, 4), "float32", (2, 2), [[1, 2], [3, 4]]),
        ((1, 2, 3, 4), "float32", ("N", 2), [[1, 2], [3, 4]]),
        ((1, 2, 3, 4), "float32", (None, 4), [[1, 2, 3, 4]]),
        ((1, 2, 3, 4), "float32", ("N", "M"), "4 elements do not fill ['N', 'M']"),
        ((1, 2, 3), "float32", ("N", 2), "3 elements do not fill ['N', 2]"),
        ((1, 2, 3), "float32", ("N", 0), "3 elements do not fill ['N', 0]"),
        ((1, 2, 3), "float32", (2,), "3 elements do not fill [2]"),
        (True, "bool", (), True),
        (1, "bool", (), True),
        (2, "bool", (), "2 does not fit bool"),
        (True, "int64", (), "true does not fit int64"),
        (True, "float32", (), "true does not fit float32"),
        (1.0, "int64", (), "1.0 does not fit int64"),
        (127, "int8", (), 127),
        (128, "int8", (), "128 does not fit int8"),
        (-128, "int8", (), -128),
        (-129, "int8", (), "-129 does not fit int8"),
        (-1, "uint8", (), "-1 does not fit uint8"),
        (float("inf"), "float16", (), float("inf")),
        (65504, "float16", (), 65504),
        (65505, "float16", (), "65505 does not fit float16"),
        ((1, 300), "uint8", (2,), "[1, 300] does not fit uint8"),
        (1, "complex64", (), "the input holds complex64; only numbers and truth values can be set"),
        (1, None, (), "the input holds another type"),
    ],
)
def test_a_value_that_is_set_has_the_type_and_the_shape_of_its_input(
    value: InputValue, dtype: str | None, dims: Sequence[int | str | None] | None, expected: object
) -> None:
    declared = None if dtype is None else np.dtype(dtype)
    if isinstance(expected, str):
        with pytest.raises(BindingError) as caught:
            typed("x", value, declared, dims)
        assert expected in str(caught.value)
        return
    found = typed("x", value, declared, dims)
    assert (found.dtype, found.tolist()) == (declared, expected)


def test_names_and_shapes_that_no_input_has_are_refused() -> None:
    refuse_unknown({"x": 1}, ["x", "y"])
    for known, said in (["x", "y"], "x, y"), ([], "none"):
        with pytest.raises(BindingError, match=f"--set q: there is no input 'q'; inputs: {said}"):
            refuse_unknown({"q": 1}, known)
    check_shape("x", (1, 2, 4), INPUTS)
    check_shape("u", (1,), INPUTS)
    for name, said in (("q", "there is no input 'q'; inputs: x, y, u"), ("x", "'x' has rank 3; the shape")):
        with pytest.raises(BindingError, match=said):
            check_shape(name, (1, 2), INPUTS)
    assert named_sizes(("N", 2, "M"), np.zeros((3, 2, 5))) == {"N": 3, "M": 5}
    assert named_sizes(None, np.zeros(3)) == {}
