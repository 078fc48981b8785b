"""The threads of a batch on this machine: what runs, what waits, and what is dropped when the batch is stopped."""

from __future__ import annotations

import threading
from concurrent.futures import CancelledError

import pytest

from graphfix.batch.jobs import executors, work
from graphfix.batch.jobs.job import Finished, Job, Limits
from graphfix.engine.request import Request
from graphfix.report.text import Failure

WITHIN = 10.0
"""Seconds after which a thread counts as hung."""


def job(name: str) -> Job:
    return Job(name, name, "out", "fix", Request(), Limits(1.0))


def test_what_waits_is_dropped_and_what_runs_is_told_when_a_batch_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    begun = threading.Event()

    def worked(job: Job, stopped: threading.Event) -> Finished:
        begun.set()
        assert stopped.wait(WITHIN)
        return Finished(job, Failure("fix", job.name, "it was stopped"), 0.0)

    monkeypatch.setattr(work, "work", worked)
    threads = executors.Threads(1)
    first, second = threads.submit(job("a.onnx")), threads.submit(job("b.onnx"))
    assert begun.wait(WITHIN)
    assert list(threads.running()) == ["a.onnx"]
    threads.stop()
    assert first.result(WITHIN).job.name == "a.onnx"
    with pytest.raises(CancelledError):
        second.result(WITHIN)
    threads.close()
    assert list(threads.running()) == []


def test_a_job_that_raises_runs_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    def worked(*_: object) -> Finished:
        raise OSError("no room")

    monkeypatch.setattr(work, "work", worked)
    threads = executors.Threads(2)
    error = threads.submit(job("a.onnx")).exception(WITHIN)
    assert error is not None
    assert threads.reason(error) == "no room"
    threads.close()
    assert list(threads.running()) == []
    assert threads.most == 2 * executors.AHEAD


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OSError(13, "Permission denied", "m.onnx"), "m.onnx: Permission denied"),
        (OSError(28, "No space left on device"), "No space left on device"),
        (OSError("a\n  b"), "a b"),
        (OSError(), "OSError"),
        (KeyError(), "KeyError"),
        (ValueError("no\tmodel"), "no model"),
    ],
    ids=repr,
)
def test_an_error_is_said_in_one_line(error: Exception, said: str) -> None:
    assert executors.said_by(error) == said


def test_threads_that_were_stopped_are_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[bool, bool]] = []
    threads = executors.Threads(3)

    def shutdown(wait: bool = True, *, cancel_futures: bool = False) -> None:
        asked.append((wait, cancel_futures))

    monkeypatch.setattr(threads._executor, "shutdown", shutdown)
    threads.close()
    threads.stop()
    threads.close()
    assert asked == [(True, False), (False, True), (False, False)]


def test_threads_are_closed_at_the_end_whatever_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[int] = []
    monkeypatch.setattr(executors.Threads, "close", lambda self: closed.append(self.most))

    def work(threads: executors.Threads) -> None:
        assert threads.gone == "the batch was stopped"
        assert closed == []
        raise KeyError

    with pytest.raises(KeyError), executors.local(3) as threads:
        work(threads)
    assert closed == [3 * executors.AHEAD]
