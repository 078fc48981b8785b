"""A batch in lines: a word for what came of each model, and the numbers of all."""

from __future__ import annotations

import pytest

from graphfix.report.batch import Line, Tally
from graphfix.report.colour import coloured
from graphfix.report.text import Entry, Failure
from graphfix.results import Conversion, Outcome, Site, Verdict

FOUND = Site("GF101", "n", "Add", "main", 1, (4,), (1, 4), "found")


def fixed(verdict: str, output: str | None = "f.onnx", *, changed: bool = True, reused: bool = False) -> Outcome:
    status = Verdict(verdict)  # type: ignore[arg-type]
    return Outcome("fix", "m.onnx", "onnx", output=output, changed=changed, verdict=status, reused=reused)


ENTRIES: list[tuple[Entry, str]] = [
    (fixed("proved"), "written          0.50 s  m.onnx: proved"),
    (fixed("equal", changed=False), "unchanged        0.50 s  m.onnx: equal"),
    (fixed("skipped"), "written          0.50 s  m.onnx: not verified"),
    (fixed("proved", reused=True), "written          0.50 s  m.onnx: proved, reused"),
    (fixed("different", None), "different        0.50 s  m.onnx"),
    (fixed("contradicted", None), "contradicted     0.50 s  m.onnx"),
    (fixed("undecided", None), "undecided        0.50 s  m.onnx"),
    (Outcome("check", "m.onnx", "onnx"), "clean            0.50 s  m.onnx"),
    (Outcome("check", "m.onnx", "onnx", sites=(FOUND, FOUND)), "findings         0.50 s  m.onnx: 2"),
    (
        Outcome("tosa", "m.onnx", "onnx", output="m.tosa", conversion=Conversion("agrees", "t")),
        "agrees           0.50 s  m.onnx",
    ),
    (
        Outcome("tosa", "m.onnx", "onnx", conversion=Conversion("refused", "t"), reused=True),
        "refused          0.50 s  m.onnx: reused",
    ),
    (Failure("fix", "m.onnx", "m.onnx: no model"), "failed           0.50 s  m.onnx"),
    (Failure("fix", "m.onnx", "m.onnx: stopped", "memory"), "failed           0.50 s  m.onnx: memory"),
]


@pytest.mark.parametrize(("entry", "text"), ENTRIES, ids=[text for _, text in ENTRIES])
def test_the_line_of_a_model(entry: Entry, text: str) -> None:
    assert Line.of("m.onnx", entry, 0.5).text() == text


def test_names_do_nothing_to_a_terminal_and_the_word_is_coloured() -> None:
    line = Line.of("m\n\x1b[31m.onnx", fixed("proved"), 0.5)
    assert line.text() == "written          0.50 s  m\\n\\x1b[31m.onnx: proved"
    assert line.text(coloured).startswith("\x1b[32mwritten\x1b[0m          0.50 s")


def test_the_total_counts_words_what_stopped_models_and_what_was_reused() -> None:
    tally = Tally()
    for entry, _ in ENTRIES:
        tally.add(Line.of("m.onnx", entry, 0.5))
    assert tally.models == len(ENTRIES)
    assert tally.text(6.5) == (
        "13 models: 3 written, 2 failed (1 memory), 1 unchanged, 1 different, 1 contradicted, 1 undecided, 1 clean, "
        "1 findings, 1 agrees, 1 refused; 2 of them reused; 6.50 s, 2.00 models a second"
    )


def test_a_batch_of_nothing_has_a_total_too() -> None:
    assert Tally().text(0.0) == "0 models; 0.00 s, 0.00 models a second"
