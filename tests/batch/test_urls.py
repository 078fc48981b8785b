"""URLs with a query that gives access: the model is done under the file's name, and nothing that is kept shows it."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import fsspec
import pytest

from graphfix.batch import batch_files
from graphfix.batch.jobs.job import Job, Limits
from graphfix.batch.sources import models
from graphfix.batch.stores import addresses, urls
from graphfix.batch.stores.store import failed
from graphfix.engine.request import Request
from graphfix.report.forms.json import json_text
from graphfix.report.text import Failure
from graphfix.results import GraphfixError, Outcome
from tests.support import small_models

SIGNED = "https://h/a/m.onnx?X-Amz-Credential=AK/2026/s3&X-Amz-Signature=0a1b&X-Amz-Expires=60"


@pytest.mark.parametrize(
    ("url", "name", "query"),
    [
        (SIGNED, "m.onnx", SIGNED.partition("m.onnx")[2]),
        ("http://h/m.onnx?download=true", "m.onnx", "?download=true"),
        ("http://h/m.onnx?a-token", "m.onnx", "?a-token"),
        ("http://h/dl?file=a.onnx", "dl?file=a.onnx", "?file=a.onnx"),
        (
            "http://h/dl?sig=s&file=a/b.onnx;t&se=9&Version=2",
            "dl?file=a%2Fb.onnx&Version=2",
            "?sig=s&file=a/b.onnx;t&se=9&Version=2",
        ),
        ("http://h/dl/?file=a.onnx&sig=s", "?file=a.onnx", "?file=a.onnx&sig=s"),
        ("http://h/dl?file=b%3Fsig%3Ds", "dl", "?file=b%3Fsig%3Ds"),
        ("http://h/?sig=s", "", "?sig=s"),
        ("https://h/m?.onnx", "m?.onnx", ""),
        ("https://h/a?_*/m.onnx", "m.onnx", ""),
        ("s3://b/m.onnx?versionId=1", "m.onnx?versionId=1", ""),
        ("a/m?x=1.onnx", "m?x=1.onnx", ""),
        ("a/m.onnx/", "m.onnx", ""),
    ],
)
def test_the_name_of_a_file_is_without_what_gives_access(url: str, name: str, query: str) -> None:
    assert urls.file_name(url) == name
    assert urls.split(url) == (url.removesuffix(query), query)
    if query:
        assert addresses.parted(url)[1] == url.rpartition("?")[0].rpartition("/")[2] + query


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ("hmac=X", "hmac=***"),
        ("a=1;sig=X", "a=***;sig=***"),
        ("X", "***"),
        ("X/", "***"),
        ("*/[.onnx", "***"),
        ("eHl6==", "***"),
        ("eHl6=&download=1", "***&download=1"),
        ("jwt=X&h=Y", "jwt=***&h=***"),
        ("Policy=X&Expires=9&Key-Pair-Id=Y", "Policy=***&Expires=9&Key-Pair-Id=***"),
        ("hdnea=exp=1~hmac=X", "hdnea=***"),
        ("file=a~hmac=X&name=https%3A%2F%2Fh%2F%3fsig%3dX&path=b?X", "file=***&name=***&path=b?***"),
        ("file=a.onnx&VersionId=3&sv=2024-01-01&sr=b&sp=r", "file=a.onnx&VersionId=3&sv=2024-01-01&sr=b&sp=r"),
        ("X-Amz-Credential=AK/2026&X-Amz-Signature=X&X-Amz-Expires=60", None),
    ],
)
def test_of_a_query_only_what_is_known_as_harmless_is_shown(query: str, shown: str | None) -> None:
    kept = "X-Amz-Credential=***&X-Amz-Signature=***&X-Amz-Expires=60" if shown is None else shown
    assert urls.shown(f"https://h/a/m.onnx?{query}") == f"https://h/a/m.onnx?{kept}"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("403, url='https://h/m?se=1&sig=a%2Fb/c==', again", "403, url='https://h/m?se=1&sig=***', again"),
        ("https://h/m?id=7&download=true: no", "https://h/m?id=7&download=true: no"),
        ("https://h/m.onnx?sig=a: its result", "https://h/m.onnx?sig=***: its result"),
        ("(https://h/m.onnx?a;b)", "(https://h/m.onnx?***;***)"),
        ("https://h/m?.onnx: no file; https://h/?: no", "https://h/m?.onnx: no file; https://h/?: no"),
        ("az://c/m?sv=1&sig=a, s3://b/a?c/m.onnx", "az://c/m?sv=1&sig=***, s3://b/a?c/m.onnx"),
        ("token=x is no query", "token=x is no query"),
        ("a/m?sig=1.onnx: no file", "a/m?sig=1.onnx: no file"),
    ],
)
def test_a_text_around_a_url_stays(text: str, shown: str) -> None:
    assert urls.shown(text) == shown


def test_no_line_and_no_log_shows_it(tmp_path: Path) -> None:
    job = Job(SIGNED, "m.onnx", str(tmp_path), "fix", Request(), Limits(1.0))
    with pytest.raises(GraphfixError) as refused:
        models([SIGNED, SIGNED.replace("a/m", "b/m")], [], str(tmp_path), "fix")
    lines = [str(refused.value), str(failed(OSError(f"403 of {SIGNED}"), SIGNED, "no")), repr(job), job.model]
    assert all("m.onnx" in line for line in lines)
    assert "0a1b" not in str(lines)


def test_models_that_the_query_names_are_two_and_one_that_is_signed_twice_is_refused(tmp_path: Path) -> None:
    def found(*given: str) -> list[tuple[str, str]]:
        return models(given, [], str(tmp_path), "fix")

    two = [f"http://h/dl?file={name}.onnx&sig=X" for name in "ab"]
    assert found(*two, two[0]) == [(two[0], "dl?file=a.onnx"), (two[1], "dl?file=b.onnx")]
    with pytest.raises(GraphfixError) as twice:
        found("http://h/m.onnx?sig=X", "http://h/m.onnx?sig=Y")
    what = "it is given twice, with other values in its query; give it once, or make two batches"
    assert str(twice.value) == f"http://h/m.onnx?sig=***: {what}"
    with pytest.raises(GraphfixError) as one:
        found("http://h/a/m.onnx?sig=X", "http://h/b/m.onnx?sig=Y")
    what = "its result is m.onnx, which is that of http://h/a/m.onnx?sig=*** too; make two batches"
    assert str(one.value) == f"http://h/b/m.onnx?sig=***: {what}"
    with pytest.raises(GraphfixError) as none:
        found("http://h/?sig=X")
    assert str(none.value) == "http://h/?sig=***: neither its path nor its query names a file; name one"


@pytest.fixture
def http(tmp_path: Path) -> Iterator[str]:
    """A server on this machine: one model, whose query names it, and a status for all else that the path says."""
    model = small_models.adding(tmp_path / "served.onnx").read_bytes()

    class Answers(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            part = self.path.partition("?")[0].split("/")[1]
            status = int(part) if part.isdecimal() else 200
            body = model if status == 200 else b""
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body if self.command == "GET" else b"")

        def do_HEAD(self) -> None:
            self.do_GET()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.mark.ci
@pytest.mark.parametrize(
    ("status", "why"),
    [
        (403, "403 Forbidden; ask for the permission, or choose another place"),
        (503, "503 Service Unavailable; try again, or choose another place"),
        (404, "no such file; look for it, or leave it out"),
    ],
)
def test_what_the_server_answers_is_said(http: str, tmp_path: Path, status: int, why: str) -> None:
    url = f"{http}/{status}/m.onnx?sig="
    (entry,) = batch_files([f"{url}0a1b"], tmp_path / "out", jobs=1)
    assert isinstance(entry, Failure)
    assert entry.error == f"{url}***: can't be read: {why}"


def test_a_server_that_is_not_there_is_said(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/m.onnx?sig="
    (entry,) = batch_files([f"{url}0a1b"], tmp_path / "out", jobs=1)
    assert isinstance(entry, Failure)
    assert entry.error.startswith(f"{url}***: can't be read: Connect call failed")


@pytest.mark.ci
def test_models_that_the_query_names_have_results_of_their_own(http: str, tmp_path: Path) -> None:
    given = [f"{http}/dl?file={name}.onnx&sig=0a1b" for name in "ab"]
    out = tmp_path / "out"
    made = [batch_files(given, out, jobs=1, check_result=False) for _ in range(2)]
    assert [entry.reused for entries in made for entry in entries if isinstance(entry, Outcome)] == [False] * 2 + [
        True
    ] * 2
    assert sorted(path.name for path in out.glob("*")) == [".graphfix", "dl?file=a.onnx", "dl?file=b.onnx"]
    kept = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert not [path for path in kept if "0a1b" in str(path) or b"0a1b" in path.read_bytes()]


@pytest.mark.ci
def test_a_signed_model_is_done_and_its_result_has_the_plain_name(s3: str, tmp_path: Path) -> None:
    made = small_models.adding(tmp_path / "m.onnx")
    addresses.store(s3).publish(made, "sub/m.onnx")
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
    everything = [*told, json_text(entries), *map(str, files), *map(str, map(Path.read_bytes, files))]
    assert not [text for text in everything for secret in secrets if secret in text]
