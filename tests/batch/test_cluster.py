"""A batch on a Dask cluster: workers that end or have another version, a scheduler that is gone, and cancellation."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from dask import config as dask_config
from distributed import Client, KilledWorker, LocalCluster
from distributed.client import ClosedClientError

from graphfix.batch import batch_files
from graphfix.batch.jobs import cluster, executors, work
from graphfix.batch.jobs.cluster import VERSION, Cluster
from graphfix.batch.jobs.job import Finished, Job, Limits
from graphfix.batch.jobs.run import run
from graphfix.engine.request import Request
from graphfix.report.text import Failure
from graphfix.results import GraphfixError, Outcome
from tests.support import small_models
from tests.support.asking import ask
from tests.support.places import MODELS, ROOT

WITHIN = 60.0
"""Seconds after which a cluster counts as hung."""


@pytest.fixture(scope="module")
def two() -> Iterator[LocalCluster]:
    """Two worker processes of one thread each, which import this tree."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(ROOT))
        with LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0", memory_limit="800MiB"
        ) as made:
            yield made


@pytest.fixture
def client(two: LocalCluster) -> Iterator[Client]:
    with Client(two.scheduler_address, set_as_default=False) as made:
        made.wait_for_workers(2, timeout=WITHIN)
        yield made


def until(true: Callable[[], object]) -> None:
    """Wait for something that happens soon. Raises AssertionError where it does not."""
    end = time.monotonic() + WITHIN
    while not true():
        assert time.monotonic() < end
        time.sleep(0.02)


def files(folder: Path) -> dict[str, bytes]:
    """What users see of a folder of results."""
    names = (path for path in folder.rglob("*") if path.is_file())
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in names
        if ".graphfix" not in path.relative_to(folder).parts
    }


def job(folder: Path, plan: str, limits: Limits | None = None) -> Job:
    rewrites = (str(small_models.rewrite(folder, plan)),) if plan else ()
    source = small_models.multiplying(folder / "m.onnx")
    request = Request(rewrites=rewrites, check_result=False)
    return Job(str(source), "m.onnx", str(folder / "out"), "fix", request, limits or Limits(WITHIN))


@pytest.mark.ci
def test_where_a_worker_is_killed_in_mid_run_the_same_bytes_are_made_as_without_a_cluster(
    client: Client, tmp_path: Path
) -> None:
    models = [str(path) for path in (*sorted((MODELS / "rfc").glob("dynamic_*"))[:10], MODELS / "encoder.onnx")]
    assert len(models) > 10
    killed: list[int] = []

    def kill_one(_text: str, done: int = 0, _total: int = 0, /) -> None:
        if done == 3:
            (worker, *_) = [address for address, keys in client.processing().items() if keys]
            pid = client.run(os.getpid, workers=[worker])[worker]
            killed.append(pid)
            os.kill(pid, signal.SIGKILL)

    there = batch_files(models, tmp_path / "there", client=client, progress=kill_one)
    here = batch_files(models, tmp_path / "here", jobs=1)
    assert killed
    assert [entry.source for entry in there] == [entry.source for entry in here] == models
    assert all(isinstance(entry, Outcome) and entry.output and not entry.reused for entry in there)
    assert files(tmp_path / "there") == files(tmp_path / "here")
    assert len(files(tmp_path / "there")) == len(models)
    assert not (tmp_path / "there/.graphfix/.scratch").exists()
    again = batch_files(models, tmp_path / "there", client=client)
    assert all(isinstance(entry, Outcome) and entry.reused for entry in again)


@pytest.mark.ci
def test_the_command_line_sends_models_to_the_scheduler_of_an_address(
    two: LocalCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    small_models.adding(Path("zoo/a.onnx"))
    small_models.multiplying(Path("zoo/b.onnx"))
    own = small_models.rewrite(tmp_path, "raise KeyError('x')")
    answer = ask(
        capsys, "batch", "zoo", "-o", "out", "--dask", two.scheduler_address, "--rewrites", own.name, "--retries", "0"
    )
    assert answer.status == 2
    assert [line.split()[0] for line in answer.out.splitlines()] == ["written", "failed", "2"]
    assert len(answer.lines) == 1
    assert f"{tmp_path}/zoo/b.onnx" in answer.err
    assert sorted(files(tmp_path / "out")) == ["a.onnx"]


@pytest.mark.ci
def test_a_job_that_is_stopped_ends_on_its_worker_and_leaves_nothing(client: Client, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    begun = tmp_path / "begun"
    workers = Cluster(client, retries=0)
    plan = f"open({str(begun)!r}, 'w').close()\n    {small_models.HANG}"
    future = workers.submit(job(tmp_path, plan, Limits(100 * WITHIN)))
    until(begun.exists)
    assert workers.running() == ["m.onnx"]
    workers.stop()
    until(future.cancelled)
    until(lambda: not any((tmp_path / "out/.graphfix/.scratch").glob("*")))
    assert files(tmp_path / "out") == {}
    until(lambda: not any(client.run(_busy).values()))


def _busy(dask_worker: Any) -> int:  # noqa: ANN401 - Dask gives a function with this argument its worker
    return len(dask_worker.state.executing)


@pytest.mark.ci
@pytest.mark.parametrize(("retries", "tries", "said"), [(2, 3, ""), (1, 2, "no store")])
def test_what_a_store_can_not_do_is_tried_again_as_often_as_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, retries: int, tries: int, said: str
) -> None:
    tried = []

    def work(asked: Job, _stop: object) -> Finished:
        tried.append(asked.limits.bytes)
        if len(tried) < 3:
            raise OSError("no store")
        return Finished(asked, Outcome("fix", asked.source, "onnx"), 0.1)

    class Silent:
        def finished(self, _: Finished) -> None: ...
        def tick(self) -> None: ...

    monkeypatch.setattr(cluster.work, "work", work)
    settings = {"n_workers": 1, "threads_per_worker": 2, "memory_limit": "1GiB", "dashboard_address": ":0"}
    with LocalCluster(processes=False, **settings) as made, Client(made, set_as_default=False) as client:
        (done,) = run(iter([job(tmp_path, "")]), Cluster(client, retries), Silent(), lambda each: each)
    assert tried == [512 << 20] * tries
    assert said in getattr(done.entry, "error", "")
    assert bool(said) == (getattr(done.entry, "error", "") != "")


@pytest.mark.ci
def test_workers_that_end_again_and_again_are_named_with_what_the_scheduler_allows(client: Client) -> None:
    worker = type("Worker", (), {"address": "tcp://10.0.0.1:2"})()
    said = Cluster(client, retries=0).reason(KilledWorker("key", worker, 3))
    assert said.startswith(
        "4 workers ended while they had it, the last of them tcp://10.0.0.1:2; the scheduler allows 3"
    )
    assert "distributed.scheduler.allowed-failures" in said
    assert "\n" not in said


def test_a_worker_with_another_version_is_refused_before_the_work(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "VERSION", "0.0.9")
    with pytest.raises(GraphfixError, match=r"worker tcp://\S+ has graphfix \S+, and this is 0.0.9: install the same"):
        cluster.cluster(client, retries=0)


def test_a_worker_without_graphfix_is_refused() -> None:
    class Bare:
        def run(self, *_: object, **__: object) -> dict[str, object]:
            return {"tcp://w:1": ModuleNotFoundError("No module named 'graphfix'")}

    with pytest.raises(GraphfixError, match=r"worker tcp://w:1 has no graphfix \(No module named 'graphfix'\)"):
        cluster.cluster(Bare(), retries=0)


def test_a_worker_that_joined_later_with_another_version_fails_the_job(tmp_path: Path) -> None:
    with pytest.raises(GraphfixError, match=r"and the batch is of 9\.9: install the same"):
        cluster._done(job(tmp_path, ""), "9.9", "batch")


@pytest.mark.ci
@pytest.mark.parametrize("limit", [None, 123 << 20])
def test_without_a_limit_a_model_may_need_the_worker_s_share(client: Client, tmp_path: Path, limit: int | None) -> None:
    (tmp_path / "out").mkdir()
    workers = Cluster(client, retries=0)
    future: Future[Finished] = workers.submit(job(tmp_path, small_models.GREEDY, Limits(WITHIN, limit)))
    entry = future.result(WITHIN).entry
    said = "needed more than 123 MiB" if limit else "needed more than 800 MiB"
    assert said in getattr(entry, "error", "")


@pytest.mark.ci
@pytest.mark.parametrize("address", ["tcp://127.0.0.1:1", "nowhere", "odd://127.0.0.1:1"])
def test_an_address_that_does_not_answer_is_one_line_within_seconds(address: str, tmp_path: Path) -> None:
    """Each in a process of its own: a client that failed stops the next one's thread for 10 s when it is collected."""
    command = ["batch", str(MODELS / "matmul.onnx"), "-o", str(tmp_path / "out"), "--dask", address]
    begun = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-P", "-m", "graphfix", *command], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert time.monotonic() < begun + 3 * cluster.SOON
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"graphfix: {address}: no Dask scheduler answers")
    assert done.stderr.count("\n") == 1


def test_a_thread_of_dask_that_does_not_start_in_time_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(_: object) -> None:
        raise AssertionError

    monkeypatch.setattr("distributed.utils.LoopRunner.start", start)
    with pytest.raises(GraphfixError) as refused, cluster.dask("tcp://127.0.0.1:1", 0):
        pass
    assert str(refused.value) == f"tcp://127.0.0.1:1: {cluster.NOT_STARTED}"


def test_where_dask_is_not_installed_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "distributed", None)
    with pytest.raises(GraphfixError, match=r"pip install .*\[batch\]"), cluster.dask("tcp://x:1", 0):
        pass


@pytest.mark.ci
def test_a_scheduler_that_goes_away_ends_the_batch_with_one_line(tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(ROOT))
        made = LocalCluster(n_workers=1, threads_per_worker=1, processes=True, dashboard_address=":0")

    class Closing:
        def finished(self, _: Finished) -> None: ...

        def tick(self) -> None:
            made.close()

    hanging = (job(tmp_path, small_models.HANG) for _ in range(2))
    with made, cluster.dask(made.scheduler_address, 0) as workers, pytest.raises(GraphfixError) as ended:
        list(run(hanging, workers, Closing(), lambda each: each))
    assert str(ended.value).startswith(f"{workers.gone.split(' ')[0]} the scheduler is gone")


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OSError(13, "Permission denied", "s3://b/x"), "s3://b/x: Permission denied"),
        (OSError("a\n  b"), "a b"),
        (KeyError(), "KeyError"),
    ],
)
def test_what_an_error_says_is_one_line(error: Exception, said: str) -> None:
    assert executors.said_by(error) == said


# --- without Dask's processes -----------------------------------------------------------------------------------------


class Scheduler:
    """What a client of Dask is asked for here."""

    def __init__(self) -> None:
        self.scheduler = SimpleNamespace(address="tcp://s:1")
        self.keys: list[str] = []
        self.futures: list[Future[Finished]] = []
        self.arguments: list[tuple[object, ...]] = []
        self.retries = self.waits = -1
        self.asked: list[tuple[object, ...]] = []
        self.error: Exception | None = None

    def get_executor(self, retries: int) -> Scheduler:
        self.retries = retries
        return self

    def submit(self, *arguments: object, key: str) -> Future[Finished]:
        if self.error is not None:
            raise self.error
        self.arguments.append(arguments)
        self.keys.append(key)
        self.futures.append(Future())
        return self.futures[-1]

    def processing(self) -> dict[str, list[str]]:
        if self.error is not None:
            raise self.error
        return {"one": [*reversed(self.keys)], "two": ["of-another-batch"]}

    def nthreads(self) -> dict[str, int]:
        return {}

    def shutdown(self, wait: bool) -> None:
        self.asked.append(("shutdown", wait))

    def run(self, *asked: object, on_error: str) -> dict[str, object]:
        if self.error is not None:
            raise self.error
        self.asked.append((*asked, on_error))
        return {"tcp://w:1": VERSION}


def named(folder: Path, name: str) -> Job:
    return replace(job(folder, ""), name=name)


def test_each_job_is_sent_under_a_key_of_its_own_and_is_running_until_it_is_done(tmp_path: Path) -> None:
    scheduler = Scheduler()
    workers, other = cluster.cluster(scheduler, 3), cluster.cluster(Scheduler(), 3)
    assert (scheduler.retries, workers.waits(), workers.running()) == (3, True, [])
    sent = [named(tmp_path, name) for name in ("a.onnx", "b.onnx")]
    futures = [workers.submit(each) for each in sent]
    assert futures == scheduler.futures
    assert len(set(scheduler.keys)) == 2
    assert [arguments[:3] for arguments in scheduler.arguments] == [(cluster._done, each, VERSION) for each in sent]
    assert scheduler.arguments[0][3] == scheduler.arguments[1][3] != other._batch
    assert list(workers.running()) == ["b.onnx", "a.onnx"]
    futures[0].set_result(Finished(sent[0], Failure("fix", "a.onnx", "no"), 0.0))
    assert list(workers.running()) == ["b.onnx"]
    scheduler.error = OSError("it is gone")
    assert list(workers.running()) == []


def test_a_scheduler_that_is_gone_is_one_line(tmp_path: Path) -> None:
    scheduler = Scheduler()
    workers = cluster.cluster(scheduler, 0)
    scheduler.error = ClosedClientError()
    with pytest.raises(GraphfixError, match=r"^tcp://s:1: the scheduler is gone"):
        workers.submit(named(tmp_path, "a.onnx"))


def test_workers_that_ended_are_counted_and_other_errors_are_said_as_they_are() -> None:
    workers = cluster.cluster(Scheduler(), 0)
    killed = KilledWorker("key", SimpleNamespace(address="tcp://w:9"), 3)
    said = workers.reason(killed)
    assert said.startswith("4 workers ended while they had it, the last of them tcp://w:9; the scheduler allows 3 (")
    assert workers.reason(OSError("no room")) == "no room"


def test_what_is_stopped_ends_the_jobs_of_its_batch_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scheduler = Scheduler()
    workers = cluster.cluster(scheduler, 0)
    workers.stop()
    assert scheduler.asked[-2:] == [("shutdown", False), (cluster._stop, workers._batch, "ignore")]
    scheduler.error = OSError("it is gone")
    workers.stop()  # there is nothing left to end
    stops: list[threading.Event] = []

    def worked(_: Job, stop: threading.Event) -> None:
        stops.append(stop)
        cluster._stop("other")
        assert not stop.is_set()
        cluster._stop("mine")

    monkeypatch.setattr(work, "work", worked)
    cluster._done(replace(named(tmp_path, "a.onnx"), limits=Limits(1.0, 5)), VERSION, "mine")
    assert [stop.is_set() for stop in stops] == [True]
    cluster._stop("none")


@pytest.mark.parametrize(
    ("limit", "known", "share"), [(7, 300, 7), (None, 300, 100), (None, None, 200), (None, 0, 200)]
)
def test_a_job_without_a_limit_may_need_a_thread_s_share_of_its_worker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: int | None, known: int | None, share: int
) -> None:
    here = SimpleNamespace(memory_manager=SimpleNamespace(memory_limit=known), state=SimpleNamespace(nthreads=3))
    given: list[Job] = []
    monkeypatch.setattr("distributed.get_worker", lambda: here)
    monkeypatch.setattr(cluster.memory, "available", lambda: 600)
    monkeypatch.setattr(work, "work", lambda job, _: given.append(job))
    cluster._done(replace(named(tmp_path, "a.onnx"), limits=Limits(1.0, limit)), VERSION, "batch")
    assert [each.limits for each in given] == [Limits(1.0, share)]


class Connected(Scheduler):
    """A client that was made: with what, and whether it was closed."""

    made: tuple[tuple[object, ...], dict[str, object], object] | None = None
    closed: float | None = None

    def close(self, timeout: float) -> None:
        self.closed = timeout
        raise OSError("it is gone")


LOGGERS = ("distributed", "distributed.client", "tornado", "tornado.application", "asyncio")


@pytest.fixture
def connected(monkeypatch: pytest.MonkeyPatch) -> Iterator[Connected]:
    """What a scheduler's address leads to; loggers have their levels again at the end."""
    levels = {name: logging.getLogger(name).level for name in LOGGERS}
    client = Connected()

    def made(*given: object, **named: object) -> Connected:
        client.made = (given, named, dask_config.get("distributed.comm.timeouts.connect"))
        return client

    monkeypatch.setattr("distributed.Client", made)
    yield client
    for name, level in levels.items():
        logging.getLogger(name).setLevel(level)


def test_a_client_of_an_address_is_quiet_and_closed_at_the_end(connected: Connected) -> None:
    before = dask_config.get("distributed.comm.timeouts.connect")
    with cluster.dask("tcp://s:1", 4) as workers:
        assert workers._client is connected
        assert (connected.retries, connected.closed) == (4, None)
        assert not any(logging.getLogger(name).isEnabledFor(logging.CRITICAL) for name in LOGGERS)
    assert connected.closed == cluster.SOON
    named = {"timeout": cluster.SOON, "set_as_default": False, "name": "graphfix"}
    assert connected.made == (("tcp://s:1",), named, f"{cluster.SOON}s")
    assert dask_config.get("distributed.comm.timeouts.connect") == before


def test_a_client_is_closed_where_the_body_fails_or_a_worker_is_of_another_version(
    connected: Connected, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(KeyError), cluster.dask("tcp://s:1", 4):
        raise KeyError
    assert connected.closed == cluster.SOON
    connected.closed = None
    monkeypatch.setattr(cluster, "VERSION", "0.0.9")
    with (
        pytest.raises(GraphfixError, match=f"^worker tcp://w:1 has graphfix {VERSION}, and this is 0.0.9: install the"),
        cluster.dask("tcp://s:1", 4),
    ):
        pass
    assert connected.closed == cluster.SOON


@pytest.mark.parametrize(
    "error", [OSError("no one"), ValueError("no one"), RuntimeError("no one"), TypeError("no one")]
)
@pytest.mark.usefixtures("connected")
def test_an_address_that_leads_nowhere_is_one_line(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("distributed.Client", refuse)
    with pytest.raises(GraphfixError) as refused, cluster.dask("tcp://s:1", 0):
        pass
    how = "`dask scheduler` starts one and prints its address"
    assert str(refused.value) == f"tcp://s:1: no Dask scheduler answers (no one); {how}"


def test_workers_wait_only_where_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    scheduler = Scheduler()
    workers = cluster.cluster(scheduler, 0)
    assert workers.waits() is True
    monkeypatch.setattr(scheduler, "nthreads", lambda: {"tcp://w:1": 2})
    assert workers.waits() is False
    assert workers.most == cluster.MOST


@pytest.mark.parametrize("error", [OSError(), RuntimeError(), ValueError()], ids=repr)
def test_where_the_scheduler_does_not_say_what_runs_nothing_is_known_to_and_a_stop_is_no_error(
    error: Exception,
) -> None:
    scheduler = Scheduler()
    workers = cluster.cluster(scheduler, 0)
    scheduler.error = error
    assert list(workers.running()) == []
    workers.stop()
    assert scheduler.asked[-1] == ("shutdown", False)
