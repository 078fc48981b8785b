"""What a store does, whatever lies behind it: files come and go whole, and what is new is seen."""

from __future__ import annotations

import errno
import gc
import hashlib
import os
import pickle
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem

from graphfix.batch.stores import addresses
from graphfix.batch.stores.remote import CHUNK, Remote, identity_of
from graphfix.batch.stores.store import Digest, Identity, Store, failed
from graphfix.formats.neutral import publish
from graphfix.results import GraphfixError
from graphfix.runtimes.extras import install_command

LONG = os.urandom(1 << 16) * (2 * CHUNK // (1 << 16)) + b"end"
"""More than two pieces."""


def a_file(folder: Path, data: bytes, name: str = "made") -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_bytes(data)
    return path


def content(store: Store, name: str, scratch: Path) -> bytes:
    path = scratch / "fetched" / "here"
    path.unlink(missing_ok=True)
    store.fetch(name, path)
    return path.read_bytes()


@pytest.mark.ci
@pytest.mark.parametrize("data", [b"", b"short", LONG], ids=["empty", "short", "long"])
def test_what_is_published_comes_back(folder: str, tmp_path: Path, data: bytes) -> None:
    store = addresses.store(folder)
    digest = store.publish(a_file(tmp_path, data), "sub/model.onnx")
    assert (digest.name, digest.size, digest.sha256) == (
        "sub/model.onnx",
        len(data),
        hashlib.sha256(data).hexdigest(),
    )
    assert store.digest("sub/model.onnx") == digest
    assert store.fetch("sub/model.onnx", tmp_path / "new" / "copy") == digest
    assert (tmp_path / "new" / "copy").read_bytes() == data
    there = store.identity("sub/model.onnx")
    assert there is not None
    assert (there.size, there.mark) == (len(data), digest.mark)


def test_a_file_is_replaced(folder: str, tmp_path: Path) -> None:
    store = addresses.store(folder)
    before = store.publish(a_file(tmp_path, b"one"), "m.onnx")
    after = store.publish(a_file(tmp_path, b"two"), "m.onnx")
    assert content(store, "m.onnx", tmp_path) == b"two"
    assert before.sha256 != after.sha256
    assert (before.mark != after.mark) or not before.mark


def test_what_is_not_there_is_none_or_an_error_that_names_it(folder: str, tmp_path: Path) -> None:
    store = addresses.store(folder)
    assert store.identity("none.onnx") is None
    assert store.read_text("none.json", 10) is None
    store.remove("none.onnx")
    for what in (store.digest, lambda name: store.fetch(name, tmp_path / "copy")):
        with pytest.raises(FileNotFoundError) as raised:
            what("none.onnx")
        assert store.place("none.onnx") in str(raised.value)
        assert "\n" not in str(raised.value)
        assert str(pickle.loads(pickle.dumps(raised.value))) == str(raised.value)  # noqa: S301 -- our own
    store.write_text("sub/there", "text")
    assert store.identity("sub") is None


@pytest.mark.ci
def test_what_others_make_is_seen_at_once(s3: str) -> None:
    here = addresses.store(f"{s3}/folder")
    assert isinstance(here, Remote)
    elsewhere = fsspec.filesystem("s3", skip_instance_cache=True)
    here.write_text("a/old", "old")
    assert here.names() == ["a/old"]
    elsewhere.pipe_file("bucket/folder/a/new", b"longer")
    now = here.identity("a/new")
    assert now is not None
    assert here.names() == ["a/new", "a/old"]
    elsewhere.pipe_file("bucket/folder/a/old", b"longer")
    now = here.identity("a/old")
    assert now is not None
    assert now.size == 6
    assert here.names() == ["a/new", "a/old"]
    assert here.read_text("a/old", 10) == "longer"
    elsewhere.rm_file("bucket/folder/a/new")
    assert here.names() == ["a/old"]
    assert here.identity("a/new") is None


def test_a_text_that_is_too_long_or_none_is_not_read(folder: str, tmp_path: Path) -> None:
    store = addresses.store(folder)
    store.write_text("t", "ä" * 5)
    assert store.read_text("t", 10) == "ä" * 5
    assert store.read_text("t", 9) is None
    store.publish(a_file(tmp_path, b"\xff\xfe"), "t")
    assert store.read_text("t", 10) is None


@pytest.mark.parametrize("name", ["../out", "a/../../out", "", "a//b", "/etc/out", "a\0b", "."])
def test_no_name_leads_out_of_the_folder(folder: str, tmp_path: Path, name: str) -> None:
    store = addresses.store(folder)
    for write in (lambda: store.publish(a_file(tmp_path, b"x"), name), lambda: store.write_text(name, "x")):
        with pytest.raises(GraphfixError):
            write()
    with pytest.raises(GraphfixError):
        store.remove(name)


@pytest.mark.ci
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("store_of", ["memory", "s3"])
@pytest.mark.parametrize("reads", [1, 2])
def test_what_fails_half_way_leaves_what_was_there(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, store_of: str, reads: int
) -> None:
    store = addresses.store(f"{request.getfixturevalue(store_of)}/folder")
    store.write_text("m.onnx", "before")
    made = a_file(tmp_path, LONG)
    opened = Path.open

    def torn(self: Path, *args: Any, **named: Any) -> Any:  # noqa: ANN401
        file = opened(self, *args, **named)
        return Torn(file, reads) if self == made else file

    monkeypatch.setattr(Path, "open", torn)
    with pytest.raises(OSError, match=r"folder/m\.onnx: can't be written: the disk is gone"):
        store.publish(made, "m.onnx")
    with pytest.raises(OSError, match=r"new\.onnx"):
        store.publish(made, "new.onnx")
    assert store.read_text("m.onnx", 10) == "before"
    assert store.identity("new.onnx") is None
    gc.collect()  # what is half written is not completed then
    if store_of == "s3":
        assert fsspec.filesystem("s3").list_multipart_uploads("bucket") == []


class Torn:
    """A file that fails after so many reads."""

    def __init__(self, file: Any, reads: int) -> None:  # noqa: ANN401
        self.file, self.reads = file, reads

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()

    def read(self, size: int) -> bytes:
        if not self.reads:
            raise OSError("the disk is gone")
        self.reads -= 1
        data: bytes = self.file.read(size)
        return data


def test_a_local_file_gets_the_mode_of_what_it_replaces_and_is_renamed(tmp_path: Path) -> None:
    store = addresses.store(str(tmp_path / "out"))
    store.publish(a_file(tmp_path, b"one"), "m.onnx")
    (tmp_path / "out" / "m.onnx").chmod(0o640)
    made = a_file(tmp_path, b"two")
    number = made.stat().st_ino
    store.publish(made, "m.onnx")
    found = (tmp_path / "out" / "m.onnx").stat()
    assert (found.st_mode & 0o777, found.st_ino) == (0o640, number)
    assert not made.exists()
    assert list((tmp_path / "out").iterdir()) == [tmp_path / "out" / "m.onnx"]


@pytest.mark.ci
def test_a_file_that_changes_while_it_is_read_is_an_error(
    s3: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = addresses.store(s3)
    assert isinstance(store, Remote)
    store.publish(a_file(tmp_path, LONG), "m.onnx")
    monkeypatch.setattr("graphfix.batch.stores.remote.hashlib.sha256", lambda: Meddling(store, tmp_path))
    with pytest.raises(OSError, match=r"m\.onnx: "):
        store.digest("m.onnx")


def test_a_file_that_is_not_as_long_as_is_said_is_an_error(memory: str, monkeypatch: pytest.MonkeyPatch) -> None:
    store = addresses.store(memory)
    store.write_text("m.onnx", "text")
    assert store.digest("m.onnx").size == 4
    monkeypatch.setattr(MemoryFileSystem, "info", lambda *_: {"type": "file", "size": 5})
    with pytest.raises(OSError, match=r"m\.onnx: it was changed while it was read"):
        store.digest("m.onnx")


class Meddling:
    """A digest that replaces the file that it is of."""

    def __init__(self, store: Store, scratch: Path) -> None:
        self.store, self.scratch = store, scratch

    def update(self, _: bytes) -> None:
        fsspec.filesystem("s3").pipe_file("bucket/m.onnx", LONG[::-1])


@pytest.mark.ci
def test_two_who_read_the_same_file_in_one_process_do_not_meet(
    memory: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = addresses.store(memory)
    digest = store.publish(a_file(tmp_path, LONG), "m.data")
    inner: list[Digest] = []
    made = hashlib.sha256

    class Between:
        """A digest that reads the whole file, after the first piece of it."""

        def __init__(self) -> None:
            self.made = made()

        def update(self, piece: bytes) -> None:
            self.made.update(piece)
            if not inner:
                monkeypatch.setattr("graphfix.batch.stores.remote.hashlib.sha256", made)
                inner.append(store.digest("m.data"))

        def hexdigest(self) -> str:
            return self.made.hexdigest()

    monkeypatch.setattr("graphfix.batch.stores.remote.hashlib.sha256", Between)
    assert store.digest("m.data") == digest
    assert inner == [digest]


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("nothing://x/y", "nothing://x/y: Protocol not known"),
        ("zip://a.onnx::s3://b/c.zip", "several parts"),
    ],
)
def test_a_url_that_nobody_reads_is_one_line(url: str, said: str) -> None:
    with pytest.raises(GraphfixError, match=said) as refused:
        addresses.store(url)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("missing", ["fsspec", "s3fs"])
def test_what_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch, missing: str) -> None:
    monkeypatch.delitem(sys.modules["fsspec.registry"]._registry, "s3", raising=False)
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(GraphfixError) as refused:
        addresses.store("s3://bucket/x")
    assert str(refused.value).endswith(install_command("batch"))
    assert str(refused.value).startswith("s3://bucket/x: ")


@pytest.mark.ci
def test_a_store_that_is_not_there_is_an_oserror(s3: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(OSError, match="s3://no-such-bucket/m: can't be written"):
        addresses.store("s3://no-such-bucket").write_text("m", "x")
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    fsspec.get_filesystem_class("s3").clear_instance_cache()
    try:
        with pytest.raises(OSError, match=f"{s3}/m: can't be read: Unable to locate credentials"):
            addresses.store(s3).identity("m")
    finally:
        fsspec.get_filesystem_class("s3").clear_instance_cache()


def test_a_path_and_its_url_are_one_place(tmp_path: Path) -> None:
    addresses.store(tmp_path.as_uri()).write_text("t", "text")
    assert addresses.store(str(tmp_path)).read_text("t", 10) == "text"
    store, name = addresses.parted(str(tmp_path / "t"))
    assert store.local(name) == tmp_path / "t"
    assert not addresses.is_url(tmp_path.as_uri())
    assert addresses.is_url("s3://b/x")
    assert not addresses.is_url("a/b:c")


@pytest.mark.parametrize(
    ("said", "identity"),
    [
        ({"type": "file", "size": 3, "ETag": '"1"'}, Identity(3, '"1"')),
        ({"type": "file", "size": 3, "ETag": 'W/"1"'}, Identity(3)),
        ({"type": "file", "size": 3, "mtime": 5.0}, Identity(3)),
        ({"type": "file", "size": None}, Identity(-1)),
        ({"type": "directory", "size": 0}, None),
    ],
    ids=["an ETag", "a weak one", "a time", "no size", "a folder"],
)
def test_only_what_names_the_bytes_is_a_mark(said: dict[str, object], identity: Identity | None) -> None:
    assert identity_of(said) == identity


@pytest.mark.parametrize(
    ("number", "said"), [(errno.EXDEV, None), (errno.ENOSPC, "can't be written: No space left on device")]
)
def test_a_file_on_another_file_system_is_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, said: str | None
) -> None:
    store, made, rename = addresses.store(str(tmp_path / "out")), a_file(tmp_path, b"model"), publish.rename

    def elsewhere(source: Path, path: Path) -> None:
        if source == made:
            raise OSError(number, os.strerror(number))
        rename(source, path)

    monkeypatch.setattr(publish, "rename", elsewhere)
    if said is not None:
        with pytest.raises(OSError, match=said):
            store.publish(made, "m.onnx")
        assert list((tmp_path / "out").iterdir()) == []
        return
    assert store.publish(made, "m.onnx").name == "m.onnx"
    assert [(path.name, path.read_bytes()) for path in (tmp_path / "out").iterdir()] == [("m.onnx", b"model")]


@pytest.mark.parametrize(
    ("status", "kind", "said"),
    [
        (404, FileNotFoundError, "no such file"),
        (410, FileNotFoundError, "no such file"),
        (401, PermissionError, "401 why; ask for the permission"),
        (403, PermissionError, "403 why; ask for the permission"),
        (500, OSError, "500 why; try again"),
    ],
)
def test_what_a_server_answers_is_told_by_its_status(status: int, kind: type[OSError], said: str) -> None:
    class AnsweredError(Exception):
        message = "why"

    error = FileNotFoundError("https://h/m.onnx")
    error.__cause__ = AnsweredError()
    error.__cause__.status = status  # type: ignore[attr-defined]
    found = failed(error, "https://h/m.onnx", "can't be read")
    assert type(found) is kind
    assert str(found).startswith("https://h/m.onnx: can't be read: ")
    assert said in str(found)
    elsewhere = failed(error, "s3://h/m.onnx", "can't be read")
    assert type(elsewhere) is FileNotFoundError


class Disk:
    """A store whose files are written piece by piece, such as one over SFTP; `fails` is raised at the second piece."""

    protocol, async_impl = ("disk",), False

    def __init__(self, fails: bool = False) -> None:
        self.done: list[object] = []
        self.fails = fails

    def makedirs(self, folder: str, *, exist_ok: bool) -> None:
        self.done.append(("folder", folder, exist_ok))

    def open(self, path: str, mode: str, *, block_size: int, autocommit: bool) -> Self:
        self.done.append((path, mode, block_size, autocommit))
        return self

    def write(self, piece: bytes) -> None:
        if self.fails and piece == b"b":
            raise OSError("no room")
        self.done.append(piece)

    def close(self) -> None:
        self.done.append("closed")

    def commit(self) -> None:
        self.done.append("there")

    def discard(self) -> None:
        self.done.append("gone")


def test_a_file_that_is_written_appears_with_its_last_piece() -> None:
    disk = Disk()
    Remote("disk://out", disk, "out")._send("sub/m.bin", iter([b"a", b"b", b"c"]))
    opened = [("folder", "out/sub", True), ("out/sub/m.bin", "wb", CHUNK, False)]
    assert disk.done == [*opened, b"a", b"b", b"c", "closed", "there"]


def test_a_file_that_can_not_be_written_is_discarded_and_never_completed() -> None:
    disk = Disk(fails=True)
    with pytest.raises(OSError, match="no room"):
        Remote("disk://out", disk, "out")._send("m.bin", iter([b"a", b"b", b"c"]))
    assert disk.done[-2:] == [b"a", "gone"]
    assert vars(disk)["closed"] is True


def test_a_file_in_memory_is_replaced_when_all_pieces_are_there(memory: str) -> None:
    """There a file appears when it is opened, so it is not opened before."""
    store = addresses.store(memory)
    assert isinstance(store, Remote)
    store.write_text("m.onnx", "before")
    seen: list[str | None] = []

    def pieces(fault: Exception | None) -> Iterator[bytes]:
        for piece in (b"one", b"two", b"three"):
            seen.append(store.read_text("m.onnx", 100))
            yield piece
        if fault is not None:
            raise fault

    with pytest.raises(OSError, match="the disk is gone"):
        store._send("m.onnx", pieces(OSError("the disk is gone")))
    assert store.read_text("m.onnx", 100) == "before"
    store._send("m.onnx", pieces(None))
    assert store.read_text("m.onnx", 100) == "onetwothree"
    assert seen == ["before"] * 6


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("s3://b/x", install_command("batch")),
        ("s3a://b/x", install_command("batch")),
        ("s3x://b/x", "it needs a package"),
        ("https://h/x", "it needs a package"),
    ],
)
def test_a_package_that_a_url_needs_is_named_as_fsspec_names_it_or_as_an_extra(
    monkeypatch: pytest.MonkeyPatch, url: str, said: str
) -> None:
    def missing(_: str) -> None:
        raise ImportError("it needs\n  a package")

    monkeypatch.setattr("fsspec.core.url_to_fs", missing)
    with pytest.raises(GraphfixError) as refused:
        addresses.store(url)
    assert str(refused.value) == f"{url}: what reads such URLs is not installed: {said}"


class Objects(Disk):
    """A store of objects: a small one is sent in one request."""

    async_impl = True

    def pipe_file(self, path: str, data: bytes) -> None:
        self.done.append((path, data))


@pytest.mark.parametrize(
    ("pieces", "done"),
    [
        ([], [("out/sub/m.bin", b"")]),
        ([b"a"], [("out/sub/m.bin", b"a")]),
        ([b"a", b"b"], [("out/sub/m.bin", "wb", CHUNK, False), b"a", b"b", "closed", "there"]),
    ],
    ids=["empty", "one piece", "two"],
)
def test_an_object_of_one_piece_is_sent_at_once_and_a_longer_one_in_pieces(
    pieces: list[bytes], done: list[object]
) -> None:
    objects = Objects()
    Remote("o://out", objects, "out")._send("sub/m.bin", iter(pieces))
    assert objects.done == done


def test_a_file_whose_end_can_not_be_written_is_discarded(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("close", "commit"):
        disk = Disk()

        def fail(_: object) -> None:
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(Disk, name, fail)
            with pytest.raises(KeyboardInterrupt):
                Remote("disk://out", disk, "out")._send("m.bin", iter([b"a"]))
        assert disk.done[-1] == "gone"
        assert vars(disk)["closed"] is True


class Listed(Disk):
    """A store that keeps what it found of a folder until it is told to look again."""

    def __init__(self) -> None:
        super().__init__()
        self.there, self.known = ["out/a.onnx"], ["out/a.onnx"]

    def invalidate_cache(self) -> None:
        self.known = list(self.there)

    def find(self, folder: str, maxdepth: int | None) -> list[str]:
        return [path for path in self.known if path.startswith(f"{folder}/") and maxdepth is None]

    def isdir(self, folder: str) -> bool:
        return any(path.startswith(f"{folder}/") for path in self.known)

    def info(self, path: str) -> dict[str, Any]:
        if path not in self.known:
            raise FileNotFoundError(path)
        return {"name": path, "size": 5, "type": "file"}


def test_what_came_since_a_store_was_listed_is_seen() -> None:
    disk = Listed()
    folder, other = Remote("disk://out", disk, "out"), Remote("disk://new", disk, "new")
    assert folder.names() == ["a.onnx"]
    disk.there += ["out/b.onnx", "new/c.onnx"]
    assert folder.names() == ["a.onnx", "b.onnx"]
    disk.known = []
    assert other.is_folder()
    disk.known = []
    there = folder.identity("b.onnx")
    assert there is not None
    assert there.size == 5
    assert folder.identity("c.onnx") is None
