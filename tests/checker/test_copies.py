"""A file that is a copy of the other one is proved by its bytes, and nothing is run."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import graphfix
from graphfix.checker.verdict import COPIED
from models.builders.tflite.text import model as tflite_model
from tests.support.notation import model
from tests.support.small_models import with_data

EXPLICIT = "y[2,3] = Add(x[2,3], b[2,3])"


@pytest.fixture(params=["onnx", "tflite"])
def pair(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, Path]:
    """Two files with the same bytes."""
    data = model(EXPLICIT).SerializeToString() if request.param == "onnx" else tflite_model("y[2] = NEG(x[2])")
    for name in ("one", "two"):
        (tmp_path / name).write_bytes(data)
    return tmp_path / "one", tmp_path / "two"


def test_a_copy_is_proved_and_not_run(pair: tuple[Path, Path]) -> None:
    verdict = graphfix.verify(*pair)
    assert (verdict.status, verdict.reason, list(verdict.runs)) == ("proved", COPIED, [])
    assert verdict.sha256["before"] == verdict.sha256["after"]
    assert (verdict.proof or {})["status"] == "proved"


def test_what_fix_copies_is_not_run(pair: tuple[Path, Path]) -> None:
    made = pair[0].with_name("out")
    outcome = graphfix.fix_file(pair[0], made)
    assert outcome.verdict is not None
    assert (outcome.output, outcome.verdict.status, outcome.verdict.reason) == (str(made), "proved", COPIED)


def test_runs_that_are_asked_for_alone_are_made(pair: tuple[Path, Path]) -> None:
    assert graphfix.verify(*pair, proof="without").runs


def test_sizes_that_are_asked_for_are_looked_at_all_the_same(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(model("y[N,3] = Neg(x[N,3])").SerializeToString())
    verdict = graphfix.verify(path, path, dims={"N": "2"})
    assert (verdict.status, list(verdict.runs), verdict.assumes) == ("proved", [], ("N = 2, as asked for",))
    with pytest.raises(graphfix.GraphfixError, match="no input has the dim 'K'"):
        graphfix.verify(path, path, dims={"K": "2"})


def test_data_files_are_compared_too(tmp_path: Path) -> None:
    one = with_data(tmp_path / "one" / "m.onnx", "m.data", 2.0)
    shutil.copytree(one.parent, tmp_path / "two")
    two = tmp_path / "two" / "m.onnx"
    assert graphfix.verify(one, two).reason == COPIED
    data = two.parent / "m.data"
    changed = bytearray(data.read_bytes())
    changed[2] ^= 64
    data.write_bytes(changed)
    assert graphfix.verify(one, two).status == "different"
    data.unlink()
    with pytest.raises(graphfix.GraphfixError, match=r"m\.data"):
        graphfix.verify(one, two)


def test_a_file_of_the_same_length_is_run(tmp_path: Path) -> None:
    for name, op in (("one", "Add"), ("two", "Sub")):
        (tmp_path / name).write_bytes(model(EXPLICIT.replace("Add", op)).SerializeToString())
    assert graphfix.verify(tmp_path / "one", tmp_path / "two").status == "different"
