"""Outcomes and verdicts as text: a table for people, JSON for programs, Markdown for a pull request."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from graphfix.report.json import document, json_text
from graphfix.report.markdown import markdown
from graphfix.report.table import headline, statistics, table, totals, unwritten
from graphfix.report.text import Entry, Failure, findings, printable
from graphfix.results import GraphfixError

__all__ = [
    "FORMS",
    "TEXTS",
    "Entry",
    "Failure",
    "document",
    "findings",
    "headline",
    "json_text",
    "markdown",
    "printable",
    "publish",
    "refuse",
    "statistics",
    "table",
    "totals",
    "unwritten",
    "write",
]

FORMS: Mapping[str, Callable[[Sequence[Entry]], str]] = {".json": json_text, ".md": markdown}
"""Suffix of a report file -> what writes it."""
TEXTS: Mapping[str, Callable[[Sequence[Entry]], str]] = {"json": json_text}
"""Name of a form on stdout -> what writes it."""


def refuse(path: Path) -> None:
    """Raise GraphfixError where `write` could not succeed: it is asked before a model is touched."""
    if path.suffix.lower() not in FORMS:
        raise GraphfixError(f"{path}: the form of a report is chosen by its suffix; known: {', '.join(FORMS)}")
    if path.is_dir():
        raise GraphfixError(f"{path}: a folder; name the report's file")
    if not path.parent.is_dir():
        raise GraphfixError(f"{path}: the folder of the report does not exist; create it first")


def write(path: Path, entries: Sequence[Entry]) -> None:
    """Write a report in the form that the suffix names; it appears whole or not at all. Raises GraphfixError."""
    refuse(path)
    publish(path, FORMS[path.suffix.lower()](entries), "report")


def publish(path: Path, text: str, what: str) -> None:
    """Write a file that is `what`; it appears whole or not at all. Raises GraphfixError."""
    scratch = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        scratch.write_text(text, encoding="utf-8", errors="backslashreplace", newline="\n")
        scratch.replace(path)
    except OSError as error:
        raise GraphfixError(f"{path}: the {what} can't be written: {error.strerror}") from None
    finally:
        scratch.unlink(missing_ok=True)
