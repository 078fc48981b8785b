"""SARIF 2.1.0 for code scanning: a rule for each finding code, a result for each finding of `check`.

A model is one binary file, so every result is at its line 1, because GitHub shows no result without a line. The logical
location contains the graph and the node. An edit of `fix` is not a result, but a difference between two models is one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from graphfix.report import pages
from graphfix.report.findings.fingerprint import fingerprints
from graphfix.report.forms.file_references import uri
from graphfix.report.text import (
    Entry,
    Failure,
    change_text,
    own_codes,
    pair_text,
    place_text,
    printable,
    shortened,
)
from graphfix.report.verdict import verdict_text
from graphfix.results import Outcome, Site
from graphfix.version import VERSION

MOST = 25_000
"""The most results of a run that GitHub accepts; it refuses a file with more results."""
LONGEST = 2_000
"""The most characters of a message."""
LEVELS = {"found": "warning", "left": "note"}
DIFFERENT = "different"
"""The id of the rule for `verify`, which has no finding code."""
DIFFERENCE = "The rewritten model does not compute what the original computes, or not with the sizes that were claimed."
WARNING, ERROR = "warning", "error"
Part = dict[str, Any]


def sarif_text(entries: Sequence[Entry]) -> str:
    """Return the SARIF document, with one run for all models.

    Models that failed, and omitted results, are notifications of the run's invocation.
    """
    own = (_own_rule(code, line) for code, line in own_codes(entries).items())
    rules = [*map(_rule, pages.codes()), *own, _of_verify()]
    results = [result for entry in entries if isinstance(entry, Outcome) for result in _results(entry)]
    notifications = [note for entry in entries for note in _notifications(entry)]
    if len(results) > MOST:
        cut = f"{len(results) - MOST} results are left out: {MOST} is the most that a run may have; see a JSON report"
        notifications.append(_notification(WARNING, cut))
        results = sorted(results, key=lambda result: result["level"] == "note")[:MOST]
    numbers = {rule["id"]: number for number, rule in enumerate(rules)}
    driver = {"name": "graphfix", "semanticVersion": VERSION, "rules": rules}
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "invocations": [
            {
                "executionSuccessful": not any(isinstance(entry, Failure) for entry in entries),
                "toolExecutionNotifications": notifications,
            }
        ],
        "originalUriBaseIds": {"%SRCROOT%": {"description": {"text": "The folder in which graphfix ran."}}},
        "results": [{**result, "ruleIndex": numbers[result["ruleId"]]} for result in results],
    }
    log = {"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [run]}
    return json.dumps(log, indent=2) + "\n"


# --- the rules --------------------------------------------------------------------------------------------------------


def _rule(code: str) -> Part:
    """Return the rule of a finding code: its page, with the first paragraph as description."""
    page = pages.page(code)
    title, _, text = page.partition("\n")
    paragraph = " ".join(text.strip().split("\n\n")[0].split())
    name = "".join(word.capitalize() for word in title.removeprefix(f"# {code} ").split("-"))
    sentence = f"{paragraph.split('. ')[0].rstrip('.')}."
    return _described(code, name, sentence, paragraph, {"text": text.strip(), "markdown": page})


def _own_rule(code: str, line: str) -> Part:
    """Return the rule for a finding code of the user's own rewrite; only the first line of its page is known."""
    text = printable(line) or code
    return _described(code, code, text, text, {"text": text})


def _of_verify() -> Part:
    more = {"text": f"{DIFFERENCE} The message names the first value that differs."}
    return _described(DIFFERENT, "Different", "Two models that should be equal differ.", DIFFERENCE, more, ERROR)


def _described(code: str, name: str, sentence: str, paragraph: str, more: Part, level: str = WARNING) -> Part:
    return {
        "id": code,
        "name": name,
        "shortDescription": {"text": sentence},
        "fullDescription": {"text": paragraph},
        "help": more,
        "defaultConfiguration": {"level": level},
    }


# --- the results ------------------------------------------------------------------------------------------------------


def _results(outcome: Outcome) -> Iterator[Part]:
    """Yield the findings of a check, and a difference of two models.

    The fingerprints are computed over all sites, so they do not depend on which sites are findings.
    """
    if outcome.command == "check":
        file = _file(outcome.source)
        for site, fingerprint in zip(outcome.sites, fingerprints(outcome.sites), strict=True):
            if site.is_finding:
                yield _finding(outcome, site, file, fingerprint)
    verdict = outcome.verdict
    if verdict is not None and verdict.is_no:
        yield {
            "ruleId": DIFFERENT,
            "level": ERROR,
            "message": _message(f"{pair_text(outcome)}: {verdict_text(verdict)}"),
            "locations": [_file(outcome.output or outcome.source)],
        }


def _finding(outcome: Outcome, site: Site, file: Part, fingerprint: str) -> Part:
    because = "left alone because " if site.status == "left" else ""
    graph, node = printable(site.graph), printable(site.node)
    return {
        "ruleId": site.code,
        "level": LEVELS[site.status],
        "message": _message(f"{place_text(site)}: {because}{change_text(site)}"),
        "locations": [
            {
                **file,
                "logicalLocations": [
                    {"name": node, "fullyQualifiedName": f"{graph}/{node}", "kind": "node"},
                    {"name": graph, "fullyQualifiedName": graph, "kind": "graph"},
                ],
            }
        ],
        "partialFingerprints": {"graphfixSite/v1": fingerprint},
        "properties": {
            "status": site.status,
            "operator": printable(site.op),
            "operand": site.operand,
            "target": None if outcome.target is None else printable(outcome.target),
        },
    }


def _file(model: str) -> Part:
    """Return the location of the whole file."""
    address = uri(model)
    base = {} if address.startswith("file:") else {"uriBaseId": "%SRCROOT%"}
    return {"physicalLocation": {"artifactLocation": {"uri": address, **base}, "region": {"startLine": 1}}}


def _message(text: str) -> Part:
    """Return a plain text message, in which no placeholder or link of SARIF is recognized."""
    return {"text": shortened(text, LONGEST).replace("{", "{{").replace("}", "}}").replace("](", "] (")}


# --- what else happened -----------------------------------------------------------------------------------------------


def _notifications(entry: Entry) -> Iterator[Part]:
    if isinstance(entry, Failure):
        yield _notification(ERROR, entry.error, entry.source)
        return
    yield from (_notification("note", f"{entry.source}: {note}", entry.source) for note in entry.notes)
    if entry.verdict is not None and entry.verdict.status == "undecided":
        yield _notification(WARNING, f"{pair_text(entry)}: {verdict_text(entry.verdict)}", entry.source)


def _notification(level: str, text: str, model: str | None = None) -> Part:
    place = {} if model is None else {"locations": [_file(model)]}
    return {"level": level, "message": _message(text), **place}
