"""Known integers in rows and columns: exporters turn the pads of a Pad around as a matrix of pairs."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from graphfix.checker.proof.core.sizes import numbers
from graphfix.checker.proof.core.terms import View
from graphfix.checker.proof.neutral.integer_values import cut
from graphfix.checker.proof.onnx.integer_values import NUMBERS_OF
from graphfix.checker.proof.onnx.layout_shapes import places

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphfix.checker.proof.core.sizes import Size, Sizes
    from graphfix.checker.proof.core.terms import TermTable
    from graphfix.checker.proof.onnx.reading.operands import Call

MATRIX = "matrix"
"""How the terms of such values begin; they are no constants: one element at least is known as a term alone."""
RANK = 2


def _rows(view: View | None) -> list[Sizes] | None:
    """Return the rows of a matrix that is seen as it is."""
    if view is None or view.core.key[0] != MATRIX or view != _whole(view):
        return None
    content, width = view.core.content or (), (numbers(view.core.sizes) or (0, 1))[1]
    return [content[at : at + width] for at in range(0, len(content), width)]


def _whole(view: View) -> View:
    return View(view.core, (0, 1), view.core.sizes)


def _entered(table: TermTable, rows: Sequence[Sequence[Size]], kind: str) -> View | None:
    """Enter rows of one length, above 1; None for others, which operators compute."""
    sizes = len(rows), len(rows[0]) if rows else 0
    if min(sizes) <= 1:
        return None
    content = tuple(element for row in rows for element in row)
    core, new = table.core((MATRIX, kind, sizes, content), f"{[list(row) for row in rows]}", counted=False)
    if new:
        core.content, core.sizes, core.dtype = content, sizes, NUMBERS_OF[kind]
    return View(core, (0, 1), sizes)


def reshaped(call: Call, target: Sizes, kind: str | None) -> View | None:
    """Put a vector of terms into rows, or rows into one vector."""
    view, wanted = call.views[0], numbers(target)
    if view is None or wanted is None:
        return None
    rows = _rows(view)
    if rows is not None:
        flat = tuple(element for row in rows for element in row)
        return call.table.integers(flat, str(view.core.key[1])) if wanted in ((-1,), (len(flat),)) else None
    content = view.content
    if content is None or kind not in NUMBERS_OF or numbers(content) is not None or len(wanted) != RANK:
        return None
    known = prod(size for size in wanted if size > 0)
    if min(wanted) < -1 or 0 in wanted or wanted == (-1, -1) or len(content) % known:
        return None
    height, width = (len(content) // known if size < 0 else size for size in wanted)
    if height * width != len(content):
        return None
    return _entered(call.table, [content[at * width : (at + 1) * width] for at in range(height)], kind)


def sliced(call: Call) -> View | None:
    """Take rows, or columns, by numbers."""
    rows = _rows(call.operand(0))
    given = [call.indices(at) for at in range(1, len(call.views))]
    bounds = [numbers(part) for part in given]
    single = [part[0] for part in bounds if part is not None and len(part) == 1]
    if rows is None or len(single) < len(given) or None in call.views:
        return None
    start, end, axis, step = (*single, *(0, 0, 0, 1)[len(single) :])
    at = places((axis,), RANK)
    taken = None if at is None else cut((len(rows), len(rows[0]))[at[0]], start, end, step)
    if at is None or taken is None:
        return None
    kept = [rows[row] for row in taken] if at[0] == 0 else [[row[column] for column in taken] for row in rows]
    return _entered(call.table, kept, _kind(call))


def transposed(call: Call) -> View | None:
    """Make columns of rows."""
    rows = _rows(call.operand(0))
    if rows is None or call.integers("perm") not in (None, (1, 0)):
        return None
    return _entered(call.table, list(zip(*rows, strict=True)), _kind(call))


def _kind(call: Call) -> str:
    view = call.views[0]
    return "" if view is None else str(view.core.key[1])
