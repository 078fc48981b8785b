"""Escape names and texts for Markdown: code spans, prose, table rows, and blocks that are cut to a size."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from graphfix.report.text import shortened
from graphfix.results.records import dataclass

NAME, TEXT = 120, 600
"""The most characters of a name and of a text; longer ones are shortened in the middle."""
MARKUP = re.compile(r"[\\`*_<>~&]|(?<=\])[(\[]|(?<=\[)\^")
"""Characters that are markup anywhere, or that turn brackets into a link or a footnote; `[2,3]` is unchanged."""
LINKED = re.compile(r"[@#$]|://|www\.|\bGH-\d|\b[0-9a-f]{7,40}\b", re.IGNORECASE)
"""A regular expression for words that GitHub turns into mentions, links to issues or commits, addresses or formulas."""
AT_START = re.compile(r"^(?:[-+=\[]|\d+[.)])")
"""A regular expression for the beginning of a line that Markdown reads as a list, an underline or a definition."""


def code(text: str) -> str:
    """Return a code span. Its fence is longer than any run of backticks inside."""
    plain = shortened(text, NAME) or " "
    ticks = re.findall("`+", plain)
    if not ticks:
        return f"`{plain}`"
    fence = "`" * (max(map(len, ticks)) + 1)
    return f"{fence} {plain} {fence}"


def prose(text: str) -> str:
    """Return a text as prose: markup is escaped, and a word that GitHub would link becomes a code span."""
    escaped = re.sub(r"\S+", lambda word: _word(word[0]), shortened(text, TEXT))
    return AT_START.sub(lambda start: f"{start[0][:-1]}\\{start[0][-1]}", escaped)


def _word(word: str) -> str:
    return code(word) if LINKED.search(word) else MARKUP.sub(r"\\\g<0>", word)


def row(cells: Iterable[str]) -> str:
    """Return a row of a table. A `|` is escaped, because it ends a cell, even in a code span."""
    return f"| {' | '.join(map(_cell, cells))} |"


def _cell(cell: str) -> str:
    return cell.replace("\\|", r"\x7c").replace("|", "\\|")


@dataclass(frozen=True, slots=True)
class Block:
    """Lines that belong together. If no row fits, head and tail are omitted too."""

    head: Sequence[str]
    rows: Sequence[str]
    tail: Sequence[str] = ()
    what: str = "line"
    """The noun for a row when omitted rows are counted."""


def table(title: Sequence[str], heads: Sequence[str], rows: Iterable[Sequence[str]], what: str = "line") -> Block:
    """Return a block with a table, one row for each line."""
    return Block((*title, row(heads), f"|{' --- |' * len(heads)}"), tuple(map(row, rows)), what=what)


def collapsed(summary: str, block: Block) -> Block:
    """Return the block behind a summary that a reader clicks to open it.

    GitHub needs the blank lines to read what is inside.
    """
    head = (
        "",
        "<details>",
        f"<summary>{summary}</summary>",
        "",
        *(block.head[1:] if block.head[:1] == ("",) else block.head),
    )
    return Block(head, block.rows, (*block.tail, "", "</details>"), block.what)


def size(lines: Iterable[str]) -> int:
    """Return the bytes of the lines. They are at least as many as the characters, however those are counted."""
    return sum(len(line.encode("utf-8", "backslashreplace")) + 1 for line in lines)


def fit(blocks: Iterable[Block], room: int, cut: Counter[str]) -> Iterator[str]:
    """Yield as many lines as fit into `room` bytes, in order; `cut` counts the omitted rows."""
    for block in blocks:
        rest = room - size((*block.head, *block.tail))
        shown: list[str] = []
        for line in block.rows:
            rest -= size([line])
            if rest < 0:
                break
            shown.append(line)
        cut[block.what] += len(block.rows) - len(shown)
        if shown:
            lines = (*block.head, *shown, *block.tail)
            room -= size(lines)
            yield from lines
