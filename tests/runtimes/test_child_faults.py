"""An unexpected exception in a child process reaches the parent: it is neither a refusal nor an abort."""

from __future__ import annotations

import io
import pickle
from pathlib import Path
from typing import Any

import pytest

from graphfix.batch.jobs import work
from graphfix.batch.jobs.job import Job, Limits
from graphfix.batch.process.child import Child as BatchChild
from graphfix.engine.request import Request
from graphfix.report.text import Failure
from graphfix.results.faults import InternalError
from graphfix.runtimes import tosa, worker
from graphfix.runtimes.onnx import onnxruntime
from graphfix.runtimes.process import Child
from graphfix.runtimes.session import RefusedError
from graphfix.runtimes.sessions import LoadRequest
from tests.support.notation import model


def test_of_a_runtime_s_process() -> None:
    with (
        Child() as child,
        pytest.raises(InternalError, match=r"internal error in graphfix/runtimes/worker.py:\d+: TypeE"),
    ):
        child._load(LoadRequest("onnxruntime", b"", (("no such option", 1),)))


def test_the_process_goes_on() -> None:
    with Child() as child:
        with pytest.raises(InternalError):
            child._load(LoadRequest("onnxruntime", b"", (("no such option", 1),)))
        assert child.load(model("y[2] = Neg(x[2])").SerializeToString()).outputs == ("y",)


@pytest.mark.ci
def test_of_a_tosa_tool_s_process() -> None:
    with pytest.raises(InternalError, match=r"internal error in graphfix/runtimes/worker.py:\d+: TypeError: "):
        tosa._asked("tosa-tools", "run", (), 60)


def test_of_a_batch_s_process() -> None:
    child = BatchChild()
    message: Any = "no message"
    try:
        with pytest.raises(
            InternalError, match=r"internal error in graphfix/batch/process/worker.py:\d+: AttributeError: "
        ):
            child.ask(message, Limits(60))
    finally:
        child.stop()


def test_no_memory_in_a_runtime_is_a_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    def load(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr(onnxruntime, "load", load)
    answers = io.BytesIO()
    worker.serve(io.BytesIO(pickle.dumps(("load", 0, [], "onnxruntime", b"", {}))), answers)
    answer = pickle.loads(answers.getvalue())  # noqa: S301 -- made two lines above
    assert answer == ("refused", "there is no more memory", False, "")


def test_a_fault_of_a_batch_s_own_thread_is_a_failure_of_one_model(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def fail(*_: object) -> None:
        raise LookupError("nought")

    monkeypatch.setattr(work, "_entry", fail)
    entry = work.work(Job(str(tmp_path / "m.onnx"), "m.onnx", str(tmp_path), "fix", Request(), Limits(60))).entry
    assert isinstance(entry, Failure)
    assert entry.kind == "internal"
    assert "internal error in graphfix/batch/jobs/work.py:" in entry.error
    assert "LookupError: nought" in entry.trace


@pytest.mark.parametrize("error", [OSError(5, "no"), RefusedError("no")], ids=["a store", "a refusal"])
def test_what_is_foreseen_is_no_fault(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(work, "_entry", fail)
    job = Job("m.onnx", "m.onnx", "out", "fix", Request(), Limits(60))
    if isinstance(error, OSError):
        with pytest.raises(OSError, match="no"):
            work.work(job)
    else:
        entry = work.work(job).entry
        assert isinstance(entry, Failure)
        assert entry.kind == "error"
