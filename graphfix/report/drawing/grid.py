"""Draw the operands' axes in rows, each under the result's axis that it follows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from graphfix.report.drawing import svg
from graphfix.report.drawing.svg import Point
from graphfix.report.text import cut, printable
from graphfix.results.excerpt import OperandAxis, OperandExcerpt

FEW_AXES = 4
NARROW, WIDE, WIDEST = 48.0, 62.0, 88.0
"""Widths of a cell: the least for many axes; the least for few axes and the most for many; the most for few."""
HIGH, GAP, HEAD = 38.0, 6.0, 22.0
LETTER, SMALL_LETTER = 7.3, 6.7
"""The widths of characters."""
MOST_LETTERS = 16
APART = 18.0
"""The space between the broadcast axes and the own axes of a matrix."""
KEY = 20.0
KEYS = {
    "gx-lift": "lifted: the operator adds it",
    "gx-stretch": "stretched: repeated",
    "gx-hatch": "maybe stretched: the sizes do not say",
    "gx-matrix": "matrix axis: not broadcast",
}
"""By CSS class: the explanation in the legend. A drawing lists only the classes that it contains."""


def name(operand: OperandExcerpt) -> str:
    """Return the value's name, or `operand 1` if it has none."""
    return printable(operand.value) or f"operand {operand.index}"


def extent(op: str, space: Sequence[int | str | None], operands: Sequence[OperandExcerpt]) -> Point:
    """Return the width and height of the drawing."""
    cells = len(space) + max((_matrix(operand) for operand in operands), default=0)
    apart = APART if cells > len(space) else 0.0
    keys = len(_keys(operands))
    width = _label(op, operands) + cells * (_cell(space) + GAP) + apart
    longest = max((len(KEYS[kind]) for kind in _keys(operands)), default=0) * 6.2 + 30
    return max(width, longest), HEAD + (len(operands) + 1) * (HIGH + GAP) + 8 + keys * KEY


def draw(
    op: str, space: Sequence[int | str | None], operands: Sequence[OperandExcerpt], origin: Point
) -> Iterator[str]:
    """Yield the SVG elements; `origin` is the upper left corner of the area that `extent` measures."""
    left, top = origin[0] + _label(op, operands), origin[1]
    step = _cell(space) + GAP
    for axis in range(len(space)):
        yield svg.text((left + axis * step + _cell(space) / 2, top + 12), f"axis {axis}", "gx-axis")
    for row, operand in enumerate(operands):
        y = top + HEAD + row * (HIGH + GAP)
        yield svg.text((left - 10, y + HIGH / 2 + 4), cut(name(operand), MOST_LETTERS), "gx-name", "end")
        for axis, (lies, size) in enumerate(zip(operand.axes, space, strict=True)):
            yield from _axis(operand, lies, size, ((left + axis * step, y), (_cell(space), HIGH)))
        yield from _matrix_axes(operand, ((left + len(space) * step + APART, y), (_cell(space), HIGH)))
    y = top + HEAD + len(operands) * (HIGH + GAP) + 4
    yield svg.lines([((origin[0], y - 3), (left + len(space) * step - GAP, y - 3))], "gx-rule")
    yield svg.text((left - 10, y + HIGH / 2 + 4), cut(op, MOST_LETTERS), "gx-name", "end")
    for axis, size in enumerate(space):
        at = (left + axis * step, y)
        yield svg.box(at, (_cell(space), HIGH), "gx-result")
        yield _size(size, (at[0] + _cell(space) / 2, y + HIGH / 2 + 4), _cell(space), "gx-extent")
    yield from _legend(operands, (origin[0], y + HIGH + 12))


def _axis(
    operand: OperandExcerpt, lies: OperandAxis, size: int | str | None, place: tuple[Point, Point]
) -> Iterator[str]:
    (x, y), (width, _) = place
    yield svg.box(*place, _kind(lies))
    if lies.stretched == "maybe":
        yield svg.box(*place, "gx-hatch")
    mine = 1 if lies.source is None or operand.shape is None else operand.shape[lies.source]
    middle = x + width / 2
    if lies.stretched == "no":
        yield _size(mine, (middle, y + HIGH / 2 + 4), width, "gx-extent")
        return
    yield _size(mine, (middle, y + 16), width, "gx-extent")
    mark, kind = ("→", "gx-to") if lies.stretched == "yes" else ("?", "gx-size")
    yield svg.text((middle, y + 31), cut(f"{mark}{_text(size)}", int(width / SMALL_LETTER) - 1), kind)


def _matrix_axes(operand: OperandExcerpt, place: tuple[Point, Point]) -> Iterator[str]:
    (x, y), (width, high) = place
    for at, size in enumerate(operand.matrix or ()):
        left = x + at * (width + GAP)
        yield svg.box((left, y), (width, high), "gx-matrix")
        yield _size(size, (left + width / 2, y + HIGH / 2 + 4), width, "gx-extent")


def _kind(lies: OperandAxis) -> str:
    lifted, stretched = lies.source is None, lies.stretched == "yes"
    if lifted:
        return "gx-both" if stretched else "gx-lift"
    return "gx-stretch" if stretched else "gx-cell"


def _legend(operands: Sequence[OperandExcerpt], at: Point) -> Iterator[str]:
    for row, kind in enumerate(_keys(operands)):
        y = at[1] + row * KEY
        yield svg.box((at[0], y), (18, 12), "gx-cell" if kind == "gx-hatch" else kind)
        if kind == "gx-hatch":
            yield svg.box((at[0], y), (18, 12), kind)
        yield svg.text((at[0] + 26, y + 10), KEYS[kind], "gx-key", "start")


def _keys(operands: Sequence[OperandExcerpt]) -> list[str]:
    axes = [axis for operand in operands for axis in operand.axes]
    present = {
        "gx-lift": any(axis.source is None for axis in axes),
        "gx-stretch": any(axis.stretched == "yes" for axis in axes),
        "gx-hatch": any(axis.stretched == "maybe" for axis in axes),
        "gx-matrix": any(operand.matrix for operand in operands),
    }
    return [kind for kind, there in present.items() if there]


def _size(size: int | str | None, at: Point, width: float, kind: str) -> str:
    return svg.text(at, cut(_text(size), int(width / LETTER)), kind)


def _text(size: int | str | None) -> str:
    return "?" if size is None else str(size)


def _cell(space: Sequence[int | str | None]) -> float:
    """Return the width of a cell: enough for the longest size, within the limits for the number of axes."""
    least, most = (WIDE, WIDEST) if len(space) <= FEW_AXES else (NARROW, WIDE)
    longest = max((len(_text(size)) for size in space), default=0)
    return min(max((longest + 2) * LETTER, least), most)


def _label(op: str, operands: Sequence[OperandExcerpt]) -> float:
    longest = max(map(len, [printable(op), *map(name, operands)]))
    return max(min(longest, MOST_LETTERS), 8) * LETTER + 14


def _matrix(operand: OperandExcerpt) -> int:
    return len(operand.matrix or ())
