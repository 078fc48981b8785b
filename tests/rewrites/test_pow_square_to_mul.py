"""When a power is a square: plans, and the bits that onnxruntime gives for both forms."""

from __future__ import annotations

import numpy as np
import pytest

from graphfix.graph.edits import New, Replace
from graphfix.graph.view import UnrankedOperand
from graphfix.shapes.shape import Shape
from rewrites.tosa.pow_square_to_mul import plan
from tests.support.bits import random_bits, same_bits
from tests.support.named import rules
from tests.support.notation import model, node
from tests.support.onnx.fixing import fixed, made_by
from tests.support.runtimes.onnx_runs import run

SQUARES = {
    "a scalar exponent": "y[2,3] = Pow(x[2,3], e:const[]{2.0})",
    "an exponent of one element": "y[2,3] = Pow(x[2,3], e:const[1]{2.0})",
    "an exponent of another type": "y[2,3] = Pow(x[2,3], e:const[1]{2})",
    "an exponent of the same rank": "y[2,3] = Pow(x[2,3], e:const[1,1]{2.0})",
}


@pytest.mark.parametrize("text", SQUARES.values(), ids=SQUARES)
def test_a_square_is_a_product(text: str) -> None:
    product = New("Mul", (0, 0), Shape((2, 3)), "float32")
    assert list(plan(node(text))) == [Replace(product, "GF304")]


KEPT = {
    "another exponent": "y[2,3] = Pow(x[2,3], e:const[]{3.0})",
    "a square root": "y[2,3] = Pow(x[2,3], e:const[]{0.5})",
    "several exponents": "y[2,3] = Pow(x[2,3], e:const[3]{2.0,2.0,2.0})",
    "a computed exponent": "y[2,3] = Pow(x[2,3], e[])",
    "the exponent adds an axis": "y[1,3] = Pow(x[3], e:const[1,1]{2.0})",
}


@pytest.mark.parametrize("text", KEPT.values(), ids=KEPT)
def test_nothing_is_done(text: str) -> None:
    assert list(plan(node(text))) == []


def test_a_rank_that_is_not_known_is_undecided() -> None:
    with pytest.raises(UnrankedOperand):
        list(plan(node("y[*] = Pow(x[*], e:const[1]{2.0})")))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int32", "int64"])
def test_both_forms_give_the_same_bits(dtype: str) -> None:
    before = model(f"y:{dtype}[40000] = Pow(x:{dtype}[40000], e:const:{dtype}[1]{{2}})", opset=17)
    result = fixed(before, rewrites=rules("pow-square-to-mul"))
    assert result.counts == {"pow-square-to-mul": 1}
    assert [node.op_type for node in result.after.graph.node] == ["Mul"]
    assert not result.after.graph.initializer, "the exponent has no reader"
    x = random_bits(dtype, 40000)
    assert same_bits(run(before, x=x)[0], run(result.after, x=x)[0])
    assert made_by(result.after, "y").input[:] == ["x", "x"]


def test_bits_that_differ_are_seen() -> None:
    one = np.float32([1.0, np.nan, 0.0])
    assert same_bits(one, one.copy())
    assert not same_bits(one, np.float32([1.0, np.nan, -0.0]))
    assert not same_bits(one, np.float32([1.0, 2.0, 0.0]))
