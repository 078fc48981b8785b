"""`batch_files` from Python: entries in the order of the sources, here, on a client, and between object stores."""

from __future__ import annotations

import inspect
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import fsspec
import pytest

from graphfix import batch
from graphfix.batch import batch_files, python_function
from graphfix.batch.jobs import cluster, executors
from graphfix.batch.jobs.batch_settings import Orders
from graphfix.batch.jobs.job import Finished, Job, Limits
from graphfix.cli import parser
from graphfix.engine.request import Request
from graphfix.report.text import Failure
from graphfix.results import GraphfixError, Outcome
from graphfix.runtimes import memory
from tests.support import small_models
from tests.support.asking import ask
from tests.support.places import MODELS


@pytest.fixture
def zoo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    small_models.adding(tmp_path / "zoo/b.onnx")
    small_models.multiplying(tmp_path / "zoo/deep/a.onnx")
    shutil.copyfile(MODELS / "prelu.tflite", tmp_path / "zoo/c.tflite")
    return tmp_path / "zoo"


@pytest.mark.ci
def test_entries_are_outcomes_and_failures_in_the_order_of_the_sources(zoo: Path) -> None:
    (zoo / "bad.onnx").write_bytes(b"no model")
    told: list[tuple[str, int, int]] = []
    entries = batch_files(
        ["zoo"],
        "out",
        jobs=2,
        target="ranks",
        progress=lambda text, done=0, total=0, /: told.append((text, done, total)),
    )
    assert [entry.source for entry in entries] == ["zoo/b.onnx", "zoo/bad.onnx", "zoo/c.tflite", "zoo/deep/a.onnx"]
    assert [isinstance(entry, Failure) for entry in entries] == [False, True, False, False]
    assert {entry.target for entry in entries if isinstance(entry, Outcome)} == {"ranks"}
    assert sorted(name for name, _, _ in told) == [entry.source for entry in entries]
    assert [done for _, done, _ in told] == [1, 2, 3, 4]
    again = batch_files([zoo], Path("out"), jobs=1, target="ranks", exclude=["bad.onnx"])
    assert [entry.reused for entry in again if isinstance(entry, Outcome)] == [True] * 3
    anew = batch_files([zoo / "b.onnx"], Path("out"), jobs=1, target="ranks", again=True)
    assert [entry.reused for entry in anew if isinstance(entry, Outcome)] == [False]


@pytest.mark.ci
@pytest.mark.parametrize("name", ["lock", "scratch"])
def test_a_folder_of_models_may_have_any_name(zoo: Path, name: str) -> None:
    small_models.adding(zoo / name / "a.onnx")
    for reused in (False, True):
        entries = batch_files(["zoo"], "out", jobs=1, exclude=["c.tflite"], check_result=False)
        assert [entry.reused for entry in entries if isinstance(entry, Outcome)] == [reused] * 3


def test_check_returns_findings(zoo: Path) -> None:
    (entry,) = batch_files([zoo / "b.onnx"], "out", command="check", jobs=1)
    assert isinstance(entry, Outcome)
    assert [site.status for site in entry.sites if site.is_finding]


@pytest.mark.ci
@pytest.mark.usefixtures("zoo")
def test_what_is_in_memory_is_done_in_this_process_s_children(memory: str) -> None:
    fsspec.filesystem("memory").put("zoo/b.onnx", f"{memory}/in/b.onnx")
    (entry,) = batch_files([f"{memory}/in"], f"{memory}/out", jobs=1)
    assert isinstance(entry, Outcome)
    assert entry.output == f"{memory}/out/b.onnx"
    assert fsspec.filesystem("memory").exists(f"{memory}/out/b.onnx")


@pytest.mark.ci
@pytest.mark.usefixtures("zoo")
def test_s3_is_read_and_written_by_the_command_line(s3: str, capsys: pytest.CaptureFixture[str]) -> None:
    there = fsspec.filesystem("s3", use_listings_cache=False)
    answer = ask(capsys, "batch", "zoo", "-o", f"{s3}/up", "--jobs", "2")
    assert (answer.status, answer.err) == (0, "")
    for name in ("b.onnx", "c.tflite", "deep/a.onnx"):
        there.put(f"zoo/{name}", f"{s3}/in/{name}")
    answer = ask(capsys, "batch", f"{s3}/in", "-o", "down", "--jobs", "2")
    assert (answer.status, answer.err) == (0, "")
    assert [line.split()[3].rstrip(":") for line in answer.out.splitlines()[:-1]] == [
        f"{s3}/in/{name}" for name in ("b.onnx", "c.tflite", "deep/a.onnx")
    ]
    for name in ("b.onnx", "c.tflite", "deep/a.onnx"):
        assert there.cat(f"{s3}/up/{name}") == Path("down", name).read_bytes()
    again = ask(capsys, "batch", f"{s3}/in", "-o", "down", "--jobs", "2")
    assert "3 of them reused" in again.out
    again = ask(capsys, "batch", "zoo", "-o", f"{s3}/up", "--jobs", "2")
    assert "3 of them reused" in again.out


@pytest.mark.ci
def test_a_store_that_can_not_be_reached_is_a_failure_of_each_model_or_one_line(
    zoo: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "x")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "x")
    answer = ask(capsys, "batch", zoo / "b.onnx", "-o", "s3://bucket/out", "--jobs", "1")
    assert answer.status == 2
    assert len(answer.lines) == 1
    assert "s3://bucket" in answer.err
    try:
        fsspec.get_filesystem_class("s3").clear_instance_cache()
        answer = ask(capsys, "batch", "s3://bucket/b.onnx", "-o", "out", "--jobs", "1")
    finally:
        fsspec.get_filesystem_class("s3").clear_instance_cache()
    assert (answer.status, answer.out, len(answer.lines)) == (2, "", 1)
    assert answer.err.startswith("graphfix: s3://bucket/b.onnx: can't be read: ")


@pytest.mark.parametrize("argv", ["{} -o out", "zoo -o {}", "zoo -o {} --check"])
def test_a_password_in_a_url_is_refused_and_not_printed(
    zoo: Path, capsys: pytest.CaptureFixture[str], argv: str
) -> None:
    for name in ("bad.onnx", "deep/a.onnx", "c.tflite"):
        (zoo / name).unlink(missing_ok=True)
    answer = ask(capsys, "batch", *argv.format("ftp://me:secret@host/x").split(), "--jobs", "1")
    assert (answer.status, len(answer.lines)) == (2, 1)
    assert "ftp://me:***@host" in answer.err
    assert "secret" not in answer.err + answer.out


def test_on_a_system_without_fork_nothing_is_begun(
    zoo: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delattr(os, "fork")
    answer = ask(capsys, "batch", zoo, "-o", "out", "--jobs", "1")
    assert (answer.status, answer.out, len(answer.lines)) == (2, "", 1)
    assert "POSIX" in answer.err
    assert not Path("out").exists()


@pytest.mark.parametrize(
    ("keywords", "said"),
    [
        ({"command": "verify"}, "command 'verify' is not one of fix, check, tosa"),
        ({"jobs": 0}, "jobs is 0; give a number above 0"),
        ({"time_limit": 0}, "time_limit is 0"),
        ({"memory_limit": -1}, "memory_limit is -1"),
        ({"target": "none"}, "none"),
        ({"rewrites": ["none.py"]}, "none.py"),
        ({"dims": {"n": 4.5}}, "dims 'n' is 4.5"),
    ],
)
def test_what_can_not_be_asked_is_refused_before_the_work(zoo: Path, keywords: dict[str, object], said: str) -> None:
    with pytest.raises(GraphfixError) as refused:
        batch_files([zoo], "out", **keywords)  # type: ignore[arg-type]
    assert said in str(refused.value)
    assert not Path("out").exists()


def test_it_has_the_keywords_that_the_command_line_has_options_for() -> None:
    command = parser.commands_of(parser.parser())["batch"]
    options = {action.dest for action in command._actions if action.option_strings}
    for_people = {"help", "quiet", "verbose", "color", "json", "report", "config", "isolated"}
    otherwise = {"check", "tosa", "dask", "output"}
    keywords = set(inspect.signature(batch_files).parameters) - {"models", "command", "client", "progress", "output"}
    assert keywords == options - for_people - otherwise


def test_its_defaults_are_those_of_the_record_and_of_the_command_line() -> None:
    command = parser.commands_of(parser.parser())["batch"]
    options = {action.dest: action.default for action in command._actions if action.option_strings}
    record = {each.name: getattr(Request(), each.name) for each in fields(Request)}
    expected = {**options, "exclude": (), "command": "fix", "client": None, **record, "progress": None}
    given = {each.name: each.default for each in inspect.signature(batch_files).parameters.values()}
    del given["models"], given["output"]
    assert given == {name: expected[name] for name in given}


def test_each_model_that_is_done_is_told_by_its_name_with_how_many_are_done() -> None:
    told: list[tuple[object, ...]] = []
    watch = python_function._Watch(lambda *said: told.append(said), 2)
    for source in ("in/b.onnx", "in/a.onnx"):
        job = Job(source, "x.onnx", "out", "fix", Request(), Limits(60.0))
        watch.tick()
        watch.finished(Finished(job, Failure("fix", source, "no"), 0.5))
    assert told == [("in/b.onnx", 1, 2), ("in/a.onnx", 2, 2)]


def test_what_is_asked_of_all_models_is_in_each_job(zoo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Job] = []
    monkeypatch.setattr(python_function.running, "run", lambda jobs, *_: asked.extend(jobs) or [])
    said = {"command": "check", "exclude": ["c.tflite"], "target": "ranks"}
    batch_files([zoo], Path("out"), jobs=3, time_limit=7.5, memory_limit=1 << 30, again=True, **said)
    places = [(str(zoo / name), name, "out") for name in ("b.onnx", "deep/a.onnx")]
    assert [(job.source, job.name, job.output) for job in asked] == places
    for job in asked:
        assert (job.command, job.limits, job.again) == ("check", Limits(7.5, 1 << 30), True)
        assert job.request.target == "ranks"
    asked.clear()
    batch_files([zoo / "b.onnx"], "out", jobs=2)
    (job,) = asked
    assert (job.command, job.limits.seconds, job.again) == ("fix", 600.0, False)
    assert job.limits.bytes is not None
    assert 0 < job.limits.bytes <= memory.available() // 2 + (1 << 30)


@pytest.mark.parametrize(
    ("keywords", "orders", "retries"),
    [
        ({}, ("fix", "out", 600.0, None, False, None), 2),
        (
            {"command": "check", "jobs": 3, "time_limit": 5, "memory_limit": 7, "again": True, "retries": 0},
            ("check", "out", 5, 7, True, 3),
            0,
        ),
        ({"jobs": 3, "client": True}, ("fix", "out", 600.0, None, False, 0), 2),
    ],
    ids=["usual", "other", "a client"],
)
def test_what_is_asked_reaches_the_workers(
    zoo: Path, monkeypatch: pytest.MonkeyPatch, keywords: dict[str, Any], orders: tuple[object, ...], retries: int
) -> None:
    client = SimpleNamespace(get_executor=None) if keywords.get("client") else None
    seen: list[object] = []

    @contextmanager
    def workers(*given: object) -> Iterator[str]:
        seen.append(given)
        yield "workers"

    def run(jobs: Iterator[Job], by: object, watch: python_function._Watch, kept: Any) -> Iterator[Failure]:  # noqa: ANN401
        assert (by, watch.total, watch.done) == ("workers", 2, 0)
        for job in jobs:
            assert job.request.target == "ranks"
            seen.append((job.name, job.command, job.again))
            yield kept(Finished(job, Failure(job.command, job.source, "no"), 0.5))

    monkeypatch.setattr(python_function, "_workers", workers)
    monkeypatch.setattr(python_function.running, "run", run)
    entries = batch_files([zoo], "out", target="ranks", exclude=["c.tflite"], **{**keywords, "client": client})
    assert seen[0] == (Orders(*orders), client, retries)  # type: ignore[arg-type]
    command, again = keywords.get("command", "fix"), keywords.get("again", False)
    assert seen[1:] == [("b.onnx", command, again), ("deep/a.onnx", command, again)]
    assert [type(entry) for entry in entries] == [Failure, Failure]


def test_a_client_s_workers_do_the_jobs_and_else_threads_of_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "cluster", lambda client, retries: ("cluster", client, retries))
    orders = Orders("fix", "out", 600.0, None, False, 3)
    with python_function._workers(orders, "client", 4) as workers:
        assert workers == ("cluster", "client", 4)
    with python_function._workers(orders, None, 4) as workers:
        assert isinstance(workers, executors.Threads)
        assert workers.most == 3 * executors.AHEAD


@pytest.mark.parametrize(
    ("keywords", "said"),
    [
        ({"models": "zoo"}, "models is 'zoo'; give a list of paths, such as ['models']"),
        ({"exclude": "b"}, "exclude is 'b'; give a list of paths"),
        ({"rewrites": "b.py"}, "rewrites is 'b.py'; give a list of paths"),
        ({"output": 3}, "output is 3; give the path of a folder, or a URL"),
        ({"client": 3}, "client is 3; give a Client of Dask's distributed, or None"),
        ({"retries": -1}, "retries is -1; give a whole number from 0 on"),
        ({"retries": True}, "retries is True; give a whole number"),
        ({"retries": 1.0}, "retries is 1.0; give a whole number"),
        ({"again": 1}, "again is 1; give True or False"),
        ({"jobs": "2"}, "jobs is '2'; give a number above 0, or None"),
        ({"time_limit": 0.0}, "time_limit is 0.0; give a number above 0, or None"),
    ],
    ids=str,
)
def test_a_value_of_another_type_is_refused(zoo: Path, keywords: dict[str, Any], said: str) -> None:
    with pytest.raises(GraphfixError) as refused:
        batch_files(**{"models": [zoo], "output": "out", **keywords})
    assert str(refused.value).startswith(said)


def test_the_package_has_this_one_name() -> None:
    assert batch.__all__ == ["batch_files"]
    assert batch.batch_files is batch_files
    with pytest.raises(AttributeError, match=r"^module 'graphfix.batch' has no attribute 'batch_file'$"):
        _ = batch.batch_file  # type: ignore[attr-defined]
