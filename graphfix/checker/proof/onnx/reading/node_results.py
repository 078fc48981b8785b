"""The results of one ONNX node: computed constants, a view, a term that reads by maps, or terms of exact operands."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from graphfix.checker.proof.core.terms import View, integer_type, whole
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


def computed(constants: Constants, call: Call) -> list[View] | None:
    """Return the results of a node whose operands are all small constants; None if it is not computed."""
    first = call.views[0] if call.views else None
    if call.op == "ConstantOfShape" and not call.domain and loads(call):
        made = filled(constants, call)
        return None if made is None else [made]
    if first is not None and not constant_folding.is_constant(first):
        return None  # most nodes end here
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
    """Return the arrays that a rule computes; none where it does not apply."""
    arrays = [constant_folding.literal(view) for view in call.views]
    if any(array is None and view is not None for array, view in zip(arrays, call.views, strict=True)):
        return []
    if not constant_folding.may_broadcast(arrays):
        return []
    try:
        found = rule(call, arrays)
    except (ValueError, IndexError, TypeError):  # operands that do not fit: a runtime refuses them as well
        return []
    if found is None:
        return []
    return [np.asarray(found)] if isinstance(found, np.ndarray | np.generic) else list(found)


def view_or_term(call: Call) -> View | None:
    """Return the result of a node that is a view or reads by maps; None if its operands are read exactly."""
    if len(call.outputs) == 1:
        seen = _viewed(call)
        if seen is not None:
            return seen
    return read(call)


def _viewed(call: Call) -> View | None:
    """Return the view that a node makes of operand 0, or the integers that it computes; None if it is a term."""
    rule = VIEWS.get(call.op) if not call.domain else None
    if rule is None or not call.views or call.views[0] is None:
        return None
    if call.op in COUNTING and integer_type(call.views[0]) is None:
        return None  # most sums are of elements that nobody knows
    return rule(call) if loads(call) else None


def read(call: Call) -> View | None:
    """Return the result of an operator that reads its operands by maps; None where it reads them exactly.

    None of several results: a rule returns the first alone.
    """
    rule = None if any(call.outputs[1:]) else TERMS.get((call.domain, call.op))
    result = rule(call) if rule is not None and call.views and call.views[0] is not None else None
    if result is not None:
        enter_mapped(call, result.core)
    return result


def exact(call: Call, bodies: tuple[object, ...] = ()) -> list[View]:
    """Return the results of an operator that reads its operands exactly, as terms of them and of its `bodies`."""
    given = tuple(bool(name) for name in call.outputs)
    key = ("whole", *call.full, tuple(call.views), bodies, given)
    results = []
    for index in range(len(call.outputs)):
        core, new = call.table.core((*key, index), call.description)
        if new:
            core.sizes = call.table.named_sizes(core, call.completed(index, registry.sizes(call, index)))
            if call.op == "Concat" and not call.domain and core.sizes is not None and len(core.sizes) == 1:
                enter_elements(call, core)
        results.append(whole(core))
        if not index:
            enter_exact(call, core)
            if call.op == "SplitToSequence" and not call.domain:
                enter_parts(call, core)
    if not results:
        call.table.core(key, call.description)  # an operator without results is executed all the same
    return results
