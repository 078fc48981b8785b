"""The length of a Range of float32 from one whole number to another: exporters cast the sizes that it counts to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnx import TensorProto

from graphfix.checker.proof.integer_values import span_of
from graphfix.checker.proof.onnx.integer_values import whole_floats
from graphfix.checker.proof.onnx.types import dtype

if TYPE_CHECKING:
    from graphfix.checker.proof.onnx.operands import Call
    from graphfix.checker.proof.sizes import Size
    from graphfix.checker.proof.terms import Core

MOST = 1 << 24
"""Up to here float32 has every whole number."""
COUNTED_IN_FLOATS = "no size that a Range of float32 counts by is above 2**24"


def enter(call: Call, core: Core) -> None:
    """Enter what the result of a Cast holds that makes a scalar of float32 of a known integer."""
    content = call.content(0)
    if content is not None and call.rank(0) == 0 and call.integer("to", 0) == TensorProto.FLOAT:
        call.table.whole_floats[core] = content[0]


def length(call: Call) -> Size | None:
    """Return how many numbers a Range holds, where it counts by 1 or -1: more is rounded."""
    bounds = [_held(call, index) for index in range(3)]
    known = [bound for bound in bounds if bound is not None and (not isinstance(bound, int) or abs(bound) <= MOST)]
    if len(known) < len(bounds) or not isinstance(known[2], int) or abs(known[2]) != 1:
        return None
    found = span_of(call.table.arithmetic, known[0], known[1], known[2])
    if found is not None and not isinstance(found, int):
        call.table.assumes[COUNTED_IN_FLOATS] = None
    return found


def _held(call: Call, index: int) -> Size | None:
    view = call.operand(index)
    if view is None or call.rank(index) != 0 or dtype(view.core) != TensorProto.FLOAT:
        return None
    constant = whole_floats(call.table, view, "int64")
    if constant is not None and constant.content is not None:
        return constant.content[0]
    return call.table.whole_floats.get(view.core)
