"""PRelu as a product: plans, and the bits that onnxruntime gives for both forms."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest

from graphfix.graph.edits import New, Numbers, Replace
from graphfix.shapes.dim import Shape, Undecided
from rewrites.tosa.decompose_prelu import plan
from tests.support.bits import random_bits, same_bits
from tests.support.named import rules
from tests.support.notation import model, node
from tests.support.onnx.fixing import fixed
from tests.support.runtimes.onnx_runs import run


def test_a_prelu_is_a_product_with_a_factor_that_is_chosen() -> None:
    whole = Shape((2, 3))
    kept = New("GreaterOrEqual", (0, Numbers((0.0,), (), "float32")), whole, "bool")
    factor = New("Where", (kept, Numbers((1.0,), (), "float32"), 1), whole, "float32")
    product = Replace(New("Mul", (0, factor), whole, "float32"), "GF304")
    assert list(plan(node("y[2,3] = PRelu(x[2,3], s[3])"))) == [product]


def test_the_first_opset_with_the_comparison_is_enough() -> None:
    assert len(list(plan(node("y[2,3] = PRelu(x[2,3], s[3])", opset=12)))) == 1


@pytest.mark.parametrize("slope", ["[1,1]", "[3,1]", "[1,4]", "[]"])
def test_a_slope_of_one_element_or_the_same_size_fits(slope: str) -> None:
    assert len(list(plan(node(f"y[2,3,4] = PRelu(x[2,3,4], s{slope})")))) == 1


def test_a_size_that_is_not_known_does_not_matter() -> None:
    assert len(list(plan(node("y[N,?] = PRelu(x[N,?], s[1])")))) == 1


@pytest.mark.parametrize(
    ("text", "opset"),
    [
        ("y:int32[2] = PRelu(x:int32[2], s:int32[2])", 18),
        ("y:float64[2] = PRelu(x:float64[2], s:float64[2])", 18),
        ("y[2,3] = PRelu(x[2,3], s[3])", 11),
        ("y[2,3,4] = PRelu(x[2,3,4], s[3])", 6),
    ],
    ids=[
        "whole numbers",
        "onnxruntime has no kernel for float64",
        "no GreaterOrEqual before opset 12",
        "the slope follows axis 1 before opset 7",
    ],
)
def test_nothing_is_done(text: str, opset: int) -> None:
    assert list(plan(node(text, opset=opset))) == []


@pytest.mark.parametrize(
    "text",
    ["y[1,2] = PRelu(x[1,2], s[L,2])", "y[N,2] = PRelu(x[N,2], s[3,1])", "y[2] = PRelu(x[2], s[1,2])"],
    ids=["a slope that may be larger", "a size that may be smaller", "a slope of more axes"],
)
def test_a_slope_that_may_not_fit_is_undecided(text: str) -> None:
    with pytest.raises(Undecided, match="known only at run time"):
        list(plan(node(text)))


def test_a_slope_of_the_same_symbol_fits() -> None:
    assert len(list(plan(node("y[N,C,4] = PRelu(x[N,C,4], s[C,1])")))) == 1


SLOPES = {"one for all": "[1]", "by channel": "[3,1,1]", "by element": "[2,3,4,5]", "a scalar": "[]", "rank": "[1,1]"}


@pytest.mark.needs_release("onnxruntime>=1.28")  # PRelu of an older one makes NaN of infinity
@pytest.mark.parametrize("dims", SLOPES.values(), ids=SLOPES)
def test_both_forms_give_the_same_bits(dims: str) -> None:
    before = model(f"y[2,3,4,5] = PRelu(x[2,3,4,5], s{dims})", opset=17)
    result = fixed(before, rewrites=rules("decompose-prelu"))
    assert [it.op_type for it in result.after.graph.node] == ["GreaterOrEqual", "Where", "Mul"]
    sizes = [dim.dim_value for dim in before.graph.input[1].type.tensor_type.shape.dim]
    for seed in range(20):
        x = random_bits("float32", 120, seed).reshape(2, 3, 4, 5)
        s = random_bits("float32", 130, seed + 100)[seed % 7 :][: prod(sizes)].reshape(sizes)
        assert same_bits(run(before, x=x, s=s)[0], run(result.after, x=x, s=s)[0])


@pytest.mark.needs_release("onnxruntime>=1.28")  # the same
@pytest.mark.parametrize("slope", [0.0, -0.0, -2.0, float("inf"), float("nan"), 1e-30])
def test_zeros_stay_what_they_are_and_products_that_vanish_keep_their_sign(slope: float) -> None:
    before = model("y[9] = PRelu(x[9], s[1])", opset=17)
    result = fixed(before, rewrites=rules("decompose-prelu"))
    x, s = np.float32([0.0, -0.0, 1.0, -1.0, 1e-45, -1e-45, np.inf, -np.inf, np.nan]), np.float32([slope])
    assert same_bits(run(before, x=x, s=s)[0], run(result.after, x=x, s=s)[0])


def test_the_steps_have_names_of_their_own_and_two_nodes_share_the_constants() -> None:
    result = fixed("a[2] = PRelu(x[2], s[1])\nb[2] = PRelu(a, s)", rewrites=rules("decompose-prelu"))
    zero, one = (tensor.name for tensor in result.after.graph.initializer)
    assert result.view == [
        f"a_greaterorequal[2] = GreaterOrEqual(x[2], {zero}[])",
        f"a_where[2] = Where(a_greaterorequal[2], {one}[], s[1])",
        "a[2] = Mul(x[2], a_where[2])",
        f"b_greaterorequal[2] = GreaterOrEqual(a[2], {zero}[])",
        f"b_where[2] = Where(b_greaterorequal[2], {one}[], s[1])",
        "b[2] = Mul(a[2], b_where[2])",
    ]
