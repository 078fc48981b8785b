"""Operators that copy their operand 0 with these operands: they are read as views of it, as RESHAPE is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphfix.checker.files.tflite.records import NARROW
from graphfix.checker.proof.core.terms import View
from graphfix.checker.proof.tflite.operators.nodes import keeps_quantization

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from graphfix.checker.proof.tflite.reading.operands import Call


def unmoved(call: Call) -> View | None:
    """Return the view of operand 0 that an operator returns; None where it moves, drops or converts elements."""
    rule = UNMOVED.get(call.operator.name)
    tensor, view = call.inputs[0] if call.inputs else None, call.operand(0)
    if rule is None or tensor is None or view is None:
        return None
    if tensor.dtype != call.result.dtype or tensor.dtype in (*NARROW, "bool", "string") or not keeps_quantization(call):
        return None
    return rule(call, view)


def _transpose(call: Call, view: View) -> View | None:
    """TRANSPOSE that keeps the order of all axes but those of size 1."""
    axes = call.known_integers(1)
    if view.axes is None or view.sizes is None or axes is None or sorted(axes) != list(range(len(view.sizes))):
        return None
    ordered = [axis for axis in axes if view.sizes[axis] != 1]
    if ordered != sorted(ordered):
        return None
    return View(view.core, tuple(view.axes[axis] for axis in axes), tuple(view.sizes[axis] for axis in axes))


def _cast(_: Call, view: View) -> View:
    """CAST to the operand's own type."""
    return view


UNMOVED: Mapping[str, Callable[[Call, View], View | None]] = {
    "TRANSPOSE": _transpose,
    "CAST": _cast,
}
