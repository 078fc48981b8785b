"""The page of symptoms: each has its section, and the messages that no example prints are those of the program.

The examples of the page run in test_examples.py.
"""

from __future__ import annotations

import re
import time

import pytest

from graphfix.api import pipeline
from graphfix.cli import slow_phases
from graphfix.cli.slow_phases import SlowPhases
from tests.docs.test_examples import blocks
from tests.support.asking import ask
from tests.support.places import ROOT

PAGE = (ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
QUOTED = {block.body.strip() for block in blocks(PAGE) if block.language == "text"}
MODEL = str(ROOT / "models" / "matmul.onnx")


def refused_option(capsys: pytest.CaptureFixture[str], _: pytest.MonkeyPatch) -> str:
    return ask(capsys, "fix", MODEL, "-o", "f.onnx", "--tagret", "tosa").err


def slow_phase(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> str:
    shown = SlowPhases("m.onnx")
    monkeypatch.setattr(time, "monotonic", lambda: 0.0)
    shown("running the first model")
    monkeypatch.setattr(time, "monotonic", lambda: slow_phases.LONG)
    shown._look()
    return capsys.readouterr().err


def interrupted(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> str:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(pipeline, "check", interrupt)
    return ask(capsys, "check", MODEL).err


@pytest.mark.parametrize("make", [refused_option, slow_phase, interrupted])
def test_a_message_that_no_example_prints_is_the_program_s(
    make: object, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert callable(make)
    assert make(capsys, monkeypatch).strip() in QUOTED


def test_every_quoted_message_is_made_by_a_test() -> None:
    assert len(QUOTED) == 3


def test_every_symptom_has_a_section_and_every_section_a_symptom() -> None:
    rows = re.findall(r"^\|.*\| \[([^\]]+)\]\(#([^)]+)\) \|$", PAGE, re.MULTILINE)
    sections = re.findall(r"^## (.+)$", PAGE, re.MULTILINE)
    assert [title for title, _ in rows] == sorted(sections, key=[title for title, _ in rows].index)
    assert [anchor for _, anchor in rows] == [re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-") for title, _ in rows]


def words_of_the_table() -> list[str]:
    cells = re.findall(r"^\|[^|]*\|([^|]*)\| \[", PAGE, re.MULTILINE)
    return [word for cell in cells for word in re.findall(r"`([^`]+)`", cell)]


@pytest.mark.parametrize("words", words_of_the_table())
def test_the_words_of_the_table_stand_in_a_message_below(words: str) -> None:
    below = " ".join(PAGE[PAGE.index("## ") :].split())
    beginning = words.removesuffix(" ..").removesuffix("..").strip()
    assert all(part.strip() in below for part in beginning.split(" .. "))
