"""Escape names and texts for Markdown: code spans, running text, table rows, and blocks that are cut to a size."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from graphfix.report.text import shortened
from graphfix.results.records import dataclass

NAME, TEXT = 120, 600
"""Letters of a name and of a text; what is longer is shortened in the middle."""
MARKUP = re.compile(r"[\\`*_<>~&]|(?<=\])[(\[]|(?<=\[)\^")
"""What is markup wherever it stands, and what makes a link or a note of a text in brackets: `[2,3]` stays as it is."""
LINKED = re.compile(r"[@#$]|://|www\.|\bGH-\d|\b[0-9a-f]{7,40}\b", re.IGNORECASE)
"""In a word of which GitHub makes a mention, a link to an issue or a commit, an address or a formula."""
AT_START = re.compile(r"^(?:[-+=\[]|\d+[.)])")
"""What begins a list, an underline or a definition where a line begins with it."""


def code(text: str) -> str:
    """A code span; the fence is longer than any row of backticks inside."""
    plain = shortened(text, NAME) or " "
    ticks = re.findall("`+", plain)
    if not ticks:
        return f"`{plain}`"
    fence = "`" * (max(map(len, ticks)) + 1)
    return f"{fence} {plain} {fence}"


def prose(text: str) -> str:
    """Running text: what would be markup is escaped, a word that GitHub would link is a code span."""
    escaped = re.sub(r"\S+", lambda word: _word(word[0]), shortened(text, TEXT))
    return AT_START.sub(lambda start: f"{start[0][:-1]}\\{start[0][-1]}", escaped)


def _word(word: str) -> str:
    return code(word) if LINKED.search(word) else MARKUP.sub(r"\\\g<0>", word)


def row(cells: Iterable[str]) -> str:
    """A row of a table. A bar ends a cell, even in a code span and, for some readers, behind a backslash."""
    return f"| {' | '.join(map(_cell, cells))} |"


def _cell(cell: str) -> str:
    return cell.replace("\\|", r"\x7c").replace("|", "\\|")


@dataclass(frozen=True, slots=True)
class Block:
    """Lines that belong together: without at least one row the rest is not shown either."""

    head: Sequence[str]
    rows: Sequence[str]
    tail: Sequence[str] = ()
    what: str = "line"
    """What a row is, for the count of those that are left out."""


def table(title: Sequence[str], heads: Sequence[str], rows: Iterable[Sequence[str]], what: str = "line") -> Block:
    """A block with a row a line."""
    return Block((*title, row(heads), f"|{' --- |' * len(heads)}"), tuple(map(row, rows)), what=what)


def collapsed(summary: str, block: Block) -> Block:
    """The block behind a line that is clicked to open it; the blank lines let GitHub read what is inside."""
    head = (
        "",
        "<details>",
        f"<summary>{summary}</summary>",
        "",
        *(block.head[1:] if block.head[:1] == ("",) else block.head),
    )
    return Block(head, block.rows, (*block.tail, "", "</details>"), block.what)


def size(lines: Iterable[str]) -> int:
    """How many bytes the lines have: no less than letters, whoever counts them."""
    return sum(len(line.encode("utf-8", "backslashreplace")) + 1 for line in lines)


def fit(blocks: Iterable[Block], room: int, cut: Counter[str]) -> Iterator[str]:
    """Yield as many lines as there is room for, in order; what is left out is counted."""
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
