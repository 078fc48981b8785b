"""JUnit XML: a test suite for each model, with a test case for each question that a command answers.

`check` has a case for each finding code. `fix`, `verify` and `tosa` have cases for the proof, the runs, the claimed
sizes and the conversion. A question that was not asked, or whose answer does not matter, is a skipped case.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Literal

from graphfix.report import pages
from graphfix.report.forms.file_references import relative_path
from graphfix.report.text import Entry, Failure, change_text, counted, findings, place_text, printable
from graphfix.report.tosa import conversion_texts
from graphfix.report.verdict import verdict_text
from graphfix.results import Conversion, Outcome, Site, Verdict
from graphfix.results.claims import Facts
from graphfix.results.records import dataclass

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

LISTED = 200
"""The most sites that a failed case lists."""
Answer = Literal["passed", "failure", "error", "skipped"]


@dataclass(frozen=True, slots=True)
class Case:
    """A test case: a question, its answer, and further lines."""

    name: str
    answer: Answer
    message: str = ""
    lines: Sequence[str] = ()
    seconds: float = 0.0


def junit_text(entries: Sequence[Entry]) -> str:
    """Return the XML document. Control characters in names are escaped as text, because XML can't contain them."""
    from xml.etree import ElementTree as ET

    root = ET.Element("testsuites", name="graphfix")
    suites = [_suite(entry, ET.SubElement(root, "testsuite")) for entry in entries]
    _count(root, [case for cases in suites for case in cases])
    ET.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _suite(entry: Entry, suite: Element) -> list[Case]:
    cases = list(_cases(entry))
    suite.set("name", printable(f"graphfix {entry.command} {entry.source}"))
    for case in cases:
        _write(case, entry, suite)
    _count(suite, cases)
    return cases


def _count(element: Element, cases: Sequence[Case]) -> None:
    """Set the attributes with the numbers of cases, failures, errors and skipped cases, and the total time."""
    element.set("tests", str(len(cases)))
    for name, answer in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        element.set(name, str(sum(case.answer == answer for case in cases)))
    element.set("time", f"{sum(case.seconds for case in cases):.6f}")


def _write(case: Case, entry: Entry, suite: Element) -> None:
    from xml.etree.ElementTree import SubElement

    written = SubElement(suite, "testcase", name=printable(case.name), classname=printable(entry.source))
    written.set("file", printable(relative_path(entry.source) or entry.source))
    written.set("time", f"{case.seconds:.6f}")
    text = "\n".join(map(printable, case.lines))
    if case.answer == "passed":
        if text or case.message:
            SubElement(written, "system-out").text = text or printable(case.message)
        return
    said = SubElement(written, case.answer, message=printable(case.message))
    if case.answer != "skipped":
        said.set("type", printable(case.name.split(" ")[0]))
    said.text = text or None


# --- the questions ----------------------------------------------------------------------------------------------------


def _cases(entry: Entry) -> Iterator[Case]:
    if isinstance(entry, Failure):
        yield Case(entry.command, "error", entry.error)
        return
    if entry.command == "check":
        yield from _codes(entry)
    verdict = entry.verdict
    if verdict is not None:
        yield _proof(verdict, entry)
        yield _runs(verdict, entry)
        yield _facts(verdict.facts)
    if entry.conversion is not None:
        yield _conversion(entry, entry.conversion)


def _codes(outcome: Outcome) -> Iterator[Case]:
    """Yield a case for each finding code.

    All codes are checked in one pass, so each case has an equal share of its time.
    """
    codes = (*pages.codes(), *outcome.own_codes)
    share = sum(outcome.seconds.values()) / len(codes)
    for code in codes:
        sites = [site for site in findings(outcome) if site.code == code]
        said = f"{counted(len(sites), 'site')} for target {outcome.target}" if sites else ""
        more = [f"... and {len(sites) - LISTED} more"] if len(sites) > LISTED else []
        yield Case(
            pages.title(code), "failure" if sites else "passed", said, [*map(_site, sites[:LISTED]), *more], share
        )


def _site(site: Site) -> str:
    return f"{site.status} {place_text(site)}: {change_text(site)}"


def _proof(verdict: Verdict, outcome: Outcome) -> Case:
    """Return the case of the proof. A missing proof is a skipped case, not a failure, because the runs then decide."""
    seconds = outcome.seconds.get("proof", 0.0)
    if verdict.proof is None:
        return Case("proof", "skipped", "no proof was asked for", seconds=seconds)
    status = str(verdict.proof.get("status"))
    said = f"{status}: {verdict.proof['reason']}" if verdict.proof.get("reason") else status
    return Case("proof", "passed" if status == "proved" else "skipped", said, seconds=seconds)


ANSWERS: dict[str, Answer] = {
    "proved": "passed",
    "equal": "passed",
    "different": "failure",
    "contradicted": "failure",
    "undecided": "error",
    "skipped": "skipped",
}
"""By status of a verdict: the answer of the case `runs`."""


def _runs(verdict: Verdict, outcome: Outcome) -> Case:
    """Return the case of the runs. If neither the proof nor the runs decide, it is an error."""
    seconds = sum(spent for step, spent in outcome.seconds.items() if step != "proof")
    answer = ANSWERS[verdict.status]
    if verdict.status == "proved" and not verdict.runs:
        answer = "skipped"
    return Case("runs", answer, verdict_text(verdict), seconds=seconds)


def _facts(facts: Facts | None) -> Case:
    """Return the case of the claimed sizes: whether the runtime's sizes are those that the view claimed."""
    if facts is None:
        return Case("facts", "skipped", "no size was claimed")
    said = f"{facts.claimed} claimed, {facts.observed} observed, {facts.contradicted} contradicted"
    if facts.contradicted:
        return Case("facts", "failure", said, [str(facts.first)] if facts.first is not None else [])
    return Case("facts", "passed", said)


CONVERTED: dict[str, Answer] = {
    "converted": "passed",
    "agrees": "passed",
    "differs": "failure",
    "unpredictable": "failure",
    "refused": "error",
    "not run": "error",
}


def _conversion(outcome: Outcome, done: Conversion) -> Case:
    """Return the case of the conversion to TOSA."""
    lines = conversion_texts(outcome, done)
    return Case("conversion", CONVERTED[done.status], lines[-1], lines)
