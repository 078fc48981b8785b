"""A notice is seen on stderr whether a bar is drawn or not; short steps of a command are not."""

from __future__ import annotations

import io
import sys
from argparse import Namespace

import pytest

from graphfix.cli import progress, terminal
from graphfix.results.progress import Notice

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
