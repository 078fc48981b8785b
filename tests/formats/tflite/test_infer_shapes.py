"""What the rules of TFLite operators return where the file says nothing of the result's shape.

A size that a rule leaves out is read from the file elsewhere, so a rule that says nothing looks right there. Here each
result is stored without a rank: `[*]` is a rank that does not follow, `?` a size that does not.
"""

from __future__ import annotations

import pytest

from graphfix.formats.tflite.file.container import read
from graphfix.formats.tflite.infer.analysis import analyse
from graphfix.formats.tflite.infer.names import unique_names
from graphfix.shapes.dim import Shape
from models.builders.tflite.text import model
from tests.support.tflite.operator_rows import BEHIND_BYTES, PARTS, SHAPES


def shape_of(text: str) -> Shape:
    container = read(model(text))
    return analyse(container, {})[0].shapes[unique_names(container.subgraphs[0]).index("y")]


@pytest.mark.parametrize(("text", "expected", "dtype"), [(*row, "")[:3] for row in SHAPES.values()], ids=SHAPES)
def test_a_rule_alone_returns_the_shape(text: str, expected: str, dtype: str) -> None:
    result = f"y:{dtype}[*]" if dtype else "y[*]"
    assert str(shape_of(f"{result} = {text}")) == expected


@pytest.mark.parametrize(("text", "expected"), [*BEHIND_BYTES.values(), *PARTS.values()], ids=[*BEHIND_BYTES, *PARTS])
def test_a_result_has_the_shape_that_follows(text: str, expected: str) -> None:
    assert str(shape_of(text)) == expected


# SELECT_V2 of operands that may all have one element takes the shape that the file states, if that has one element
STATED = {
    "stated": ("y[1,1,1] = SELECT_V2(c:bool[1], a[1], b[])", "[1, 1, 1]"),
    "stated as a scalar": ("y[] = SELECT_V2(c:bool[1], a[1], b[])", "[]"),
    "stated with the rank that follows": ("y[1] = SELECT_V2(c:bool[1], a[1], b[])", "[1]"),
    "a free operand": ("y[1,1] = SELECT_V2(c:bool[1], a[?], b[])", "[*]"),
    "a free operand, and more elements are stated": ("y[3] = SELECT_V2(c:bool[1], a[?], b[])", "[?]"),
    "an operand of more elements": ("y[1,1] = SELECT_V2(c:bool[1], a[3], b[])", "[3]"),
    "an operand without a rank": ("y[1,1] = SELECT_V2(c:bool[1], a[*], b[])", "[*]"),
}


@pytest.mark.parametrize(("text", "expected"), STATED.values(), ids=STATED)
def test_a_choice_of_single_elements_has_the_shape_that_is_stated(text: str, expected: str) -> None:
    assert str(shape_of(text)) == expected
