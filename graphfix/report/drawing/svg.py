"""Functions that return SVG elements as text, with the CSS classes of the style."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from graphfix.report.text import printable

Point = tuple[float, float]


def number(value: float) -> str:
    """Return a number in its shortest form: `12`, `12.5`."""
    return f"{value:.1f}".rstrip("0").rstrip(".")


def text(at: Point, content: str, kind: str, anchor: str = "middle") -> str:
    """Return a line of text; `kind` is its CSS class."""
    x, y = at
    hold = "" if anchor == "middle" else f' text-anchor="{anchor}"'
    return f'<text class="{kind}" x="{number(x)}" y="{number(y)}"{hold}>{escape(printable(content))}</text>'


def box(at: Point, size: Point, kind: str) -> str:
    """Return a rectangle with slightly rounded corners."""
    (x, y), (width, height) = at, size
    place = f'x="{number(x)}" y="{number(y)}" width="{number(width)}" height="{number(height)}"'
    return f'<rect class="{kind}" {place} rx="4"/>'


def polygon(points: Sequence[Point], kind: str) -> str:
    """Return a filled area."""
    return f'<path class="{kind}" d="M{_joined(points)}Z"/>'


def lines(pairs: Sequence[tuple[Point, Point]], kind: str) -> str:
    """Return straight lines as one element; "" if there are none."""
    drawn = "".join(f"M{_joined(pair)}" for pair in pairs)
    return f'<path class="{kind}" d="{drawn}"/>' if drawn else ""


def arrow(start: Point, end: Point, *, certain: bool) -> str:
    """Return an arrow in the colour of stretched axes; it is dashed unless `certain`."""
    (x0, y0), (x1, y1) = start, end
    length = max(((x1 - x0) ** 2 + (y1 - y0) ** 2) ** 0.5, 1.0)
    ux, uy = (x1 - x0) / length * 7, (y1 - y0) / length * 7
    neck = (x1 - ux, y1 - uy)
    left, right = (neck[0] - uy * 0.55, neck[1] + ux * 0.55), (neck[0] + uy * 0.55, neck[1] - ux * 0.55)
    return lines([(start, neck)], "gx-arrow" if certain else "gx-arrow gx-maybe") + polygon(
        [end, left, right], "gx-head"
    )


def _joined(points: Sequence[Point]) -> str:
    return "L".join(f"{number(x)} {number(y)}" for x, y in points)
