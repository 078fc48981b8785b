"""onnxruntime chooses a routine by shapes, and by what is constant: a proof that leans on its last bit says so."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from graphfix.checker.proof.onnx.closed_world.routines import OVERFLOWS, ROUTINES
from tests.support.proof_graphs import floats, ints, unary
from tests.support.proving import prove

if TYPE_CHECKING:
    from tests.support.written import Written

DATA = {
    "w": floats(1, 2, 3), "c": floats(5), "s": ints(5, 3), "one": ints(1, 3), "m": np.eye(3, dtype=np.float32),
    "stack": ints(1, 3, 3), "e": np.array([5], np.int32), "lw": np.ones((1, 20, 3), np.float32),
    "lr": np.ones((1, 20, 5), np.float32),
}  # fmt: skip
STRETCHED = {
    "a sine": (
        unary("a = Expand(x, s) y = Sin(a)", "[5,3]", "[3]"),
        unary("a = Sin(x) y = Expand(a, s)", "[5,3]", "[3]"),
    ),
    "an exponent": (
        unary("y = Pow(x, c)", "[5,3]", "[5,3]"),
        unary("a = Expand(c, s) y = Pow(x, a)", "[5,3]", "[5,3]"),
    ),
    "a scale": (
        unary("y = LayerNormalization(x, w)", "[5,3]", "[5,3]"),
        unary("a = Expand(w, s) y = LayerNormalization(x, a)", "[5,3]", "[5,3]"),
    ),
    "zeros": (
        unary("y = Max(x, w)", "[5,3]", "[5,3]"),
        unary("a = Expand(w, s) y = Max(x, a)", "[5,3]", "[5,3]"),
    ),
    "rows of products": (
        unary("y = MatMul(x, m)", "[a,b,c]", "[5,M,3]"),
        unary(
            "s0 = Shape <end=1> (x) s1 = Shape(m) t = Concat <axis=0> (s0, s1) a = Expand(m, t) y = MatMul(x, a)",
            "[a,b,c]",
            "[5,M,3]",
        ),
    ),
    "a matrix that is packed ahead of time": (
        unary("y = MatMul(x, m)", "[a,b]", "[5,3]"),
        unary("a = Identity(m) y = MatMul(x, a)", "[a,b]", "[5,3]"),
    ),
    "a matrix that is packed, and a stack of one": (
        unary("y = MatMul(x, m)", "[a,b,c]", "[5,M,3]"),
        unary("a = Reshape(m, stack) y = MatMul(x, a)", "[a,b,c]", "[5,M,3]"),
    ),
    "a matrix of a Gemm": (
        unary("y = Gemm(x, m)", "[a,b]", "[5,3]"),
        unary("a = Identity(m) y = Gemm(x, a)", "[a,b]", "[5,3]"),
    ),
    "weights of an LSTM": (
        unary("y = LSTM <hidden_size=5> (x, lw, lr)", "[a,b,c,d]", "[T,N,3]"),
        unary("a = Identity(lr) y = LSTM <hidden_size=5> (x, lw, a)", "[a,b,c,d]", "[T,N,3]"),
    ),
}
HALF_BYTES = "g (float[3] x, float u, int4 z) => (float[5,3] y) {{ {} }}"
BEYOND = {
    "a power": (
        "g (int32[5,3] x) => (int32[5,3] y) { y = Pow(x, e) }",
        "g (int32[5,3] x) => (int32[5,3] y) { a = Expand(e, s) y = Pow(x, a) }",
    ),
    "a cast": (
        "g (float[3] x) => (uint32[5,3] y) { a = Expand(x, s) y = Cast <to=12> (a) }",
        "g (float[3] x) => (uint32[5,3] y) { a = Cast <to=12> (x) y = Expand(a, s) }",
    ),
    "a cast to another's type": (
        "g (float[3] x, uint32 u) => (uint32[5,3] y) { a = Expand(x, s) y = CastLike (a, u) }",
        "g (float[3] x, uint32 u) => (uint32[5,3] y) { a = CastLike (x, u) y = Expand(a, s) }",
    ),
    "elements of half a byte": (
        HALF_BYTES.format("a = Expand(x, s) q = QuantizeLinear(a, u, z) y = DequantizeLinear(q, u, z)"),
        HALF_BYTES.format("q = QuantizeLinear(x, u, z) a = DequantizeLinear(q, u, z) y = Expand(a, s)"),
    ),
}


@pytest.mark.parametrize("name", STRETCHED)
def test_an_operand_that_is_stretched_may_be_read_by_another_routine(name: str, written: Written) -> None:
    before, after = (written(graph, **DATA) for graph in STRETCHED[name])
    proof = prove(before, after)
    assert (proof.status, proof.assumes) == ("proved", (ROUTINES,))
    assert prove(after, before).assumes == (ROUTINES,)


@pytest.mark.parametrize(
    ("size", "assumed"),
    [("[5,3]", ()), ("[N,3]", ()), ("[5,1]", (ROUTINES,)), ("[5,N]", (ROUTINES,)), ("[3,1,1]", (ROUTINES,))],
)
def test_a_power_by_one_number_of_another_rank_goes_by_the_last_axis(
    size: str, assumed: tuple[str, ...], written: Written
) -> None:
    data = {**DATA, "two": ints(1, 1)}
    before = written(unary("y = Pow(x, c)", size, size), **data)
    after = written(unary("a = Reshape(c, two) y = Pow(x, a)", size, size), **data)
    assert prove(before, after).assumes == assumed
    assert prove(after, before).assumes == assumed


def test_unit_axes_and_exact_operators_need_no_assumption(written: Written) -> None:
    before, lifted = (
        unary("y = Max(x, w)", "[5,3]", "[5,3]"),
        unary("a = Reshape(w, one) y = Max(x, a)", "[5,3]", "[5,3]"),
    )
    assert prove(written(before, **DATA), written(lifted, **DATA)).assumes == ()
    before, stacked = (
        unary("a = Relu(m) y = MatMul(x, a)", "[a,b,c]", "[5,M,3]"),
        unary("a = Relu(m) b = Reshape(a, stack) y = MatMul(x, b)", "[a,b,c]", "[5,M,3]"),
    )
    assert prove(written(before, **DATA), written(stacked, **DATA)).assumes == ()
    before, exact = (
        unary("y = Add(x, w)", "[5,3]", "[5,3]"),
        unary("a = Expand(w, s) y = Add(x, a)", "[5,3]", "[5,3]"),
    )
    assert prove(written(before, **DATA), written(exact, **DATA)).assumes == ()


@pytest.mark.parametrize("name", BEYOND)
def test_whole_numbers_beyond_their_type_are_what_a_routine_makes_of_them(name: str, written: Written) -> None:
    before, after = (written(graph, opset=21, **DATA) for graph in BEYOND[name])
    proof = prove(before, after)
    assert (proof.status, proof.assumes) == ("proved", (OVERFLOWS,))
