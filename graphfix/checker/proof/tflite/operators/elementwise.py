"""Rules of element-wise operators: integers computed from integers, comparisons of sizes, and small constants."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from graphfix.checker.proof.neutral import constant_folding, integer_values
from graphfix.checker.proof.tflite.operators.entry import Folding, Integers, Rules, same_sizes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from graphfix.checker.proof.core.arithmetic import Arithmetic
    from graphfix.checker.proof.core.sizes import Size
    from graphfix.checker.proof.core.terms import ProofValue
    from graphfix.checker.proof.neutral.constant_folding import Array
    from graphfix.checker.proof.tflite.operators.entry import FoldingRule, ViewRule
    from graphfix.checker.proof.tflite.reading.operands import Call

_PAIR: Final = 2
_WHOLE: Final = frozenset({"int32", "int64"})
_NUMBERS: Final = _WHOLE | {"float32"}
_SIGNED: Final = frozenset({"float32", "int32"})


def _counted(rule: str) -> ViewRule:
    """Return the rule of an operator that computes integers from known integers.

    `rule` is a key of `integer_values.RULES`.
    """

    def counted(call: Call) -> ProofValue | None:
        if call.integer("fusedActivationFunction"):
            return None
        if any(call.content(index) is None for index in range(len(call.views))):
            return None
        return integer_values.computed(call.table, rule, call.views, call.result.dtype)

    return counted


def _compared(relation: str) -> ViewRule:
    """Return the rule of a comparison of known integers. The result is known if it is the same for all sizes."""

    def rule(call: Call) -> ProofValue | None:
        if len(call.views) != _PAIR or any(call.content(index) is None for index in range(_PAIR)):
            return None
        arithmetic = call.table.arithmetic
        found = integer_values.paired(call.views[0], call.views[1], lambda a, b: _holds(arithmetic, relation, a, b))
        if found is None or call.result.dtype != "bool":
            return None
        return call.table.integers(
            found, "bool", scalar=all(view is not None and not view.sizes for view in call.views)
        )

    return rule


def _holds(arithmetic: Arithmetic, relation: str, one: Size, two: Size) -> Size | None:
    """Return 1 if a relation of two sizes is true for all bindings of sizes, 0 if it is false for all, else None.

    For the undecided relation "a size equals 1", the result is a symbol that is 1 if the size is 1.
    """
    decided = integer_values.decided(arithmetic, relation, one, two)
    if decided is None and relation == "equal" and two == 1 and arithmetic.least(one) >= 0:
        return arithmetic.algebra.symbol(("is 1", one), f"({one} is 1)")
    return decided


# --- constants --------------------------------------------------------------------------------------------------------


def _pair(rule: str, kinds: frozenset[str]) -> Folding:
    """Return the rule that computes a constant from two constants of one of the types `kinds`.

    Integers are computed, and floats for which IEEE 754 allows only one result. Integers of fewer bits are not
    computed, because they are quantized.
    """

    def computed_pair(_: Call, arrays: Sequence[Array]) -> Array | None:
        one, two = arrays
        found = constant_folding.paired(rule, one, two) if one.dtype.name in kinds else None
        if one.dtype.name != "float32" or found is None:
            return found
        return found if _normal(one, two) and (found.dtype == bool or _normal(found)) else None

    return Folding(computed_pair)


def _normal(*arrays: Array | None) -> bool:
    """Return whether all arrays are float32 without subnormal numbers.

    A kernel may replace subnormal numbers by zero.
    """
    least = np.finfo(np.float32).tiny
    return all(
        array is not None and array.dtype == np.float32 and bool(((array == 0) | (np.abs(array) >= least)).all())
        for array in arrays
    )


def _single(rule: str, kinds: frozenset[str]) -> FoldingRule:
    """Return the rule that computes a constant from one constant of one of the types `kinds`, without rounding."""
    return lambda _, arrays: constant_folding.single(rule, arrays[0]) if arrays[0].dtype.name in kinds else None


def _zeros_like(_: Call, arrays: Sequence[Array]) -> Array | None:
    """Return zeros in the shape of the operand."""
    return np.zeros_like(arrays[0]) if arrays[0].dtype.name in _NUMBERS else None


def _pairs() -> Iterator[tuple[str, Rules]]:
    """Yield (operator, rules) for each operator with two operands."""
    of_sizes = (("ADD", "add"), ("SUB", "sub"), ("MUL", "mul"), ("FLOOR_DIV", "div"), ("DIV", "div"),
                ("FLOOR_MOD", "mod"), ("MAXIMUM", "max"), ("MINIMUM", "min"))  # fmt: skip
    for op, rule in of_sizes:
        kinds = _NUMBERS if op in ("ADD", "SUB", "MUL") else _WHOLE
        yield op, Rules(integers=Integers(_counted(rule), is_known=True, one_type=True), fold=_pair(rule, kinds))
    comparing = (("LESS", "less"), ("LESS_EQUAL", "less or equal"), ("GREATER", "greater"),
                 ("GREATER_EQUAL", "greater or equal"))  # fmt: skip
    for op, rule in comparing:
        yield op, Rules(integers=Integers(_compared(rule), is_known=True, retypes=True), fold=_pair(rule, _NUMBERS))
    equal = _NUMBERS | {"bool"}
    yield "EQUAL", Rules(integers=Integers(_compared("equal"), is_known=True, retypes=True), fold=_pair("equal", equal))
    yield "NOT_EQUAL", Rules(fold=_pair("not equal", equal))
    for op, rule in (("LOGICAL_AND", "and"), ("LOGICAL_OR", "or")):
        yield op, Rules(fold=_pair(rule, frozenset({"bool"})))


OPERATORS: Final[Mapping[str, Rules]] = {
    **dict(_pairs()),
    "LOGICAL_NOT": Rules(fold=Folding(_single("not", frozenset({"bool"})))),
    "NEG": Rules(fold=Folding(_single("neg", _SIGNED))),
    "ABS": Rules(fold=Folding(_single("abs", _SIGNED))),
    "ZEROS_LIKE": Rules(sizes=same_sizes, fold=Folding(_zeros_like)),
    "COMPLEX_ABS": Rules(sizes=same_sizes),
}
