"""The bar of a long command: what it shows, how it makes room, and that it is gone at the end."""

from __future__ import annotations

import io
import re
import sys
import time
from argparse import Namespace
from collections.abc import Callable
from types import SimpleNamespace

import pytest

from graphfix.cli import progress
from graphfix.cli import terminal as of_cli
from graphfix.results.progress import Notice

CODES = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")


class Terminal(io.StringIO):
    """What a terminal is sent."""

    def isatty(self) -> bool:
        return True

    def shown(self) -> str:
        """The text alone, of what came since the last call."""
        text = CODES.sub("", self.getvalue())
        self.seek(0)
        self.truncate()
        return text


def a_terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Stderr from now on; a fixture would be too early, because pytest sets stderr when the test begins."""
    made = Terminal()
    monkeypatch.setattr(sys, "stderr", made)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.delenv("NO_COLOR", raising=False)
    return made


@pytest.mark.parametrize(
    ("step", "text", "count"),
    [
        (("run", 1, 4), "m.onnx: run", "1/4"),
        (("load",), "m.onnx: load", None),
        (("odd\x1b[31m :smile: [bold]b", 0, 3), "m.onnx: odd\\x1b[31m :smile: [bold]b", "0/3"),
        (None, "m.onnx ", None),
    ],
    ids=["counted", "not counted", "markup", "nothing yet"],
)
def test_the_bar_says_what_is_done(
    monkeypatch: pytest.MonkeyPatch, step: tuple[str, int, int] | None, text: str, count: str | None
) -> None:
    terminal = a_terminal(monkeypatch)
    bar = progress.Bar("m.onnx", color=False)
    if step is not None:
        bar(*step)
    bar.appear()
    try:
        shown = terminal.shown()
    finally:
        bar.vanish()
    assert text in shown
    assert re.findall(r"\d+/\d+", shown)[:1] == ([] if count is None else [count])
    assert re.search(r"0:00:0\d", shown)


def test_a_bar_that_is_shown_goes_on_with_each_step_and_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = a_terminal(monkeypatch)
    bar = progress.Bar("m.onnx", color=False)
    bar("run", 1, 4)
    bar.appear()
    bar("compare", 3, 4)
    bar.vanish()
    assert "m.onnx: compare" in CODES.sub("", terminal.getvalue())
    assert "3/4" in terminal.getvalue()
    assert terminal.getvalue().endswith("\x1b[2K")  # the line is wiped
    terminal.shown()
    bar.appear()
    assert terminal.getvalue() == ""


def test_a_notice_stands_above_the_bar_which_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = a_terminal(monkeypatch)
    bar = progress.Bar("m.onnx", color=False)
    bar("run", 1, 4)
    bar.appear()
    terminal.shown()
    streams = sys.stdout, sys.stderr
    bar(Notice("read this"))
    shown = terminal.shown()
    assert "m.onnx: run" in shown.partition("read this")[2]
    bar("run", 2, 4)
    bar.vanish()
    assert "2/4" in terminal.getvalue()
    assert (sys.stdout, sys.stderr) == streams


def test_what_is_printed_beside_the_bar_goes_where_it_went(monkeypatch: pytest.MonkeyPatch) -> None:
    a_terminal(monkeypatch)
    streams = sys.stdout, sys.stderr
    bar = progress.Bar("m.onnx", color=False)
    bar.appear()
    try:
        assert (sys.stdout, sys.stderr) == streams
    finally:
        bar.vanish()


def test_a_bar_that_appears_is_gone_when_the_command_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = a_terminal(monkeypatch)
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    with progress.shown("m\x07.onnx", color=False) as bar:
        bar("run", 1, 4)
        until = time.monotonic() + 20
        while "1/4" not in terminal.getvalue() and time.monotonic() < until:
            time.sleep(0.005)
    assert "m\\x07.onnx: run" in CODES.sub("", terminal.getvalue())
    assert terminal.getvalue().endswith("\x1b[2K")
    terminal.shown()
    bar("compare", 2, 4)
    assert terminal.getvalue() == ""


@pytest.mark.parametrize("color", [False, True])
def test_colours_are_those_that_were_asked_for(monkeypatch: pytest.MonkeyPatch, color: bool) -> None:
    terminal = a_terminal(monkeypatch)
    bar = progress.Bar("m.onnx", color=color)
    bar.appear()
    bar.vanish()
    assert bool(re.search(r"\x1b\[[0-9;]*m", re.sub(r"\x1b\[0?m", "", terminal.getvalue()))) == color


def test_a_line_for_each_step_has_its_count_and_the_seconds(capsys: pytest.CaptureFixture[str]) -> None:
    with progress.lines_of_progress(0.0) as told:
        told("read\x07")
        told("run", 0, 3)
    lines = capsys.readouterr().err.splitlines()
    assert [re.sub(r" +\d+\.\d\d s", " TIME", line) for line in lines] == [
        "graphfix: TIME  read\\x07",
        "graphfix: TIME  run (0 of 3)",
        "graphfix: TIME  done",
    ]


@pytest.mark.parametrize(
    ("color", "no_color", "coloured"),
    [("always", "", True), ("never", "", False), ("auto", "", True), ("auto", "1", False), ("always", "1", True)],
)
def test_the_bar_of_a_command_has_the_colours_of_stderr(
    monkeypatch: pytest.MonkeyPatch, color: str, no_color: str, coloured: bool
) -> None:
    a_terminal(monkeypatch)
    monkeypatch.setenv("NO_COLOR", no_color)
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    with of_cli.watched(Namespace(quiet=False, verbose=False, color=color), "m.onnx") as bar:
        assert isinstance(bar, progress.Bar)
        assert (bar.what, bar.color) == ("m.onnx", coloured)


def test_a_bar_appears_after_a_while_by_a_timer_that_keeps_no_process_alive(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[object] = []

    class Timer:
        daemon = False

        def __init__(self, seconds: float, function: Callable[[], None]) -> None:
            done.append((seconds, function.__name__))

        def start(self) -> None:
            done.append(("start", self.daemon))

        def cancel(self) -> None:
            done.append("cancel")

    monkeypatch.setattr(progress.threading, "Timer", Timer)

    def work(bar: progress.Bar) -> None:
        assert done == [(progress.PATIENCE, "appear"), ("start", True)]
        assert not bar.gone
        raise KeyError

    with pytest.raises(KeyError), progress.shown("m.onnx", color=False) as bar:
        work(bar)
    assert done[2:] == ["cancel"]
    assert bar.gone


def test_a_bar_comes_back_where_what_stands_above_it_fails() -> None:
    done: list[str] = []
    display = SimpleNamespace(start=lambda: done.append("start"), stop=lambda: done.append("stop"))
    bar = progress.Bar("m.onnx", color=False, _display=(display, 0))  # type: ignore[arg-type]

    def printed() -> None:
        done.append("printed")
        raise KeyError

    with pytest.raises(KeyError), bar.aside():
        printed()
    assert done == ["stop", "printed", "start"]
    with progress.Bar("m.onnx", color=False).aside():
        done.append("printed")
    bar.vanish()
    assert done[3:] == ["printed", "stop"]
