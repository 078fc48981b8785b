"""When a power is a square: plans, and the bits that onnxruntime gives for both forms."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import onnx
import pytest

from graphfix.graph.edits import New, Replace
from graphfix.graph.view import UnrankedOperand
from graphfix.shapes.dim import Shape
from rewrites.tosa.pow_to_mul import CUBED, plan
from tests.support.bits import random_bits, same_bits
from tests.support.checked import verify
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


def test_a_cube_is_two_products() -> None:
    square = New("Mul", (0, 0), Shape((2, 3)), "float32")
    product = New("Mul", (square, 0), Shape((2, 3)), "float32")
    assert list(plan(node("y[2,3] = Pow(x[2,3], e:const[]{3.0})"))) == [Replace(product, "GF304")]


KEPT = {
    "another exponent": "y[2,3] = Pow(x[2,3], e:const[]{4.0})",
    "a cube of float16": "y:float16[2,3] = Pow(x:float16[2,3], e:const:float16[]{3.0})",
    "a cube over a last axis of 1": "y[2,1] = Pow(x[2,1], e:const[]{3.0})",
    "a cube over a free last axis": "y[2,N] = Pow(x[2,N], e:const[]{3.0})",
    "a cube of a scalar": "y[] = Pow(x[], e:const[]{3.0})",
    "a cube in TFLite": "y[2,3] = tflite.POW(x[2,3], e:const[]{3.0})",
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


CUBE = "s{0} = Mul(x{0}, x)\ny{0} = Mul(s, x)"
PROVED = {
    "a cube": (("y[2,3] = Pow(x[2,3], e:const[]{3.0})", CUBE.format("[2,3]")), True),
    "by a whole number": (("y[2,3] = Pow(x[2,3], e:const[1]{3})", CUBE.format("[2,3]")), True),
    "a square of float16": (
        ("y:float16[2,3] = Pow(x:float16[2,3], e:const:float16[]{2.0})", "y:float16[2,3] = Mul(x:float16[2,3], x)"),
        True,
    ),
    "a cube of float16": (
        ("y:float16[2,3] = Pow(x:float16[2,3], e:const:float16[]{3.0})", CUBE.format(":float16[2,3]")),
        False,
    ),
    "over a last axis of 1": (("y[5,1] = Pow(x[5,1], e:const[]{3.0})", CUBE.format("[5,1]")), False),
    "over a free last axis": (("y[5,N] = Pow(x[5,N], e:const[]{3.0})", CUBE.format("[5,N]")), False),
    "several exponents": (("y[2,3] = Pow(x[2,3], e:const[3]{3.0,3.0,3.0})", CUBE.format("[2,3]")), False),
    "another power": (("y[2,3] = Pow(x[2,3], e:const[]{4.0})", CUBE.format("[2,3]")), False),
    "a square for a cube": (("y[2,3] = Pow(x[2,3], e:const[]{3.0})", "y[2,3] = Mul(x[2,3], x)"), False),
}


@pytest.mark.parametrize(
    ("dtype", "number"),
    [*product(["float16", "float32", "float64", "int32", "int64"], [2]), *product(sorted(CUBED), [3])],
)
def test_both_forms_give_the_same_bits(dtype: str, number: int) -> None:
    before = model(f"y:{dtype}[40000] = Pow(x:{dtype}[40000], e:const:{dtype}[1]{{{number}}})", opset=17)
    result = fixed(before, rewrites=rules("pow-to-mul"))
    assert result.counts == {"pow-to-mul": 1}
    assert [node.op_type for node in result.after.graph.node] == ["Mul"] * (number - 1)
    assert not result.after.graph.initializer, "the exponent has no reader"
    x = random_bits(dtype, 40000)
    assert same_bits(run(before, x=x)[0], run(result.after, x=x)[0])
    assert made_by(result.after, "y").input[-1] == "x"


@pytest.mark.parametrize(("text", "proved"), PROVED.values(), ids=PROVED)
def test_what_is_proved(text: tuple[str, str], proved: bool, tmp_path: Path) -> None:
    paths = tmp_path / "before.onnx", tmp_path / "after.onnx"
    for path, each in zip(paths, text, strict=True):
        onnx.save(model(each, opset=17), path)
    assert (verify(*paths, proof="only").status == "proved") == proved


def test_bits_that_differ_are_seen() -> None:
    one = np.float32([1.0, np.nan, 0.0])
    assert same_bits(one, one.copy())
    assert not same_bits(one, np.float32([1.0, np.nan, -0.0]))
    assert not same_bits(one, np.float32([1.0, 2.0, 0.0]))
