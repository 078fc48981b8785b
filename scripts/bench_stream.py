"""Measure the memory of a batch job that reads a large model from an object store and writes its result there.

    python scripts/bench_stream.py [--rows NAME,..] [--limit MIB] [--dir FOLDER]

One process does the work of a batch worker: `graphfix.batch.jobs.work`, with `--no-verify`, from `s3://` to `s3://`.
The store is a server of this script on the loopback interface, in a separate process. It stores objects as files, and
the worker uses s3fs and botocore as for any other store. Every 20 ms, the script adds up the resident sets of the
worker and of all its child processes, mapped file pages included. The largest sum counts. The models are built in a
temporary folder, or kept in FOLDER; the results need further space there. Exit status: 0 within the limit, 1 beyond the
limit, 2 if a run failed. For Linux; needs the extra [batch].
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar
from urllib.parse import parse_qs, unquote, urlsplit

import psutil

SCRIPTS = Path(__file__).resolve().parent
MIB = 1 << 20
PIECE = 1 << 20
EVERY = 0.02


@dataclass(frozen=True, slots=True)
class Row:
    """A model of the benchmark: the script that builds it, the kind of model, and the bytes of its weights."""

    name: str
    builder: str
    kind: str
    amount: int


ROWS = (
    Row("external-3gb.onnx", "bench_models.py", "external", 3_000_000_000),
    Row("inline-1.9gb.onnx", "bench_models.py", "inline", 1_900_000_000),
    Row("inline-1.9gb.tflite", "bench_tflite.py", "inline", 1_900_000_000),
)


# --- the store --------------------------------------------------------------------------------------------------------


class Objects(BaseHTTPRequestHandler):
    """The part of S3 that s3fs uses: objects, ranges of objects, and uploads in several parts. Keys are file names."""

    protocol_version = "HTTP/1.1"
    folder: Path
    sizes: ClassVar[dict[Path, int]] = {}
    """The size of the first part of each upload, by the path of the collected parts."""

    def log_message(self, *_: object) -> None:
        """Print nothing."""

    def do_HEAD(self) -> None:
        """Answer with the size and the ETag of an object, or with 404."""
        path = self._path()
        if not path.is_file():
            self._answer(404)
            return
        self._answer(200, length=path.stat().st_size, more={"ETag": _etag(path)})

    def do_GET(self) -> None:
        """Answer with an object or a range of it, or with 404. A list of objects is always empty."""
        path = self._path()
        if "list-type" in self._query():
            self._answer(200, b"<ListBucketResult><KeyCount>0</KeyCount></ListBucketResult>")
            return
        if not path.is_file():
            self._answer(404, b"<Error><Code>NoSuchKey</Code></Error>")
            return
        size = path.stat().st_size
        found = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        start, stop = (int(found[1]), min(int(found[2] or size), size - 1) + 1) if found else (0, size)
        more = {"ETag": _etag(path), "Content-Range": f"bytes {start}-{stop - 1}/{size}"}
        self._answer(206 if found else 200, length=stop - start, more=more)
        with path.open("rb") as file:
            file.seek(start)
            while start < stop:
                piece = file.read(min(PIECE, stop - start))
                self.wfile.write(piece)
                start += len(piece)

    def do_PUT(self) -> None:
        """Store an object, or one part of an upload."""
        path, start, left = self._path(), 0, int(self.headers.get("Content-Length", 0))
        if "partNumber" in self._query():
            number, path = int(self._query()["partNumber"][0]), _parts(path)
            if number == 1:
                self.sizes[path] = left
            start = (number - 1) * self.sizes[path]  # all parts except the last part have the same size
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("r+b" if start else "wb") as file:
            file.seek(start)
            while left:
                piece = self.rfile.read(min(PIECE, left))
                file.write(piece)
                left -= len(piece)
        self._answer(200, more={"ETag": _etag(path)})

    def do_POST(self) -> None:
        """Begin an upload in parts, or end it: the collected parts become the object."""
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        path = self._path()
        if "uploads" in self._query():
            said = b"<InitiateMultipartUploadResult><UploadId>one</UploadId></InitiateMultipartUploadResult>"
            self._answer(200, said)
            return
        _parts(path).replace(path)
        said = f"<CompleteMultipartUploadResult><ETag>{_etag(path)}</ETag></CompleteMultipartUploadResult>"
        self._answer(200, said.encode())

    def _path(self) -> Path:
        """Return the file of the requested object."""
        return self.folder / unquote(urlsplit(self.path).path).lstrip("/")

    def _query(self) -> dict[str, list[str]]:
        """Return the parameters of the requested URL."""
        return parse_qs(urlsplit(self.path).query, keep_blank_values=True)

    def _answer(
        self, status: int, body: bytes = b"", *, length: int | None = None, more: dict[str, str] | None = None
    ) -> None:
        """Send the status, the headers and the body. `length` is the length of a body that the caller writes."""
        self.send_response(status)
        for name, value in (more or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        self.wfile.write(body)


def _parts(path: Path) -> Path:
    """Return the file in which the parts of an object are collected."""
    return path.with_name(f"{path.name}.parts")


def _etag(path: Path) -> str:
    """Return an ETag that identifies the content of a file by the file's size and time of change."""
    found = path.stat()
    return f'"{hashlib.sha256(f"{found.st_size} {found.st_mtime_ns}".encode()).hexdigest()[:32]}"'


def serve(folder: Path) -> None:
    """Print the port, and serve the folders inside `folder` as buckets until this process is killed."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Of", (Objects,), {"folder": folder}))
    print(server.server_address[1], flush=True)
    server.serve_forever()


# --- the work ---------------------------------------------------------------------------------------------------------


def do(name: str) -> None:
    """Do the job of the model `name` as a batch worker does it. Exit with a message if nothing was written."""
    from graphfix.batch.jobs import work
    from graphfix.batch.jobs.job import Job, Limits
    from graphfix.engine.request import Request
    from graphfix.results import Outcome

    job = Job(f"s3://models/{name}", name, "s3://fixed/out", "fix", Request(check_result=False), Limits(3600.0))
    done = work.work(job)
    work.close()
    if not isinstance(done.entry, Outcome) or done.entry.output is None:
        sys.exit(f"{name}: {getattr(done.entry, 'error', 'nothing was written')}")


def measured(name: str, port: int) -> tuple[float, int, list[int]]:
    """Return the seconds of a job, the largest total memory of its processes in bytes, and its parts.

    The third part is the memory of each process at the time of the largest total. Raise RuntimeError if the job fails.
    """
    keys = {"AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x", "AWS_DEFAULT_REGION": "us-east-1"}
    environment = {**os.environ, **keys, "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}"}
    start = time.perf_counter()
    worker = subprocess.Popen([sys.executable, "-P", __file__, "--do", name], env=environment)
    top, most, each = psutil.Process(worker.pid), 0, list[int]()
    while worker.poll() is None:
        sizes = [_resident(process) for process in _tree(top)]
        if sum(sizes) > most:
            most, each = sum(sizes), sizes
        time.sleep(EVERY)
    if worker.returncode:
        raise RuntimeError(f"{name}: exit status {worker.returncode}")
    return time.perf_counter() - start, most, each


def _tree(top: psutil.Process) -> list[psutil.Process]:
    """Return the process and all its descendants, or an empty list if the process has ended."""
    try:
        return [top, *top.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def _resident(process: psutil.Process) -> int:
    """Return the resident set of a process in bytes, or 0 if the process has ended."""
    try:
        return int(process.memory_info().rss)
    except psutil.NoSuchProcess:
        return 0


def _build(row: Row, models: Path) -> None:
    """Build the row's model in the folder `models` if it does not exist there."""
    if not (models / row.name).exists():
        builder = [sys.executable, str(SCRIPTS / row.builder), row.kind, str(row.amount), str(models / row.name)]
        subprocess.run(builder, check=True)


def measure_all(rows: list[Row], limit: int, folder: Path) -> int:
    """Measure each row and print its line, with `limit` in MiB; return the exit status."""
    models, fixed = folder / "models", folder / "fixed"
    models.mkdir(exist_ok=True)
    for row in rows:
        _build(row, models)
    server = subprocess.Popen([sys.executable, __file__, "--serve", str(folder)], stdout=subprocess.PIPE, text=True)
    beyond = False
    try:
        port = int(server.stdout.readline() if server.stdout is not None else 0)
        for row in rows:
            shutil.rmtree(fixed, ignore_errors=True)
            seconds, most, each = measured(row.name, port)
            result = sum(path.stat().st_size for path in fixed.rglob("*") if path.is_file())
            read = sum(path.stat().st_size for path in models.glob(f"{row.name}*"))
            if result < read:
                raise RuntimeError(f"{row.name}: {result} bytes were published of {read}")
            beyond |= most > limit * MIB
            parts = " + ".join(f"{size / MIB:.0f}" for size in each)
            print(f"{row.name:20} {read / 1e9:.2f} GB  {seconds:6.1f} s  {most / MIB:4.0f} MiB ({parts})", flush=True)
    finally:
        server.kill()
        server.wait()
        shutil.rmtree(fixed, ignore_errors=True)
    print(f"limit: {limit} MiB{', broken' if beyond else ''}")
    return int(beyond)


def main() -> int:
    """Run the command line, and return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", help="names, with commas; all where it is not said")
    parser.add_argument("--limit", type=int, default=500, metavar="MIB")
    parser.add_argument("--dir", type=Path, help="where the models are kept")
    parser.add_argument("--serve", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--do", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve is not None:
        serve(options.serve)
    if options.do is not None:
        do(options.do)
        return 0
    names = options.rows.split(",") if options.rows else [row.name for row in ROWS]
    rows = [row for row in ROWS if row.name in names]
    if len(rows) != len(names):
        parser.error(f"rows are {', '.join(row.name for row in ROWS)}")
    try:
        if options.dir is not None:
            return measure_all(rows, options.limit, options.dir)
        with tempfile.TemporaryDirectory() as folder:
            return measure_all(rows, options.limit, Path(folder))
    except (RuntimeError, OSError, subprocess.CalledProcessError) as error:
        print(f"bench_stream: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
