"""What stretches add when the model runs: bars of bytes, the largest first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod

from graphfix.report.html.elements import section, words
from graphfix.report.text import counted, place_text, shape_text
from graphfix.results import Outcome, Site
from graphfix.results.excerpt import JsonShape
from graphfix.results.records import dataclass

SHOWN = 12
STRETCHING = ("GF102", "GF103")
Operands = Mapping[tuple[str, str, int | None], int]
"""(graph, node, operand) -> bytes of an element."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """An operand whose elements are repeated."""

    site: Site
    bytes: int | None
    """How many more it has, None where a size or the element type is not known."""


def chart(outcome: Outcome) -> Iterator[str]:
    """Yield the bars, or nothing where no operand is stretched."""
    found = stretches(outcome)
    if not found:
        return
    with_bytes = sorted((each for each in found if each.bytes), key=lambda each: -(each.bytes or 0))
    unknown = sum(each.bytes is None for each in found)
    total = sum(each.bytes or 0 for each in with_bytes)
    parts = [f"{counted(len(with_bytes), 'operand')}: {_amount(total)} more in all"] if with_bytes else []
    parts += [f"not known of {counted(unknown, 'operand')}"] if unknown else []
    most = max((each.bytes or 0 for each in with_bytes), default=1)
    bars = "".join(_bar(each, most) for each in with_bytes[:SHOWN])
    rest = (
        f'<p class="muted">and {counted(len(with_bytes) - SHOWN, "operand")} more</p>'
        if len(with_bytes) > SHOWN
        else ""
    )
    body = f'<ol class="bars">{bars}</ol>{rest}' if with_bytes else ""
    would = "add" if any(each.site.status == "changed" for each in found) else "would add"
    yield section(f"Bytes that stretches {would} when the model runs", [f"<p>{words('; '.join(parts))}</p>", body])


def stretches(outcome: Outcome) -> list[Stretch]:
    """Every operand that an edit stretches, or would, in the order of the sites."""
    sizes = _itemsizes(outcome)
    sites = (site for site in outcome.sites if site.code in STRETCHING and site.status in ("changed", "found"))
    return [Stretch(site, _added(site, sizes)) for site in sites]


def _added(site: Site, itemsizes: Operands) -> int | None:
    before, after = _elements(site.before), _elements(site.after)
    itemsize = itemsizes.get((site.graph, site.node, site.operand))
    if before is None or after is None or itemsize is None:
        return None
    return max(after - before, 0) * itemsize


def _elements(shape: JsonShape) -> int | None:
    numbers = [size for size in shape or () if isinstance(size, int)]
    return prod(numbers) if shape is not None and len(numbers) == len(shape) else None


def _itemsizes(outcome: Outcome) -> Operands:
    nodes = outcome.excerpt.nodes if outcome.excerpt is not None else ()
    return {
        (node.graph, node.node, operand.index): operand.itemsize
        for node in nodes
        for operand in node.operands
        if operand.itemsize is not None
    }


def _bar(stretch: Stretch, most: int) -> str:
    site, added = stretch.site, stretch.bytes or 0
    name = place_text(site)
    width = max(added / most * 100, 0.5)
    shapes = f"{shape_text(site.before)} → {shape_text(site.after)}"
    return (
        f'<li><span class="bar-name">{words(name)} <span class="muted">{words(shapes)}</span></span>'
        f'<span class="bar-track"><span class="bar" style="width:{width:.1f}%"></span></span>'
        f'<span class="bar-bytes">{_amount(added)}</span></li>'
    )


def _amount(number: int) -> str:
    """`384 B`, `1.5 MiB`."""
    size = float(number)
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if size < 1024 or unit == "TiB":  # noqa: PLR2004 -- the next unit
            break
        size /= 1024
    return f"{size:,.0f} {unit}" if unit == "B" or size >= 100 else f"{size:.1f} {unit}"  # noqa: PLR2004 -- digits
