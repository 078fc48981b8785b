"""What the process answers: the data files that a model names, and one line for whatever goes wrong in it."""

from __future__ import annotations

import pickle
import re
import tempfile
from io import BytesIO
from pathlib import Path

import onnx
import pytest

from graphfix.api import pipeline
from graphfix.batch.process import worker
from graphfix.batch.process.messages import LocalJob, Locations
from graphfix.engine.request import Request
from graphfix.report.text import Failure
from graphfix.results import OverwriteError
from graphfix.results.faults import Fault
from models.builders.tflite.text import model as tflite
from tests.support import small_models as own


def test_data_files_are_named_whether_they_are_there_or_not(tmp_path: Path) -> None:
    model = own.with_data(tmp_path / "m.onnx", "data/w.bin", 1.0)
    (tmp_path / "data/w.bin").unlink()
    assert worker._locations(Locations(model)) == ["data/w.bin"]


@pytest.mark.parametrize("location", ["/etc/passwd", "../w.bin", "a/../../w.bin", "C:w.bin", "", "w\0.bin"])
def test_a_place_outside_of_the_model_s_folder_is_not_named(tmp_path: Path, location: str) -> None:
    model = own.with_data(tmp_path / "m.onnx", "w.bin", 1.0)
    proto = onnx.load(model, load_external_data=False)
    proto.graph.initializer[0].external_data[0].value = location
    model.write_bytes(proto.SerializeToString())
    assert worker._locations(Locations(model)) == []


def test_what_is_no_onnx_model_names_none(tmp_path: Path) -> None:
    (tmp_path / "m.tflite").write_bytes(tflite("y[4] = ADD(x[4], b[4])"))
    (tmp_path / "no.onnx").write_bytes(b"no model")
    assert [
        *worker._locations(Locations(tmp_path / "m.tflite")),
        *worker._locations(Locations(tmp_path / "no.onnx")),
    ] == []
    assert [
        *worker._locations(Locations(tmp_path / "missing")),
        *worker._locations(Locations(own.adding(tmp_path / "m.onnx"))),
    ] == []


@pytest.mark.parametrize(
    ("error", "kind", "said"),
    [
        (
            KeyError("x\ny"),
            "internal",
            r"internal error in graphfix/batch/process/worker\.py:\d+: KeyError: 'x\\ny'; please report it, -v shows",
        ),
        (MemoryError(), "memory", "stopped: there is no more memory"),
    ],
    ids=["a fault", "no memory"],
)
def test_a_fault_of_the_program_s_own_is_one_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, kind: str, said: str
) -> None:
    def fix_file(*_: object) -> None:
        raise error

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", None)
    for name in ("TMPDIR", "TEMP"):
        monkeypatch.setenv(name, "")
    monkeypatch.setattr(pipeline, "fix_file", fix_file)
    failed = worker._entry(LocalJob("fix", Path("m.onnx"), Path("made.onnx"), Request(), tmp_path, tmp_path))
    assert isinstance(failed, Failure)
    assert (failed.source, failed.kind) == ("m.onnx", kind)
    assert re.match(f"m.onnx: {said}", failed.error)


def test_every_message_is_answered_in_order_also_one_that_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = own.with_data(tmp_path / "m.onnx", "w.bin", 1.0)
    locations, faults = worker._locations, iter([None, OSError("no room"), OverwriteError("r.json"), KeyError("x")])

    def answered(message: Locations) -> object:
        fault = next(faults)
        if fault is not None:
            raise fault
        return locations(message)

    monkeypatch.setattr(worker, "_locations", answered)
    answers = BytesIO()
    worker._serve(BytesIO(b"".join([pickle.dumps(Locations(model))] * 4)), answers)
    answers.seek(0)
    said = [pickle.load(answers) for _ in range(4)]  # noqa: S301 -- our own
    assert answers.read() == b""
    assert [kind for kind, _ in said] == ["done", "raised", "raised", "fault"]
    assert said[0][1] == ["w.bin"]
    assert [str(error) for _, error in said[1:3]] == ["no room", "r.json"]
    assert isinstance(said[3][1], Fault)
