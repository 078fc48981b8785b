"""Facts about one run of the command line, for the head of the HTML report."""

from __future__ import annotations

from collections.abc import Mapping

from graphfix.results.records import dataclass


@dataclass(frozen=True, slots=True)
class RunFacts:
    """When, by which command line and with which versions a report was made."""

    command_line: str
    """The words of the command line, quoted as a shell reads them; a password in a URL is replaced by `***`."""
    date: str
    """Local time when the report was written: `2026-01-31 17:05 UTC+01:00`."""
    versions: Mapping[str, str]
    """Version by name: graphfix, Python, and the packages that read and run models."""
