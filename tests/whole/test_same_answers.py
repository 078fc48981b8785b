"""No answer changes unnoticed: files, reports, shapes and verdicts are those whose digests tests/data/answers keeps.

Where a change of answers is meant, `python -m tests.support.answers` writes the tables again, and its commit shows
which rows and questions changed. To see what changed, let `python -m tests.support.answers --texts FOLDER ROW` write
the texts with the version before and with this one, and compare the folders.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import answers
from tests.support.answers import models, operators
from tests.support.needs import of_16_channels
from tests.support.places import model_id
from tests.support.tiers import COVER, all_but_one_in, tiered

MODELS = answers.table("models")
OPERATORS = answers.table("operators")
LISTED = models.listed()
MADE = {*[model_id(path) for path in filter(models.is_made, LISTED)][::3]}
"""Every third model that other tools made."""
OF_ONNX = [pytest.mark.needs_release("onnx==1.23.2"), pytest.mark.needs_release("onnxruntime==1.31.1")]
"""Another onnx has other models of its operators, and another onnxruntime runs others of them."""
OF_TFLITE = pytest.mark.needs_release("flatbuffers==25.12.19")
"""Another flatbuffers lays the files of the models out otherwise."""
PARTS = [
    pytest.param("onnx", 0, 2, marks=OF_ONNX),
    pytest.param("onnx", 1, 2, marks=[*OF_ONNX, pytest.mark.ci]),
    pytest.param("tflite", 0, 4, marks=OF_TFLITE),
    pytest.param("tflite", 1, 4, marks=OF_TFLITE),
    *(pytest.param("tflite", part, 4, marks=[OF_TFLITE, pytest.mark.full]) for part in (2, 3)),
]
"""Parts of the operators of a format: plain `pytest` asks half of them, CI all of ONNX."""


def changed(asked: answers.Answers, kept: dict[str, str]) -> list[str]:
    """The questions whose answers are not those of the table."""
    return [question for question, digest in answers.digests(asked).items() if digest != kept[question]]


EACH = of_16_channels(
    tiered(LISTED, lambda path: model_id(path) in COVER | MADE, all_but_one_in(2, LISTED), name=model_id)
)


@pytest.mark.parametrize("path", EACH)
def test_of_a_model(path: Path) -> None:
    assert changed(models.answers(path), MODELS[model_id(path)]) == []


@pytest.mark.parametrize(("format_", "part", "parts"), PARTS)
def test_of_operators(format_: str, part: int, parts: int) -> None:
    listed = {each.name: each for each in operators.listed(format_, part, parts)}
    assert listed.keys() <= OPERATORS.keys()
    found = {name: changed(operators.answers(each), OPERATORS[name]) for name, each in listed.items()}
    assert {name: questions for name, questions in found.items() if questions} == {}


def test_every_row_is_asked() -> None:
    assert list(MODELS) == [model_id(path) for path in LISTED]
    assert len(OPERATORS) > 500
