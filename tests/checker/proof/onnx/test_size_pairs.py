"""Pairs of ONNX models whose sizes are nearly the same function of free sizes: none is proved where one run differs.

Beside each the pair that it is nearly, which is proved: so no pair fails for another reason.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from onnx import numpy_helper

from graphfix.checker.proof.core.result import NONE_WITHOUT_ELEMENTS, SOME_IMAGE
from graphfix.checker.proof.neutral.integer_values import LARGE, NO_DIVISOR_IS_0, SMALL
from tests.checker.proof.onnx.test_pairs import Text, ints, proof, text

NUMBERS = {
    "zero": ints(0), "one": ints(1), "two": ints(2), "three": ints(3), "four": ints(4), "five": ints(5),
    "many": ints(64), "fewer": ints(63), "minus": ints(-1), "minus2": ints(-2), "largest": ints((1 << 63) - 1),
    "largest32": ints((1 << 31) - 1), "smallest": ints(-(1 << 63)),
}  # fmt: skip
N = "n = Shape (x) <start = 0, end = 1>"


def stretched(size: str, inputs: str = "float[N] x, float[1] c, float[N,6] z", **fields: object) -> Text:
    """A model that stretches `c` to a computed size `k`."""
    body = f"{N} {size} e = Expand (c, k) y = Neg (e)"
    given = {name: number for name, number in NUMBERS.items() if re.search(rf"\b{name}\b", body)}
    return text(body, inputs, **given, **fields)


def status(one: Text, two: Text, folder: Path) -> str:
    return proof(one, two, folder).status


SIZES: dict[str, tuple[str, str, str]] = {
    "rounded down and up": (
        "p = Add (n, one) k = Div (p, two)",
        "q = Div (n, two) m = Mod (n, two) k = Add (q, m)",
        "k = Div (n, two)",
    ),
    "a quotient of what may be below 0": (
        "p = Sub (n, one) q = Max (p, zero) k = Div (q, four)",
        "p = Sub (n, one) k = Div (p, four)",
        "p = Add (n, three) q = Div (p, four) s = Sub (q, one) k = Max (s, one)",
    ),
    "a rest, which onnxruntime refuses to compute in a third way": (
        "k = Mod (n, two)",
        "k = Mod (n, two) <fmod = 1>",
        "k = Mod (n, two) <fmod = 2>",
    ),
    "the lesser, and the greater": (
        "k = Min (n, many)",
        "p = Sub (n, many) q = Max (p, zero) k = Sub (n, q)",
        "k = Max (n, many)",
    ),
    "the lesser of other numbers": ("k = Min (n, many)", "k = Min (many, n)", "k = Min (n, fewer)"),
    "a clamp": (
        "p = Sub (n, two) k = Max (p, zero)",
        "p = Sub (n, two) k = Max (zero, p)",
        "p = Sub (n, two) k = Max (p, one)",
    ),
    "a slice and its clamp": (
        "s = Slice (x, two, largest, zero) k = Shape (s)",
        "s = Slice (x, two, largest, zero) p = Sub (n, two) k = Max (p, zero)",
        "s = Slice (x, two, largest, zero) p = Sub (n, two) k = Max (p, one)",
    ),
    "a slice from the back": (
        "s = Slice (x, minus2, largest, zero) k = Shape (s)",
        "s = Slice (x, minus2, largest, zero) k = Min (n, two)",
        "s = Slice (x, minus2, largest, zero) k = Identity (two)",
    ),
    "a slice of all but the last": (
        "s = Slice (x, smallest, minus, zero) k = Shape (s)",
        "s = Slice (x, smallest, minus, zero) p = Sub (n, one) k = Max (p, zero)",
        "s = Slice (x, smallest, minus, zero) k = Identity (n)",
    ),
    "a slice by steps": (
        "s = Slice (x, zero, largest, zero, two) k = Shape (s)",
        "s = Slice (x, zero, largest, zero, two) p = Add (n, one) k = Div (p, two)",
        "s = Slice (x, zero, largest, zero, two) k = Div (n, two)",
    ),
    "a range": (
        "i = Squeeze (one) j = Squeeze (n) t = Squeeze (two) s = Range (i, j, t) k = Shape (s)",
        "i = Squeeze (one) j = Squeeze (n) t = Squeeze (two) s = Range (i, j, t) k = Div (n, two)",
        "i = Squeeze (one) j = Squeeze (n) t = Squeeze (two) s = Range (i, j, t) p = Add (n, one) k = Div (p, two)",
    ),
    "what is left of a product": (
        "q = Concat (four, minus) <axis = 0> s = Reshape (z, q) k = Shape (s) <start = 1>",
        "q = Concat (four, minus) <axis = 0> s = Reshape (z, q) p = Mul (n, three) k = Div (p, two)",
        "q = Concat (four, minus) <axis = 0> s = Reshape (z, q) p = Mul (n, two) k = Div (p, three)",
    ),
}


@pytest.mark.parametrize("pair", SIZES.values(), ids=SIZES)
def test_a_size_that_is_nearly_the_same_is_not_proved(pair: tuple[str, str, str], tmp_path: Path) -> None:
    one, same, other = map(stretched, pair)
    assert status(one, same, tmp_path) == "proved"
    assert status(one, other, tmp_path) == "not proved"


def test_sizes_that_are_1_together_are_equal_where_they_fit_and_only_there(tmp_path: Path) -> None:
    inputs = "float[N] x, float[1] c"
    cut = "w = Slice (x, zero, many, zero)"
    fit = text(f"{cut} y = Add (w, x)", inputs, zero=ints(0), many=ints(64))
    stretch = text(f"{cut} s = Shape (w) e = Expand (x, s) y = Add (w, e)", inputs, zero=ints(0), many=ints(64))
    assert status(fit, stretch, tmp_path) == "proved"
    alone = text("y = Neg (x)", inputs)
    checked = text(f"{cut} s = Shape (w) e = Expand (x, s) y = Neg (e)", inputs, zero=ints(0), many=ints(64))
    assert status(alone, checked, tmp_path) == "not proved"
    halves = "h = Slice (x, zero, largest, zero, two)"
    given = {"zero": ints(0), "largest": ints((1 << 63) - 1), "two": ints(2)}
    longer = text(f"{halves} z = Add (h, x) y = Shape (z)", inputs, **given)
    half = text(f"{halves} z = Add (h, x) y = Shape (h)", inputs, **given)
    whole = text(f"{halves} z = Add (h, x) y = Shape (x)", inputs, **given)
    assert status(longer, half, tmp_path) == status(longer, whole, tmp_path) == "not proved"


def test_what_may_be_negative_is_no_shape_but_where_a_value_has_it(tmp_path: Path) -> None:
    """-1 asks a Reshape for what is left a convolution fails where it would make such a size."""
    weight = {"w": [[[1.0, 1.0]]]}
    inputs = "float[1,1,N] x, float[1,1,1] c"
    conv = "v = Conv (x, w)"
    before = text(f"{conv} y = Add (v, c)", inputs, change=_floats, **weight)
    after = text(f"{conv} s = Shape (v) e = Expand (c, s) y = Add (v, e)", inputs, change=_floats, **weight)
    assert status(before, after, tmp_path) == "proved"
    plain = text("y = Neg (x)", "float[N,N] x")
    less = text(
        "n = Shape (x) <start = 0, end = 1> p = Sub (n, one) q = Concat (p, n) <axis = 0>"
        " k = Add (q, onezero) r = Reshape (x, k) y = Neg (r)",
        "float[N,N] x",
        one=ints(1),
        onezero=ints(1, 0),
    )
    assert status(plain, less, tmp_path) == "proved"
    left = text(
        "n = Shape (x) <start = 0, end = 1> p = Sub (n, one) q = Concat (p, n) <axis = 0>"
        " r = Reshape (x, q) y = Neg (r)",
        "float[N,N] x",
        one=ints(1),
    )
    assert status(plain, left, tmp_path) == "not proved"


def _floats(model: object) -> None:
    for tensor in model.graph.initializer:  # type: ignore[attr-defined]  # a ModelProto
        if tensor.name == "w":
            array = numpy_helper.to_array(tensor).astype("float32")
            tensor.CopyFrom(numpy_helper.from_array(array, "w"))


ASSUMED: dict[str, tuple[Text, Text, str]] = {
    "a divisor of 0 fails": (
        text("s = Shape (x) e = Expand (c, s) y = Neg (e)", "float[N,M] x, float[1,1] c"),
        text(
            "s = Shape (x) n = Gather (s, zero) m = Gather (s, one) p = Mul (n, m) q = Div (p, m) k = Concat (q, m)"
            " <axis = 0> e = Expand (c, k) y = Neg (e)",
            "float[N,M] x, float[1,1] c", zero=ints(0), one=ints(1),
        ),
        NO_DIVISOR_IS_0,
    ),
    "32 bits are too few": (
        text("s = Shape (x) y = Expand (c, s)", "float[N] x, float[1] c"),
        text(
            "s = Shape (x) t = Cast (s) <to = 6> p = Mul (t, t) q = Mul (p, t) r = Sub (q, p) u = Mul (t, t)"
            " v = Mul (u, t) w = Sub (v, r) z = Div (w, t) k = Cast (z) <to = 7> y = Expand (c, k)",
            "float[N] x, float[1] c",
        ),
        SMALL,
    ),
    "64 bits are too few": (
        text("s = Shape (x) y = Expand (c, s)", "float[N] x, float[1] c"),
        text(
            "s = Shape (x) p = Mul (s, s) q = Mul (p, s) r = Div (q, s) z = Div (r, s) y = Expand (c, z)",
            "float[N] x, float[1] c",
        ),
        LARGE,
    ),
    "a reduction keeps all axes of nothing": (
        text("m = ReduceMax (x) <axes = [-1]> y = Neg (m)", "float[N,3] x"),
        text("m = ReduceMax (x) <axes = [-1]> s = Squeeze (m, one) u = Unsqueeze (s, one) y = Neg (u)",
             "float[N,3] x", one=ints(1)),
        NONE_WITHOUT_ELEMENTS,
    ),
    "a pool's window stands on nothing": (
        text("m = MaxPool (x) <kernel_shape = [3], strides = [2], pads = [1,1]> y = Neg (m)", "float[B,1,W] x"),
        text("m = MaxPool (x) <kernel_shape = [3], strides = [2], pads = [1,1]> s = Shape (m) e = Expand (m, s)"
             " y = Neg (e)", "float[B,1,W] x"),
        SOME_IMAGE,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", ASSUMED.values(), ids=ASSUMED)
def test_where_a_size_makes_the_second_model_another_that_size_is_assumed_away(
    case: tuple[Text, Text, str], tmp_path: Path
) -> None:
    one, two, assumption = case
    answer = proof(one, two, tmp_path)
    assert answer.status == "not proved" or assumption in answer.assumes


def test_numbers_that_their_type_does_not_hold_are_not_computed(tmp_path: Path) -> None:
    """A product of int32 that is too large stays an operator."""
    inputs = "float[N] x"
    for body in ("p = ReduceProd (big) <keepdims = 1>", "p = Neg (small)"):
        computed = text(
            f"{body} y = Cast (p) <to = 7>", inputs, "int64[1] y", big=_int32(65536, 65536), small=_int32(-(1 << 31))
        )
        number = text("y = Identity (k)", inputs, "int64[1] y", k=ints(1 << 32 if "Prod" in body else 1 << 31))
        assert status(computed, number, tmp_path) == "not proved"


def _int32(*numbers: int) -> object:
    return ints(*numbers).astype("int32")


@pytest.mark.parametrize(("computed", "expected"), [("Add (n, one)", "proved"), ("Sub (n, one)", "not proved")])
def test_a_reshape_to_what_may_be_negative_has_another_size(computed: str, expected: str, tmp_path: Path) -> None:
    """It has N - 1 elements, but where N is 0 as many as there are."""
    inputs = "float[N] x, float[1] c, float[M] z"
    one, two = (
        stretched(f"q = {computed} r = Reshape (z, q) k = {last}", inputs) for last in ("Shape (r)", "Identity (q)")
    )
    assert status(one, two, tmp_path) == expected


@pytest.mark.parametrize(("there", "back"), [("Add", "Sub"), ("Mul", "Div")])
def test_what_no_size_makes_fit_into_32_bits_is_not_assumed_to_fit(there: str, back: str, tmp_path: Path) -> None:
    inputs = "float[N] x, float[1] c"
    plain = stretched(f"p = {there} (n, limit) k = {back} (p, limit)", inputs, limit=ints(1 << 31))
    narrow = stretched(
        f"p = {there} (n, limit) t = Cast (p) <to = 6> u = Cast (t) <to = 7> k = {back} (u, limit)",
        inputs,
        limit=ints(1 << 31),
    )
    assert status(plain, narrow, tmp_path) == "not proved"
