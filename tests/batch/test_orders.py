"""What all jobs of a batch have in common: how many are done at once, their share of the memory, and their places."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.batch.jobs import batch_settings
from graphfix.batch.jobs.batch_settings import Orders
from graphfix.batch.jobs.job import Job, Limits
from graphfix.engine.request import Request

REQUEST = Request()


@pytest.fixture(autouse=True)
def _machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine of four processors with 1,000 bytes of memory."""
    monkeypatch.setattr(batch_settings.processors, "available", lambda: 4)
    monkeypatch.setattr(batch_settings.memory, "available", lambda: 1000)
    monkeypatch.chdir(tmp_path)


def made(jobs: int | None, most: int | None = None, output: str = "out") -> Job:
    orders = Orders("fix", output, 7.0, most, True, jobs)
    (job,) = orders.all_jobs([("zoo/m.onnx", "m.onnx")], lambda _: REQUEST)
    return job


@pytest.mark.parametrize(("jobs", "threads"), [(None, 4), (0, 0), (1, 1), (3, 3)])
def test_as_many_are_done_at_once_as_is_asked_or_as_there_are_processors(jobs: int | None, threads: int) -> None:
    assert Orders("fix", "out", 1.0, None, False, jobs).threads == threads


@pytest.mark.parametrize(
    ("jobs", "most", "share"),
    [(None, None, 250), (3, None, 333), (0, None, None), (3, 900, 900), (0, 900, 900), (3, 0, 0)],
)
def test_each_may_need_what_is_said_or_its_part_of_the_memory(
    jobs: int | None, most: int | None, share: int | None
) -> None:
    assert made(jobs, most).limits == Limits(7.0, share)


def test_a_job_has_what_is_asked_of_its_source() -> None:
    requests = {"a.onnx": Request(), "b.onnx": Request(check_result=False)}
    found = [("a.onnx", "x/a.onnx"), ("b.onnx", "b.onnx")]
    jobs = list(Orders("check", "out", 7.0, 5, True, 1).all_jobs(found, requests.__getitem__))
    assert jobs == [
        Job("a.onnx", "x/a.onnx", "out", "check", requests["a.onnx"], Limits(7.0, 5), True),
        Job("b.onnx", "b.onnx", "out", "check", requests["b.onnx"], Limits(7.0, 5), True),
    ]


def test_others_are_told_whole_paths_and_urls_as_they_are() -> None:
    here = Path.cwd()
    assert (made(1).source, made(1).output) == ("zoo/m.onnx", "out")
    assert (made(0).source, made(0).output) == (str(here / "zoo/m.onnx"), str(here / "out"))
    assert made(0, output="s3://bucket/out").output == "s3://bucket/out"
