"""What the rules of small integer tensors in TFLite return where an operand is computed, wrong or out of bounds.

An element that is not followed costs a rewrite; one that is wrong makes a wrong one, so each guard of a rule has a row
that fails without it.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from graphfix.formats.tflite.file.container import Container, read
from graphfix.formats.tflite.infer.analysis import analyse
from graphfix.formats.tflite.infer.names import unique_names
from graphfix.formats.tflite.infer.scope import GraphScope
from graphfix.shapes.dim import Shape, Size
from graphfix.shapes.terms import Terms
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


@pytest.mark.parametrize(
    ("produced", "given", "variable", "buffer", "external", "sizes", "constant"),
    [
        ((), (), False, b"data", (), (4,), True),
        ((), (), False, b"", (), (4,), False),
        ((), (), False, b"", (), (0, 4), True),
        ((), (), False, b"", "a file", (4,), True),
        ((), (), True, b"data", (), (4,), False),
        ((0,), (), False, b"data", (), (4,), False),
        ((), (0,), False, b"data", (), (4,), False),
        ((1,), (1,), False, b"data", (), (4,), True),
    ],
)
def test_a_constant_has_its_elements_in_the_file_or_none_and_nothing_makes_it(
    produced: tuple[int, ...],
    given: tuple[int, ...],
    variable: bool,
    buffer: bytes,
    external: object,
    sizes: tuple[int, ...],
    constant: bool,
) -> None:
    tensor: Any = SimpleNamespace(variable=variable, buffer=0, external=external, shape=sizes)
    held: Any = SimpleNamespace(holds=lambda _: bool(buffer))
    held.has_elements = lambda record: Container.has_elements(held, record)
    scope = GraphScope(held, 0, Terms(), ["t"], [tensor], [Shape(sizes)], produced=frozenset(produced))
    scope.inputs = frozenset(given)
    assert scope.is_constant(0) == constant
