"""The pictures of the documentation: each shows one broadcast, drawn as in the reports.

`python -m documentation.drawings`, run in scripts/, writes the picture that the README shows.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from graphfix.report.drawing import broadcast_svg, right_aligned
from graphfix.results.excerpt import JsonShape, OperandAxis, OperandExcerpt

FOLDER = "pictures"
KEPT = "lift-and-stretch"
"""The picture that is also committed, because the README is shown where no site is built."""
Size = int | str


def picture(name: str) -> str:
    """Return the picture with this name as SVG."""
    return PICTURES[name]()


def made() -> dict[str, str]:
    """Return the SVG of each picture by its path in the site, without the picture that docs/ contains."""
    return {f"{FOLDER}/{name}.svg": picture(name) for name in PICTURES if name != KEPT}


def _right_aligned(op: str, *shapes: tuple[Size, ...], space: tuple[Size, ...], focus: int) -> Callable[[], str]:
    """Return a function that draws a broadcast of right-aligned operands.

    `space` is the shape of the result. The operand with the index `focus` is also drawn as a box inside the result.
    """

    def draw() -> str:
        operands = [
            right_aligned(i, name, shape, space) for i, (name, shape) in enumerate(zip("xbc", shapes, strict=False))
        ]
        return broadcast_svg(op, space, operands, focus=focus, standalone=True)

    return draw


def _placed(op: str, space: JsonShape, value: str, shape: JsonShape, axes: tuple[int | None, ...]) -> Callable[[], str]:
    """Return a function that draws a broadcast of a result and one operand that is not right-aligned.

    `axes` contains for each axis of `space` the operand's axis along it, or None if the operand has no such axis.
    """

    def draw() -> str:
        assert space is not None  # noqa: S101 -- a picture has sizes
        result = OperandExcerpt(0, "x", space, [OperandAxis(axis, "no") for axis in range(len(space))])
        operand_axes = [OperandAxis(own, "yes" if own is None else "no") for own in axes]
        return broadcast_svg(
            op, space, [result, OperandExcerpt(1, value, shape, operand_axes)], focus=1, standalone=True
        )

    return draw


def _product(batch: tuple[Size, ...], a: tuple[Size, ...], b: tuple[Size, ...]) -> Callable[[], str]:
    """Return a function that draws a matrix product. The batch axes are drawn apart from the axes of the matrices."""

    def draw() -> str:
        operands = [
            right_aligned(index, name, shape[:-2], batch, matrix=shape[-2:])
            for index, (name, shape) in enumerate({"a": a, "b": b}.items())
        ]
        return broadcast_svg("MatMul", batch, operands, focus=1, standalone=True)

    return draw


PICTURES = {
    KEPT: _right_aligned("Add", (2, 3, 4), (4,), space=(2, 3, 4), focus=1),
    "both-sides": _right_aligned("Add", (3, 1), (1, 4), space=(3, 4), focus=0),
    "unit-axis": _right_aligned("Mul", (2, 3, 4), (2, 1, 4), space=(2, 3, 4), focus=1),
    "matmul-batch": _product((8, 4), (8, 4, 2, 3), (4, 3, 5)),
    "unknown-size": _right_aligned("Mul", ("N", 4), ("M", 4), space=(None, 4), focus=1),
    "legacy-axis": _placed("Add", (2, 3, 4), "b", (2, 3), (0, 1, None)),
}
"""The function that draws each picture, by the picture's name."""

if __name__ == "__main__":
    (Path(__file__).resolve().parents[2] / "docs" / FOLDER / f"{KEPT}.svg").write_text(picture(KEPT), encoding="utf-8")
