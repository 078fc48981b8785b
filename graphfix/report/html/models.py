"""The overview of several models: totals, and a table with a row per model that the page's script sorts and filters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Literal, NamedTuple

from graphfix.report.html.elements import escaped, number_cell, table, words
from graphfix.report.table import answer
from graphfix.report.text import Entry, Failure, bytes_text, counted
from graphfix.report.verdict import verdict_text
from graphfix.results import FileFacts, Outcome

COUNTED = (("changed", "made explicit"), ("found", "found"), ("left", "left"), ("exempt", "exempt"))
"""Statuses of sites, and how the page names them."""
MARKS = {"good": "\N{CHECK MARK}", "bad": "\N{BALLOT X}", "open": "!"}
"""The sign of each kind of result, so that no reader depends on colours."""
GOOD = frozenset({"proved", "equal", "converted", "agrees"})
BAD = frozenset({"different", "contradicted", "differs", "unpredictable", "refused"})


class Result(NamedTuple):
    """The result of one model in short."""

    kind: Literal["good", "bad", "open"]
    word: str
    """`proved`, `findings`, `error` ..."""


def result(entry: Entry) -> Result:
    """Return the result of one model in one or two words, and whether it is good, bad or undecided."""
    if isinstance(entry, Failure):
        return Result("bad", "error")
    if entry.conversion is not None:
        return _of_status(entry.conversion.status)
    if entry.verdict is not None and (entry.verdict.status not in GOOD or not _findings(entry)):
        return _of_status(entry.verdict.status)
    if entry.command == "check":
        return Result("bad", "findings") if _findings(entry) else Result("good", "clean")
    if entry.dry_run:
        return Result("open", "would change") if entry.changed else Result("good", "nothing to do")
    return Result("open", "findings left" if _findings(entry) else "not written")


def _findings(outcome: Outcome) -> int:
    """Return how many sites of `check` are findings, or how many findings `fix` left in its result."""
    if outcome.command == "check":
        return sum(site.is_finding for site in outcome.sites)
    return outcome.sites_left


def _of_status(status: str) -> Result:
    if status == "skipped":
        return Result("open", "not verified")
    return Result("good" if status in GOOD else "bad" if status in BAD else "open", status)


def tag(found: Result) -> str:
    """Return the result as a coloured tag that begins with its sign."""
    return f'<span class="tag result {found.kind}">{MARKS[found.kind]} {escaped(found.word)}</span>'


def models(entries: Sequence[Entry]) -> str:
    """Return the totals and the table of several models; nothing for one model. Each row links to its model's part."""
    if len(entries) < 2:  # noqa: PLR2004 -- several
        return ""
    results = [result(entry) for entry in entries]
    numbers = Counter(results)
    totals = " ".join(f"<li>{tag(found)} {numbers[found]:,}</li>" for found in sorted(numbers, key=_order))
    heads = ("model", "result", "answer", *(name for _, name in COUNTED), "opset", "size", "nodes", "seconds")
    rows = [_row(number, *pair) for number, pair in enumerate(zip(entries, results, strict=True))]
    listed = table(heads, rows, caption="Models", foot=_foot(entries))
    head = f"<h2>{counted(len(entries), 'model')}</h2>"
    return f'<nav id="models" aria-label="Models">{head}<ul class="totals">{totals}</ul>{listed}</nav>'


def _order(found: Result) -> tuple[int, str]:
    """Sort bad results first, then undecided ones, then good ones."""
    return ("bad", "open", "good").index(found.kind), found.word


def _row(number: int, entry: Entry, found: Result) -> list[str]:
    name = f'<a href="#m{number}">{words(entry.source)}</a>'
    if isinstance(entry, Failure):
        error = f'<span class="error">{words(entry.error)}</span>'
        return [name, tag(found), error, *("" for _ in COUNTED), "", "", "", ""]
    statuses = Counter[str](site.status for site in entry.sites)
    counts = [number_cell(statuses[status]) if statuses[status] else "" for status, _ in COUNTED]
    said = verdict_text(entry.verdict) if entry.verdict is not None else answer(entry)
    return [name, tag(found), words(said), *counts, *_files(entry), f"{sum(entry.seconds.values()):.2f}"]


def _files(outcome: Outcome) -> tuple[str, str, str]:
    """Return the cells of operator sets, bytes and nodes, each before and after the edits."""
    files = outcome.files
    sizes = number_cell(files[0].size, change(files, "size")) if files else ""
    nodes = number_cell(files[0].nodes, change(files, "nodes")) if files and files[0].nodes is not None else ""
    return escaped(change(files, "operator_sets")), sizes, nodes


def change(files: Sequence[FileFacts], field: Literal["size", "nodes", "operator_sets"]) -> str:
    """Return a fact about the model as a text, with an arrow to the result's if that is another: `17 -> 18`."""
    texts = [_fact_text(getattr(file, field), field) for file in files]
    return " \N{RIGHTWARDS ARROW} ".join(dict.fromkeys(filter(None, texts)))


def _fact_text(value: str | int | None, field: str) -> str:
    """Return `1.5 kB` for a size, `1,234` for a number of nodes, and a text as it is; "" for an unknown number."""
    if isinstance(value, int):
        return bytes_text(value) if field == "size" else f"{value:,}"
    return value or ""


def _foot(entries: Sequence[Entry]) -> list[str]:
    """Return the last row of the table: the sums of all models."""
    done = [entry for entry in entries if isinstance(entry, Outcome)]
    statuses = Counter[str](site.status for outcome in done for site in outcome.sites)
    counts = [f"{statuses[status]:,}" if statuses[status] else "" for status, _ in COUNTED]
    pairs = [outcome.files for outcome in done if outcome.files and outcome.files[-1].nodes is not None]
    sizes = [
        FileFacts(sum(files[at].size for files in pairs), sum(files[at].nodes or 0 for files in pairs))
        for at in (0, -1)
    ]
    cells = (change(sizes, "size"), change(sizes, "nodes")) if pairs else ("", "")
    seconds = sum(sum(outcome.seconds.values()) for outcome in done)
    return ["all models", "", "", *counts, "", *map(escaped, cells), f"{seconds:,.2f}"]
