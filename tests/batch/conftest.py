"""Stores of each kind, empty: a folder, fsspec's memory, and S3 as moto serves it on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import fsspec
import pytest
from moto.server import ThreadedMotoServer

BUCKET = "bucket"
KEYS = {"AWS_ACCESS_KEY_ID": "testing", "AWS_SECRET_ACCESS_KEY": "testing", "AWS_DEFAULT_REGION": "us-east-1"}


@pytest.fixture(scope="session")
def s3_server() -> Iterator[str]:
    """The endpoint of a server that this run alone has."""
    server = ThreadedMotoServer("127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def s3(s3_server: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The URL of an empty bucket; whoever reads it finds the server as users' programs do, by the environment."""
    for name, value in {**KEYS, "AWS_ENDPOINT_URL": s3_server}.items():
        monkeypatch.setenv(name, value)
    made = fsspec.filesystem("s3", use_listings_cache=False)
    made.mkdir(BUCKET)
    yield f"s3://{BUCKET}"
    made.rm(BUCKET, recursive=True)


@pytest.fixture
def memory() -> Iterator[str]:
    """The URL of an empty folder in this process."""
    yield "memory://store"
    system = fsspec.filesystem("memory")
    system.store.clear()
    system.pseudo_dirs[:] = [""]


@pytest.fixture(params=["local", "file", "memory", "s3"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty folder of each kind, as users name it."""
    if request.param in ("memory", "s3"):
        return f"{request.getfixturevalue(request.param)}/some/folder"
    path = tmp_path / "some" / "folder"
    return str(path) if request.param == "local" else path.as_uri()
