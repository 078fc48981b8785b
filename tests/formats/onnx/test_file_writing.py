"""A file appears whole or not at all, whatever the system does while it is written."""

from __future__ import annotations

import errno
import gc
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from onnx import TensorProto

from graphfix.formats.neutral import files as disk
from graphfix.formats.onnx.file.container import read
from graphfix.results import GraphfixError
from tests.support.onnx import files as made
from tests.support.onnx.files import field, floats, model

BIG = 300_000
"""Floats: more bytes than are read and written by ourselves."""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    (tmp_path / "in").mkdir()
    path = tmp_path / "in" / "m.onnx"
    path.write_bytes(model(floats("big", BIG), floats("small", 5000), floats("other", BIG, 3)).SerializeToString())
    return path


@pytest.fixture
def source_with_data(source: Path) -> Path:
    proto = model(floats("big", BIG))
    for name in ("a.bin", "sub/b.bin"):
        (source.parent / name).parent.mkdir(exist_ok=True)
        (source.parent / name).write_bytes(os.urandom(600_000))
        tensor = proto.graph.initializer.add(name=name, data_type=1, data_location=TensorProto.EXTERNAL)
        tensor.external_data.add(key="location", value=name)
    source.write_bytes(proto.SerializeToString())
    return source


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def refuse(error: int) -> Callable[..., int]:
    def call(*_: object) -> int:
        raise OSError(error, os.strerror(error))

    return call


WAYS = ["copy_file_range", "sendfile"]


@pytest.mark.parametrize("without", [[], WAYS[:1], WAYS], ids=["copy_file_range", "sendfile", "reads"])
@pytest.mark.parametrize("how", ["absent", "EXDEV", "EINVAL", "ENOSYS", "nothing"])
def test_every_way_to_copy_gives_the_same_bytes(
    source: Path, monkeypatch: pytest.MonkeyPatch, without: list[str], how: str
) -> None:
    for way in without:
        if how == "absent":
            monkeypatch.delattr(os, way)
        else:
            monkeypatch.setattr(os, way, (lambda *_: 0) if how == "nothing" else refuse(getattr(errno, how)))
    read(source).save(source.parent / "out.onnx")
    assert (source.parent / "out.onnx").read_bytes() == source.read_bytes()


def test_the_kernel_copies_big_payloads(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    real = os.copy_file_range

    def counted(src: int, dst: int, count: int, offset_src: int) -> int:
        asked.append(count)
        return real(src, dst, count, offset_src)

    monkeypatch.setattr(os, "copy_file_range", counted)
    read(source).save(source.parent / "out.onnx")
    # The whole record: tag and length with it.
    assert asked == [4 * BIG + len(field(9, bytes(4 * BIG))) - 4 * BIG] * 2


def test_short_copies_and_short_writes_are_continued(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy, write = os.copy_file_range, os.write
    monkeypatch.setattr(os, "copy_file_range", lambda s, d, n, at: copy(s, d, min(n, 100_001), at))
    monkeypatch.setattr(os, "write", lambda f, data: write(f, bytes(data[:4999])))
    read(source).save(source.parent / "out.onnx")
    assert (source.parent / "out.onnx").read_bytes() == source.read_bytes()


def fill_disk(monkeypatch: pytest.MonkeyPatch, room: int) -> None:
    """From here on the disk takes `room` bytes, by whatever call."""
    left = [room]

    def limited(real: Callable[..., int], count: Callable[..., int]) -> Callable[..., int]:
        def call(*arguments: object) -> int:
            if count(*arguments) > left[0]:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            done = real(*arguments)
            left[0] -= done
            return done

        return call

    monkeypatch.setattr(os, "write", limited(os.write, lambda _, data: len(data)))
    monkeypatch.setattr(os, "copy_file_range", limited(os.copy_file_range, lambda _s, _d, count, _at: count))
    monkeypatch.setattr(os, "sendfile", limited(os.sendfile, lambda _d, _s, _at, count: count))


@pytest.mark.parametrize("room", [0, 10, 1000, 1_200_100, 1_300_000, 2_420_000])
@pytest.mark.parametrize("changed", [True, False])
def test_a_full_disk_leaves_nothing_and_keeps_the_file_that_was_there(
    source: Path, monkeypatch: pytest.MonkeyPatch, room: int, changed: bool
) -> None:
    container, before = read(source), source.read_bytes()
    fill_disk(monkeypatch, room)
    for out in ("out.onnx", "m.onnx"):
        with pytest.raises(GraphfixError, match=f"{out}: can't be written: no space left on device") as caught:
            container.save(source.parent / out, changed=changed)
        assert "\n" not in str(caught.value)
    assert files(source.parent) == {"m.onnx"}
    assert source.read_bytes() == before


@pytest.mark.parametrize("room", [0, 600_000, 700_000, 1_200_000, 1_300_000, 2_400_050])
def test_a_full_disk_leaves_no_data_file_either(
    source_with_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, room: int
) -> None:
    container = read(source_with_data)
    (tmp_path / "out").mkdir()
    fill_disk(monkeypatch, room)
    with pytest.raises(GraphfixError, match="no space left on device"):
        container.save(tmp_path / "out" / "m.onnx")
    assert files(tmp_path / "out") == set()
    monkeypatch.undo()
    container.save(tmp_path / "out" / "m.onnx")
    assert files(tmp_path / "out") == {"m.onnx", "m.onnx.data", "m.onnx-2.data"}


@pytest.mark.parametrize("failing", [1, 2, 3])
def test_a_rename_that_fails_takes_back_those_before_it(
    source_with_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: int
) -> None:
    (tmp_path / "out").mkdir()
    calls: list[Path] = []
    real = Path.replace

    def replace(self: Path, target: Path) -> Path:
        calls.append(target)
        if len(calls) == failing:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        return real(self, target)

    monkeypatch.setattr(Path, "replace", replace)
    with pytest.raises(GraphfixError, match="permission denied"):
        read(source_with_data).save(tmp_path / "out" / "m.onnx")
    assert files(tmp_path / "out") == set()
    assert [path.name for path in calls] == ["m.onnx.data", "m.onnx-2.data", "m.onnx"][:failing]


def test_a_data_file_that_appears_in_the_meantime_is_not_overwritten(
    source_with_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    real = disk.Staging.commit

    def commit(self: disk.Staging) -> None:
        (out / "m.onnx-2.data").write_bytes(b"mine")
        real(self)

    monkeypatch.setattr(disk.Staging, "commit", commit)
    with pytest.raises(GraphfixError, match="has just appeared"):
        read(source_with_data).save(out / "m.onnx")
    assert files(out) == {"m.onnx-2.data"}
    assert (out / "m.onnx-2.data").read_bytes() == b"mine"


def test_an_interrupt_leaves_nothing(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "copy_file_range", interrupted)
    with pytest.raises(KeyboardInterrupt):
        read(source).save(source.parent / "out.onnx")
    assert files(source.parent) == {"m.onnx"}


@pytest.mark.parametrize("error", [errno.EACCES, errno.EROFS])
def test_a_folder_that_takes_no_file_is_reported_in_one_line(
    source: Path, monkeypatch: pytest.MonkeyPatch, error: int
) -> None:
    real = os.open

    def guarded(path: Path, flags: int, mode: int = 0o777) -> int:
        # The tests may run as root, whom permissions don't stop.
        if flags & os.O_CREAT:
            raise OSError(error, os.strerror(error))
        return real(path, flags, mode)

    monkeypatch.setattr(os, "open", guarded)
    with pytest.raises(GraphfixError, match=f"out.onnx: can't be written: {os.strerror(error).lower()}") as caught:
        read(source).save(source.parent / "out.onnx")
    assert "\n" not in str(caught.value)
    assert files(source.parent) == {"m.onnx"}


def test_a_folder_that_is_missing_is_not_made(source: Path) -> None:
    with pytest.raises(GraphfixError, match="no such file or directory"):
        read(source).save(source.parent / "deep" / "out.onnx")
    assert files(source.parent) == {"m.onnx"}


def test_what_is_no_file_is_not_replaced(source: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for out in (tmp_path / "pipe", source.parent):
        with pytest.raises(GraphfixError, match="not a regular file"):
            read(source).save(out)
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


def test_a_model_is_saved_over_itself_again_and_again(source: Path) -> None:
    original = source.read_bytes()
    container = read(source)
    for size in (1, 2, 3):
        container.proto.producer_name = "x" * size
        container.save(source)
    again = read(source)
    assert again.proto.producer_name == "xxx"
    again.proto.producer_name = container.proto.producer_name = ""
    assert container.tobytes() == again.tobytes()
    container.proto.ClearField("producer_name")
    assert container.tobytes() == original


def test_a_file_that_is_replaced_keeps_its_permissions(source: Path) -> None:
    source.chmod(0o640)
    read(source).save(source)
    assert stat.S_IMODE(source.stat().st_mode) == 0o640


@pytest.mark.parametrize("change", ["longer", "shorter", "other bytes"])
def test_a_source_that_was_written_to_is_not_copied_from(source: Path, change: str) -> None:
    container = read(source)
    with source.open("r+b") as file:
        if change == "longer":
            file.seek(0, os.SEEK_END)
            file.write(b"x")
        elif change == "shorter":
            file.truncate(source.stat().st_size - 1)
        else:
            file.write(b"x")
    os.utime(source, ns=(1, 1))
    with pytest.raises(GraphfixError, match="was changed while it was in use"):
        container.save(source.parent / "out.onnx")
    assert files(source.parent) == {"m.onnx"}


def test_a_source_that_is_cut_short_while_it_is_copied_is_reported(
    source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    container = read(source)
    copy = os.copy_file_range

    def shrinking(src: int, dst: int, count: int, at: int) -> int:
        os.truncate(source, 500_000)
        return copy(src, dst, count, at)

    monkeypatch.setattr(os, "copy_file_range", shrinking)
    with pytest.raises(GraphfixError, match="was cut short while it was in use"):
        container.save(source.parent / "out.onnx")
    assert files(source.parent) == {"m.onnx"}


@pytest.mark.ci
def test_nothing_stays_open_when_a_model_is_let_go(source: Path) -> None:
    def descriptors() -> int:
        return len(list(Path("/dev/fd").iterdir()))

    gc.collect()  # else files that earlier tests left in cycles may be closed between two counts
    before = descriptors()
    container = read(source)
    assert descriptors() > before
    payload = container.source.data[slice(*container.cuts[0].raw)]
    del container
    assert bytes(payload[:4]) == made.floats("big", BIG).raw_data[:4]
    del payload
    assert descriptors() == before


@pytest.mark.parametrize("longer", [b"", b"more"], ids=["written again", "longer"])
def test_a_file_that_was_changed_while_it_is_in_use_is_not_put_into_bytes(source: Path, longer: bytes) -> None:
    container, content = read(source), source.read_bytes()
    assert container.tobytes() == content
    with source.open("r+b") as file:
        file.write(content + longer)
    os.utime(source, ns=(1, 1))
    with pytest.raises(GraphfixError, match="the file was changed while it was in use; read it again"):
        container.tobytes()
