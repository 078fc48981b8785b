"""A size that the view has wrong is seen when the original runs: `fix` ends with 1, says so, and writes nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import graphfix
from graphfix.cli import commands
from graphfix.formats.onnx import view as onnx_view
from graphfix.formats.tflite import view as tflite_view
from graphfix.graph.view import Value
from graphfix.results import Facts
from graphfix.shapes.shape import Shape, parse
from models.builders.tflite.text import model as tflite
from tests.support.notation import model

Plant = Callable[[str, str], None]

EDITED = "t[2,3] = {}(x[2,3])\ny[2,3] = {}(t, b[3])", "[1, 3]", "the view says [1,3] of 't', the runtime gave [2,3]"
EQUAL = (
    "t[1,3] = {}(b[1,3])\ny[2,3] = {}(t, x[2,3])",
    "[2, 3]",
    "the view says [2,3] of 't', the runtime gave [1,3]",
)
CASES = {"an operand that is edited": EDITED, "an operand that is left": EQUAL}
FORMATS = {".onnx": ("Relu", "Add"), ".tflite": ("ABS", "ADD")}


def write(path: Path, text: str) -> Path:
    """A model whose operators have the names of the format of `path`."""
    whole = text.format(*FORMATS[path.suffix])
    path.write_bytes(tflite(whole) if path.suffix == ".tflite" else model(whole).SerializeToString())
    return path


@pytest.fixture
def plant(monkeypatch: pytest.MonkeyPatch) -> Plant:
    """Let the view say another shape of a value."""

    def planted(name: str, shape: str) -> None:
        def value(given: str, inferred: Shape, *rest: object) -> Value:
            return Value(given, parse(shape) if given == name else inferred, *rest)  # type: ignore[arg-type] -- as given

        for view in (onnx_view, tflite_view):
            monkeypatch.setattr(view, "Value", value)

    return planted


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize(("text", "wrong", "said"), CASES.values(), ids=CASES)
def test_a_size_that_the_view_has_wrong_stops_fix(
    tmp_path: Path, plant: Plant, capsys: pytest.CaptureFixture[str], suffix: str, text: str, wrong: str, said: str
) -> None:
    source = write(tmp_path / f"m{suffix}", text)
    plant("t", wrong)
    assert commands.main(["fix", str(source), "-o", str(tmp_path / f"f{suffix}"), "-q"]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == f"graphfix: {source}: nothing written, contradicted by the original's run: {said}\n"
    assert [path.name for path in tmp_path.iterdir()] == [source.name]


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize(("text", "said"), [(text, said) for text, _, said in CASES.values()], ids=CASES)
def test_sizes_that_the_view_has_right_are_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], suffix: str, text: str, said: str
) -> None:
    source = write(tmp_path / f"m{suffix}", text)
    assert commands.main(["fix", str(source), "-o", str(tmp_path / f"f{suffix}"), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["verdict"]["facts"] == {"claimed": 2, "observed": 2, "contradicted": 0, "first": None, "ran": True}
    assert said not in str(document)


@pytest.mark.parametrize("suffix", FORMATS)
def test_the_document_holds_the_first_contradiction(
    tmp_path: Path, plant: Plant, capsys: pytest.CaptureFixture[str], suffix: str
) -> None:
    text, wrong, said = EDITED
    source = write(tmp_path / f"m{suffix}", text)
    plant("t", wrong)
    assert commands.main(["fix", str(source), "-o", str(tmp_path / f"f{suffix}"), "--json"]) == 1
    verdict = json.loads(capsys.readouterr().out)["verdict"]
    assert (verdict["status"], verdict["reason"]) == ("contradicted", said)
    first = {"value": "t", "claim": "[1,3]", "observed": [2, 3], "why": ""}
    assert verdict["facts"] == {"claimed": 2, "observed": 2, "contradicted": 1, "first": first, "ran": True}


def test_tosa_converts_nothing_that_is_contradicted(
    tmp_path: Path, plant: Plant, capsys: pytest.CaptureFixture[str]
) -> None:
    text, wrong, said = EDITED
    source = write(tmp_path / "m.tflite", text)
    plant("t", wrong)
    assert commands.main(["tosa", str(source), "-o", str(tmp_path / "m.tosa"), "-q"]) == 1
    assert said in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == [source.name]


def test_values_in_bodies_are_claimed_and_not_observed(tmp_path: Path) -> None:
    outcome = graphfix.fix_file("models/bodies/loop.onnx", tmp_path / "f.onnx")
    assert outcome.verdict is not None
    assert outcome.verdict.facts == Facts(3, 1, 0)
