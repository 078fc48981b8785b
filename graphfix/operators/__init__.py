"""The catalogue: which operators broadcast, by which rule, and which operands the rewrites leave alone."""

from __future__ import annotations

from operator import attrgetter

from graphfix.operators import onnx, onnx_reviewed, tflite, tflite_reviewed
from graphfix.operators.row import Row, StretchForm, standard

ROWS = onnx.ROWS + tflite.ROWS
NOT_BROADCASTING = onnx_reviewed.NOT_BROADCASTING | tflite_reviewed.NOT_BROADCASTING
"""(domain, operator) of everything else that was read: no operand of any version broadcasts."""
STRETCH_FORMS = (
    StretchForm("", "Expand", by="shape", standard=True, two_way=True),
    StretchForm("", "Tile", by="repeats", standard=False, standard_before=8),
    *tflite.STRETCH_FORMS,
)


_BY_OPERATOR: dict[tuple[str, str], list[Row]] = {}
"""By operator its rows, the newest first."""
for _entry in sorted(ROWS, key=attrgetter("since"), reverse=True):
    _BY_OPERATOR.setdefault((_entry.domain, _entry.op), []).append(_entry)
_STRETCH_FORMS = {(entry.domain, entry.op): entry for entry in STRETCH_FORMS}


def row(domain: str, op: str, version: int) -> Row | None:
    """Find the row of `op` in a model that imports `version` of `domain`; None when it does not broadcast.

    In the domain TFLITE the version is the operator's own, and a row holds for all of them.
    The domains "" and "ai.onnx" are one. An operator that the catalogue does not know has no row either.
    """
    for entry in _BY_OPERATOR.get((standard(domain), op), ()):
        if entry.since <= version:
            return entry if entry.until is None or version <= entry.until else None
    return None


def stretch_form(domain: str, op: str) -> StretchForm | None:
    """How an operator writes a stretch of its operand 0, None where it is no stretch."""
    return _STRETCH_FORMS.get((standard(domain), op))


def stretch_forms() -> tuple[StretchForm, ...]:
    """Every operator that is a stretch and nothing else."""
    return STRETCH_FORMS


def rows() -> tuple[Row, ...]:
    """Every row of the catalogue, family by family."""
    return ROWS
