"""Where there are colours: the option counts before NO_COLOR, that before FORCE_COLOR, and that before the terminal."""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING

import pytest

from graphfix.cli import terminal
from graphfix.report import colour
from graphfix.report.table import table
from graphfix.results import Outcome, Site, Verdict
from tests.support.asking import ask
from tests.support.places import ROOT

if TYPE_CHECKING:
    from pathlib import Path

MODEL = ROOT / "models" / "operators" / "where_mask.onnx"
SET = {"no": {"NO_COLOR": "1"}, "force": {"FORCE_COLOR": "1"}, "both": {"NO_COLOR": "1", "FORCE_COLOR": "1"}}
EMPTY = {"NO_COLOR": "", "FORCE_COLOR": ""}
DUMB = {"TERM": "dumb"}


class Stream(io.StringIO):
    def __init__(self, *, terminal: bool) -> None:
        super().__init__()
        self._terminal = terminal

    def isatty(self) -> bool:
        return self._terminal


@pytest.mark.parametrize(
    ("asked", "environment", "on_a_terminal", "expected"),
    [
        ("auto", {}, True, True),
        ("auto", {}, False, False),
        ("auto", DUMB, True, False),
        ("auto", SET["no"], True, False),
        ("auto", SET["force"], False, True),
        ("auto", SET["force"] | DUMB, False, True),
        ("auto", SET["both"], True, False),
        ("auto", EMPTY, True, True),
        ("auto", EMPTY, False, False),
        ("always", SET["no"], False, True),
        ("never", SET["force"], True, False),
    ],
)
def test_what_decides_about_colours(
    monkeypatch: pytest.MonkeyPatch, asked: str, environment: dict[str, str], *, on_a_terminal: bool, expected: bool
) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    paint = terminal.paint(asked, Stream(terminal=on_a_terminal))
    assert paint is (colour.coloured if expected else colour.plain)


@pytest.mark.parametrize(
    "argv", [["show"], ["show", "--maps"], ["check"], ["fix", "--dry-run"], ["fix", "--diff"]], ids=" ".join
)
def test_the_text_is_the_same_without_its_colours(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, argv: list[str]
) -> None:
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    painted = ask(capsys, argv[0], MODEL, *argv[1:], "--color", "always").out
    bare = ask(capsys, argv[0], MODEL, *argv[1:]).out
    assert "\x1b[" in painted
    assert "\x1b" not in bare
    without = painted
    for number in colour.SEQUENCES.values():
        without = without.replace(f"\x1b[{number}m", "")
    without = without.replace("\x1b[0m", "")
    assert without_seconds(without) == without_seconds(bare)


def without_seconds(text: str) -> list[str]:
    return [line for line in text.splitlines() if not re.match(r"\d+\.\d\d s", line)]


def test_an_error_names_the_program_in_a_colour(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    said = ask(capsys, "show", tmp_path / "none\x1b[31m.onnx", "--color", "always")
    assert said.err.startswith("\x1b[1;31mgraphfix:\x1b[0m ")
    assert "\x1b[31m.onnx" not in said.err


@pytest.mark.parametrize(
    ("status", "painted"),
    [
        ("proved", "\x1b[32mproved\x1b[0m"),
        ("different", "\x1b[1;31mdifferent\x1b[0m:"),
        ("undecided", "\x1b[33mundecided"),
    ],
)
def test_the_word_of_a_verdict_has_its_colour(status: str, painted: str) -> None:
    outcome = Outcome("verify", "a.onnx", "onnx", output="b.onnx", verdict=Verdict(status))  # type: ignore[arg-type]
    assert painted in table(outcome, colour.coloured)


def test_names_paint_nothing_in_the_table() -> None:
    evil = "n\x1b[31m\u202e\n"
    sites = [Site("GF101", evil, evil, evil, 0, (evil,), (1, evil), kind, None, evil) for kind in ("found", "left")]
    for whole in (False, True):
        text = table(Outcome("check", evil, "onnx", sites=sites), colour.coloured, is_complete=whole)  # type: ignore[arg-type]
        assert "\x1b[31m" not in text
        assert "\u202e" not in text
