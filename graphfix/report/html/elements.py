"""The elements of the page as text: every name and sentence goes through here, and none can break out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from graphfix.report.text import cut, printable

MOST_LETTERS = 1000
FOLDED = 12
"""Of more items than that a list is closed until it is opened."""


def escaped(text: object) -> str:
    """A text on one line without marks of HTML, also for an attribute."""
    return escape(printable(str(text)))


def words(text: object) -> str:
    """A sentence: on one line, without marks of HTML; what it quotes can't turn the line around, or fill the page."""
    return f"<bdi>{escaped(cut(str(text), MOST_LETTERS))}</bdi>"


def code(text: object) -> str:
    """A name or a notation, in the letters of a terminal."""
    return f"<code>{words(text)}</code>"


def option(text: str) -> str:
    """What is to be pasted into a command line: however long, it is not cut."""
    return f"<code><bdi>{escaped(text)}</bdi></code>"


def number_cell(number: int, text: str = "") -> str:
    """Return a number, or a text for it, that the page's script sorts by the number."""
    return f'<span data-value="{number}">{escaped(text or f"{number:,}")}</span>'


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], *, caption: str, foot: Sequence[str] = ()) -> str:
    """Return a table with its caption; empty columns are left out.

    Cells are HTML; the first cell of each row is the row's heading. `foot` is the last row, with one cell per column.
    """
    columns = list(zip(heads, *rows, strict=True))
    shown = [any(column[1:]) for column in columns]
    kept = [column for column, has_cells in zip(columns, shown, strict=True) if has_cells]
    last = [cell for cell, has_cells in zip(foot, shown, strict=bool(foot)) if has_cells]
    head = "".join(f'<th scope="col">{escaped(each)}</th>' for each, *_ in kept)
    cells = zip(*(column[1:] for column in kept), strict=True)
    body = "".join(
        f'<tr><th scope="row">{first}</th>{"".join(f"<td>{cell}</td>" for cell in rest)}</tr>' for first, *rest in cells
    )
    region = f'role="region" tabindex="0" aria-label="{escaped(caption)}"'
    return (
        f'<div class="scroll" {region}><table><caption>{escaped(caption)}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody>{_foot(last)}</table></div>"
    )


def _foot(cells: Sequence[str]) -> str:
    if not cells:
        return ""
    first, *rest = cells
    return f'<tfoot><tr><th scope="row">{first}</th>{"".join(f"<td>{cell}</td>" for cell in rest)}</tr></tfoot>'


def facts(pairs: Iterable[tuple[str, str]]) -> str:
    """Write names and values, the values as HTML."""
    return f'<dl class="facts">{"".join(f"<dt>{escaped(name)}</dt><dd>{value}</dd>" for name, value in pairs)}</dl>'


def listed(items: Iterable[str], what: str) -> str:
    """Write a list of HTML, closed where it is long: `38 assumptions`; write nothing where there are no items."""
    lines = [f"<li>{item}</li>" for item in items]
    body = f"<ul>{''.join(lines)}</ul>" if lines else ""
    if len(lines) <= FOLDED:
        return body
    return f"<details><summary>{len(lines)} {escaped(what)}</summary>{body}</details>"


def section(heading: str, parts: Iterable[str], *, level: int = 3) -> str:
    """Write a heading and what follows it, or nothing where nothing does."""
    body = "".join(parts)
    return f"<section><h{level}>{escaped(heading)}</h{level}>{body}</section>" if body else ""
