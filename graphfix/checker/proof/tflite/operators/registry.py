"""The rules of all TFLite operators, and the functions that apply these rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from graphfix.checker.files.tflite.records import NARROW
from graphfix.checker.proof.core.terms import integer_type
from graphfix.checker.proof.neutral import constant_folding
from graphfix.checker.proof.tflite.operators import (
    elementwise,
    gathering,
    joins,
    products,
    reductions,
    repeating,
    reshaping,
    selection,
    shape_values,
    slices,
    sparse_constants,
    windows,
)
from graphfix.checker.proof.tflite.operators.entry import Rules
from graphfix.checker.proof.tflite.reading.node_signature import keeps_quantization

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from graphfix.checker.files.tflite.records import Tensor
    from graphfix.checker.proof.core.sizes import Dims
    from graphfix.checker.proof.core.terms import ProofValue
    from graphfix.checker.proof.neutral.constants import Constants
    from graphfix.checker.proof.tflite.operators.entry import Folding
    from graphfix.checker.proof.tflite.reading.operands import Call

FAMILIES: Final = (
    elementwise, gathering, joins, products, reductions, reshaping, selection, shape_values, slices, sparse_constants,
    repeating, windows,
)  # fmt: skip
OPERATORS: Final[Mapping[str, Rules]] = {name: rules for family in FAMILIES for name, rules in family.OPERATORS.items()}
"""The rules of each operator. Each operator has an entry in only one family."""

NO_RULES: Final = Rules()
"""The rules of an operator without an entry."""
STATELESS: Final = frozenset(name for name, rules in OPERATORS.items() if rules.view or rules.integers or rules.mapped)
"""Operators with a rule for data movement, for integers or for maps. These operators have no state."""


def refined(call: Call, dims: Dims) -> Dims:
    """Return the sizes of an operator's result, from the operator's rule and from the file's statement (`dims`).

    For each size, a number from the rule is used first, then a stated number, then a term from the rule. If the ranks
    differ, all sizes are those of the rule. Without a rule, the stated sizes are returned.
    """
    rule = OPERATORS.get(call.operator.name, NO_RULES).sizes
    ruled = rule(call) if rule is not None else None
    if dims is None or ruled is None or len(ruled) != len(dims):
        return dims if ruled is None else ruled
    return tuple(
        other if mine is None or isinstance(other, int) else mine for mine, other in zip(dims, ruled, strict=True)
    )


def viewed(call: Call) -> ProofValue | None:
    """Return the result of a data-movement operator, or known integers; None if the result is another term.

    A data-movement operator's result is a value of operand 0's core.
    """
    if not call.views or call.views[0] is None:
        return None
    rules = OPERATORS.get(call.operator.name, NO_RULES)
    integers = rules.integers
    if integers is not None:
        if integers.is_known and integer_type(call.views[0]) is None:
            return None
        typed = call.inputs if integers.one_type else call.inputs[:1]
        return integers.rule(call) if integers.retypes or _are_of_result_type(call, typed) else None
    if rules.view is None or not keeps_quantization(call) or not _are_of_result_type(call, call.inputs[:1]):
        return None
    return rules.view(call)


def _are_of_result_type(call: Call, tensors: Sequence[Tensor | None]) -> bool:
    """Return whether all tensors are present and have the element type of the result."""
    return all(tensor is not None and tensor.dtype == call.result.dtype for tensor in tensors)


def unmoved(call: Call) -> ProofValue | None:
    """Return the result as a value of operand 0's core; None if the operator moves, drops or converts elements."""
    rule = OPERATORS.get(call.operator.name, NO_RULES).copied
    tensor, view = call.inputs[0] if call.inputs else None, call.operand(0)
    if rule is None or tensor is None or view is None:
        return None
    if tensor.dtype != call.result.dtype or tensor.dtype in (*NARROW, "bool", "string") or not keeps_quantization(call):
        return None
    return rule(call, view)


def computed(constants: Constants, call: Call) -> ProofValue | None:
    """Return the constant that an operator computes from small constants; None if the operator is read in another way.

    Quantized tensors are not computed, because their bytes are not their elements.
    """
    rules = OPERATORS.get(call.operator.name, NO_RULES)
    built, folding = rules.built, rules.fold
    if built is None and (folding is None or not _may_begin_with_constant(call)):
        return None
    if any(tensor is not None and tensor.quantization is not None for tensor in (call.result, *call.inputs)):
        return None
    if built is not None:
        return built(constants, call)
    return None if folding is None else _folded(constants, call, folding)


def _may_begin_with_constant(call: Call) -> bool:
    """Return whether operand 0 may be a constant.

    Most operators have no constant as operand 0, and are skipped early.
    """
    return not call.views or call.views[0] is None or constant_folding.is_constant(call.views[0])


def _are_accepted(call: Call, folding: Folding) -> bool:
    """Return whether kernels accept the types of the operands."""
    kinds = [None if tensor is None else tensor.dtype for tensor in call.inputs]
    if folding.takes == "indices":
        return all(kind == "int32" for kind in kinds[1:])
    return folding.takes == "any" or len(set(kinds)) == 1


def _folded(constants: Constants, call: Call, folding: Folding) -> ProofValue | None:
    """Return the constant that an operator computes from constants; None if it can't be computed."""
    if not _are_accepted(call, folding):
        return None
    if not all(view is not None and constant_folding.is_constant(view) for view in call.views):
        return None
    arrays = [array for view in call.views if (array := constant_folding.constant_array(view)) is not None]
    is_plain = len(arrays) == len(call.views) and not call.integer("fusedActivationFunction")
    if not is_plain or not constant_folding.may_broadcast(arrays):
        return None
    try:
        found = folding.rule(call, arrays)
    except (ValueError, IndexError, TypeError):  # The operands do not fit, so the runtime refuses them too.
        return None
    if found is None or found.size > constant_folding.MOST or found.dtype.name != call.result.dtype:
        return None
    return constant_folding.as_constant(constants, np.asarray(found), call.description)
