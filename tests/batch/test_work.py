"""One job, whole: what is made appears and is remembered, what goes wrong is one line, and no scratch is left."""

from __future__ import annotations

import os
import pickle
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import CancelledError, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import onnx
import pytest
from onnx import numpy_helper

from graphfix.batch.jobs import publishing, records, work
from graphfix.batch.jobs.job import Finished, Job, Limits
from graphfix.batch.process import worker
from graphfix.batch.process.child import StoppedError
from graphfix.batch.stores import addresses
from graphfix.batch.stores.local import Local
from graphfix.batch.stores.store import Digest
from graphfix.engine.request import Request
from graphfix.report.text import Failure
from graphfix.results import Outcome, OverwriteError
from graphfix.tosa import command
from models.builders.tflite.text import model as tflite
from tests.support import small_models as own

LONG = Limits(60.0)
SHORT = Limits(1.5)
UNVERIFIED = Request(check_result=False)


@pytest.fixture(autouse=True)
def _no_child_is_left() -> Iterator[None]:
    yield
    work._child().stop()


@pytest.fixture
def there(tmp_path: Path) -> str:
    """The folder of the outputs."""
    return str(tmp_path / "there")


def job(source: Path | str, there: str, request: Request = UNVERIFIED, limits: Limits = LONG) -> Job:
    return Job(str(source), Path(str(source)).name, there, "fix", request, limits)


def doing(folder: Path, plan: str) -> Request:
    """A request with a rewrite that does this where a Mul is planned."""
    return replace(UNVERIFIED, rewrites=(str(own.rewrite(folder, plan)),))


def outcome(finished: Finished) -> Outcome:
    assert isinstance(finished.entry, Outcome), finished.entry.error
    return finished.entry


def failure(finished: Finished) -> Failure:
    assert isinstance(finished.entry, Failure)
    assert finished.entry.error.isprintable()
    return finished.entry


def files(folder: str | Path) -> list[str]:
    """All below a folder but what a batch keeps for itself; scratch is empty."""
    root = Path(folder)
    assert list((root / ".graphfix" / ".scratch").glob("*")) == []
    found = (path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file())
    return sorted(name for name in found if not name.startswith(".graphfix/"))


# --- one model --------------------------------------------------------------------------------------------------------


@pytest.mark.ci
def test_a_model_is_fixed_verified_published_and_remembered(tmp_path: Path, there: str) -> None:
    asked = job(own.adding(tmp_path / "m.onnx"), there, Request())
    asked = replace(asked, name="sub/m.onnx")
    finished = work.work(asked)
    assert pickle.loads(pickle.dumps(finished)) == finished  # noqa: S301 -- our own; a cluster sends it
    made = outcome(finished)
    assert (made.source, made.output, made.reused) == (asked.source, f"{there}/sub/m.onnx", False)
    assert made.verdict is not None
    assert made.verdict.status == "proved"
    assert files(there) == ["sub/m.onnx"]
    assert outcome(work.work(asked)) == replace(made, reused=True)


@pytest.mark.ci
def test_what_is_asked_again_is_done_again(tmp_path: Path, there: str) -> None:
    asked = job(own.adding(tmp_path / "m.onnx"), there)
    work.work(asked)
    assert not outcome(work.work(replace(asked, again=True))).reused
    assert outcome(work.work(asked)).reused


@pytest.mark.ci
def test_a_check_writes_nothing_but_its_record(tmp_path: Path, there: str) -> None:
    asked = replace(job(own.adding(tmp_path / "m.onnx"), there, Request()), command="check")
    assert [site.status for site in outcome(work.work(asked)).sites] == ["found", "found"]
    assert files(there) == []
    assert outcome(work.work(asked)).reused


@pytest.mark.ci
@pytest.mark.tosa
def test_both_files_of_a_conversion_appear(tmp_path: Path, there: str) -> None:
    asked = replace(job(own.adding(tmp_path / "m.onnx"), there), command="tosa")
    made = outcome(work.work(asked))
    assert made.output == f"{there}/m.tosa"
    assert made.conversion is not None
    assert made.conversion.bytecode == f"{there}/m.mlirbc"
    assert files(there) == ["m.mlirbc", "m.tosa"]
    assert outcome(work.work(asked)).reused


@pytest.mark.ci
def test_a_tflite_model_is_done(tmp_path: Path, there: str) -> None:
    (tmp_path / "m.tflite").write_bytes(tflite("y[3,4] = ADD(x[3,4], b:const[4]{1.0,2.0,3.0,4.0})"))
    assert outcome(work.work(job(tmp_path / "m.tflite", there))).format == "tflite"
    assert files(there) == ["m.tflite"]


@pytest.mark.ci
@pytest.mark.needs_release("ai-edge-litert>=2.3")  # an older one runs the model
def test_a_model_on_which_litert_aborts_is_an_answer_and_no_end_of_the_child(tmp_path: Path, there: str) -> None:
    beyond_the_kernels = "y[2,2,2,2,2,2,2,2,2] = ADD(x[1,1,1,1,1,1,1,1,2], b[2,2,2,2,2,2,2,2,2])"
    aborting = tflite(f"{beyond_the_kernels}\nz[2,3] = ADD(u[2,3], c[3])")
    (tmp_path / "m.tflite").write_bytes(aborting)
    made = outcome(work.work(job(tmp_path / "m.tflite", there, Request())))
    assert made.verdict is not None
    reasons = [run.reason for run in made.verdict.runs if run.status == "undecided"]
    assert "LiteRT aborts the process (SIGABRT)" in str(reasons)
    assert work._child()._process is not None


@pytest.mark.ci
def test_paths_are_relative_to_where_the_caller_is_then(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, made_in, op in (("one", own.adding, "Add"), ("two", own.multiplying, "Mul")):
        made_in(tmp_path / name / "m.onnx")
        monkeypatch.chdir(tmp_path / name)
        made = outcome(work.work(job("m.onnx", "there")))
        assert (made.source, made.output, made.sites[0].op) == ("m.onnx", "there/m.onnx", op)
        assert files(tmp_path / name / "there") == ["m.onnx"]


# --- what goes wrong --------------------------------------------------------------------------------------------------


@pytest.mark.ci
@pytest.mark.parametrize(
    ("plan", "limits", "kind", "said"),
    [
        (own.HANG, SHORT, "time", "it took longer than 1.5 seconds; give it more by --time-limit"),
        (own.GREEDY, Limits(60.0, 300 << 20), "memory", "it needed more than 300 MiB of memory; give it more by --mem"),
        (own.ABORT, LONG, "aborted", "its process ended (SIGABRT); do it alone to see why"),
    ],
    ids=["hangs", "greedy", "aborts"],
)
def test_a_model_that_ends_its_process_is_one_failure_and_the_next_job_is_done(
    tmp_path: Path, there: str, plan: str, limits: Limits, kind: str, said: str
) -> None:
    request = doing(tmp_path, plan)
    source = own.multiplying(tmp_path / "m.onnx")
    failed = failure(work.work(job(source, there, request, limits)))
    assert (failed.command, failed.source, failed.kind) == ("fix", str(source), kind)
    assert failed.error.startswith(f"{source}: stopped: {said}")
    assert files(there) == []
    assert not (Path(there) / ".graphfix" / "m.onnx.json").exists()
    work.work(job(own.adding(tmp_path / "next.onnx"), there, request, limits))
    assert files(there) == ["next.onnx"]


@pytest.mark.ci
def test_a_child_that_is_killed_is_one_failure(tmp_path: Path, there: str) -> None:
    request = doing(tmp_path, "import os, signal\n    os.kill(os.getpid(), signal.SIGKILL)")
    failed = failure(work.work(job(own.multiplying(tmp_path / "m.onnx"), there, request)))
    assert failed.kind == "aborted"
    assert "(SIGKILL)" in failed.error


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "no such file"),
        (b"no model", "a text file: give the path of an ONNX"),
        (b"", "the file is empty"),
    ],
    ids=["missing", "no model", "empty"],
)
def test_what_is_no_model_is_one_failure(tmp_path: Path, there: str, content: bytes | None, said: str) -> None:
    source = tmp_path / "m.onnx"
    if content is not None:
        source.write_bytes(content)
    failed = failure(work.work(job(source, there)))
    assert failed.kind == "error"
    assert failed.error.startswith(f"{source}: ")
    assert said in failed.error


@pytest.mark.ci
def test_a_fault_of_a_rewrite_of_one_s_own_names_its_line(tmp_path: Path, there: str) -> None:
    request = doing(tmp_path, own.FAULTY)
    failed = failure(work.work(job(own.multiplying(tmp_path / "m.onnx"), there, request)))
    assert f"{tmp_path}/own.py: line 8:" in failed.error


def test_the_output_is_not_the_input(tmp_path: Path) -> None:
    source = own.adding(tmp_path / "m.onnx")
    before = source.read_bytes()
    failed = failure(work.work(job(source, str(tmp_path))))
    assert "the output is the input" in failed.error
    assert source.read_bytes() == before


@pytest.mark.parametrize("output", ["s3://bucket", "s3a://bucket"])
def test_the_output_is_not_the_input_by_another_name_of_its_store(s3: str, tmp_path: Path, output: str) -> None:
    addresses.store(s3).publish(own.adding(tmp_path / "m.onnx"), "m.onnx")
    failed = failure(work.work(job(f"{s3}/m.onnx", output)))
    assert failed.error == f"{output}/m.onnx: the output is the input; choose another folder"


@pytest.mark.ci
def test_a_report_that_would_replace_a_data_file_is_about_all_jobs(tmp_path: Path, there: str) -> None:
    source = own.with_data(tmp_path / "m.onnx", "w.json", 1.0)
    request = replace(UNVERIFIED, report=(tmp_path / "w.json",))
    with pytest.raises(OverwriteError, match=r"w\.json"):
        work.work(job(source, there, request))
    assert files(there) == []


def test_what_the_system_can_t_do_is_raised_to_be_tried_again(tmp_path: Path) -> None:
    (tmp_path / "there").write_text("a file")
    with pytest.raises(OSError, match="there"):
        work.work(job(own.adding(tmp_path / "m.onnx"), str(tmp_path / "there")))


# --- several at once --------------------------------------------------------------------------------------------------


@pytest.mark.ci
def test_two_threads_do_not_disturb_each_other(tmp_path: Path, there: str) -> None:
    request = doing(tmp_path, own.HANG)
    hanging = job(own.multiplying(tmp_path / "hang.onnx"), there, request, SHORT)
    others = [job(own.adding(tmp_path / f"{number}.onnx"), there, request) for number in range(8)]
    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(work.work, hanging)
        rest = list(threads.map(work.work, others))
        assert failure(first.result()).kind == "time"
    assert [outcome(each).output for each in rest] == [f"{there}/{number}.onnx" for number in range(8)]
    assert files(there) == [f"{number}.onnx" for number in range(8)]


@pytest.mark.ci
def test_a_job_is_called_off(tmp_path: Path, there: str) -> None:
    stop = threading.Event()
    asked = job(own.multiplying(tmp_path / "m.onnx"), there, doing(tmp_path, own.HANG))
    with ThreadPoolExecutor(1) as threads:
        future = threads.submit(work.work, asked, stop)
        time.sleep(1.0)
        stop.set()
        assert isinstance(future.exception(timeout=2.0), CancelledError)
    assert files(there) == []


# --- external data, and stores ----------------------------------------------------------------------------------------


def numbers(path: Path) -> set[float]:
    """The elements of all constants of a model."""
    return {
        float(number)
        for tensor in onnx.load(path).graph.initializer
        if tensor.data_type == onnx.TensorProto.FLOAT
        for number in numpy_helper.to_array(tensor).flat
    }


@pytest.mark.ci
def test_two_models_of_one_data_file_are_both_done_anew_when_it_changes(tmp_path: Path, there: str) -> None:
    jobs = [job(own.with_data(tmp_path / name, "data/w.bin", 1.0), there) for name in ("a.onnx", "b.onnx")]
    with ThreadPoolExecutor(2) as threads:
        assert [outcome(each).reused for each in threads.map(work.work, jobs)] == [False, False]
    assert files(there) == ["a.onnx", "a.onnx.data", "b.onnx", "b.onnx.data"]
    assert [outcome(work.work(each)).reused for each in jobs] == [True, True]
    own.with_data(tmp_path / "a.onnx", "data/w.bin", 2.0)
    for each in reversed(jobs):
        assert not outcome(work.work(each)).reused
    assert [numbers(Path(there, name)) for name in ("a.onnx", "b.onnx")] == [{2.0}, {2.0}]
    assert [outcome(work.work(each)).reused for each in jobs] == [True, True]


@pytest.mark.ci
def test_data_files_of_one_name_are_called_after_their_models(tmp_path: Path, there: str) -> None:
    outcome(work.work(job(own.with_data(tmp_path / "one/a.onnx", "w.bin", 1.0), there)))
    outcome(work.work(job(own.with_data(tmp_path / "two/b.onnx", "w.bin", 2.0), there)))
    assert files(there) == ["a.onnx", "a.onnx.data", "b.onnx", "b.onnx.data"]
    assert [numbers(Path(there, name)) for name in ("a.onnx", "b.onnx")] == [{1.0}, {2.0}]


@pytest.mark.ci
def test_data_files_of_two_places_do_not_replace_each_other(tmp_path: Path, there: str) -> None:
    outcome(work.work(job(own.with_data(tmp_path / "one/a.onnx", "w.bin", 1.0), there)))
    failed = failure(work.work(job(own.with_data(tmp_path / "two/a.onnx", "w.bin", 2.0), there)))
    assert failed.error.startswith(f"{there}/a.onnx.data: something else of this name is there, and is kept")
    assert files(there) == ["a.onnx", "a.onnx.data"]
    assert numbers(Path(there, "a.onnx")) == {1.0}


@pytest.mark.ci
def test_a_file_that_lies_there_is_not_taken_for_data(tmp_path: Path, there: str) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "there/a.onnx.data").write_bytes(b"mine")
    assert "is kept" in failure(work.work(job(own.with_data(tmp_path / "a.onnx", "w.bin", 1.0), there))).error
    assert (tmp_path / "there/a.onnx.data").read_bytes() == b"mine"


@pytest.mark.ci
def test_data_that_is_missing_is_one_failure(tmp_path: Path, there: str) -> None:
    source = own.with_data(tmp_path / "a.onnx", "w.bin", 1.0)
    (tmp_path / "w.bin").unlink()
    assert "external data of tensor 'b' at 'w.bin'" in failure(work.work(job(source, there))).error


def test_a_folder_in_the_way_is_one_failure(tmp_path: Path, there: str) -> None:
    (Path(there) / "a.onnx" / "in the way").mkdir(parents=True)
    failed = failure(work.work(job(own.with_data(tmp_path / "a.onnx", "w.bin", 1.0), there)))
    assert failed.error.startswith(f"{there}/a.onnx: a folder has the output's name")
    assert files(there) == []


@pytest.mark.ci
def test_where_the_model_can_t_appear_its_data_goes_again(
    tmp_path: Path, there: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish = Local.publish

    def full(store: Local, made: Path, name: str) -> Digest:
        if name.endswith(".onnx"):
            raise OSError(f"{name}: no space")
        return publish(store, made, name)

    monkeypatch.setattr(Local, "publish", full)
    with pytest.raises(OSError, match=r"a\.onnx: no space"):
        work.work(job(own.with_data(tmp_path / "a.onnx", "w.bin", 1.0), there))
    assert files(there) == []


@pytest.mark.ci
def test_where_another_batch_has_removed_what_was_made_nothing_is_remembered(
    tmp_path: Path, there: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = job(own.adding(tmp_path / "a.onnx"), there)
    published = publishing.Outputs.published

    def removed(*given: Any) -> Any:  # noqa: ANN401 -- whatever the function takes
        shutil.rmtree(Path(there, ".graphfix/.scratch"))
        return published(*given)

    monkeypatch.setattr(publishing.Outputs, "published", removed)
    with pytest.raises(OSError, match="no such file"):
        work.work(asked)
    assert records.read(asked) is None


def test_a_pipe_is_no_model(tmp_path: Path, there: str) -> None:
    os.mkfifo(tmp_path / "a.onnx")
    with pytest.raises(OSError, match=r"a\.onnx: can't be read: it is not a regular file"):
        work.work(job(tmp_path / "a.onnx", there))


@pytest.mark.ci
def test_a_model_and_its_data_come_from_any_store_and_go_to_it(folder: str, tmp_path: Path) -> None:
    source, there = addresses.store(f"{folder}/from"), f"{folder}/to"
    model = own.with_data(tmp_path / "m.onnx", "data/w.bin", 1.0)
    source.publish(tmp_path / "data/w.bin", "data/w.bin")
    source.publish(model, "m.onnx")
    asked = job(source.place("m.onnx"), there)
    made = outcome(work.work(asked))
    assert (made.source, made.output) == (asked.source, addresses.store(there).place("m.onnx"))
    for name in ("m.onnx", "m.onnx.data"):
        addresses.store(there).fetch(name, tmp_path / "fetched" / name)
    assert numbers(tmp_path / "fetched" / "m.onnx") == {1.0}
    assert outcome(work.work(asked)) == replace(made, reused=True)
    record = records.read(asked)
    assert record is not None
    assert [each.name for each in record.outputs] == ["m.onnx.data", "m.onnx"]


@pytest.mark.ci
def test_what_goes_wrong_with_a_fetched_model_names_where_it_is_from(memory: str, tmp_path: Path) -> None:
    (tmp_path / "m.onnx").write_bytes(b"no model")
    addresses.store(memory).publish(tmp_path / "m.onnx", "m.onnx")
    failed = failure(work.work(job(f"{memory}/m.onnx", f"{memory}/to")))
    assert failed.source == f"{memory}/m.onnx"
    assert failed.error.startswith(f"{memory}/m.onnx: a text file")


def test_a_model_that_is_no_more_in_a_store_is_one_failure(memory: str) -> None:
    assert "no such file" in failure(work.work(job(f"{memory}/m.onnx", f"{memory}/to"))).error


# --- in this process --------------------------------------------------------------------------------------------------


class Here:
    """A child that is this process."""

    def ask(self, message: Any, *_: object) -> object:  # noqa: ANN401
        return worker._answer(message)

    def stop(self) -> None: ...


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", None)
    for name in ("TMPDIR", "TEMP"):
        monkeypatch.setenv(name, "")
    monkeypatch.setattr(work, "_child", Here)


@pytest.mark.usefixtures("here")
def test_a_model_and_its_data_are_published_by_the_name_of_the_output_and_remembered(
    tmp_path: Path, there: str
) -> None:
    asked = replace(job(own.with_data(tmp_path / "one/a.onnx", "w.bin", 1.0), there), name="sub/b.onnx")
    made = outcome(work.work(asked))
    assert (made.source, made.output, made.reused) == (asked.source, f"{there}/sub/b.onnx", False)
    assert files(there) == ["sub/b.onnx", "sub/b.onnx.data"]
    assert numbers(Path(there, "sub/b.onnx")) == {1.0}
    assert outcome(work.work(asked)) == replace(made, reused=True)


@pytest.mark.usefixtures("here")
def test_a_model_of_a_store_is_done_with_its_data(memory: str, tmp_path: Path, there: str) -> None:
    source = own.with_data(tmp_path / "a.onnx", "data/w.bin", 3.0)
    store = addresses.store(f"{memory}/zoo")
    store.publish(tmp_path / "data/w.bin", "data/w.bin")
    store.publish(source, "a.onnx")
    asked = job(f"{memory}/zoo/a.onnx", there)
    assert outcome(work.work(asked)).source == asked.source
    assert files(there) == ["a.onnx", "a.onnx.data"]
    assert numbers(Path(there, "a.onnx")) == {3.0}
    assert outcome(work.work(asked)).reused
    made = own.with_data(tmp_path / "a.onnx", "data/w.bin", 4.0).parent / "data/w.bin"
    store.publish(made, "data/w.bin")
    assert not outcome(work.work(asked)).reused


@pytest.mark.usefixtures("here")
def test_each_command_is_carried_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, there: str) -> None:
    asked = job(own.adding(tmp_path / "m.onnx"), there)
    assert [site.status for site in outcome(work.work(replace(asked, command="check"))).sites] == ["found", "found"]
    assert files(there) == []
    assert outcome(work.work(replace(asked, command="check"))).reused

    def convert(source: Path, output: Path, _: Request) -> Outcome:
        for suffix in (".tosa", ".mlirbc"):
            output.with_suffix(suffix).write_bytes(source.read_bytes()[:4])
        return Outcome("tosa", str(source), "onnx", "tosa", str(output))

    monkeypatch.setattr(command, "fix_and_convert", convert)
    made = outcome(work.work(replace(asked, command="tosa")))
    assert (made.command, made.output) == ("tosa", f"{there}/m.tosa")
    assert files(there) == ["m.mlirbc", "m.tosa"]


@pytest.mark.parametrize(
    ("kind", "advice"),
    [
        ("time", "give it more by --time-limit, or leave it out by --exclude"),
        ("memory", "give it more by --memory-limit, or leave it out by --exclude"),
        ("aborted", "do it alone to see why, or leave it out by --exclude"),
    ],
)
def test_a_model_that_ends_its_child_is_one_failure_that_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, there: str, kind: Literal["time", "memory", "aborted"], advice: str
) -> None:
    class Ended(Here):
        def ask(self, *_: object) -> object:
            raise StoppedError("it had its reasons", kind)

    monkeypatch.setattr(work, "_child", Ended)
    asked = job(own.adding(tmp_path / "m.onnx"), there)
    assert failure(work.work(asked)) == Failure(
        "fix", asked.source, f"{asked.source}: stopped: it had its reasons; {advice}", kind
    )
    assert files(there) == []


def test_copies_of_data_files_are_called_after_the_output(tmp_path: Path, there: str) -> None:
    asked = replace(job("in/m.onnx", there), name="b/out.onnx")
    doing_it = work._Work(asked, tmp_path, None)
    named = [Digest(name, 1, "") for name in ("m.onnx", "z.bin", "sub/a.bin")]
    assert doing_it._copied(named) == {"z.bin": "out.onnx-2.data", "sub/a.bin": "out.onnx.data"}
    assert doing_it._copied(named[:1]) == {}
