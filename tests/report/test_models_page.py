"""The parts of the page about several models, about files, and about the run that made the page."""

from __future__ import annotations

from dataclasses import replace

import pytest

from graphfix.report import html
from graphfix.report.html import evidence, models, sections
from graphfix.report.text import Failure, bytes_text
from graphfix.results import Conversion, FileFacts, Outcome, Run, Site, Verdict
from graphfix.results.run_facts import RunFacts
from tests.support.page_reader import Reader

LEFT = Site("GF104", "n", "Add", "main", 1, None, None, "left", None, "the rank of 'x' is not known")
FIX, CHECK, TOSA = (Outcome(command, "m.onnx", "onnx") for command in ("fix", "check", "tosa"))
RESULTS = {
    "an error": (Failure("check", "m.onnx", "m.onnx: no model"), ("bad", "error")),
    "check without findings": (CHECK, ("good", "clean")),
    "check with findings": (replace(CHECK, sites=(LEFT,)), ("bad", "findings")),
    "a proved fix": (replace(FIX, output="f.onnx", verdict=Verdict("proved")), ("good", "proved")),
    "a proved fix that leaves findings": (
        replace(FIX, output="f.onnx", verdict=Verdict("proved"), sites_left=1),
        ("open", "findings left"),
    ),
    "a wrong fix that leaves findings": (
        replace(FIX, verdict=Verdict("different"), sites_left=1),
        ("bad", "different"),
    ),
    "an undecided fix": (replace(FIX, verdict=Verdict("undecided")), ("open", "undecided")),
    "a fix that is not verified": (replace(FIX, output="f.onnx", verdict=Verdict("skipped")), ("open", "not verified")),
    "a fix of a blocked model": (FIX, ("open", "not written")),
    "a dry run with changes": (replace(FIX, dry_run=True, changed=True), ("open", "would change")),
    "a dry run without changes": (replace(FIX, dry_run=True), ("good", "nothing to do")),
    "a contradicted verify": (replace(FIX, command="verify", verdict=Verdict("contradicted")), ("bad", "contradicted")),
    "an agreeing conversion": (replace(TOSA, conversion=Conversion("agrees", "t")), ("good", "agrees")),
    "a refused conversion": (replace(TOSA, conversion=Conversion("refused", "t")), ("bad", "refused")),
    "a conversion that was not run": (replace(TOSA, conversion=Conversion("not run", "t")), ("open", "not run")),
}


@pytest.mark.parametrize("name", RESULTS)
def test_a_row_has_the_result_in_a_word_with_a_sign(name: str) -> None:
    entry, (kind, word) = RESULTS[name]
    assert models.result(entry) == (kind, word)
    sign = {"good": "✓", "bad": "✗", "open": "!"}[kind]
    assert Reader(models.tag(models.result(entry))).text == f"{sign} {word}"


def test_facts_about_files_are_listed_before_and_after_and_summed() -> None:
    files = (FileFacts(1500, 1200, "17, com.microsoft 1"), FileFacts(2500, 1300, "18, com.microsoft 1"))
    one = replace(FIX, output="f.onnx", verdict=Verdict("proved"), files=files)
    other = replace(one, source="n.onnx", files=(FileFacts(812, 3, "17"), FileFacts(812, 3, "17")))
    text = Reader(models.models([one, other, replace(one, files=())])).text
    assert "made explicit" not in text, "no model has such a site: no column"
    assert "answer opset size nodes seconds" in text
    assert "17, com.microsoft 1 → 18, com.microsoft 1 1.5 kB → 2.5 kB 1,200 → 1,300" in text
    assert "for all inputs and sizes 17 812 B 3 0.00" in text
    assert text.endswith("all models 2.3 kB → 3.3 kB 1,203 → 1,303 0.00")


def test_a_single_model_lists_the_facts_about_its_files() -> None:
    files = (FileFacts(1500, 12, "17"), FileFacts(2500, 13, "17"))
    outcome = replace(FIX, output="f.onnx", verdict=Verdict("proved"), files=files)
    text = Reader(sections.model(0, outcome)).text
    assert "Opset 17 Size 1.5 kB → 2.5 kB (+1,000 bytes) Nodes 12 → 13" in text


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 kB"),
        (51_726_412, "51.7 MB"),
        (3 * 10**9, "3.0 GB"),
        (10**15, "1000.0 TB"),
    ],
)
def test_bytes_have_the_largest_unit_that_they_fill(number: int, text: str) -> None:
    assert bytes_text(number) == text


def test_the_head_of_a_page_has_the_command_line_the_date_and_the_versions() -> None:
    run = RunFacts("graphfix check 'a b.onnx'", "2026-01-31 17:05 UTC", {"graphfix": "0.1.0", "onnx": "1.23"})
    text = Reader(html.page([CHECK], run)).text
    assert "Command graphfix check 'a b.onnx' Date 2026-01-31 17:05 UTC Versions graphfix 0.1.0, onnx 1.23" in text
    assert "Command" not in Reader(html.page([CHECK])).text


def test_why_runs_with_optimizations_do_not_decide_is_told_where_there_are_some() -> None:
    on, off = Run({}, "on", "different", 1, 1e-7), Run({}, "off", "equal", 1, 0.0)
    texts = [Reader("".join(evidence.verdict(Verdict("proved", runs)))).text for runs in ((off, on), (off,))]
    assert ["never decide the verdict" in text for text in texts] == [True, False]
