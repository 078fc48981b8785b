"""What the page's scripts read: sites, drawings and the graph around sites as one block of JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from graphfix.report.drawing import broadcast_svg, right_aligned
from graphfix.report.text import Entry, Failure, cut, node_reason, printable, shape_text
from graphfix.results import Outcome, Site
from graphfix.results.excerpt import Excerpt, JsonShape, NodeExcerpt, OperandExcerpt
from graphfix.results.records import dataclass, field

ALIGNED = ("GF101", "GF102", "GF103")
"""Codes whose sites say by `before` and `after` how an operand lies under the result."""
NAMED = ("code", "status", "op", "node", "graph")
"""The fields of a site that are columns of names."""
MOST_DRAWN = 2_000
"""Distinct drawings in one page: of a model with more, later sites have none, and the page stays openable."""
MOST_LETTERS = 500
"""Of a name or a reason."""
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
        """The number of a name or a sentence, its control characters written out; a very long one is cut."""
        return self.number(cut(text or "", MOST_LETTERS))


@dataclass(slots=True)
class _Drawings:
    """Drawings by number: nameless, so that many sites share one."""

    texts: _Interned = field(default_factory=_Interned)
    drawing_numbers: dict[tuple[object, ...], int] = field(default_factory=dict)

    def number(self, site: Site, node: NodeExcerpt | None) -> int:
        """The number of the site's drawing, -1 where it has none."""
        drawn = _drawn(site, node)
        if drawn is None:
            return -1
        space, operands = drawn
        lie = tuple(
            (each.index, each.shape, each.matrix, *((axis.source, axis.stretched) for axis in each.axes))
            for each in operands
        )
        key = (site.op, space, site.operand, lie)
        if key not in self.drawing_numbers:
            if len(self.drawing_numbers) >= MOST_DRAWN:
                return -1
            picture = broadcast_svg(printable(site.op), space, operands, focus=site.operand)
            self.drawing_numbers[key] = self.texts.number(picture)
        return self.drawing_numbers[key]


def _drawn(site: Site, node: NodeExcerpt | None) -> tuple[JsonShape, list[OperandExcerpt]] | None:
    """What is drawn of a site: the operands of its node, else the one operand by what the site says."""
    if node is not None and node.space is not None and any(each.index == site.operand for each in node.operands):
        return node.space, [replace(operand, value="") for operand in node.operands]
    before, after = site.before, site.after
    if site.code not in ALIGNED or site.operand is None or before is None or after is None or len(before) > len(after):
        return None
    return after, [right_aligned(site.operand, "", before, after)]


def _model(outcome: Outcome) -> dict[str, Any]:
    texts, drawings = _Interned(), _Drawings()
    nodes = outcome.excerpt.nodes if outcome.excerpt is not None else ()
    places = {(node.graph, node.node): at for at, node in enumerate(nodes)}
    at = [places.get((site.graph, site.node), -1) for site in outcome.sites]
    drawn = zip(outcome.sites, at, strict=True)
    columns = {
        **{name: [texts.name(getattr(site, name)) for site in outcome.sites] for name in NAMED},
        "operand": [site.operand for site in outcome.sites],
        "before": [texts.number(_shape(site, after=False)) for site in outcome.sites],
        "after": [texts.number(_shape(site, after=True)) for site in outcome.sites],
        "rewrite": [texts.name(site.rewrite) for site in outcome.sites],
        "bytes": [site.bytes for site in outcome.sites],
        "reason": [texts.name(site.reason or node_reason(site)) for site in outcome.sites],
        "inexact": [texts.name(site.inexact) for site in outcome.sites],
        "drawing": [drawings.number(site, nodes[place] if place >= 0 else None) for site, place in drawn],
        "at": at,
    }
    return {
        "sites": columns,
        "drawings": list(drawings.texts.numbers),
        "excerpt": _excerpt(outcome.excerpt, texts),
        "texts": list(texts.numbers),
    }


def _shape(site: Site, *, after: bool) -> str:
    """A shape as text; nothing where the site is about no operand's shape, or says none after it."""
    shape = site.after if after else site.before
    return "" if shape is None and (after or site.operand is None) else shape_text(shape)


def _excerpt(excerpt: Excerpt | None, texts: _Interned) -> dict[str, Any] | None:
    if excerpt is None:
        return None
    numbers = {node.key: number for number, node in enumerate(excerpt.nodes)}

    def notation(text: str | None) -> int:
        return -1 if text is None else texts.name(text)

    return {
        "steps": excerpt.steps,
        "left_out": excerpt.left_out,
        **{name: [texts.name(getattr(node, name)) for node in excerpt.nodes] for name in ("graph", "node", "op")},
        "before": [notation(node.before) for node in excerpt.nodes],
        "after": [notation(node.after) for node in excerpt.nodes],
        "reads_before": [[numbers[key] for key in node.reads_before if key in numbers] for node in excerpt.nodes],
        "reads_after": [[numbers[key] for key in node.reads_after if key in numbers] for node in excerpt.nodes],
    }
