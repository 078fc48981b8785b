"""A standard stream that is closed or full: no traceback, and the exit status that the answer has."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.places import ROOT

MODEL = str(ROOT / "models" / "rfc_rank_expansion.onnx")
pytestmark = pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")


def ended(words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """What became of `graphfix WORDS`, as a shell runs it; the words may redirect streams."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = f"exec {sys.executable} -m graphfix {words}"
    return subprocess.run(
        ["/bin/sh", "-c", command], capture_output=True, text=True, env=environment, cwd=folder, check=False
    )


@pytest.mark.ci
@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (f"check {MODEL} >&-", 1, ""),
        (f"check {MODEL} >&- 2>&- <&-", 1, ""),
        (f"show {MODEL} >&-", 0, ""),
        ("--help >&-", 0, ""),
        (f"check {MODEL} >/dev/full", 2, "graphfix: stdout: No space left on device\n"),
        ("--help >/dev/full", 2, "graphfix: stdout: No space left on device\n"),
        ("check none.onnx 2>&-", 2, ""),
        ("check none.onnx 2>/dev/full", 2, ""),
        ("check none.onnx -v 2>/dev/full", 2, ""),
        ("--nothing 2>/dev/full", 2, ""),
        ("--nothing 2>&-", 2, ""),
    ],
)
def test_the_status_is_the_answer_s(tmp_path: Path, words: str, status: int, said: str) -> None:
    done = ended(words, tmp_path)
    assert (done.returncode, done.stderr) == (status, said)
    assert "Traceback" not in done.stdout


@pytest.mark.ci
def test_a_file_that_is_written_takes_the_place_of_no_closed_stream(tmp_path: Path) -> None:
    done = ended(f"fix {MODEL} -o f.onnx --report r.md --no-verify >&- 2>&- <&-", tmp_path)
    assert done.returncode == 0
    assert (tmp_path / "r.md").read_text(encoding="utf-8").startswith("#")
    plain = ended(f"fix {MODEL} -o plain.onnx --no-verify", tmp_path)
    assert plain.returncode == 0
    assert (tmp_path / "f.onnx").read_bytes() == (tmp_path / "plain.onnx").read_bytes()
