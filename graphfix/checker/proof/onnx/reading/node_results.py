"""The results of one ONNX node: folded constants, moved data, a term that reads by maps, or terms of exact operands."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from graphfix.checker.proof.core.terms import ProofValue, integer_type, value_of
from graphfix.checker.proof.neutral import constant_folding
from graphfix.checker.proof.onnx.closed_world.routines import enter_exact, enter_mapped
from graphfix.checker.proof.onnx.closed_world.validate import loads
from graphfix.checker.proof.onnx.operators import registry
from graphfix.checker.proof.onnx.operators.broadcasting import TERMS
from graphfix.checker.proof.onnx.operators.concat import enter_elements
from graphfix.checker.proof.onnx.operators.elementwise import COUNTING
from graphfix.checker.proof.onnx.operators.registry import FOLDS, VIEWS
from graphfix.checker.proof.onnx.operators.shape_values import filled
from graphfix.checker.proof.onnx.operators.split import enter_parts

if TYPE_CHECKING:
    from graphfix.checker.proof.neutral.constant_folding import Array
    from graphfix.checker.proof.neutral.constants import Constants
    from graphfix.checker.proof.onnx.operators.entry import Fold
    from graphfix.checker.proof.onnx.reading.operands import Call


def folded_results(constants: Constants, call: Call) -> list[ProofValue] | None:
    """Return the results of a node whose operands are all small constants, as constants; None if they are not computed.

    They are not computed if an operand is not constant, the operator has no rule, runtimes may disagree, or a result is
    too large.
    """
    first = call.views[0] if call.views else None
    if call.op == "ConstantOfShape" and not call.domain and loads(call):
        made = filled(constants, call)
        return None if made is None else [made]
    if first is not None and not constant_folding.is_constant(first):
        return None  # Most nodes return here.
    rule = FOLDS.get(call.op) if not call.domain and call.views else None
    if (
        rule is None
        or not all(view is None or constant_folding.is_constant(view) for view in call.views)
        or not loads(call)
    ):
        return None
    results = _results(rule, call)
    if any(array.size > constant_folding.MOST or array.dtype.name not in constant_folding.TYPES for array in results):
        return None
    return [constant_folding.as_constant(constants, array, call.description) for array in results] or None


def _results(rule: Fold, call: Call) -> list[Array]:
    """Return the arrays that a folding rule computes; an empty list if the rule does not apply."""
    arrays = [constant_folding.constant_array(view) for view in call.views]
    if any(array is None and view is not None for array, view in zip(arrays, call.views, strict=True)):
        return []
    if not constant_folding.may_broadcast(arrays):
        return []
    try:
        found = rule(call, arrays)
    except (ValueError, IndexError, TypeError):  # The operands do not fit, so a runtime refuses the node too.
        return []
    if found is None:
        return []
    return [np.asarray(found)] if isinstance(found, np.ndarray | np.generic) else list(found)


def view_or_term(call: Call) -> ProofValue | None:
    """Return the result of a node that moves data or reads its operands by maps; None for any other node."""
    if len(call.result_names) == 1:
        seen = _viewed(call)
        if seen is not None:
            return seen
    return mapped_result(call)


def _viewed(call: Call) -> ProofValue | None:
    """Return the result of a node that moves the data of operand 0 or computes known integers.

    Return None for any other node.
    """
    rule = VIEWS.get(call.op) if not call.domain else None
    if rule is None or not call.views or call.views[0] is None:
        return None
    if call.op in COUNTING and integer_type(call.views[0]) is None:
        return None  # Most sums are of elements that are unknown before the run.
    return rule(call) if loads(call) else None


def mapped_result(call: Call) -> ProofValue | None:
    """Return the result of an operator that reads its operands by indexing maps; None if no map expresses that.

    Return None also if a result after the first has a name, because a rule returns only the first result.
    """
    rule = None if any(call.result_names[1:]) else TERMS.get((call.domain, call.op))
    result = rule(call) if rule is not None and call.views and call.views[0] is not None else None
    if result is not None:
        enter_mapped(call, result.core)
    return result


def exact_results(call: Call, bodies: tuple[object, ...] = ()) -> list[ProofValue]:
    """Return the results of an operator that reads its operands exactly, without maps: terms of all operands.

    `bodies` are parts of the term beside the operands, such as the outputs of the node's bodies.
    """
    given = tuple(bool(name) for name in call.result_names)
    key = ("whole", *call.exact_key, tuple(call.views), bodies, given)
    results = []
    for index in range(len(call.result_names)):
        core, new = call.table.find_or_create_core((*key, index), call.description)
        if new:
            core.sizes = call.table.named_sizes(core, call.with_trusted_sizes(index, registry.sizes(call, index)))
            if call.op == "Concat" and not call.domain and core.sizes is not None and len(core.sizes) == 1:
                enter_elements(call, core)
        results.append(value_of(core))
        if not index:
            enter_exact(call, core)
            if call.op == "SplitToSequence" and not call.domain:
                enter_parts(call, core)
    if not results:
        call.table.find_or_create_core(key, call.description)  # An operator without results is executed all the same.
    return results
