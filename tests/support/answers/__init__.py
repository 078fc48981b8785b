"""What graphfix answers, as digests in tests/data/answers: an answer changes with a change of these tables, or not.

    python -m tests.support.answers [--texts FOLDER] [ROW]

writes the tables again, after a change of answers that is meant. With `--texts` it writes what the digests are made of,
for all rows or for one, and leaves the tables: those of two versions of graphfix are compared by `diff -r`.
"""

from __future__ import annotations

import csv
import hashlib
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

DATA = Path(__file__).resolve().parents[2] / "data" / "answers"
DIGITS = 6
"""Hexadecimal digits of a digest: one changed answer in 16 million is not seen."""
VARIES = re.compile(
    r"\b\d+\.\d+ ?s\b(: \w+ [\d.]+(, \w+ [\d.]+)*)?"
    r"|\"(load|infer|plan|write|check|prove|proof|verify|run|seconds\w*)\": [\d.e-]+"
    r"|\b(time|timestamp)=\"[\d.:T+-]+\""
    r"|\b0\.1\.0\+?[\w.]*|, Python 3\.\d+.*"
    r"|<section id=\"run\".*?</section>"
)
"""Durations, the time of day, graphfix's version, those of Python and the packages, and the run block of a page."""

Answers = Mapping[str, bytes]
"""What is answered, by the question."""


def steady(text: str, folder: Path) -> str:
    """Return a text without what the next run says otherwise: durations, times, versions, temporary folders."""
    return VARIES.sub("", text.replace(str(folder), "FOLDER"))


def digests(answers: Answers) -> dict[str, str]:
    """Return the digest of each answer."""
    return {question: hashlib.sha256(answer).hexdigest()[:DIGITS] for question, answer in answers.items()}


def table(name: str) -> dict[str, dict[str, str]]:
    """Return a table as it is kept: by row and question the digest."""
    with (DATA / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return {row.pop("row"): row for row in csv.DictReader(file)}


def keep(name: str, rows: Iterable[tuple[str, Answers]]) -> None:
    """Write a table; where a question is not asked of a row, its place stays empty."""
    DATA.mkdir(exist_ok=True)
    listed = [{"row": row, **digests(answers)} for row, answers in rows]
    with (DATA / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, dict.fromkeys(key for row in listed for key in row), lineterminator="\n")
        writer.writeheader()
        writer.writerows(listed)
