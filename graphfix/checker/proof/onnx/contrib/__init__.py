"""The sizes and element types of operators that onnx does not define, and of ai.onnx.ml: one entry an operator.

Derived from the documents of onnxruntime's operators and from its CPU kernels. A rule holds where a runtime runs the
node at all; where the runtime's own inference says another size than its kernel, nothing is known.
`shapes` and `operator_types` ask; a module is one subject.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphfix.checker.proof.onnx.contrib import attention, elementwise, layout, learning, products, states, windows
from graphfix.checker.proof.onnx.table import BLOCKED, CHANNELS_LAST, LEARNING, MS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from graphfix.checker.proof.onnx.contrib.results import Kind, Operators, Result
    from graphfix.checker.proof.onnx.operands import Call
    from graphfix.checker.proof.sizes import Dims

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
"""By domain."""
VERSIONED = frozenset({"", LEARNING, CHANNELS_LAST})
"""Domains whose operator sets have several versions; the others have version 1, and no later one is known."""


def sizes(call: Call, index: int) -> Dims:
    """Return the dims of result `index`, as far as they are known; None where not even the rank is."""
    results = _results(call)
    return results[index].sizes(call) if index < len(results) else None


def kind(call: Call, index: int) -> Kind:
    """Return the element type of result `index`; None where it is not known.

    It depends on the node's spelling and the types of its operands alone.
    """
    results = _results(call)
    return results[index].kind(call) if index < len(results) else None


def is_ruled(call: Call) -> bool:
    """Return whether an operator of another domain than the standard one has rules, whatever they know of this node."""
    return bool(_results(call))


def _results(call: Call) -> tuple[Result, ...]:
    if call.version != 1 and call.domain not in VERSIONED:
        return ()
    return OPERATORS.get(call.domain, {}).get(call.op, ())
