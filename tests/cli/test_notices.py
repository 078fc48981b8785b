"""A notice is seen on stderr whether a bar is drawn or not; short steps of a command are not."""

from __future__ import annotations

import io
import sys
from argparse import Namespace
from pathlib import Path

import pytest

from graphfix.cli import progress, terminal
from graphfix.results.progress import Notice
from tests.support.asking import ask
from tests.support.notation import model

STEP, NOTICE = "running", Notice("one run takes about 60 s")
LINE = "graphfix: one run takes about 60 s\n"


def options(*, quiet: bool = False, verbose: bool = False) -> Namespace:
    return Namespace(quiet=quiet, verbose=verbose, color="never")


def test_off_a_terminal_a_notice_is_printed_and_no_step(capsys: pytest.CaptureFixture[str]) -> None:
    with terminal.watched(options(), "m.onnx") as told:
        assert told is not None
        told(STEP)
        told(NOTICE)
    assert capsys.readouterr() == ("", LINE)


def test_quiet_prints_none(capsys: pytest.CaptureFixture[str]) -> None:
    with terminal.watched(options(quiet=True), "m.onnx") as told:
        assert told is None
    assert capsys.readouterr() == ("", "")


def test_verbose_prints_a_notice_among_the_steps(capsys: pytest.CaptureFixture[str]) -> None:
    with terminal.watched(options(verbose=True), "m.onnx") as told:
        assert told is not None
        told(STEP)
        told(NOTICE)
    assert [line.split(" s  ")[1] for line in capsys.readouterr().err.splitlines()] == [STEP, str(NOTICE), "done"]


def test_a_bar_lets_a_notice_stand_and_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", printed := io.StringIO())
    bar = progress.Bar("m.onnx", color=False)
    bar(STEP)
    bar(NOTICE)
    assert (printed.getvalue(), bar.state) == (LINE, (STEP, 0, 0))


@pytest.mark.ci
@pytest.mark.parametrize(
    "words",
    ["fix {} -o f.onnx", "fix {} --dry-run", "check {}", "show {}", "verify {} {}", "tosa {} -o m.tosa"],
    ids=lambda words: words.split(" ")[0],
)
def test_each_command_says_that_a_file_is_named_like_the_other_format(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    stored = model("y[2,3] = Add(x[2,3], b[3])").SerializeToString()
    for name, said in (("m.tflite", True), ("m.onnx", False), ("m", False)):
        Path(name).write_bytes(stored)
        answer = ask(capsys, *words.format(name, name).split())
        line = "m.tflite holds an ONNX model, although its name ends with .tflite: its content counts"
        assert (line in answer.err) == said
