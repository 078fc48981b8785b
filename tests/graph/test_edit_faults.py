"""What is said of an edit that is wrong in itself, as a plan of one's own may yield it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from graphfix.graph.edit_faults import fault
from graphfix.graph.edits import (
    Assume,
    Bypass,
    Canonicalize,
    Edit,
    Fold,
    Inline,
    Leave,
    Lift,
    New,
    Numbers,
    Replace,
    Restate,
    Stretch,
)
from graphfix.graph.view import Node
from graphfix.shapes.dim import Shape
from tests.support.notation import node

CODES = frozenset({"GF101", "GF102", "GF103", "GF202", "GF203", "GF303", "OWN1"})


def a_node() -> Node:
    return node("y[2,3], z[2] = Add(x[2,3], b[3], , c[*], branch=1)")


NEG = New("Neg", (0,), Shape((2, 3)), "float32")
RIGHT: list[Edit] = [
    Lift(1, (0,)),
    Lift(1, (0, 2)),
    Lift(3, (0, 7)),
    Stretch(0, (1,), Shape((2, 3))),
    Leave(None, "why", "GF101"),
    Leave(0, "why", "GF101"),
    Fold(),
    Fold(operand=1),
    Restate(1, Shape((3,))),
    Canonicalize(Shape((2, 3))),
    Assume(0, "text", "GF103"),
    Inline("branch"),
    Bypass(0, a_node().operand(0)),
    Replace(NEG, "OWN1"),
    Replace(replace(NEG, operands=(NEG, 1, Numbers((1, 2), (2,), "int64"))), "OWN1", others=((1, NEG),)),
]


@pytest.mark.parametrize("edit", RIGHT, ids=lambda edit: type(edit).__name__)
def test_nothing_is_said_of_an_edit_that_is_right(edit: Edit) -> None:
    assert fault(edit, a_node(), CODES) is None


WRONG = [
    ("Lift", "the plan yields 'Lift', a str, which is not an edit"),
    (None, "the plan yields None, a NoneType, which is not an edit"),
    (Lift(1, (0,), "GF999"), "Lift has the code 'GF999': a rewrite uses its own CODE, or one of graphfix's"),
    (Lift(4, (0,)), "Lift: the node has no operand 4"),
    (Lift(2, (0,)), "Lift: the node has no operand 2"),
    (Lift(-1, (0,)), "Lift: the node has no operand -1"),
    (Fold(operand=2), "Fold: the node has no operand 2"),
    (Leave(4, "why", "GF101"), "Leave: the node has no operand 4"),
    (Assume(4, "text", "GF103"), "Assume: the node has no operand 4"),
    (Restate(4, Shape(())), "Restate: the node has no operand 4"),
    (Bypass(4, a_node().operand(0)), "Bypass: the node has no operand 4"),
    (Lift(True, (0,)), "Lift: an operand is named by its number, not True"),
    (Lift("x", (0,)), "Lift: an operand is named by its number, not 'x'"),
    (Lift(1, (0, 0)), "Lift: axes are (0, 0), not distinct positions of a shape of rank 3"),
    (Lift(1, (2,)), "Lift: axes are (2,), not distinct positions of a shape of rank 2"),
    (Lift(1, (0, 4)), "Lift: axes are (0, 4), not distinct positions of a shape of rank 3"),
    (Lift(1, (-1,)), "Lift: axes are (-1,), not distinct positions of a shape of rank 2"),
    (Lift(1, ("a",)), "Lift: axes are ('a',), not distinct positions of a shape of rank 2"),
    (Lift(3, (1, 1)), "Lift: axes are (1, 1), not distinct positions of a shape of rank 2"),
    (Stretch(1, (0,), Shape((2, 3))), "Stretch: operand 1 has rank 1 and `to` has rank 2; yield a Lift of it first"),
    (Stretch(0, (0,), (2, 3)), "Stretch: to is (2, 3), not a Shape"),
    (Restate(0, (2, 3)), "Restate: to is (2, 3), not a Shape"),
    (Canonicalize((2, 3)), "Canonicalize: to is (2, 3), not a Shape"),
    (Bypass(0, 1), "Bypass: source is 1, not a Value"),
    (Inline("other"), "Inline: the node has no attribute 'other'"),
    (Replace("Neg", "OWN1"), "Replace: a new node reads operands, Values, New and Numbers, not 'Neg'"),
    (Replace(0, "OWN1"), "Replace: a node is replaced by a New, not 0"),
    (Replace(replace(NEG, operands=(5,)), "OWN1"), "Replace: the node has no operand 5"),
    (Replace(replace(NEG, op=1), "OWN1"), "Replace: of New, op and dtype are texts, and operands are a tuple"),
    (Replace(replace(NEG, dtype=1), "OWN1"), "Replace: of New, op and dtype are texts, and operands are a tuple"),
    (Replace(replace(NEG, operands=[0]), "OWN1"), "Replace: of New, op and dtype are texts, and operands are a tuple"),
    (Replace(replace(NEG, shape=(2,)), "OWN1"), "Replace: the shape of the new 'Neg' is (2,), not a Shape"),
    (
        Replace(replace(NEG, operands=(Numbers((1, 2), (3,), "int64"),)), "OWN1"),
        "Replace: Numbers of [3] have 3 elements, not 2",
    ),
    (Replace(NEG, "OWN1", others=((0, NEG),)), "Replace: the node has no result 0 behind the first"),
    (Replace(NEG, "OWN1", others=((2, NEG),)), "Replace: the node has no result 2 behind the first"),
    (Replace(NEG, "OWN1", others=((1, replace(NEG, operands=(9,))),)), "Replace: the node has no operand 9"),
]


@pytest.mark.parametrize(("edit", "said"), WRONG, ids=[said for _, said in WRONG])
def test_what_is_wrong_with_an_edit_is_said(edit: object, said: str) -> None:
    assert fault(edit, a_node(), CODES) == said


def test_a_stretch_follows_the_lifts_of_its_own_operand() -> None:
    stretch = Stretch(1, (0,), Shape((2, 3)))
    assert fault(stretch, a_node(), CODES, [Lift(1, (0,))]) is None
    assert fault(stretch, a_node(), CODES, [Lift(0, (0,))]) is not None
    assert fault(stretch, a_node(), CODES, [Fold(operand=1)]) is not None
    assert fault(Stretch(3, (0,), Shape((2, 3))), a_node(), CODES) is None
