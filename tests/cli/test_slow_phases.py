"""Off a terminal each phase that takes long is one line on stderr; short phases, -q and stdout are left alone."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

import pytest

from graphfix.batch.jobs.job import Finished, Job, Limits
from graphfix.cli import slow_phases, terminal
from graphfix.cli.batch.display import Display
from graphfix.cli.slow_phases import SlowModels, SlowPhases
from graphfix.engine.request import Request
from graphfix.results import Outcome
from graphfix.results.progress import Notice
from tests.support.notation import model
from tests.support.places import ROOT

SLOWED = """
import importlib, os, sys, time
from graphfix.cli import slow_phases
slow_phases.LONG = 0.3
for text in os.environ["SLOW"].split():
    place, name = text.split(":")
    owner = importlib.import_module(place)
    *classes, name = name.split(".")
    for each in classes:
        owner = getattr(owner, each)
    def slow(*arguments, function=getattr(owner, name), **options):
        time.sleep(0.6)
        return function(*arguments, **options)
    setattr(owner, name, slow)
sys.argv[0] = "graphfix"
from graphfix.__main__ import run
run()
"""
"""A graphfix in which some functions are slow, and a phase is long after 0.3 s."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("m.onnx", "n.onnx"):
        (tmp_path / name).write_bytes(model("y[2,3] = Add(x[2,3], b[3])").SerializeToString())
    return tmp_path


def asked(folder: Path, slow: str, *words: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    environment = {**os.environ, "SLOW": slow, "PYTHONPATH": os.pathsep.join(map(str, (ROOT, *sys.path)))}
    command = [sys.executable, "-P", "-c", SLOWED, *words]
    return subprocess.run(
        command, cwd=folder, env=environment, input=stdin, capture_output=True, check=False, timeout=60
    )


def phases(answer: subprocess.CompletedProcess[bytes]) -> list[str]:
    """What the lines on stderr name, without the seconds."""
    lines = answer.stderr.decode().splitlines()
    assert all(re.match(r"graphfix: .* s so far\)($|; --)", line) for line in lines), lines
    return [line.removeprefix("graphfix: ").rpartition(" (")[0] for line in lines]


READ, PLAN, RUN = "graphfix.formats:load", "graphfix.engine.run:run", "graphfix.runtimes.process:Child.finish"
FIX = ("fix", "m.onnx", "-o", "f.onnx")


@pytest.mark.ci
@pytest.mark.parametrize(
    ("slow", "words", "said"),
    [
        (READ, FIX, ["m.onnx: reading the model"]),
        (f"{READ} {PLAN}", FIX, ["m.onnx: reading the model", "m.onnx: planning"]),
        ("graphfix.checker.proof:prove", FIX, ["m.onnx: proving"]),
        (RUN, FIX, ["m.onnx: running"]),
        (PLAN, ("check", "m.onnx", "n.onnx"), ["m.onnx (1 of 2): planning", "n.onnx (2 of 2): planning"]),
        (READ, ("show", "m.onnx"), ["m.onnx: reading the model"]),
        ("graphfix.batch.sources:models", ("batch", "m.onnx", "-o", "out"), ["batch: listing the models"]),
        ("shutil:copyfileobj", ("check", "-"), ["stdin: reading the model"]),
    ],
    ids=str,
)
def test_each_long_phase_is_one_line(folder: Path, slow: str, words: Sequence[str], said: list[str]) -> None:
    stdin = (folder / "m.onnx").read_bytes()
    answer = asked(folder, slow, *words, stdin=stdin)
    expected = asked(folder, "graphfix.cli.parser:said", *words, stdin=stdin)
    found = phases(answer)
    assert [begun for begun in said if any(name.startswith(begun) for name in found)] == said
    assert answer.returncode == expected.returncode


@pytest.mark.ci
def test_the_document_on_stdout_is_untouched(folder: Path) -> None:
    answer = asked(folder, PLAN, *FIX, "--json")
    assert json.loads(answer.stdout)["output"] == "f.onnx"
    assert "m.onnx: planning" in phases(answer)


@pytest.mark.ci
def test_quiet_is_silent(folder: Path) -> None:
    answer = asked(folder, f"{READ} {PLAN} {RUN}", *FIX, "-q")
    assert (answer.returncode, answer.stdout, answer.stderr) == (0, b"", b"")


def test_the_limit_is_ten_seconds_and_short_phases_are_silent(capsys: pytest.CaptureFixture[str]) -> None:
    assert slow_phases.LONG == 10
    with terminal.watched(Namespace(quiet=False, verbose=False, color="never"), "m.onnx") as progress:
        assert isinstance(progress, SlowPhases)
        progress("planning")
        time.sleep(0.05)
    assert capsys.readouterr() == ("", "")


def at(seconds: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "monotonic", lambda: seconds)


def test_a_phase_is_printed_once_and_not_before_its_time(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = SlowPhases("m.onnx")
    for seconds, done in ((100.0, 0), (109.9, 1), (110.2, 2), (130.0, 3)):
        at(seconds, monkeypatch)
        shown("running the second model", done, 4)
        shown._look()
    assert capsys.readouterr().err == "graphfix: m.onnx: running the second model (10 s so far)\n"


def test_phases_that_alternate_are_added_up(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = SlowPhases("m.onnx")
    for turn in range(8):
        at(3.0 * turn, monkeypatch)
        shown(("running LiteRT", "running the TOSA reference model")[turn % 2])
        at(3.0 * turn + 2.9, monkeypatch)
        shown._look()
    said = capsys.readouterr().err.splitlines()
    assert said == [
        "graphfix: m.onnx: running LiteRT (12 s so far)",
        "graphfix: m.onnx: running the TOSA reference model (12 s so far)",
    ]


def test_before_the_first_phase_and_behind_the_last_nothing_is_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(slow_phases, "LONG", 0.05)
    with SlowPhases("m.onnx") as shown:
        time.sleep(0.2)
        shown("planning")
    time.sleep(0.2)
    assert capsys.readouterr().err == ""


def test_a_phase_that_lasts_is_printed_while_it_lasts(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(slow_phases, "LONG", 0.02)
    with SlowPhases("m.onnx") as shown:
        shown("planning")
        time.sleep(0.1)
    assert capsys.readouterr().err == "graphfix: m.onnx: planning (0 s so far)\n"


def test_a_notice_is_printed_at_once_and_ends_no_phase(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = SlowPhases("m.onnx")
    at(0.0, monkeypatch)
    shown("planning")
    at(9.0, monkeypatch)
    shown(Notice("one run takes about 60 s"))
    at(11.0, monkeypatch)
    shown._look()
    said = capsys.readouterr().err.splitlines()
    assert said == ["graphfix: one run takes about 60 s", "graphfix: m.onnx: planning (11 s so far)"]


def test_each_long_model_of_a_batch_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    running: list[str] = ["zoo/a.onnx", "zoo/b.onnx"]
    job = Job("zoo/z.onnx", "zoo/z.onnx", "out", "fix", Request(), Limits(1.0))
    with terminal.watched(Namespace(quiet=False, verbose=False, color="never"), "batch") as progress:
        at(100.0, monkeypatch)
        display = Display(progress, 5, lambda: running, in_lines=False, slow=SlowModels("fix"))
        display.tick()
        at(108.0, monkeypatch)
        display.finished(Finished(job, Outcome("fix", "z.onnx", "onnx", output="f"), 0.5))
        assert capsys.readouterr().err == ""
        at(110.5, monkeypatch)
        display.tick()
        at(125.0, monkeypatch)
        running[:] = ["zoo/b.onnx", "zoo/c.onnx"]
        display.tick()
        at(126.0, monkeypatch)
        display.tick()
    said = capsys.readouterr().err.splitlines()
    hint = "; --runs N limits the runs, --no-verify makes none, --time-limit SECONDS ends a model earlier"
    assert said == [
        f"graphfix: zoo/a.onnx: not finished, 1 of 5 models done (10 s so far){hint}",
        "graphfix: zoo/b.onnx: not finished, 1 of 5 models done (10 s so far)",
    ]


@pytest.mark.parametrize("command", ["check", ""])
def test_a_batch_without_runs_names_the_time_limit_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    slow = SlowModels(command)
    for now in (0.0, 11.0):
        at(now, monkeypatch)
        slow.look(["a.onnx"], "0 of 1 model done")
    hint = "; --time-limit SECONDS ends a model earlier"
    assert capsys.readouterr().err == f"graphfix: a.onnx: not finished, 0 of 1 model done (11 s so far){hint}\n"


@pytest.mark.parametrize(
    ("command", "texts", "hints"),
    [
        ("fix", ["proving", "running the first model", "running the second model"], ["", "--runs N", ""]),
        ("verify", ["running both models with optimizations"], ["--proof-only makes none"]),
        ("tosa", ["converting with torch-mlir", "running the first model"], ["", "--no-verify leaves out"]),
        ("check", ["planning"], [""]),
    ],
)
def test_the_first_slow_phase_of_runs_names_the_options_that_shorten_it(
    capsys: pytest.CaptureFixture[str], command: str, texts: list[str], hints: list[str]
) -> None:
    phases = SlowPhases("m.onnx", command)
    for text in texts:
        phases(text)
        phases._earlier[text] = slow_phases.LONG
        phases._look()
    lines = capsys.readouterr().err.splitlines()
    for line, hint in zip(lines, hints, strict=True):
        assert hint in line
        assert ("; --" in line) == bool(hint)


@pytest.mark.parametrize(("quiet", "said"), [(False, "graphfix: batch: listing the models (0 s so far)\n"), (True, "")])
def test_one_phase_is_printed_where_nothing_is_quiet(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], quiet: bool, said: str
) -> None:
    monkeypatch.setattr(slow_phases, "LONG", 0.02)
    with terminal.one_phase(Namespace(quiet=quiet, verbose=False), "batch", "listing the models"):
        time.sleep(0.1)
    assert capsys.readouterr().err == said


@pytest.mark.parametrize(
    ("quiet", "verbose", "tty", "term", "unwatched"),
    [
        (False, False, False, "xterm", True),
        (True, False, False, "xterm", False),
        (False, True, False, "xterm", False),
        (False, False, True, "xterm", False),
        (False, False, True, "dumb", True),
        (True, False, True, "dumb", False),
    ],
)
def test_a_line_for_each_long_phase_is_for_whoever_sees_no_bar(
    monkeypatch: pytest.MonkeyPatch, quiet: bool, verbose: bool, tty: bool, term: str, unwatched: bool
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: tty, raising=False)
    monkeypatch.setenv("TERM", term)
    assert terminal.is_unwatched(Namespace(quiet=quiet, verbose=verbose)) == unwatched
