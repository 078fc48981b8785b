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
from tests.support.tflite.operator_rows import SHAPES


def shape_of(text: str) -> Shape:
    container = read(model(text))
    return analyse(container, {})[0].shapes[unique_names(container.subgraphs[0]).index("y")]


@pytest.mark.parametrize(("text", "expected", "dtype"), [(*row, "")[:3] for row in SHAPES.values()], ids=SHAPES)
def test_a_rule_alone_returns_the_shape(text: str, expected: str, dtype: str) -> None:
    result = f"y:{dtype}[*]" if dtype else "y[*]"
    assert str(shape_of(f"{result} = {text}")) == expected
