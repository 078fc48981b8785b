"""The catalogue: which operators broadcast, by which rule, and which operands the rewrites leave alone."""

from __future__ import annotations

from operator import attrgetter

from graphfix.operators import onnx, onnx_reviewed, tflite, tflite_reviewed
from graphfix.operators.row import Row, StretchForm, standard

ROWS = onnx.ROWS + tflite.ROWS
NOT_BROADCASTING = onnx_reviewed.NOT_BROADCASTING | tflite_reviewed.NOT_BROADCASTING
"""(domain, operator) of all other operators that were reviewed: no operand of any version broadcasts."""
STRETCH_FORMS = (
    StretchForm("", "Expand", by="shape", standard=True, two_way=True),
    StretchForm("", "Tile", by="repeats", standard=False, standard_before=8),
    *tflite.STRETCH_FORMS,
)


_BY_OPERATOR: dict[tuple[str, str], list[Row]] = {}
"""(domain, operator) -> its rows, the newest version first."""
for _entry in sorted(ROWS, key=attrgetter("since"), reverse=True):
    _BY_OPERATOR.setdefault((_entry.domain, _entry.op), []).append(_entry)
_STRETCH_FORMS = {(entry.domain, entry.op): entry for entry in STRETCH_FORMS}


def row(domain: str, op: str, version: int) -> Row | None:
    """Return the row of operator `op` in a model that imports `version` of `domain`; None if it does not broadcast.

    In the domain TFLITE, `version` is that of the operator, and a row applies to all versions. The domains "" and
    "ai.onnx" are equal. An operator that is not in the catalogue also returns None.
    """
    for entry in _BY_OPERATOR.get((standard(domain), op), ()):
        if entry.since <= version:
            return entry if entry.until is None or version <= entry.until else None
    return None


def stretch_form(domain: str, op: str) -> StretchForm | None:
    """Return how an operator that only stretches its operand 0 states the target; None for any other operator."""
    return _STRETCH_FORMS.get((standard(domain), op))


def stretch_forms() -> tuple[StretchForm, ...]:
    """Return the forms of all operators that stretch operand 0 and do nothing else."""
    return STRETCH_FORMS


def rows() -> tuple[Row, ...]:
    """Return all rows of the catalogue, grouped by families of operators."""
    return ROWS
