"""Draw a broadcast as SVG: the operands' axes under the result's axes, and one operand's box in the result's box."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from importlib import resources

from graphfix.report.drawing import box, grid, svg
from graphfix.report.text import cut, shape_text
from graphfix.results.excerpt import JsonShape, OperandAxis, OperandExcerpt

__all__ = ["DARK", "LIGHT", "STYLE", "broadcast_svg", "right_aligned"]

MARGIN = 14.0
BETWEEN = 26.0


def _asset(name: str) -> str:
    return resources.files(__name__).joinpath(name).read_text(encoding="utf-8")


LIGHT, DARK = _asset("colours.css"), _asset("colours_dark.css")
"""CSS declarations of the colours (`--lift: ...;`), for `:root` or for a single drawing."""
STYLE = _asset("drawing.css")
"""The CSS of drawings, without the colours."""


def broadcast_svg(
    op: str,
    space: JsonShape,
    operands: Sequence[OperandExcerpt],
    *,
    focus: int | None = None,
    standalone: bool = False,
) -> str:
    """Draw how the operands of `op` broadcast; return "" if the result's rank is unknown.

    `space` contains the sizes of the result's axes over which the operands broadcast, and each operand's `axes` has one
    entry for each of them. An axis that a lift adds is dashed. A stretched axis is filled, with the size to which it is
    stretched. An axis that may be stretched is hatched. The own axes of a matrix product are drawn apart.

    The second part shows the box of the operand with the index `focus` in the result's box; None selects the first
    operand that is lifted or stretched. Neighbouring axes that are alike are drawn as one direction. With more than
    three directions the second part is omitted.

    If `standalone`, the result is a file with its own colours, light and dark as the reader's system. Otherwise the
    page must contain `STYLE` and the colours. An operand without a value's name is called `operand 1`.
    """
    if space is None:
        return ""
    chosen = _chosen(operands, focus)
    found = box.directions(space, chosen.axes) if chosen is not None else []
    width, height = grid.extent(op, space, operands)
    parts = [*grid.draw(op, space, operands, (MARGIN, MARGIN))]
    if chosen is not None and box.can_be_drawn(found):
        wide, high = box.extent(found)
        beside = standalone
        at = (MARGIN + width + BETWEEN, MARGIN) if beside else (MARGIN, MARGIN + height + BETWEEN / 2)
        parts += box.draw(found, cut(f"{grid.name(chosen)} in the result", 28), at)
        width = width + BETWEEN + wide if beside else max(width, wide)
        height = max(height, high) if beside else height + BETWEEN / 2 + high
    return _whole(op, _described(space, operands), parts, (width + 2 * MARGIN, height + 2 * MARGIN), standalone)


def right_aligned(
    index: int,
    value: str,
    shape: Sequence[int | str | None],
    space: Sequence[int | str | None],
    *,
    matrix: JsonShape = (),
) -> OperandExcerpt:
    """Return how numpy's rule aligns an operand under a result.

    `b[3,1]` under `[2,3,4]` is lifted along axis 0 and stretched along axis 2.

    `shape` must not have more axes than `space`, matrix axes aside. An axis of unknown size, which is not known to
    equal the result's size, may be stretched.
    """
    added = len(space) - len(shape)
    axes = [OperandAxis(None, "no" if size == 1 else "yes") for size in space[:added]]
    for axis, (mine, size) in enumerate(zip(shape, space[added:], strict=True)):
        same = mine == size and mine is not None
        is_known = isinstance(mine, int)
        axes.append(OperandAxis(axis, "no" if same or (is_known and mine != 1) else "yes" if is_known else "maybe"))
    return OperandExcerpt(index, value, (*shape, *(matrix or ())), tuple(axes), matrix)


def _chosen(operands: Sequence[OperandExcerpt], focus: int | None) -> OperandExcerpt | None:
    if focus is not None:
        return next((operand for operand in operands if operand.index == focus), None)
    return next((operand for operand in operands if _implicit(operand)), None)


def _implicit(operand: OperandExcerpt) -> bool:
    return any(axis.source is None or axis.stretched != "no" for axis in operand.axes)


def _whole(op: str, said: str, parts: Sequence[str], size: svg.Point, standalone: bool) -> str:
    width, height = svg.number(size[0]), svg.number(size[1])
    head = f'<svg class="gx" role="img" width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    words = f"<title>{escape(cut(f'How the operands of {op} broadcast', 200))}</title><desc>{escape(said)}</desc>"
    hatch = (
        '<defs><pattern id="gx-hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
        '<path class="gx-line" d="M3 0V6"/></pattern></defs>'
        if any("gx-hatch" in part for part in parts)
        else ""
    )
    body = f"{hatch}{''.join(parts)}</svg>"
    if not standalone:
        return f"{head}>{words}{body}"
    style = f"svg{{{LIGHT}}}@media (prefers-color-scheme: dark){{svg{{{DARK}}}}}{STYLE}".replace("\n", " ")
    panel = svg.box((0.5, 0.5), (size[0] - 1, size[1] - 1), "gx-panel")
    return f'{head} xmlns="http://www.w3.org/2000/svg">{words}<style>{style}</style>{panel}{body}\n'


def _described(space: Sequence[int | str | None], operands: Sequence[OperandExcerpt]) -> str:
    """Return the drawing as a sentence for readers who can't see it.

    Example: `The operands broadcast over [2,3,4]. b [4]: lifted along 0, 1.`
    """
    return " ".join(
        [f"The operands broadcast over {shape_text(tuple(space))}.", *(_one(operand) for operand in operands)]
    )


def _one(operand: OperandExcerpt) -> str:
    kinds = {
        "lifted": [at for at, axis in enumerate(operand.axes) if axis.source is None],
        "stretched": [at for at, axis in enumerate(operand.axes) if axis.stretched == "yes"],
        "maybe stretched": [at for at, axis in enumerate(operand.axes) if axis.stretched == "maybe"],
    }
    said = "; ".join(f"{kind} along {', '.join(map(str, axes))}" for kind, axes in kinds.items() if axes)
    return f"{grid.name(operand)} {shape_text(operand.shape)}: {said or 'follows every axis'}."
