"""The registry of the proof's rules for ONNX's standard operators.

The rules compute result sizes, data movement, known integers and folded constants.

A size that no rule derives from the operands is unknown, and becomes a symbol of the result's term. The modules for
networks, windows and states are imported when a model has one of their operators, because most models have none.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from graphfix.checker.files.onnx.operators import ONTO, SAME_SHAPE
from graphfix.checker.proof.onnx.operators import (
    concat,
    elementwise,
    gathering,
    reductions,
    repeating,
    reshaping,
    shape_values,
    slice_and_pad,
    split,
)
from graphfix.checker.proof.onnx.operators.broadcasting import onto_operator_sizes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from graphfix.checker.proof.core.sizes import Dims
    from graphfix.checker.proof.core.terms import ProofValue
    from graphfix.checker.proof.onnx.operators.entry import Fold, Operator, Operators
    from graphfix.checker.proof.onnx.reading.operands import Call

OPERATORS: Operators = {
    **concat.OPERATORS,
    **elementwise.OPERATORS,
    **gathering.OPERATORS,
    **reductions.OPERATORS,
    **repeating.OPERATORS,
    **reshaping.OPERATORS,
    **shape_values.OPERATORS,
    **slice_and_pad.OPERATORS,
    **split.OPERATORS,
}
"""The rules of the standard operators that models of all kinds have."""
VIEWS: Mapping[str, Callable[[Call], ProofValue | None]] = {
    op: rules.view for op, rules in OPERATORS.items() if rules.view is not None
}
FOLDS: Mapping[str, Fold] = {op: rules.fold for op, rules in OPERATORS.items() if rules.fold is not None}
_SIZED: Operators = {op: rules for op, rules in OPERATORS.items() if rules.sizes or rules.each_size}


def sizes(call: Call, index: int) -> Dims:
    """Return the dims of result `index`, with None for each unknown size; None if the rank is unknown."""
    if call.domain:
        from graphfix.checker.proof.onnx import contrib  # most models have no operators of other domains

        return contrib.sizes(call, index)
    if call.op in SAME_SHAPE:
        return None if index else call.sizes(0)
    if ("", call.op) in ONTO:
        return onto_operator_sizes(call, index)
    rules = _SIZED.get(call.op) or _imported(call.op)
    if rules is None:
        from graphfix.checker.proof.onnx import contrib

        return contrib.sizes(call, index)
    if rules.each_size is not None:
        return rules.each_size(call, index)
    return rules.sizes(call) if rules.sizes is not None and not index else None


@cache
def _imported(op: str) -> Operator | None:
    """Return the rules of an operator from the modules that few models need; None if no module has the operator."""
    from graphfix.checker.proof.onnx.operators import networks, states, windows  # many models have none of these

    return next((module.OPERATORS[op] for module in (networks, windows, states) if op in module.OPERATORS), None)
