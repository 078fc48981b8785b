"""What the process answers: the data files that a model names, and one line for whatever goes wrong in it."""

from __future__ import annotations

import os
import pickle
import re
import select
import tempfile
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace

import onnx
import pytest

from graphfix.api import pipeline
from graphfix.batch.jobs.job import Command
from graphfix.batch.process import worker
from graphfix.batch.process.messages import LocalJob, Locations
from graphfix.engine.request import Request
from graphfix.report.text import Failure
from graphfix.results import OverwriteError
from graphfix.results.faults import Fault
from graphfix.tosa import command as of_tosa
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


# --- the process itself, with stand-ins for the system ----------------------------------------------------------------


def test_answers_go_where_stdout_went_and_what_is_printed_to_stderr(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[object] = []
    for name in ("dup", "dup2", "fdopen"):
        monkeypatch.setattr(worker.os, name, lambda *given, name=name: done.append((name, *given)) or name)
    monkeypatch.setattr(worker.gc, "disable", lambda: done.append("no collection"))
    monkeypatch.setattr(worker, "_end_with_parent", lambda: done.append("watched"))
    monkeypatch.setattr(worker, "_serve", lambda *given: done.append(given))
    messages = BytesIO()
    monkeypatch.setattr(worker.sys, "stdin", SimpleNamespace(buffer=messages))
    worker.main()
    streams = [("dup", 1), ("fdopen", "dup", "wb"), ("dup2", 2, 1)]
    assert done == ["watched", *streams, "no collection", (messages, "fdopen")]


def test_a_fork_waits_for_the_end_of_the_input_and_kills_the_session(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[object] = []
    events = iter([[], [(0, select.POLLIN)], [(0, select.POLLIN | select.POLLHUP)]])

    class Poll:
        def register(self, *given: int) -> None:
            done.append(given)

        def poll(self) -> list[tuple[int, int]]:
            done.append("waited")
            return next(events)

    def ended(status: int) -> None:
        raise SystemExit(status)

    forked = iter([77, 0])
    monkeypatch.setattr(worker.os, "fork", lambda: next(forked))
    monkeypatch.setattr(worker.os, "getsid", lambda pid: 500 + pid)
    monkeypatch.setattr(worker.os, "_exit", ended)
    monkeypatch.setattr(worker.select, "poll", Poll)
    monkeypatch.setattr(worker.sessions, "kill", lambda session: done.append(("killed", session)))
    worker._end_with_parent()
    assert done == []  # the process itself goes on
    with pytest.raises(SystemExit) as stopped:
        worker._end_with_parent()
    assert stopped.value.code == 0
    assert done == [(0, select.POLLHUP), "waited", "waited", "waited", ("killed", 500)]


@pytest.mark.parametrize(
    ("command", "carried_out"),
    [
        ("fix", ("fix_file", Path("m.onnx"), Path("made.onnx"), "asked")),
        ("check", ("check", Path("m.onnx"), "asked")),
        ("tosa", ("fix_and_convert", Path("m.onnx"), Path("made.onnx"), "asked")),
    ],
)
def test_a_job_is_carried_out_by_its_command_in_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: Command, carried_out: tuple[object, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", None)
    for name in ("TMPDIR", "TEMP"):
        monkeypatch.setenv(name, "")
    for module, name in ((pipeline, "fix_file"), (pipeline, "check"), (of_tosa, "fix_and_convert")):
        monkeypatch.setattr(module, name, lambda *given, name=name: (name, *given))
    (tmp_path / "there").mkdir()
    job = LocalJob(command, Path("m.onnx"), Path("made.onnx"), "asked", tmp_path / "there", tmp_path / "tmp")  # type: ignore[arg-type]
    assert worker._answer(job) == carried_out
    assert Path.cwd() == tmp_path / "there"
    assert [tempfile.tempdir, os.environ["TMPDIR"], os.environ["TEMP"]] == [str(tmp_path / "tmp")] * 3
