"""The options that make `check` a linter. No format is imported."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from graphfix.cli.options import Parser, new_file, read_path, repeatable

if TYPE_CHECKING:
    from graphfix.batch.globs import Glob

TEXT = "text"
"""The format for people."""
FORMS = ("json", "markdown", "sarif", "junit", "github")
"""The other formats of `check --format`; a test compares them with `report.forms.registry.TEXTS`."""


def sources(command: Parser) -> None:
    """Add the option that excludes files."""
    what = (
        "leave out files and folders of this name (legacy, '*_old.onnx') or, with a /, at this place ('models/old/**')"
    )
    repeatable(command, "--exclude", "GLOB", what, _glob)


def selection(command: Parser) -> None:
    """Add the options that select findings: by code, and by a baseline."""
    group = command.add_argument_group("which findings count")
    what = "only these: codes or their beginnings (GF102, GF1, ALL), with commas"
    repeatable(group, "--select", "CODES", what, _codes)
    what = "not these; where both have a code, the longer beginning decides"
    repeatable(group, "--ignore", "CODES", what, _codes)
    what = "findings that stand in this file are none: only what is new counts"
    group.add_argument("--baseline", metavar="FILE", type=read_path, help=what)
    what = "write what is found now into FILE for --baseline, which is not read then; files not checked keep their part"
    group.add_argument("--write-baseline", metavar="FILE", type=new_file, help=what)
    group.add_argument("--exit-zero", action="store_true", help="findings are no failure: exit status 0")


def form(command: Parser, either: argparse._MutuallyExclusiveGroup) -> None:
    """Add the format of stdout; the options in `either` exclude each other."""
    what = "the form on stdout (default text); --json is short for --format json"
    either.add_argument("--format", dest="form", choices=(TEXT, *FORMS), default=TEXT, help=what)
    command.add_argument("--statistics", action="store_true", help="text: how many findings of each code in all files")


def _glob(text: str) -> Glob:
    from graphfix.batch import globs
    from graphfix.batch.globs import Glob

    try:
        globs.regex(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} has {error}") from None
    if not text.strip("/"):
        raise argparse.ArgumentTypeError(f"{text!r} names nothing; leave it out")
    return Glob(text)


def _codes(text: str) -> str:
    """The same text, in capitals and without blanks; only what begins with GF is graphfix's own."""
    from graphfix.report import pages
    from graphfix.report.findings.selection import may_be_own, names_a_code
    from graphfix.results.error_texts import hint

    finding_codes = pages.codes()
    given = tuple(part.strip().upper() for part in text.split(","))
    for code in given:
        if not (names_a_code(code, finding_codes) or may_be_own(code)):  # of those is asked where the rewrites are read
            how = hint(code, finding_codes, f"; known: {', '.join(finding_codes)}, their beginnings, and ALL")
            raise argparse.ArgumentTypeError(f"no finding code begins with {code!r}{how}")
    return ",".join(given)
