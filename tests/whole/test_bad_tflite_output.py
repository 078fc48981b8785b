"""TFLite outputs that can't be written: one line, no trace, the input untouched."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from typing import TYPE_CHECKING

import numpy as np
import pytest

from tests.support.asking import FAILED, ask, listing, refused
from tests.support.places import ROOT
from tests.support.tflite.broken import edited
from tests.whole.test_bad_output import FAULTS, refuse_large_copies

if TYPE_CHECKING:
    from pathlib import Path

WEIGHT = 1 << 20
"""Bytes of a payload that the kernel is asked to copy."""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A model with something to fix and a payload of 1 MiB."""

    def weigh(made: object) -> None:
        made.buffers[1].data = np.ones(WEIGHT // 4, np.float32).tobytes()  # type: ignore[attr-defined]  # no types there

    path = tmp_path / "m.tflite"
    path.write_bytes(edited(weigh, "y[2,512,512] = ADD(x[2,512,512], b:const[512,512])"))
    return path


@pytest.mark.parametrize("options", [[], ["--no-verify"]], ids=["verified", "unverified"])
@pytest.mark.parametrize("spelling", ["itself", "./", "symlink", "hard-link", "through-a-symlinked-folder"])
def test_the_input_is_not_overwritten_under_any_name(
    spelling: str, options: list[str], source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "link.tflite").symlink_to(source)
    (tmp_path / "hard.tflite").hardlink_to(source)
    (tmp_path / "linked").symlink_to(tmp_path)
    output = {
        "itself": str(source),
        "./": f"{tmp_path}/./m.tflite",
        "symlink": str(tmp_path / "link.tflite"),
        "hard-link": str(tmp_path / "hard.tflite"),
        "through-a-symlinked-folder": str(tmp_path / "linked" / "m.tflite"),
    }[spelling]
    assert "the output is the input" in refused(capsys, tmp_path, "fix", source, "-o", output, *options)


@pytest.mark.parametrize(
    ("output", "words"),
    [
        ("absent/o.tflite", "folder does not exist"),
        ("sub", "a folder"),
        ("pipe", "not a regular file"),
        ("m.tflite/o.tflite", "folder"),
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


@pytest.mark.parametrize("options", [["--target", "ranks"], ["--no-verify"]], ids=["verified", "unverified"])
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
    old = tmp_path / "old.tflite"
    old.write_bytes(b"what was there before")
    for argv in (["-o", tmp_path / "new.tflite"], ["-o", old], ["--in-place"]):
        with monkeypatch.context() as patch:
            break_it(patch, code)
            line = refused(capsys, tmp_path, "fix", source, *argv, *options)
        assert words in line.lower()


@pytest.mark.ci
def test_a_failing_disk_does_not_spoil_a_later_run(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        refuse_large_copies(patch, 28)
        refused(capsys, tmp_path, "fix", source, "--in-place", "--no-verify")
    assert ask(capsys, "fix", source, "--in-place").status == 0
    assert ask(capsys, "check", source).status == 0


def test_an_input_that_is_written_meanwhile_leaves_no_trace(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another program replaces the bytes between reading and copying them."""
    from graphfix.engine import run as engine

    run = engine.run

    def write(*given: object, **named: object) -> object:
        with source.open("r+b") as file:
            file.seek(-100, os.SEEK_END)
            file.write(b"something else" * 9)
        return run(*given, **named)  # type: ignore[arg-type]  # passed on as they came

    monkeypatch.setattr(engine, "run", write)
    answer = ask(capsys, "fix", source, "-o", tmp_path / "o.tflite", "--no-verify", "--target", "ranks")
    assert (answer.status, len(answer.lines)) == (FAILED, 1), answer
    assert [path.name for path in tmp_path.iterdir()] == ["m.tflite"]


# --- the real command -------------------------------------------------------------------------------------------------


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
    for options in (["-o", tmp_path / "o.tflite"], ["-o", tmp_path / "o.tflite", "--no-verify"], ["--in-place"]):
        done = command("fix", source, *options, limit=WEIGHT // 2)
        assert (done.returncode, done.stdout) == (FAILED, "")
        assert done.stderr.startswith("graphfix: ")
        assert done.stderr.count("\n") == 1
        assert "file too large" in done.stderr.lower()
        assert listing(tmp_path) == before


@pytest.mark.ci
def test_the_command_ends_bad_input_with_one_line_and_status_2(source: Path, tmp_path: Path) -> None:
    cut = tmp_path / "cut.tflite"
    cut.write_bytes(source.read_bytes()[:1000])
    before = listing(tmp_path)
    for argv in (
        ["check", tmp_path / "absent.tflite"],
        ["check", cut],
        ["fix", cut, "-o", tmp_path / "o.tflite"],
        ["show", cut],
        ["verify", source, cut],
        ["check", ROOT / "models" / "rfc/incompatible.tflite"],
    ):
        done = command(*argv)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (FAILED, "", 1), done
        assert done.stderr.startswith("graphfix: ")
    assert listing(tmp_path) == before
