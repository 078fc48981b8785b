"""onnxruntime chooses a routine by the shapes of operands: a proof that leans on its last bit says so."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from graphfix.checker.proof import prove
from graphfix.checker.proof.onnx.nodes import ROUTINES
from tests.support.proof_graphs import floats, ints, unary

if TYPE_CHECKING:
    from tests.support.written import Written

DATA = {"w": floats(1, 2, 3), "c": floats(3), "s": ints(5, 3), "one": ints(1, 3)}
STRETCHED = {
    "a sine": (
        unary("a = Expand(x, s) y = Sin(a)", "[5,3]", "[3]"),
        unary("a = Sin(x) y = Expand(a, s)", "[5,3]", "[3]"),
    ),
    "an exponent": (
        unary("y = Pow(x, w)", "[5,3]", "[5,3]"),
        unary("a = Expand(w, s) y = Pow(x, a)", "[5,3]", "[5,3]"),
    ),
    "a scale": (
        unary("y = LayerNormalization(x, w)", "[5,3]", "[5,3]"),
        unary("a = Expand(w, s) y = LayerNormalization(x, a)", "[5,3]", "[5,3]"),
    ),
    "zeros": (
        unary("y = Max(x, w)", "[5,3]", "[5,3]"),
        unary("a = Expand(w, s) y = Max(x, a)", "[5,3]", "[5,3]"),
    ),
}


@pytest.mark.parametrize("name", STRETCHED)
def test_an_operand_that_is_stretched_may_be_read_by_another_routine(name: str, written: Written) -> None:
    before, after = (written(graph, **DATA) for graph in STRETCHED[name])
    proof = prove(before, after)
    assert (proof.status, proof.assumes) == ("proved", (ROUTINES,))
    assert prove(after, before).assumes == (ROUTINES,)


@pytest.mark.parametrize(
    ("size", "exponent", "answer"),
    [
        ("[5,3]", "Expand(c, s)", "not proved"),
        ("[5,3]", "Reshape(c, two)", "proved"),
        ("[5,1]", "Reshape(c, two)", "not proved"),
        ("[5,N]", "Reshape(c, two)", "not proved"),
        ("[1,1]", "Reshape(c, two)", "proved"),
        ("[N,3]", "Reshape(c, two)", "proved"),
    ],
)
def test_a_power_by_one_number_goes_by_the_last_axes(size: str, exponent: str, answer: str, written: Written) -> None:
    data = {**DATA, "two": ints(1, 1)}
    before = unary("y = Pow(x, c)", size, size)
    after = unary(f"a = {exponent} y = Pow(x, a)", size, size)
    assert prove(written(before, **data), written(after, **data)).status == answer
    assert prove(written(after, **data), written(before, **data)).status == answer


def test_unit_axes_and_exact_operators_need_no_assumption(written: Written) -> None:
    before, lifted = (
        unary("y = Max(x, w)", "[5,3]", "[5,3]"),
        unary("a = Reshape(w, one) y = Max(x, a)", "[5,3]", "[5,3]"),
    )
    assert prove(written(before, **DATA), written(lifted, **DATA)).assumes == ()
    before, exact = (
        unary("y = Add(x, w)", "[5,3]", "[5,3]"),
        unary("a = Expand(w, s) y = Add(x, a)", "[5,3]", "[5,3]"),
    )
    assert prove(written(before, **DATA), written(exact, **DATA)).assumes == ()
