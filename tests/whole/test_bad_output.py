"""Places that can't be written to, systems that refuse in the middle: one line, no trace, the input untouched."""

from __future__ import annotations

import errno
import os
import resource
import stat
import subprocess
import sys
from typing import TYPE_CHECKING

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from graphfix.cli.status import DONE
from tests.support.asking import FAILED, ask, listing, refused
from tests.support.onnx.broken import external, model
from tests.support.places import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

WEIGHT = 1 << 20
"""Bytes of a payload that the kernel is asked to copy."""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A model with something to fix and a payload of 1 MiB."""
    made = model("g (float[2,512,512] x) => (float[2,512,512] y) { y = Add(x, w) }")
    made.graph.initializer.append(numpy_helper.from_array(np.ones((512, 512), np.float32), "w"))
    path = tmp_path / "m.onnx"
    path.write_bytes(made.SerializeToString())
    return path


@pytest.mark.parametrize("verified", [True, False], ids=["verified", "unverified"])
@pytest.mark.parametrize("spelling", ["itself", "./", "symlink", "hard-link", "through-a-symlinked-folder"])
def test_the_input_is_not_overwritten_under_any_name(
    spelling: str,
    verified: bool,
    source: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "link.onnx").symlink_to(source)
    (tmp_path / "hard.onnx").hardlink_to(source)
    (tmp_path / "linked").symlink_to(tmp_path)
    output = {
        "itself": str(source),
        "./": f"{tmp_path}/./m.onnx",
        "symlink": str(tmp_path / "link.onnx"),
        "hard-link": str(tmp_path / "hard.onnx"),
        "through-a-symlinked-folder": str(tmp_path / "linked" / "m.onnx"),
    }[spelling]
    options = [] if verified else ["--no-verify"]
    assert "the output is the input" in refused(capsys, tmp_path, "fix", source, "-o", output, *options)


@pytest.mark.parametrize(
    ("name", "output", "said"),
    [
        ("m.onnx", "o.tflite", True),
        ("m.onnx", "O.TFLITE", True),
        ("m.onnx", "o.bin", False),
        ("m.tflite", "o.tflite", False),
        ("m.tflite", "o.onnx", False),
    ],
)
def test_a_result_that_is_named_as_a_model_of_the_other_format_is_told_of(
    name: str, output: str, source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], *, said: bool
) -> None:
    """It is written: the content says what a file is. That it was converted nobody shall believe."""
    source.rename(tmp_path / name)
    answer = ask(capsys, "fix", tmp_path / name, "-o", tmp_path / output, "--no-verify")
    assert answer.status == 0, answer
    assert (f"{output} holds an ONNX model, as the input does: graphfix converts none" in answer.out) == said


@pytest.mark.parametrize(
    ("output", "words"),
    [
        ("absent/o.onnx", "folder does not exist"),
        ("sub", "a folder"),
        ("pipe", "not a regular file"),
        ("m.onnx/o.onnx", "folder"),
        ("n" * 300, "name too long"),
    ],
)
def test_a_place_that_holds_no_file_is_refused(
    output: str, words: str, source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "sub").mkdir()
    os.mkfifo(tmp_path / "pipe")
    for options in ([], ["--no-verify"]):
        assert words in refused(capsys, tmp_path, "fix", source, "-o", tmp_path / output, *options).lower()


def test_a_report_that_can_not_be_written_is_refused_before_the_work(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "sub.json").mkdir()
    for report in ("r.txt", "absent/r.json", "sub.json"):
        refused(capsys, tmp_path, "fix", source, "-o", tmp_path / "o.onnx", "--report", tmp_path / report)


@pytest.mark.parametrize("command", ["check", "fix"])
@pytest.mark.parametrize(
    ("report", "said"),
    [
        ("pipe.json", "this is a pipe; give the path of a file for the report"),
        ("link-to-pipe.json", "this is a pipe; give the path of a file for the report"),
        ("full.json", "this is a device; give the path of a file for the report"),
        ("stdout.json", "this is an open file of the process; choose another name"),
    ],
)
def test_a_report_does_not_replace_a_pipe_or_a_device(
    command: str, report: str, said: str, source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    os.mkfifo(tmp_path / "pipe.json")
    (tmp_path / "link-to-pipe.json").symlink_to("pipe.json")
    (tmp_path / "full.json").symlink_to("/dev/full")
    (tmp_path / "stdout.json").symlink_to("/dev/stdout")
    out = ["-o", tmp_path / "o.onnx"] if command == "fix" else []
    line = refused(capsys, tmp_path, command, source, *out, "--report", tmp_path / report)
    assert line == f"graphfix: {tmp_path / report}: {said}"


@pytest.mark.parametrize("target", ["there", "absent"])
def test_a_report_replaces_a_link_to_a_file_as_the_output_does(
    target: str, source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report, output = tmp_path / "r.json", tmp_path / "o.onnx"
    for link in (report, output):
        (tmp_path / f"there{link.suffix}").write_text("untouched")
        link.symlink_to(f"{target}{link.suffix}")
    assert ask(capsys, "fix", source, "-o", output, "--no-verify", "-q", "--report", report).status == DONE
    for link in (report, output):
        assert not link.is_symlink()
        assert (tmp_path / f"there{link.suffix}").read_text() == "untouched"
        assert not (tmp_path / f"absent{link.suffix}").exists()


# --- a system that refuses -------------------------------------------------------------------------------------


def refuse_to_create(monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    """No file can be made: a read-only folder or file system (a chmod does not stop root, who runs the tests)."""
    real = os.open

    def refuse(path: str, flags: int, *more: object, **named: object) -> int:
        if flags & os.O_CREAT:
            raise OSError(code, os.strerror(code), path)
        return real(path, flags, *more, **named)  # type: ignore[arg-type]  # passed on as they came

    monkeypatch.setattr(os, "open", refuse)


def refuse_to_write(monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    """The disk is full after the first bytes, whichever way they are written."""

    def refuse(*_: object, **__: object) -> int:
        raise OSError(code, os.strerror(code))

    for name in ("write", "copy_file_range", "sendfile"):
        monkeypatch.setattr(os, name, refuse, raising=False)


def refuse_large_copies(monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    """The disk becomes full in the middle: the skeleton fits, the payload does not."""

    def refuse(*_: object, **__: object) -> int:
        raise OSError(code, os.strerror(code))

    for name in ("copy_file_range", "sendfile"):
        monkeypatch.setattr(os, name, refuse, raising=False)


def refuse_to_rename(monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    def refuse(old: str, _: str, **__: object) -> None:
        raise OSError(code, os.strerror(code), old)

    monkeypatch.setattr(os, "replace", refuse)
    monkeypatch.setattr(os, "rename", refuse)


FAULTS: dict[str, tuple[Callable[[pytest.MonkeyPatch, int], None], int, str]] = {
    "read-only-folder": (refuse_to_create, errno.EACCES, "permission denied"),
    "read-only-file-system": (refuse_to_create, errno.EROFS, "read-only file system"),
    "full-disk-at-once": (refuse_to_write, errno.ENOSPC, "no space left on device"),
    "full-disk-in-the-middle": (refuse_large_copies, errno.ENOSPC, "no space left on device"),
    "quota": (refuse_large_copies, errno.EDQUOT, "quota exceeded"),
    "broken-disk": (refuse_to_write, errno.EIO, "input/output error"),
    "no-rename": (refuse_to_rename, errno.EACCES, "permission denied"),
}


@pytest.mark.parametrize("options", [[], ["--no-verify"]], ids=["verified", "unverified"])
@pytest.mark.parametrize("fault", FAULTS)
def test_a_system_that_refuses_leaves_no_trace(
    fault: str,
    options: list[str],
    source: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    break_it, code, words = FAULTS[fault]
    old = tmp_path / "old.onnx"
    old.write_bytes(b"what was there before")
    for argv in (["-o", tmp_path / "new.onnx"], ["-o", old], ["--in-place"]):
        with monkeypatch.context() as patch:
            break_it(patch, code)
            line = refused(capsys, tmp_path, "fix", source, *argv, *options)
        assert words in line.lower()


def test_a_data_file_that_can_not_be_copied_leaves_no_trace(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "data.bin").write_bytes(bytes(WEIGHT))
    path = external(tmp_path / "m.onnx", "data.bin")
    for break_it in (refuse_to_create, refuse_to_write, refuse_large_copies, refuse_to_rename):
        with monkeypatch.context() as patch:
            break_it(patch, errno.ENOSPC)
            refused(capsys, tmp_path, "fix", path, "-o", tmp_path / "there" / "o.onnx", "--no-verify")


@pytest.mark.ci
def test_a_failing_disk_does_not_spoil_a_later_run(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        refuse_large_copies(patch, errno.ENOSPC)
        refused(capsys, tmp_path, "fix", source, "--in-place")
    assert ask(capsys, "fix", source, "--in-place").status == 0
    assert onnx.load(source).graph.initializer[0].dims == [1, 512, 512]


@pytest.mark.ci
def test_a_kernel_that_copies_nothing_is_replaced_by_reading(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse_large_copies(monkeypatch, errno.EXDEV)
    assert ask(capsys, "fix", source, "-o", tmp_path / "o.onnx").status == 0


# --- the real command ------------------------------------------------------------------------------------------


def command(*argv: object, limit: int | None = None) -> subprocess.CompletedProcess[str]:
    """`python -m graphfix` in a process of its own; `limit` is the largest file that it may write, in bytes."""

    def restrict() -> None:
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    return subprocess.run(
        [sys.executable, "-m", "graphfix", *map(str, argv)],
        check=False,
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=120,
        preexec_fn=restrict,  # the limit must hold in the child alone
    )


@pytest.mark.ci
def test_a_disk_that_is_really_full_ends_in_one_line(source: Path, tmp_path: Path) -> None:
    before = listing(tmp_path)
    for options in (["-o", tmp_path / "o.onnx"], ["-o", tmp_path / "o.onnx", "--no-verify"], ["--in-place"]):
        done = command("fix", source, *options, limit=WEIGHT // 2)
        assert (done.returncode, done.stdout) == (FAILED, "")
        assert done.stderr.startswith("graphfix: ")
        assert done.stderr.count("\n") == 1
        assert "file too large" in done.stderr.lower()
        assert listing(tmp_path) == before


@pytest.mark.ci
def test_the_command_ends_bad_input_with_one_line_and_status_2(tmp_path: Path) -> None:
    absent, cut = tmp_path / "absent.onnx", tmp_path / "cut.onnx"
    cut.write_bytes((ROOT / "models" / "encoder.onnx").read_bytes()[:1000])
    for argv in (
        ["check", absent],
        ["fix", cut, "-o", tmp_path / "o.onnx"],
        ["check", ROOT / "models/rfc/incompatible.onnx"],
    ):
        done = command(*argv)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (FAILED, "", 1), done
        assert done.stderr.startswith("graphfix: ")
    assert [path.name for path in tmp_path.iterdir()] == ["cut.onnx"]


def test_the_replaced_file_keeps_its_permissions(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for options in ([], ["--no-verify"]):
        old = tmp_path / "old.onnx"
        old.write_bytes(b"what was there before")
        old.chmod(0o640)
        assert ask(capsys, "fix", source, "-o", old, *options).status == 0
        assert stat.S_IMODE(old.stat().st_mode) == 0o640
