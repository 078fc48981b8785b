"""Constants that an operator of two operands returns the other operand beside, every bit of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from graphfix.checker.proof.neutral import constant_folding
from graphfix.checker.proof.neutral.views import expanded

if TYPE_CHECKING:
    from collections.abc import Mapping

    from graphfix.checker.proof.core.sizes import Algebra
    from graphfix.checker.proof.core.terms import View

NUMBERS: Final[Mapping[str, int]] = {"MUL": 1, "DIV": 1, "ADD": 0, "SUB": 0}
RIGHT_ONLY: Final = frozenset({"DIV", "SUB"})


def beside(algebra: Algebra, op: str, one: View, two: View) -> View | None:
    """The operand that an operator returns beside a neutral constant, stretched; None where there is none."""
    if two.sizes is not None and _is_neutral(op, two, right=True):
        return expanded(algebra, one, two.sizes)
    if one.sizes is not None and _is_neutral(op, one, right=False):
        return expanded(algebra, two, one.sizes)
    return None


def _is_neutral(op: str, view: View, *, right: bool) -> bool:
    """Whether all elements of a constant are what the operator ignores; `right` says on which side it stands.

    x + 0.0 is 0.0 where x is -0.0, and x - -0.0 as well: a sum needs -0.0, a difference 0.0. The payload of a NaN is
    not looked at.
    """
    if op not in NUMBERS or (op in RIGHT_ONLY and not right):
        return False
    array = constant_folding.literal(_one_element(view))
    if array is None or array.dtype.kind not in "fiu" or not bool((array == NUMBERS[op]).all()):
        return False
    return array.dtype.kind in "iu" or op in ("MUL", "DIV") or bool((np.signbit(array) == (op == "ADD")).all())


def _one_element(view: View) -> View | None:
    """A constant of one element, in whatever shape it is seen."""
    if view.axes is None or any(axis is not None for axis in view.axes):
        return None
    return view._replace(axes=(), sizes=())
