"""A file that is a copy of the other one is proved by its bytes, and nothing is run."""

from __future__ import annotations

import shutil
from pathlib import Path

import onnx
import pytest

import graphfix
from graphfix.checker.files.copies import is_copy
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
    verdict = graphfix.verify(path, path, dims={"N": 2})
    assert (verdict.status, list(verdict.runs), verdict.assumes) == ("proved", [], ("N = 2, as asked for",))
    with pytest.raises(graphfix.GraphfixError, match="--dim K: no input has a dim of that name"):
        graphfix.verify(path, path, dims={"K": 2})


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


@pytest.mark.ci
def test_a_copy_whose_data_file_has_another_name_is_not_run(tmp_path: Path) -> None:
    one = with_data(tmp_path / "one" / "m.onnx", "m.data", 2.0)
    (tmp_path / "two").mkdir()
    outcome = graphfix.fix_file(one, tmp_path / "two" / "o.onnx", target="ranks", skip=["equalize-ranks"])
    assert outcome.verdict is not None
    assert (outcome.verdict.status, outcome.verdict.reason) == ("proved", COPIED)
    two = tmp_path / "two" / "o.onnx.data"
    two.write_bytes(two.read_bytes()[:-1] + b"!")
    assert graphfix.verify(one, tmp_path / "two" / "o.onnx").status == "different"


@pytest.mark.parametrize("change", ["another node", "an odd name", "data in the model"])
def test_another_name_of_the_data_file_hides_no_other_difference(tmp_path: Path, change: str) -> None:
    one = with_data(tmp_path / "one.onnx", "one.data", 2.0)
    two = with_data(tmp_path / "two.onnx", "a*b.data" if change == "an odd name" else "two.data", 2.0)
    assert is_copy(one, two, tflite=False) == (change != "an odd name")
    proto = onnx.load(two, load_external_data=change == "data in the model")
    if change == "another node":
        proto.graph.node[0].doc_string = "another"
    two.write_bytes(proto.SerializeToString())
    assert not is_copy(one, two, tflite=False)


def test_a_file_of_the_same_length_is_run(tmp_path: Path) -> None:
    for name, op in (("one", "Add"), ("two", "Sub")):
        (tmp_path / name).write_bytes(model(EXPLICIT.replace("Add", op)).SerializeToString())
    assert graphfix.verify(tmp_path / "one", tmp_path / "two").status == "different"
