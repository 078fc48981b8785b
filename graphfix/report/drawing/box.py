"""Draw an operand's box in the result's box: a solid in a wire frame, with an arrow along each stretched axis."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from graphfix.report.drawing import svg
from graphfix.report.drawing.svg import Point
from graphfix.report.text import cut
from graphfix.results.excerpt import Certainty, OperandAxis
from graphfix.results.records import dataclass

MOST_DIRECTIONS = 3
CELL = 22.0
CELLS = 6
"""The largest size of an axis that is drawn cell by cell."""
LONG = 92.0
"""The length of an axis with more cells, or of unknown size."""
DEPTH: Point = (0.62, -0.46)
"""The offset of the third direction for one step along it."""
MARGIN_LEFT, MARGIN_BELOW = 62.0, 44.0
LETTERS = 8
CAPTION = 150.0
"""The most width of the caption."""


@dataclass(frozen=True, slots=True)
class Direction:
    """Neighbouring axes of the result along which the operand is stretched alike; they are drawn as one direction."""

    stretched: Certainty
    sizes: tuple[int | str | None, ...]

    @property
    def label(self) -> str:
        """Return the sizes of the axes: `2·3`."""
        return cut("·".join("?" if size is None else str(size) for size in self.sizes), LETTERS)

    @property
    def cells(self) -> int | None:
        """Return the number of cells that are drawn; None if there are too many or the number is unknown."""
        (size,) = self.sizes if len(self.sizes) == 1 else (None,)
        return size if isinstance(size, int) and 0 < size <= CELLS else None

    @property
    def length(self) -> float:
        """Return the length of the result along this direction; 0 for a direction without axes."""
        if not self.sizes:
            return 0.0
        return CELL * self.cells if self.cells is not None else LONG

    @property
    def part(self) -> float:
        """Return the length of the operand along this direction."""
        return self.length if self.stretched == "no" else CELL


def directions(space: Sequence[int | str | None], axes: Sequence[OperandAxis]) -> list[Direction]:
    """Return a direction for each axis whose size is not 1; with more than three, one for neighbours that are alike."""
    kept = [(axis.stretched, size) for axis, size in zip(axes, space, strict=True) if size != 1]
    if len(kept) <= MOST_DIRECTIONS:
        return [Direction(stretched, (size,)) for stretched, size in kept]
    return [
        Direction(stretched, tuple(size for _, size in members))
        for stretched, members in groupby(kept, key=lambda pair: pair[0])
    ]


def can_be_drawn(found: Sequence[Direction]) -> bool:
    """Return whether there are one to three directions, and the operand is stretched along one of them."""
    return 0 < len(found) <= MOST_DIRECTIONS and any(each.stretched != "no" for each in found)


def extent(found: Sequence[Direction]) -> Point:
    """Return the width and height of the drawing with its labels."""
    x, y, z = _three(found)
    return MARGIN_LEFT + max(x.length + z.length * DEPTH[0], CAPTION) + 8, y.length - z.length * DEPTH[
        1
    ] + MARGIN_BELOW + 8


def draw(found: Sequence[Direction], caption: str, origin: Point) -> Iterator[str]:
    """Yield the SVG elements; `origin` is the upper left corner of the area that `extent` measures."""
    x, y, z = _three(found)
    left, top = origin[0] + MARGIN_LEFT, origin[1] - z.length * DEPTH[1] + 4
    solid = _Solid(left, top, x.part, y.part, z.part)
    yield from _Solid(left, top, x.length, y.length, z.length).faces("gx-frame")
    yield svg.lines([*_ticks(left, top, x, y, z)], "gx-tick")
    maybe = any(each.stretched == "maybe" for each in found)
    yield from solid.faces("gx-solid gx-hatched" if maybe else "gx-solid")
    yield from _arrows(solid, (x, y, z))
    yield svg.text((left + x.length / 2, top + y.length + 17), x.label, "gx-size")
    yield svg.text((left - 1, top + y.length + 37), caption, "gx-note", "start")
    if len(found) > 1:
        yield svg.text((left - 8, top + y.length / 2 + 4), y.label, "gx-size", "end")
    if len(found) > 2:  # noqa: PLR2004 -- the third direction
        middle = z.length / 2
        yield svg.text((left + middle * DEPTH[0] - 9, top + middle * DEPTH[1]), z.label, "gx-size", "end")


@dataclass(frozen=True, slots=True)
class _Solid:
    """A box: the upper left corner of its front, and three lengths."""

    left: float
    top: float
    width: float
    height: float
    depth: float

    def point(self, x: float, y: float, z: float) -> Point:
        return self.left + x + z * DEPTH[0], self.top + y + z * DEPTH[1]

    def faces(self, kind: str) -> Iterator[str]:
        w, h, d, at = self.width, self.height, self.depth, self.point
        yield svg.polygon([at(0, 0, 0), at(w, 0, 0), at(w, h, 0), at(0, h, 0)], kind)
        if d:
            yield svg.polygon([at(0, 0, 0), at(0, 0, d), at(w, 0, d), at(w, 0, 0)], kind)
            yield svg.polygon([at(w, 0, 0), at(w, 0, d), at(w, h, d), at(w, h, 0)], kind)


def _three(found: Sequence[Direction]) -> tuple[Direction, Direction, Direction]:
    """Return the directions to the right, down and back.

    An absent one has no label and the length of one cell, or 0 for back.
    """
    flat = Direction("no", (1,))
    backward = found[-3] if len(found) > 2 else Direction("no", ())  # noqa: PLR2004 -- the third from the right
    return found[-1], found[-2] if len(found) > 1 else flat, backward


def _ticks(left: float, top: float, x: Direction, y: Direction, z: Direction) -> Iterator[tuple[Point, Point]]:
    """Yield the lines between cells on the three visible faces."""
    at = _Solid(left, top, 0, 0, 0).point
    w, h, d = x.length, y.length, z.length
    for step in range(1, x.cells or 1):
        yield at(step * CELL, 0, 0), at(step * CELL, h, 0)
        yield at(step * CELL, 0, 0), at(step * CELL, 0, d)
    for step in range(1, y.cells or 1):
        yield at(0, step * CELL, 0), at(w, step * CELL, 0)
        yield at(w, step * CELL, 0), at(w, step * CELL, d)
    for step in range(1, (z.cells or 1) if d else 1):
        yield at(0, 0, step * CELL), at(w, 0, step * CELL)
        yield at(w, 0, step * CELL), at(w, h, step * CELL)


def _arrows(solid: _Solid, along: tuple[Direction, Direction, Direction]) -> Iterator[str]:
    x, y, z = along
    w, h, d, at = solid.width, solid.height, solid.depth, solid.point
    reach = (
        (x, at(w + 2, h / 2, 0), at(x.length - 3, h / 2, 0)),
        (y, at(w / 2, h + 2, 0), at(w / 2, y.length - 3, 0)),
        (z, at(w / 2, 0, d + 2), at(w / 2, 0, z.length - 3)),
    )
    for direction, start, end in reach:
        if direction.stretched != "no":
            yield svg.arrow(start, end, certain=direction.stretched == "yes")
