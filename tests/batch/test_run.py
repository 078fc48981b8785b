"""The jobs of a batch, with workers that are told when to end: the order, how many are under way, what goes wrong."""

from __future__ import annotations

import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Future
from contextlib import closing
from dataclasses import dataclass, field

import pytest

from graphfix.batch.jobs import run as running
from graphfix.batch.jobs.job import Finished, Job, Limits
from graphfix.batch.jobs.run import run
from graphfix.engine.request import Request
from graphfix.report.text import Failure
from graphfix.results import GraphfixError, Outcome, OverwriteError

REQUEST, LIMITS = Request(), Limits(1.0)
Act = Callable[["ByHand"], None]


def job(number: int) -> Job:
    return Job(f"m{number}.onnx", f"m{number}.onnx", "out", "fix", REQUEST, LIMITS)


def jobs(number: int) -> Iterator[Job]:
    return map(job, range(number))


def done(one: Job) -> Finished:
    return Finished(one, Outcome("fix", one.source, "onnx"), 0.5)


@dataclass
class ByHand:
    """Workers that do what the test says when the batch waits for them."""

    act: Act
    most: int = 3
    gone: str = "the workers are gone"
    futures: dict[str, Future[Finished]] = field(default_factory=dict)
    taken: int = 0
    largest: int = 0
    stopped: bool = False
    total: int = 0
    """Of all jobs: behind the last of them nothing comes."""

    def submit(self, one: Job) -> Future[Finished]:
        self.taken += 1
        future: Future[Finished] = Future()
        self.futures[one.name] = future
        future.add_done_callback(lambda _: self.futures.pop(one.name))
        self.largest = max(self.largest, len(self.futures))
        if len(self.futures) == self.most or self.taken == self.total:
            threading.Timer(0.02, self.act, (self,)).start()  # the batch waits by then
        return future

    def running(self) -> Sequence[str]:
        return list(self.futures)

    def reason(self, error: BaseException) -> str:
        return f"because {error}"

    def stop(self) -> None:
        self.stopped = True
        for future in list(self.futures.values()):
            future.cancel()


class Silent:
    def __init__(self) -> None:
        self.ended: list[str] = []

    def finished(self, finished: Finished) -> None:
        self.ended.append(finished.job.name)

    def tick(self) -> None:
        self.ended.append("tick")


def ended(name: str, workers: ByHand) -> None:
    """A model is done."""
    workers.futures[name].set_result(done(job(int(name[1:-5]))))


def last_first(workers: ByHand) -> None:
    for name in reversed(list(workers.futures)):
        ended(name, workers)


def identity(finished: Finished) -> Finished:
    return finished


def test_what_ends_last_first_is_told_in_the_order_of_the_jobs() -> None:
    workers, watch = ByHand(last_first, total=7), Silent()
    told = [each.job.name for each in run(jobs(7), workers, watch, identity)]
    assert told == [f"m{number}.onnx" for number in range(7)]
    assert sorted(watch.ended) == sorted(told)
    assert watch.ended[:3] == ["m2.onnx", "m1.onnx", "m0.onnx"]
    assert not workers.stopped


def test_no_job_is_no_model() -> None:
    assert list(run(iter(()), ByHand(last_first), Silent(), identity)) == []


class AtOnce:
    """Workers that are done before they are asked to wait."""

    most = 8
    gone = ""

    def __init__(self) -> None:
        self.taken = 0

    def submit(self, one: Job) -> Future[Finished]:
        self.taken += 1
        future: Future[Finished] = Future()
        future.set_result(done(one))
        return future

    def running(self) -> Sequence[str]:
        return ()

    def reason(self, error: BaseException) -> str:
        return str(error)

    def stop(self) -> None:
        raise AssertionError("it came to its end")


@pytest.mark.ci
def test_of_many_jobs_few_are_in_memory() -> None:
    """Ten times as many jobs take no more memory."""

    class Deaf:
        def finished(self, _: Finished) -> None: ...
        def tick(self) -> None: ...

    def peak(number: int) -> int:
        tracemalloc.start()
        assert sum(1 for _ in run(jobs(number), AtOnce(), Deaf(), identity)) == number
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    peak(10)
    few, many = peak(500), peak(5000)
    assert many < few + 50_000


def test_jobs_are_taken_only_when_they_are_to_be_done() -> None:
    taken = 0

    def counted() -> Iterator[Job]:
        nonlocal taken
        for each in jobs(100):
            taken += 1
            yield each

    workers = AtOnce()
    with closing(run(counted(), ByHand(last_first, total=100), Silent(), identity)) as told:
        next(told)
        assert taken <= 2 * workers.most
    assert taken < 100


def test_behind_one_that_hangs_only_so_many_wait_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "MOST_KEPT", 5)
    hung: list[Future[Finished]] = []

    class FirstHangs(AtOnce):
        def submit(self, one: Job) -> Future[Finished]:
            future = super().submit(one)
            if one.name == "m0.onnx":
                future = Future()
                hung.append(future)
            return future

    class Patient(Silent):
        def tick(self) -> None:
            super().tick()
            assert 5 <= len(self.ended) <= 5 + workers.most
            hung[0].set_result(done(job(0)))

    monkeypatch.setattr(running, "TICK", 0.05)
    workers, watch = FirstHangs(), Patient()
    told = [each.job.name for each in run(jobs(40), workers, watch, identity)]
    assert "tick" in watch.ended
    assert told == [f"m{number}.onnx" for number in range(40)]


def test_what_is_raised_for_a_job_is_its_failure_and_the_others_are_done() -> None:
    def act(workers: ByHand) -> None:
        if "m1.onnx" in workers.futures:
            workers.futures["m1.onnx"].set_exception(OSError("no store"))
        last_first(workers)

    told = list(run(jobs(3), ByHand(act), Silent(), identity))
    assert [each.entry.command for each in told] == ["fix"] * 3
    (failure,) = [each.entry for each in told if isinstance(each.entry, Failure)]
    assert failure == Failure("fix", "m1.onnx", "m1.onnx: because no store")


def test_an_error_that_names_the_model_names_it_once() -> None:
    class Broken(AtOnce):
        def submit(self, one: Job) -> Future[Finished]:
            raise OSError(f"{one.source}: can't be read")

    (told,) = run(jobs(1), Broken(), Silent(), identity)
    assert told.entry == Failure("fix", "m0.onnx", "m0.onnx: can't be read")


def test_workers_that_take_nothing_more_are_a_failure_of_each_job() -> None:
    class Broken(AtOnce):
        def submit(self, one: Job) -> Future[Finished]:
            raise BrokenExecutor(f"no room for {one.name}")

    told = [each.entry for each in run(jobs(2), Broken(), Silent(), identity)]
    assert [each.error for each in told if isinstance(each, Failure)] == [
        "m0.onnx: no room for m0.onnx",
        "m1.onnx: no room for m1.onnx",
    ]


def test_workers_that_drop_jobs_end_the_batch() -> None:
    def act(workers: ByHand) -> None:
        for future in list(workers.futures.values()):
            future.cancel()

    with pytest.raises(GraphfixError, match="the workers are gone"):
        list(run(jobs(3), ByHand(act), Silent(), identity))


def test_a_report_in_place_of_a_file_that_is_read_ends_the_batch() -> None:
    def act(workers: ByHand) -> None:
        workers.futures["m0.onnx"].set_exception(OverwriteError("r.json: it is read"))

    workers = ByHand(act)
    with pytest.raises(OverwriteError):
        list(run(jobs(3), workers, Silent(), identity))
    assert workers.stopped


@pytest.mark.parametrize("where", ["while it waits", "while a line is printed"])
def test_an_interrupt_stops_the_workers(where: str) -> None:
    def act(workers: ByHand) -> None:
        ended("m0.onnx", workers)

    class Interrupted(Silent):
        def finished(self, finished: Finished) -> None:
            super().finished(finished)
            if where == "while it waits":
                raise KeyboardInterrupt

    workers = ByHand(act)
    told = run(jobs(3), workers, Interrupted(), identity)

    def followed() -> None:
        for _ in told:
            told.throw(KeyboardInterrupt)

    begun = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        followed()
    assert time.monotonic() < begun + running.PATIENCE / 2, "nobody waits for what never began"
    assert workers.stopped
    assert workers.futures == {}


def test_what_is_kept_of_a_model_until_it_is_told_is_what_the_caller_says() -> None:
    assert list(run(jobs(2), AtOnce(), Silent(), lambda each: each.job.name)) == ["m0.onnx", "m1.onnx"]
