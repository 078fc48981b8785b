"""Workflow commands of GitHub Actions: annotations of a model's file, one line for each finding code.

GitHub shows ten warnings, ten errors and ten notices of a step. So all sites of a code share a line, and if there are
more than ten lines of a kind, the tenth one counts the rest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from graphfix.report import pages
from graphfix.report.forms.file_references import relative_path
from graphfix.report.text import (
    Entry,
    Failure,
    change_text,
    counted,
    findings,
    pair_text,
    place_text,
    printable,
    shortened,
)
from graphfix.report.verdict import verdict_text
from graphfix.results import Outcome, Site
from graphfix.results.records import dataclass

SHOWN = 10
"""The most annotations of one kind that GitHub shows for a step."""
NAMED, LONGEST = 3, 1_000
"""The most sites that a line lists, and the most characters of its message."""
KINDS = {"found": "warning", "left": "notice"}


@dataclass(frozen=True, slots=True)
class Annotation:
    """A line of the log that GitHub shows at a file."""

    kind: str
    model: str
    title: str
    message: str

    def __str__(self) -> str:
        file = relative_path(self.model)
        place = "" if file is None else f"file={_property(file)},line=1,"
        return f"::{self.kind} {place}title={_property(self.title)}::{_data(shortened(self.message, LONGEST))}"


def github_text(entries: Sequence[Entry]) -> str:
    """Return the lines, errors first; "" if there are none."""
    annotations = [annotation for entry in entries for annotation in _annotations(entry)]
    lines: list[str] = []
    for kind in ("error", "warning", "notice"):
        lines += _cut([annotation for annotation in annotations if annotation.kind == kind])
    return "".join(f"{line}\n" for line in lines)


def _cut(annotations: Sequence[Annotation]) -> Iterator[str]:
    if len(annotations) <= SHOWN:
        yield from map(str, annotations)
        return
    yield from map(str, annotations[: SHOWN - 1])
    kind = annotations[0].kind
    more = counted(len(annotations) - SHOWN + 1, f"more {kind}")
    yield f"::{kind} title=graphfix::{more}: a report (--report FILE) has all"


def _annotations(entry: Entry) -> Iterator[Annotation]:
    if isinstance(entry, Failure):
        yield Annotation("error", entry.source, f"graphfix {entry.command}", entry.error)
        return
    if entry.command == "check":
        yield from _findings(entry)
    verdict = entry.verdict
    if verdict is not None and (verdict.is_no or verdict.status == "undecided"):
        kind = "error" if verdict.is_no else "warning"
        said = f"{pair_text(entry)}: {verdict_text(verdict)}"
        yield Annotation(kind, entry.output or entry.source, f"graphfix {entry.command}", said)


def _findings(outcome: Outcome) -> Iterator[Annotation]:
    alike: dict[tuple[str, str], list[Site]] = {}
    for site in findings(outcome):
        alike.setdefault((site.code, site.status), []).append(site)
    for (code, status), sites in alike.items():
        listed = "; ".join(map(_site, sites[:NAMED]))
        more = f"; and {len(sites) - NAMED} more" if len(sites) > NAMED else ""
        message = f"{counted(len(sites), 'site')} {status}: {listed}{more}"
        yield Annotation(KINDS[status], outcome.source, pages.title(code), message)


def _site(site: Site) -> str:
    return f"{place_text(site)}: {change_text(site)}"


def _data(text: str) -> str:
    """Return a text for the part behind `::`. It has no line breaks, because `printable` has escaped them."""
    return printable(text).replace("%", "%25")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
