"""No answer changes unnoticed: files, reports, shapes and verdicts are those whose digests tests/data/answers keeps.

Where a change of answers is meant, `python -m tests.support.answers` writes the tables again, and its commit shows
which rows and questions changed. To see what changed, let `python -m tests.support.answers --texts FOLDER ROW` write
the texts with the version before and with this one, and compare the folders.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

from graphfix.targets import target as targets
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


COVERED = {path for path in LISTED if model_id(path) in COVER | MADE}
FEW = 2
"""For how many targets CI asks about a model, in turn."""


@pytest.mark.parametrize("path", of_16_channels(tiered(LISTED, COVERED.__contains__, lambda _: True, name=model_id)))
def test_of_a_model(path: Path) -> None:
    """Plain `pytest` asks a cover of the models, and `full` all others, for all targets."""
    assert changed(models.answers(path), MODELS[model_id(path)]) == []


def in_turn() -> list[ParameterSet]:
    """Half of the models that plain `pytest` does not ask, each for a few targets: together for all."""
    left_to_full = all_but_one_in(2, LISTED)
    chosen = [path for path in LISTED if path not in COVERED and not left_to_full(path)]
    found = []
    for at, path in enumerate(chosen):
        own = models.targets_of(path)
        asked = tuple(dict.fromkeys(own[(FEW * at + further) % len(own)] for further in range(FEW)))
        found.append(pytest.param(path, asked, id=model_id(path)))
    return of_16_channels(found)


@pytest.mark.ci
@pytest.mark.parametrize(("path", "asked"), in_turn())
def test_of_a_model_for_some_targets(path: Path, asked: tuple[str, ...]) -> None:
    """CI asks half of the models that plain `pytest` leaves out, each for two targets in turn."""
    assert changed(models.answers(path, asked), MODELS[model_id(path)]) == []


def test_the_models_of_ci_are_asked_for_every_target() -> None:
    chosen = [case.values[1] for case in in_turn()]
    assert {target for asked in chosen for target in asked} == set(targets.TARGETS)  # type: ignore[attr-defined]


@pytest.mark.parametrize(("format_", "part", "parts"), PARTS)
def test_of_operators(format_: str, part: int, parts: int) -> None:
    listed = {each.name: each for each in operators.listed(format_, part, parts)}
    assert listed.keys() <= OPERATORS.keys()
    found = {name: changed(operators.answers(each), OPERATORS[name]) for name, each in listed.items()}
    assert {name: questions for name, questions in found.items() if questions} == {}


def test_every_row_is_asked() -> None:
    assert list(MODELS) == [model_id(path) for path in LISTED]
    assert len(OPERATORS) > 500
