"""Outcomes and verdicts as text: a table for people, and the forms that programs, CI and viewers read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from graphfix.report.table import headline, table, unwritten
from graphfix.report.text import Entry, Failure, findings, printable

if TYPE_CHECKING:
    from graphfix.report.diff import diff_lines
    from graphfix.report.forms.json import document, json_text
    from graphfix.report.forms.registry import FORMS, TEXTS, needs_excerpt, publish, refuse, schema_text, write
    from graphfix.report.summary import advice, statistics, totals

__all__ = [
    "FORMS",
    "TEXTS",
    "Entry",
    "Failure",
    "advice",
    "diff_lines",
    "document",
    "findings",
    "headline",
    "json_text",
    "needs_excerpt",
    "printable",
    "publish",
    "refuse",
    "schema_text",
    "statistics",
    "table",
    "totals",
    "unwritten",
    "write",
]
_MODULES: Mapping[str, Sequence[str]] = MappingProxyType(
    {
        "diff": ("diff_lines",),
        "forms.registry": ("FORMS", "TEXTS", "needs_excerpt", "publish", "refuse", "schema_text", "write"),
        "forms.json": ("document", "json_text"),
        "summary": ("advice", "statistics", "totals"),
    }
)
"""Of this package -> the names that stand here."""


def __getattr__(name: str) -> object:
    """Import a module when one of its names is asked for: most commands print the table alone."""
    from importlib import import_module

    for module, names in _MODULES.items():
        if name in names:
            return getattr(import_module(f"graphfix.report.{module}"), name)
    raise AttributeError(f"module 'graphfix.report' has no attribute {name!r}")
