"""What is told of a batch while it runs: the bar's text, and on a terminal a bar that makes room for lines."""

from __future__ import annotations

import os
import re
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest

from graphfix.batch.jobs.job import Finished, Job, Limits
from graphfix.cli.batch import display
from graphfix.cli.batch.display import Display
from graphfix.engine.request import Request
from graphfix.results import Outcome
from tests.support import small_models
from tests.support.places import ROOT


def finished(name: str) -> Finished:
    job = Job(name, name, "out", "fix", Request(), Limits(1.0))
    return Finished(job, Outcome("fix", name, "onnx", output="f"), 0.5)


@pytest.fixture
def told() -> list[tuple[str, int, int]]:
    return []


def shown(
    told: list[tuple[str, int, int]], running: list[str], monkeypatch: pytest.MonkeyPatch, *, lines: bool = False
) -> Display:
    """A display whose clock stands at 100 until the test sets it."""
    monkeypatch.setattr(display, "SOON", -1.0)
    monkeypatch.setattr(time, "monotonic", lambda: 100.0)
    return Display(lambda text, done=0, total=0, /: told.append((text, done, total)), 10, lambda: running, lines)


def test_the_bar_says_the_rate_the_time_left_and_what_is_worked_on(
    told: list[tuple[str, int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = shown(told, ["zoo/a.onnx", "zoo/b.onnx", "zoo/c.onnx"], monkeypatch)
    made.tick()
    monkeypatch.setattr(time, "monotonic", lambda: 104.0)
    made.finished(finished("zoo/z.onnx"))
    made.finished(finished("zoo/y.onnx"))
    assert told[0] == ("0 a second: a.onnx, b.onnx and 1 more", 0, 10)
    assert told[-1] == ("0.5 a second, 16 s left: a.onnx, b.onnx and 1 more", 2, 10)


def test_where_nothing_runs_it_waits_and_long_names_are_cut(
    told: list[tuple[str, int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    shown(told, [], monkeypatch).tick()
    shown(told, ["n" * 99], monkeypatch).tick()
    shown(told, ["zoo/a.onnx", "zoo/b.onnx"], monkeypatch).tick()
    assert [text for text, _, _ in told] == [
        "0 a second: waiting", f"0 a second: {'n' * 23}…", "0 a second: a.onnx, b.onnx"
    ]  # fmt: skip


def test_hours_are_no_seconds(told: list[tuple[str, int, int]], monkeypatch: pytest.MonkeyPatch) -> None:
    made = shown(told, ["a"], monkeypatch)
    monkeypatch.setattr(time, "monotonic", lambda: 1000.0)
    made.finished(finished("z"))
    assert told[-1][0].startswith("0.0011 a second, 2:15 h left")


def test_in_lines_each_model_is_told_and_time_alone_is_not(
    told: list[tuple[str, int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = shown(told, ["a"], monkeypatch, lines=True)
    made.tick()
    made.finished(finished("z.onnx"))
    assert told == [("unchanged        0.50 s  z.onnx", 1, 10)]


def on_a_terminal(folder: Path, *argv: str, color: bool = True) -> tuple[int, bytes]:
    """The status of a batch whose streams are one terminal, and all that it wrote there."""
    import pty

    ours, theirs = pty.openpty()
    path = os.pathsep.join(map(str, (ROOT, *sys.path)))
    environment = {**os.environ, "PYTHONPATH": path, "TERM": "xterm", "COLUMNS": "100", "LINES": "40"}
    environment |= {} if color else {"NO_COLOR": "1"}
    command = [sys.executable, "-P", "-m", "graphfix", "batch", *argv]
    with subprocess.Popen(command, stdout=theirs, stderr=theirs, stdin=theirs, env=environment, cwd=folder) as asked:
        os.close(theirs)
        said = b""
        while select.select([ours], [], [], 30)[0]:
            try:
                said += os.read(ours, 4096)
            except OSError:  # the other end is closed
                break
        os.close(ours)
    return asked.returncode, said


@pytest.mark.ci
@pytest.mark.skipif(os.name == "nt", reason="Windows has no pseudo-terminals of this kind")
@pytest.mark.parametrize("color", [True, False])
def test_on_a_terminal_lines_stay_whole_above_the_bar(tmp_path: Path, color: bool) -> None:
    own = small_models.rewrite(tmp_path, "import time\n    time.sleep(1.5)\n    return")
    small_models.multiplying(tmp_path / "zoo/a.onnx")
    small_models.adding(tmp_path / "zoo/b.onnx")
    small_models.multiplying(tmp_path / "zoo/c.onnx")
    status, said = on_a_terminal(tmp_path, "zoo", "-o", "out", "--jobs", "1", "--rewrites", own.name, color=color)
    assert status == 0
    text = said.decode()
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)
    assert "batch: " in plain
    assert "0/3" in plain
    assert "a.onnx" in plain
    lines = [line for line in re.split(r"[\r\n]+", plain) if line.startswith("written")]
    assert [line.split()[3] for line in lines] == ["zoo/a.onnx:", "zoo/b.onnx:", "zoo/c.onnx:"]
    assert re.split(r"[\r\n]+", plain.rstrip())[-1].startswith("3 models: 3 written")
    assert ("\x1b[32mwritten" in text) == color


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0.4, "0 s"),
        (119.4, "119 s"),
        (119.9, "120 s"),
        (120, "0:02 h"),
        (149, "0:02 h"),
        (151, "0:03 h"),
        (3570, "1:00 h"),
        (36_540, "10:09 h"),
    ],
)
def test_what_is_left_is_said_in_seconds_or_in_hours(seconds: float, said: str) -> None:
    assert display._span(seconds) == said
