"""Where `broadcast` and `axis` of opset 1-6 align an operand: plans only, no format."""

from __future__ import annotations

import pytest

from graphfix.graph.edits import Edit, Lift, Upgrade
from graphfix.graph.view import UnrankedOperand
from graphfix.shapes.dim import Incompatible
from rewrites.broadcasts.upgrade_legacy_broadcast import plan, plan_model
from tests.support.notation import node

UPGRADE = Upgrade(8, "GF201")
DOES: dict[str, list[Edit]] = {
    "y[2,3,4,5] = Add(x[2,3,4,5], b[3,4], broadcast=1, axis=1)": [Lift(1, (0, 3), "GF201")],
    "y[2,3,4,5] = Add(x[2,3,4,5], b[2,3], broadcast=1, axis=0)": [Lift(1, (2, 3), "GF201")],
    "y[2,3,4,5] = Add(x[2,3,4,5], b[3,4], broadcast=1, axis=-3)": [Lift(1, (0, 3), "GF201")],
    "y:bool[2,3] = Greater(x[2,3], b[2], broadcast=1, axis=0)": [Lift(1, (1,), "GF201")],
    "y[2,3,4,3] = PRelu(x[2,3,4,3], s[3])": [Lift(1, (0, 2, 3), "GF201")],
}


@pytest.mark.parametrize(("text", "edits"), DOES.items(), ids=DOES)
def test_ones_go_where_the_attributes_align_the_operand(text: str, edits: list[Edit]) -> None:
    assert list(plan(node(text, opset=6))) == [*edits, UPGRADE]


UPGRADED = {
    "a suffix is numpy's rule already": "y[2,3,4] = Mul(x[2,3,4], b[3,4], broadcast=1)",
    "an axis that says suffix": "y[2,3,4] = Mul(x[2,3,4], b[3,4], broadcast=1, axis=1)",
    "a scalar": "y[2,3] = Div(x[2,3], s[], broadcast=1)",
    "one element": "y[2,3] = Pow(x[2,3], s[1], broadcast=1)",
    "without broadcast the shapes are equal": "y[2,3] = Add(x[2,3], b[2,3])",
    "a Gemm's C follows numpy": "y[3,5] = Gemm(a[3,4], b[4,5], c[5], broadcast=1)",
    "one slope for all channels": "y[2,3] = PRelu(x[2,3], s[1])",
    "a slope on the last axis, which is the channel axis": "y[2,3] = PRelu(x[2,3], s[3])",
}


@pytest.mark.parametrize("text", UPGRADED.values(), ids=UPGRADED)
def test_only_the_attributes_go(text: str) -> None:
    assert list(plan(node(text, opset=6))) == [UPGRADE]


@pytest.mark.parametrize(
    ("text", "opset"),
    [("y[2,3] = Add(x[2,3], b[3])", 7), ("y[2,3] = Relu(x[2,3])", 6), ("y[2,3] = Sum(x[2,3], b[2,3])", 6)],
    ids=["from opset 7 on it is numpy's rule", "no broadcast", "Sum wants equal shapes before opset 8"],
)
def test_nothing_is_done(text: str, opset: int) -> None:
    assert list(plan_model([node(text, opset=opset).graph])) == []


@pytest.mark.parametrize("text", ["y[*] = Add(x[*], b[3], broadcast=1, axis=1)", "y[*] = PRelu(x[2,3,4], s[*])"])
def test_a_rank_that_is_not_known_is_undecided(text: str) -> None:
    with pytest.raises(UnrankedOperand):
        list(plan(node(text, opset=6)))


@pytest.mark.parametrize("axis", [2, -4])
def test_an_operand_that_sticks_out_is_refused(axis: int) -> None:
    with pytest.raises(Incompatible, match=r"\[3, 4\] at axis .* of \[2, 3, 4\]"):
        list(plan(node(f"y[2,3,4] = Add(x[2,3,4], b[3,4], broadcast=1, axis={axis})", opset=6)))
