"""A record holds while the model, its data, what was asked, the version and the outputs are what they were."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from graphfix.batch.jobs import records
from graphfix.batch.jobs.job import Job, Limits
from graphfix.batch.stores import addresses
from graphfix.batch.stores.store import Digest, Identity
from graphfix.engine.request import Request
from graphfix.report.forms.json import json_text
from graphfix.results import Conversion, Outcome, Site, Verdict
from graphfix.results.excerpt import Excerpt

EXCERPT = Excerpt((), 2)
SITE = Site("GF101", "a", "Add", "main", 0, (1, "N", None), None, "changed")
RECORD = ".graphfix/sub/m.onnx.json"
Done = tuple[Job, Outcome]


def done(folder: str, source: str, **asked: Any) -> Done:  # noqa: ANN401 -- fields of a request
    """A job, and what came of it; its source and its outputs are there, and its record."""
    job = Job(source, "sub/m.onnx", folder, "fix", Request(**asked), Limits(10.0))
    there = addresses.store(folder)
    output = there.place("sub/m.onnx")
    outcome = Outcome("fix", source, "onnx", output=output, sites=(SITE,), verdict=Verdict("proved"), excerpt=EXCERPT)
    of, name = addresses.parted(source)
    of.write_text(name, "the model")
    of.write_text("weights/m.data", "the data")
    outputs = []
    for made in ("sub/m.data", "sub/m.onnx"):
        there.write_text(made, f"result {made}")
        outputs.append(there.digest(made))
    records.write(job, outcome, [of.digest(name), of.digest("weights/m.data")], outputs)
    return job, outcome


@pytest.fixture
def both(folder: str) -> Done:
    """With source and outputs in a store of each kind."""
    return done(f"{folder}/out", f"{folder}/in/m.onnx")


@pytest.mark.ci
def test_what_was_done_is_not_done_again(both: Done) -> None:
    job, outcome = both
    found = records.holding(job)
    assert found == replace(outcome, reused=True, excerpt=None)
    assert json_text([found]) == json_text([replace(outcome, reused=True)])


@pytest.mark.ci
def test_without_a_record_nothing_holds(both: Done) -> None:
    job, _ = both
    assert records.holding(replace(job, name="sub/other.onnx")) is None
    addresses.store(job.output).remove(RECORD)
    assert records.holding(job) is None


Fault = Callable[[Job], Job]


def rewritten(name: str, text: str, *, output: bool = True) -> Fault:
    """Something writes to a file of the outputs, or of the sources."""

    def fault(job: Job) -> Job:
        place = job.output if output else job.source.rpartition("/")[0]
        addresses.store(place).write_text(name, text)
        return job

    return fault


def removed(name: str) -> Fault:
    def fault(job: Job) -> Job:
        addresses.store(job.output).remove(name)
        return job

    return fault


def record_says(**fields: object) -> Fault:
    """Something else stands in the record."""

    def fault(job: Job) -> Job:
        there = addresses.store(job.output)
        text = there.read_text(RECORD, 1 << 20)
        assert text is not None
        there.write_text(RECORD, json.dumps({**json.loads(text), **fields}))
        return job

    return fault


@pytest.mark.alike(3)
@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(rewritten("sub/m.onnx", "result"), id="the output is cut short"),
        pytest.param(rewritten("sub/m.onnx", "result sub/n.onnx"), id="the output has other bytes"),
        pytest.param(removed("sub/m.onnx"), id="the output is gone"),
        pytest.param(rewritten("sub/m.data", "result sub/n.data"), id="the output's data has other bytes"),
        pytest.param(removed("sub/m.data"), id="the output's data is gone"),
        pytest.param(rewritten("m.onnx", "The model", output=False), id="the source has other bytes"),
        pytest.param(rewritten("weights/m.data", "The data", output=False), id="the source's data has other bytes"),
        pytest.param(lambda job: replace(job, request=Request(unknown="keep")), id="another option"),
        pytest.param(lambda job: replace(job, command="check"), id="another command"),
        pytest.param(lambda job: replace(job, request=Request(excerpt=True, target="ranks")), id="another target"),
        pytest.param(record_says(version="0.0.9"), id="another version"),
        pytest.param(record_says(form=1), id="another form"),
        pytest.param(record_says(sources=[]), id="no source"),
        pytest.param(record_says(form=True), id="no number"),
        pytest.param(record_says(more=1), id="a field that is unknown"),
        pytest.param(record_says(outcome={"command": "fix"}), id="half an outcome"),
        pytest.param(rewritten(RECORD, ""), id="an empty record"),
        pytest.param(rewritten(RECORD, "{"), id="half a record"),
        pytest.param(rewritten(RECORD, "[" * 100_000), id="a deep record"),
        pytest.param(rewritten(RECORD, "null"), id="nothing"),
        pytest.param(rewritten(RECORD, "1" * 10_000), id="a long number"),
    ],
)
def test_what_changed_is_done_again(both: Done, fault: Fault) -> None:
    job, _ = both
    assert records.holding(job) is not None
    assert records.holding(fault(job)) is None


@pytest.mark.parametrize("name", ["m.onnx", "weights/m.data"])
def test_other_bytes_of_the_same_size_and_time_are_seen(tmp_path: Path, name: str) -> None:
    job, _ = done(str(tmp_path / "out"), str(tmp_path / "in" / "m.onnx"))
    path = tmp_path / "in" / name
    before = path.stat()
    path.write_bytes(path.read_bytes().upper())
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (path.stat().st_size, path.stat().st_mtime_ns) == (before.st_size, before.st_mtime_ns)
    assert records.holding(job) is None


def test_a_time_stamp_alone_is_no_change(tmp_path: Path) -> None:
    job, _ = done(str(tmp_path / "out"), str(tmp_path / "in" / "m.onnx"))
    for name in ("in/m.onnx", "out/sub/m.onnx"):
        os.utime(tmp_path / name, ns=(1, 1))
    assert records.holding(job) is not None


@pytest.mark.ci
def test_with_its_mark_an_object_is_not_read_and_without_one_it_is(
    s3: str, memory: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = [done(f"{place}/out", f"{place}/in/m.onnx")[0] for place in (s3, memory)]
    read: list[str] = []
    digest = records.addresses.store(s3).__class__.digest
    monkeypatch.setattr(
        "graphfix.batch.stores.remote.Remote.digest",
        lambda store, name: (read.append(store.place(name)), digest(store, name))[1],
    )
    assert all(records.holding(job) is not None for job in jobs)
    assert [place.removeprefix(memory) for place in read] == [
        "/in/m.onnx",
        "/in/weights/m.data",
        "/out/sub/m.data",
        "/out/sub/m.onnx",
    ]


def test_a_record_that_is_too_long_is_neither_written_nor_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job, outcome = done(str(tmp_path / "out"), str(tmp_path / "in" / "m.onnx"))
    monkeypatch.setattr(records, "MOST", (tmp_path / "out" / RECORD).stat().st_size)
    assert records.holding(job) is not None
    monkeypatch.setattr(records, "MOST", records.MOST - 1)
    assert records.holding(job) is None
    (tmp_path / "out" / RECORD).unlink()
    monkeypatch.setattr(records, "MOST", 10)
    records.write(job, outcome, [Digest("m.onnx", 1, "")], [])
    assert not (tmp_path / "out" / RECORD).exists()


def test_where_an_excerpt_is_asked_for_a_record_has_one(tmp_path: Path) -> None:
    job, outcome = done(str(tmp_path / "out"), str(tmp_path / "in" / "m.onnx"))
    asks = replace(job, request=Request(excerpt=True))
    found = records.holding(asks)
    assert found is not None
    assert found.excerpt == EXCERPT
    record = records.read(job)
    assert record is not None
    records.write(job, replace(outcome, excerpt=None), record.sources, record.outputs)
    assert records.holding(job) is not None
    assert records.holding(asks) is None


def test_paths_are_those_of_today(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job, outcome = done(str(tmp_path / "out"), str(tmp_path / "in" / "m.onnx"))
    made = replace(
        outcome,
        output=str(tmp_path / "out" / "sub" / "m.tosa"),
        conversion=Conversion("converted", "a tool", bytecode=str(tmp_path / "out" / "sub" / "m.mlirbc")),
    )
    record = records.read(job)
    assert record is not None
    of = addresses.store(job.output)
    for name in ("sub/m.tosa", "sub/m.mlirbc"):
        of.write_text(name, "made")
    outputs = [of.digest(name) for name in ("sub/m.tosa", "sub/m.mlirbc")]
    records.write(job, made, record.sources, outputs)
    assert str(tmp_path) not in json.dumps(json.loads((tmp_path / "out" / RECORD).read_text())["outcome"]["output"])
    (tmp_path / "out").rename(tmp_path / "moved")
    monkeypatch.chdir(tmp_path)
    found = records.holding(replace(job, source="in/m.onnx", output="moved"))
    assert found is not None
    assert found.conversion is not None
    assert (found.source, found.output) == ("in/m.onnx", "moved/sub/m.tosa")
    assert found.conversion.bytecode == "moved/sub/m.mlirbc"


@pytest.mark.ci
def test_a_store_that_fails_is_no_missing_record(s3: str, monkeypatch: pytest.MonkeyPatch) -> None:
    job, _ = done(f"{s3}/out", f"{s3}/in/m.onnx")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    monkeypatch.setattr("s3fs.S3FileSystem.retries", 1)
    import fsspec

    fsspec.get_filesystem_class("s3").clear_instance_cache()
    try:
        with pytest.raises(OSError, match=r"m\.onnx\.json: can't be read: .*127\.0\.0\.1"):
            records.holding(job)
    finally:
        fsspec.get_filesystem_class("s3").clear_instance_cache()


def test_a_record_of_an_output_without_its_bytes_is_none(tmp_path: Path) -> None:
    job, outcome = done(str(tmp_path / "out"), str(tmp_path / "in" / "m.onnx"))
    source = addresses.store(str(tmp_path / "in"))
    records.write(job, outcome, [source.digest("m.onnx")], [])
    assert records.holding(job) is None


def test_a_record_that_names_files_elsewhere_is_none(tmp_path: Path) -> None:
    job, _ = done(str(tmp_path / "out"), str(tmp_path / "in" / "m.onnx"))
    path = tmp_path / "out" / RECORD
    data = json.loads(path.read_text())
    assert addresses.store(job.output).identity("../in/m.onnx") is not None
    path.write_text(json.dumps({**data, "outputs": [{**data["sources"][0], "name": "../in/m.onnx"}]}))
    assert records.holding(job) is None


class Marking:
    """A store that says a size and a mark of one file, and of whose bytes a digest is made."""

    def __init__(self, size: int | None, mark: str, sha256: str) -> None:
        self.now = None if size is None else Identity(size, mark)
        self.sha256 = sha256
        self.read: list[str] = []

    def identity(self, name: str) -> Identity | None:
        return self.now if name == "a" else None

    def digest(self, name: str) -> Digest:
        self.read.append(name)
        assert self.now is not None
        return Digest(name, self.now.size, self.sha256, self.now.mark)


@pytest.mark.parametrize(
    ("size", "mark", "sha256", "was", "there", "read"),
    [
        (None, "", "s", "", False, False),
        (3, "e", "other", "e", True, False),
        (3, "f", "s", "e", False, False),
        (4, "e", "s", "e", False, False),
        (3, "", "s", "e", True, True),
        (3, "e", "s", "", True, True),
        (3, "", "other", "", False, True),
        (3, "", "s", "", True, True),
    ],
    ids=["gone", "marked", "marked anew", "longer", "no mark now", "no mark then", "other bytes", "the same bytes"],
)
def test_a_file_is_there_by_its_size_and_its_mark_or_its_bytes(
    size: int | None, mark: str, sha256: str, was: str, there: bool, read: bool
) -> None:
    store = Marking(size, mark, sha256)
    file = Digest("a", 3, "s", was)
    assert records._is_there(store, file) is there  # type: ignore[arg-type]
    assert store.read == ["a"] * read
    assert records._are_there(store, [file, replace(file, name="b")]) is False  # type: ignore[arg-type]
    assert records._are_there(store, []) is True  # type: ignore[arg-type]
