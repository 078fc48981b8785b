"""Constants that leave the other operand of an operator unchanged in every bit, such as 1 for MUL."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from graphfix.checker.proof.neutral import constant_folding
from graphfix.checker.proof.neutral.views import expanded

if TYPE_CHECKING:
    from collections.abc import Mapping

    from graphfix.checker.proof.core.sizes import Algebra
    from graphfix.checker.proof.core.terms import ProofValue

NUMBERS: Final[Mapping[str, int]] = {"MUL": 1, "DIV": 1, "ADD": 0, "SUB": 0}
RIGHT_ONLY: Final = frozenset({"DIV", "SUB"})


def neutral_result(algebra: Algebra, op: str, one: ProofValue, two: ProofValue) -> ProofValue | None:
    """Return the operand that an operator returns because the other operand is a neutral constant; None without one.

    The result is stretched to the shape of the broadcast. `op` is MUL, DIV, ADD or SUB.
    """
    if two.sizes is not None and _is_neutral(op, two, right=True):
        return expanded(algebra, one, two.sizes)
    if one.sizes is not None and _is_neutral(op, one, right=False):
        return expanded(algebra, two, one.sizes)
    return None


def _is_neutral(op: str, view: ProofValue, *, right: bool) -> bool:
    """Return whether all elements of a constant leave the other operand unchanged; `right` is True for operand 1.

    For floats, a sum needs -0.0 and a difference 0.0, because both x + 0.0 and x - -0.0 are 0.0 where x is -0.0.
    Whether a NaN keeps its payload is not considered.
    """
    if op not in NUMBERS or (op in RIGHT_ONLY and not right):
        return False
    array = constant_folding.constant_array(_one_element(view))
    if array is None or array.dtype.kind not in "fiu" or not bool((array == NUMBERS[op]).all()):
        return False
    return array.dtype.kind in "iu" or op in ("MUL", "DIV") or bool((np.signbit(array) == (op == "ADD")).all())


def _one_element(view: ProofValue) -> ProofValue | None:
    """Return a constant that repeats one element as a scalar, whatever its shape; None for any other value."""
    if view.axes is None or any(axis is not None for axis in view.axes):
        return None
    return view._replace(axes=(), sizes=())
