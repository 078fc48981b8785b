"""What is the same only now and then, or for other sizes than those that are bound, is not proved."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from tests.support.proof_graphs import IMAGE, RESIZE, floats, ints, unary
from tests.support.proving import prove

if TYPE_CHECKING:
    from tests.support.written import Written

UNPROVED = {
    "by the mean of a PRelu of float64": (
        "g (double[2,3] x) => (double[2,3] y) { y = PRelu(x, s) }",
        "g (double[2,3] x) => (double[2,3] y) { k = GreaterOrEqual(x, z) f = Where(k, o, s) y = Mul(x, f) }",
        {"s": np.full(3, 0.5), "z": np.float64(0), "o": np.float64(1)},
    ),
    "a square by an exponent of several elements": (
        unary("y = Pow(x, two)", "[2,3,4]"),
        unary("y = Mul(x, x)", "[2,3,4]"),
        {"two": floats(2, 2, 2, 2)},
    ),
    "a zero that may have a sign": (
        unary("z = Neg(nought) y = Add(x, z)", "[2,3,4]"),
        unary("y = Add(x, nought)", "[2,3,4]"),
        {"nought": np.float32(0)},
    ),
    "a quotient of numbers below zero": (
        unary("q = Div(less, two) c = Cast <to=1> (q) y = Add(x, c)", "[2,3,4]"),
        unary("y = Add(x, made)", "[2,3,4]"),
        {"less": np.int64(-3), "two": np.int64(2), "made": np.float32(-2)},
    ),
    "whole numbers that overflow": (
        unary("q = Mul(big, big) c = Cast <to=1> (q) y = Add(x, c)", "[2,3,4]"),
        unary("y = Add(x, nought)", "[2,3,4]"),
        {"big": np.int64(1 << 32), "nought": np.float32(0)},
    ),
    "a zero around that has a sign": (
        unary("y = Pad <pads=[0,1,0,0], value=-0.0> (x)", "[2,4]", "[2,3]"),
        unary("y = Pad(x, left)", "[2,4]", "[2,3]"),
        {"left": ints(0, 1, 0, 0)},
        9,
    ),
    "elements that stand one and a half times": (
        unary(RESIZE.format("asymmetric", "floor"), "[1,1,3,3]", IMAGE),
        unary(RESIZE.format("half_pixel", "round_prefer_floor"), "[1,1,3,3]", IMAGE),
        {"s": floats(1, 1, 1.5, 1.5)},
    ),
    "a Clip of float64 that had the bounds of float32": (
        "g (double[2,3] x) => (double[2,3] y) { y = Clip(x) }",
        "g (double[2,3] x) => (double[2,3] y) { y = Clip(x) }",
        {},
        9,
    ),
    "a Softmax over two axes, by the first of them": (
        unary("y = Softmax(x)", "[2,3,4]"),
        unary("y = Softmax <axis=-2> (x)", "[2,3,4]"),
        {},
        11,
    ),
}


@pytest.mark.parametrize("name", UNPROVED)
def test_what_is_not_always_the_same_is_not_proved(name: str, written: Written) -> None:
    before, after, data, *opset = UNPROVED[name]
    assert not prove(written(before, opset=(*opset, 17)[0], **data), written(after, **data)).proved


def test_padding_that_an_old_transposed_convolution_computes_is_not_proved(written: Written) -> None:
    """Before operator set 11 the specification splits an odd padding the other way round."""
    text = unary("y = ConvTranspose <strides=[2], output_shape=[6]> (x, w)", "[1,1,6]", "[1,1,3]")
    data = {"w": floats(1, 2, 3).reshape(1, 1, 3)}
    assert not prove(written(text, opset=10, **data), written(text, **data)).proved
    plain = text.replace(", output_shape=[6]", "")
    assert prove(written(plain, opset=10, **data), written(plain, **data)).proved


def test_a_normalization_that_trained_is_not_one_that_does_not(written: Written) -> None:
    trained = unary("y, m, v, p, q = BatchNormalization(x, a, a, a, a)", "[2,3,4]")
    plain = unary("y = BatchNormalization(x, a, a, a, a)", "[2,3,4]")
    data = {"a": floats(1, 2, 3)}
    assert not prove(written(trained, opset=9, **data), written(plain, **data)).proved


def test_a_file_that_does_not_take_the_bound_sizes_is_not_proved(written: Written) -> None:
    before = written("g (float[N,3] x) => (float[N,3] y) { y = Exp(x) }")
    for declared, takes in ((2, True), (4, False)):
        after = written(f"g (float[{declared},3] x) => (float[{declared},3] y) {{ y = Exp(x) }}")
        assert prove(before, after, shapes={"x": [2, 3]}).proved == takes


@pytest.mark.parametrize("declared", ["4,3", "2,4"])
def test_the_bound_sizes_are_those_that_the_second_file_declares(declared: str, written: Written) -> None:
    before = written("g (float[N,M] x) => (float[a,b] y) { y = Exp(x) }")
    after = written(f"g (float[{declared}] x) => (float[a,b] y) {{ y = Exp(x) }}")
    reason = "the input 'x' is declared with other sizes than [2, 3]"
    assert prove(before, after, shapes={"x": [2, 3]}).reason == reason


def test_sizes_that_are_bound_are_read_behind_a_branch(written: Written) -> None:
    """The result of the If has no rank before its condition is known: it is known by the size that is bound."""
    before = written(
        "g (float[N,3] x) => (float[M,K] y) { s = Shape(x) n = Gather(s, nought) c = Equal(n, two) a = If(c) "
        "<then_branch = t () => (float p) { p = Exp(x) }, else_branch = e () => (float q) { q = ReduceMax(x) }> "
        "t = Shape(a) m = Gather(t, nought) f = Concat <axis=0> (m, r) y = Reshape(a, f) }",
        nought=ints(0),
        two=ints(2),
        r=ints(-1),
    )
    after = written(
        "g (float[2,3] x) => (float[2,3] y) { a = Exp(x) y = Reshape(a, f) }",
        f=ints(2, -1),
    )
    assert not prove(before, after).proved
    assert prove(before, after, shapes={"x": [2, 3]}).reason is None
