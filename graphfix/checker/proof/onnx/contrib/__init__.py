"""Rules for the sizes and element types of operators that onnx does not define, and of the domain ai.onnx.ml.

The rules are derived from the documentation of onnxruntime's operators and from its CPU kernels. A rule is true for
nodes that a runtime executes. If onnxruntime's inference at load and its kernel disagree on a size, the size is
unknown. `operators.registry` calls `sizes`, and `closed_world.operator_types` calls `kind`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphfix.checker.files.onnx.operators import BLOCKED, CHANNELS_LAST, LEARNING, MS
from graphfix.checker.proof.onnx.contrib import attention, elementwise, layout, learning, products, states, windows

if TYPE_CHECKING:
    from collections.abc import Mapping

    from graphfix.checker.proof.core.sizes import Dims
    from graphfix.checker.proof.onnx.contrib.results import Kind, Operators, Result
    from graphfix.checker.proof.onnx.reading.operands import Call

OPERATORS: Mapping[str, Operators] = {
    "": {**elementwise.STANDARD, **layout.STANDARD},
    MS: {
        **attention.OPERATORS, **elementwise.OPERATORS, **layout.OPERATORS, **products.OPERATORS, **states.OPERATORS,
        **windows.MICROSOFT,
    },
    BLOCKED: windows.BLOCKED,
    CHANNELS_LAST: windows.CHANNELS_LAST,
    LEARNING: learning.OPERATORS,
}  # fmt: skip
"""The rules of the results of each operator, by domain."""
VERSIONED = frozenset({"", LEARNING, CHANNELS_LAST})
"""Domains with several versions of operator sets. Of each other domain, only version 1 has rules."""


def sizes(call: Call, index: int) -> Dims:
    """Return the dims of result `index`, with None for each unknown size; None if the rank is unknown."""
    results = _results(call)
    return results[index].sizes(call) if index < len(results) else None


def kind(call: Call, index: int) -> Kind:
    """Return the element type of result `index`; None if it is unknown.

    The type depends only on the node's operator and attributes and on the types of its operands.
    """
    results = _results(call)
    return results[index].kind(call) if index < len(results) else None


def is_ruled(call: Call) -> bool:
    """Return whether the call's operator has rules in this package, even if the rules return nothing for the call."""
    return bool(_results(call))


def _results(call: Call) -> tuple[Result, ...]:
    """Return the rules of the operator's results, in order; empty for an operator or version without rules."""
    if call.version != 1 and call.domain not in VERSIONED:
        return ()
    return OPERATORS.get(call.domain, {}).get(call.op, ())
