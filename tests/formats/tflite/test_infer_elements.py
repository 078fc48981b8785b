"""What the rules of small integer tensors in TFLite return where an operand is computed, wrong or out of bounds.

An element that is not followed costs a rewrite; one that is wrong makes a wrong one, so each guard of a rule has a row
that fails without it.
"""

from __future__ import annotations

import pytest

from graphfix.formats.tflite.file.container import read
from graphfix.formats.tflite.infer.analysis import analyse
from graphfix.formats.tflite.infer.names import unique_names
from graphfix.shapes.dim import Size
from models.builders.tflite.text import model
from tests.support.tflite.operator_rows import ELEMENTS

LEAST = -(2**62)


def shown(element: Size) -> str:
    if isinstance(element, int):
        return str(element)
    if element.parts == ("?x.0",):
        return "N"
    return f"{'' if element.lo < LEAST else element.lo}..{'' if element.hi is None else element.hi}"


@pytest.mark.parametrize(("text", "expected"), ELEMENTS.values(), ids=ELEMENTS)
def test_the_elements_of_a_small_tensor_are_those_that_are_known(text: str, expected: str) -> None:
    container = read(model(text))
    at = unique_names(container.subgraphs[0]).index("y")
    elements = analyse(container, {})[0].contents.get(at)
    assert ("not known" if elements is None else ", ".join(map(shown, elements))) == expected
