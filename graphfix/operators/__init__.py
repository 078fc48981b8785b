"""The catalogue: which operators broadcast, by which rule, and which operands the rewrites leave alone."""

from __future__ import annotations

from bisect import bisect_right

from graphfix.operators import onnx, onnx_reviewed, tflite, tflite_reviewed
from graphfix.operators.onnx_reviewed import EQUAL_SHAPES_BEFORE
from graphfix.operators.row import TFLITE, Exempt, Operand, Row, Seen, StretchForm, Style, When, standard

__all__ = [
    "EQUAL_SHAPES_BEFORE",
    "NOT_BROADCASTING",
    "TFLITE",
    "Exempt",
    "Operand",
    "Row",
    "Seen",
    "StretchForm",
    "Style",
    "When",
    "row",
    "rows",
    "stretch_form",
    "stretch_forms",
]

ROWS = onnx.ROWS + tflite.ROWS
NOT_BROADCASTING = onnx_reviewed.NOT_BROADCASTING | tflite_reviewed.NOT_BROADCASTING
"""(domain, operator) of everything else that was read: no operand of any version broadcasts."""
STRETCH_FORMS = (
    StretchForm("", "Expand", by="shape", standard=True, two_way=True),
    StretchForm("", "Tile", by="repeats", standard=False, standard_before=8),
    *tflite.STRETCH_FORMS,
)


def _index(table: tuple[Row, ...]) -> dict[tuple[str, str], tuple[list[int], list[Row]]]:
    """Group the rows by operator, each group sorted by its first version."""
    groups: dict[tuple[str, str], tuple[list[int], list[Row]]] = {}
    for entry in sorted(table, key=lambda entry: entry.since):
        since, of_operator = groups.setdefault((entry.domain, entry.op), ([], []))
        since.append(entry.since)
        of_operator.append(entry)
    return groups


_BY_OPERATOR = _index(ROWS)
_STRETCH_FORMS = {(entry.domain, entry.op): entry for entry in STRETCH_FORMS}


def row(domain: str, op: str, version: int) -> Row | None:
    """Find the row of `op` in a model that imports `version` of `domain`; None when it does not broadcast.

    In the domain TFLITE the version is the operator's own, and a row holds for all of them.
    The domains "" and "ai.onnx" are one. An operator that the catalogue does not know has no row either.
    """
    found = _BY_OPERATOR.get((standard(domain), op))
    if found is None:
        return None
    since, of_operator = found
    position = bisect_right(since, version) - 1
    if position < 0:
        return None
    entry = of_operator[position]
    return entry if entry.until is None or version <= entry.until else None


def stretch_form(domain: str, op: str) -> StretchForm | None:
    """How an operator writes a stretch of its operand 0, None where it is no stretch."""
    return _STRETCH_FORMS.get((standard(domain), op))


def stretch_forms() -> tuple[StretchForm, ...]:
    """Every operator that is a stretch and nothing else."""
    return STRETCH_FORMS


def rows() -> tuple[Row, ...]:
    """Every row of the catalogue, family by family."""
    return ROWS
