"""URLs with a query that gives access: the model is done under the file's name, and nothing that is kept shows it."""

from __future__ import annotations

from pathlib import Path

import fsspec
import pytest

from graphfix import report
from graphfix.batch import batch_files, stores, urls
from graphfix.batch.job import Job, Limits
from graphfix.batch.sources import models
from graphfix.batch.storage import failed
from graphfix.engine.request import Request
from graphfix.report import Failure
from graphfix.results import GraphfixError, Outcome
from tests.support import small_models

SIGNED = "https://h/a/m.onnx?X-Amz-Credential=AK/2026/s3&X-Amz-Signature=0a1b&X-Amz-Expires=60"


@pytest.mark.parametrize(
    ("url", "name", "query"),
    [
        (SIGNED, "m.onnx", SIGNED.partition("m.onnx")[2]),
        ("http://h/m.onnx?download=true", "m.onnx", "?download=true"),
        ("https://h/m?.onnx", "m?.onnx", ""),
        ("s3://b/m.onnx?versionId=1", "m.onnx?versionId=1", ""),
        ("a/m?x=1.onnx", "m?x=1.onnx", ""),
        ("a/m.onnx/", "m.onnx", ""),
    ],
    ids=["signed", "a choice", "a pattern", "a version of S3", "a path", "a slash at the end"],
)
def test_the_name_of_a_file_is_without_its_query(url: str, name: str, query: str) -> None:
    assert urls.file_name(url) == name
    assert urls.split(url) == (url.removesuffix(query), query)
    assert stores.parted(url)[1] == name + query


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (SIGNED, "https://h/a/m.onnx?X-Amz-Credential=***&X-Amz-Signature=***&X-Amz-Expires=60"),
        ("403, url='https://h/m?se=1&sig=a%2Fb/c==', again", "403, url='https://h/m?se=1&sig=***', again"),
        ("https://h/m?id=7&download=true: no", "https://h/m?id=7&download=true: no"),
        ("https://h/m?access_token=t&API-KEY=u", "https://h/m?access_token=***&API-KEY=***"),
        ("token=x is no query", "token=x is no query"),
    ],
)
def test_what_gives_access_is_not_shown(text: str, shown: str) -> None:
    assert urls.shown(text) == shown


def test_no_line_and_no_log_shows_it(tmp_path: Path) -> None:
    job = Job(SIGNED, "m.onnx", str(tmp_path), "fix", Request(), Limits(1.0))
    with pytest.raises(GraphfixError) as refused:
        models([SIGNED, SIGNED.replace("a/m", "b/m")], [], str(tmp_path), "fix")
    lines = [str(refused.value), str(failed(OSError(f"403 of {SIGNED}"), SIGNED, "no")), repr(job), job.model]
    assert all("m.onnx" in line for line in lines)
    assert "0a1b" not in str(lines)


def test_a_signed_model_is_done_and_its_result_has_the_plain_name(s3: str, tmp_path: Path) -> None:
    made = small_models.adding(tmp_path / "m.onnx")
    stores.store(s3).publish(made, "sub/m.onnx")
    signed = [fsspec.filesystem("s3").sign("bucket/sub/m.onnx", expiration=each) for each in (60, 90)]
    secrets = [url.partition("Signature=")[2].partition("&")[0] for url in signed]
    assert secrets[0] != secrets[1]
    out = tmp_path / "out"
    told: list[str] = []
    entries = [
        *batch_files([signed[0]], out, jobs=1, check_result=False, progress=lambda text, *_: told.append(text)),
        *batch_files([signed[1]], out, jobs=1, check_result=False),
        *batch_files([signed[0].replace("m.onnx", "none.onnx")], out, jobs=1),
    ]
    first, second, none = entries
    assert isinstance(first, Outcome)
    assert isinstance(second, Outcome)
    assert (first.output, first.reused, second.reused) == (str(out / "m.onnx"), False, True)
    assert isinstance(none, Failure)
    assert "none.onnx" in none.error
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert out / "m.onnx" in files
    everything = [*told, report.json_text(entries), *map(str, files), *map(str, map(Path.read_bytes, files))]
    assert not [text for text in everything for secret in secrets if secret in text]
