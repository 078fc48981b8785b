"""HTML elements as text. Every name and sentence passes through these functions, which escape it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from graphfix.report.text import cut, printable

MOST_LETTERS = 1000
FOLDED = 12
"""A list of more items is collapsed until the reader opens it."""


def escaped(text: object) -> str:
    """Return a text on one line with HTML escaped, also for attributes."""
    return escape(printable(str(text)))


def words(text: object) -> str:
    """Return a sentence on one line, escaped and cut; its text direction does not affect the rest of the line."""
    return f"<bdi>{escaped(cut(str(text), MOST_LETTERS))}</bdi>"


def code(text: object) -> str:
    """Return a name or a notation in a monospaced font."""
    return f"<code>{words(text)}</code>"


def option(text: str) -> str:
    """Return a text that users paste into a command line; it is never cut."""
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
    """Return a list of names and values; the values are HTML."""
    return f'<dl class="facts">{"".join(f"<dt>{escaped(name)}</dt><dd>{value}</dd>" for name, value in pairs)}</dl>'


def listed(items: Iterable[str], what: str) -> str:
    """Return a list of HTML items, collapsed if it is long: `38 assumptions`; "" if there are no items."""
    lines = [f"<li>{item}</li>" for item in items]
    body = f"<ul>{''.join(lines)}</ul>" if lines else ""
    if len(lines) <= FOLDED:
        return body
    return f"<details><summary>{len(lines)} {escaped(what)}</summary>{body}</details>"


def section(heading: str, parts: Iterable[str], *, level: int = 3) -> str:
    """Return a heading and the parts that follow it; "" if all parts are empty."""
    body = "".join(parts)
    return f"<section><h{level}>{escaped(heading)}</h{level}>{body}</section>" if body else ""
