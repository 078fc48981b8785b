"""What the page's scripts read: sites, drawings and the graph around sites as one block of JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from graphfix.report.drawing import broadcast_svg, right_aligned
from graphfix.report.text import Entry, Failure, printable, shape_text
from graphfix.results import Excerpt, NodeExcerpt, Outcome, Site

ALIGNED = ("GF101", "GF102", "GF103")
"""Codes whose sites say by `before` and `after` how an operand lies under the result."""
MOST_DRAWN = 2_000
"""Distinct drawings in one page: of a model with more, later sites have none, and the page stays openable."""
OUTSIDE = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})
"""JSON's own escapes for what could end a script element."""


def block(entries: Sequence[Entry]) -> str:
    """Write the text of the script element: no name can end it, open a comment in it or start another."""
    models = [None if isinstance(entry, Failure) else _model(entry) for entry in entries]
    return json.dumps({"models": models}, separators=(",", ":"), allow_nan=False).translate(OUTSIDE)


@dataclass(frozen=True, slots=True)
class _Interned:
    """Texts by number: each is in the page once."""

    numbers: dict[str, int] = field(default_factory=dict)

    def number(self, text: str) -> int:
        return self.numbers.setdefault(text, len(self.numbers))

    def name(self, text: str | None) -> int:
        """The number of a name or a sentence, its control characters written out."""
        return self.number(printable(text or ""))


def _model(outcome: Outcome) -> dict[str, Any]:
    texts, drawings = _Interned(), _Interned()
    excerpt = outcome.excerpt
    nodes = {(node.graph, node.node): node for node in excerpt.nodes} if excerpt is not None else {}
    drawn = [_drawing(site, nodes.get((site.graph, site.node))) for site in outcome.sites]
    columns = {
        "code": [texts.name(site.code) for site in outcome.sites],
        "status": [texts.name(site.status) for site in outcome.sites],
        "op": [texts.name(site.op) for site in outcome.sites],
        "node": [texts.name(site.node) for site in outcome.sites],
        "graph": [texts.name(site.graph) for site in outcome.sites],
        "operand": [site.operand for site in outcome.sites],
        "before": [texts.number(_shape(site, after=False)) for site in outcome.sites],
        "after": [texts.number(_shape(site, after=True)) for site in outcome.sites],
        "rewrite": [texts.name(site.rewrite) for site in outcome.sites],
        "bytes": [site.bytes for site in outcome.sites],
        "reason": [texts.name(site.reason) for site in outcome.sites],
        "inexact": [texts.name(site.inexact) for site in outcome.sites],
        "drawing": [_number(drawings, svg) for svg in drawn],
    }
    return {
        "sites": columns,
        "drawings": list(drawings.numbers),
        "excerpt": _excerpt(excerpt, texts),
        "texts": list(texts.numbers),
    }


def _shape(site: Site, *, after: bool) -> str:
    """A shape as text; nothing where the site is about no operand's shape."""
    if site.operand is None and site.before is None and site.after is None:
        return ""
    if after and site.after is None and site.status in ("left", "exempt"):
        return ""
    return shape_text(site.after if after else site.before)


def _drawing(site: Site, node: NodeExcerpt | None) -> str:
    """The drawing of a site: by the model's excerpt, else by what the site says; nameless, so that many share one."""
    if node is not None and node.space is not None and any(each.index == site.operand for each in node.operands):
        operands = [replace(operand, value="") for operand in node.operands]
        return broadcast_svg(printable(site.op), node.space, operands, focus=site.operand)
    before, after = site.before, site.after
    if site.code not in ALIGNED or site.operand is None or before is None or after is None or len(before) > len(after):
        return ""
    return broadcast_svg(
        printable(site.op), after, [right_aligned(site.operand, "", before, after)], focus=site.operand
    )


def _number(drawings: _Interned, svg: str) -> int:
    """Which drawing it is, -1 for none."""
    if not svg or (svg not in drawings.numbers and len(drawings.numbers) >= MOST_DRAWN):
        return -1
    return drawings.number(svg)


def _excerpt(excerpt: Excerpt | None, texts: _Interned) -> dict[str, Any] | None:
    if excerpt is None:
        return None
    numbers = {node.key: number for number, node in enumerate(excerpt.nodes)}

    def notation(text: str | None) -> int:
        return -1 if text is None else texts.name(text)

    return {
        "steps": excerpt.steps,
        "left_out": excerpt.left_out,
        "graph": [texts.name(node.graph) for node in excerpt.nodes],
        "node": [texts.name(node.node) for node in excerpt.nodes],
        "op": [texts.name(node.op) for node in excerpt.nodes],
        "before": [notation(node.before) for node in excerpt.nodes],
        "after": [notation(node.after) for node in excerpt.nodes],
        "reads_before": [[numbers[key] for key in node.reads_before if key in numbers] for node in excerpt.nodes],
        "reads_after": [[numbers[key] for key in node.reads_after if key in numbers] for node in excerpt.nodes],
    }
