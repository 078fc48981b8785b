"""The catalogue: which operators broadcast, by which rule, and which operands the rewrites leave alone."""

from __future__ import annotations

from bisect import bisect_right

from graphfix.ops_onnx import ROWS
from graphfix.ops_onnx_reviewed import EQUAL_SHAPES_BEFORE, NOT_BROADCASTING
from graphfix.ops_row import Exempt, Operand, Row, Style, When

__all__ = [
    "EQUAL_SHAPES_BEFORE",
    "NOT_BROADCASTING",
    "Exempt",
    "Operand",
    "Row",
    "Style",
    "When",
    "row",
    "rows",
]


def _index(table: tuple[Row, ...]) -> dict[tuple[str, str], tuple[list[int], list[Row]]]:
    """Group the rows by operator, each group sorted by its first version."""
    groups: dict[tuple[str, str], tuple[list[int], list[Row]]] = {}
    for entry in sorted(table, key=lambda entry: entry.since):
        since, of_operator = groups.setdefault((entry.domain, entry.op), ([], []))
        since.append(entry.since)
        of_operator.append(entry)
    return groups


_BY_OPERATOR = _index(ROWS)


def row(domain: str, op: str, version: int) -> Row | None:
    """Find the row of `op` in a model that imports `version` of `domain`; None when it does not broadcast.

    The domains "" and "ai.onnx" are one. An operator that the catalogue does not know has no row either.
    """
    found = _BY_OPERATOR.get(("" if domain == "ai.onnx" else domain, op))
    if found is None:
        return None
    since, of_operator = found
    position = bisect_right(since, version) - 1
    if position < 0:
        return None
    entry = of_operator[position]
    return entry if entry.until is None or version <= entry.until else None


def rows() -> tuple[Row, ...]:
    """Every row of the catalogue, family by family."""
    return ROWS
