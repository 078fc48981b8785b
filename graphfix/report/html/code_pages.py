"""What the finding codes mean: the pages of `explain`, from the little Markdown that they are written in."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from itertools import chain, groupby

from graphfix.report import pages
from graphfix.report.html import elements
from graphfix.report.text import printable

FENCE = "    "
HEADINGS, TITLE = re.compile(r"(#+) (.*)"), r"\2"


def section(codes: Sequence[str], own: Mapping[str, str]) -> str:
    """Write a closed part for each code that has a page; `own` has the first lines of those of the user's rewrites."""
    known = set(pages.codes())
    closed = (_closed(code, pages.page(code)) for code in codes if code in known)
    owned = (_closed(code, f"{printable(code)}\n\n{printable(own[code])}") for code in codes if code in own)
    return elements.section("What the codes mean", chain(closed, owned), level=2)


def _closed(code: str, page: str) -> str:
    title, _, text = page.partition("\n")
    summary = f"<summary>{elements.escaped(title.lstrip('# '))}</summary>"
    return f'<details class="code-page" id="{elements.escaped(code)}">{summary}{markup(text)}</details>'


def markup(text: str) -> str:
    """Turn paragraphs, headings, lists and indented code to HTML."""
    blocks = (block for block in re.split(r"\n(?:[ ]*\n)+", text.strip("\n")))
    return "".join(_joined(kind, [*members]) for kind, members in groupby(blocks, key=_kind))


def _kind(block: str) -> str:
    if block.startswith(FENCE):
        return "pre"
    if block.startswith("- "):
        return "ul"
    return "h4" if HEADINGS.fullmatch(block) else "p"


def _joined(kind: str, blocks: Sequence[str]) -> str:
    if kind == "pre":
        code = "\n\n".join("\n".join(line.removeprefix(FENCE) for line in block.splitlines()) for block in blocks)
        return f'<pre tabindex="0">{escape(code)}</pre>'
    if kind == "ul":
        return f"<ul>{''.join(f'<li>{_inline(item)}</li>' for block in blocks for item in _items(block))}</ul>"
    return "".join(f"<{kind}>{_inline(HEADINGS.sub(TITLE, block))}</{kind}>" for block in blocks)


def _items(block: str) -> Iterator[str]:
    for item in re.split(r"\n(?=- )", block):
        yield item.removeprefix("- ")


def _inline(text: str) -> str:
    """Mark code; the odd parts between backticks are it."""
    parts = escape(" ".join(text.split()), quote=False).split("`")
    return "".join(f"<code>{part}</code>" if at % 2 else part for at, part in enumerate(parts))
