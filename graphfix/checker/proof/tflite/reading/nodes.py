"""Read a TFLite operator into a term if it reads its operands by indexing maps, such as an operator that broadcasts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from graphfix.checker.proof.core.terms import ProofValue
from graphfix.checker.proof.neutral import broadcast, neutral_elements
from graphfix.checker.proof.tflite.kernels import kernel_choice
from graphfix.checker.proof.tflite.kernels.unit_constants import dropped_rank
from graphfix.checker.proof.tflite.operators.registry import NO_RULES, OPERATORS
from graphfix.checker.proof.tflite.operators.selection import shaped
from graphfix.checker.proof.tflite.operators.table import CHOOSING, EACH, UNARY
from graphfix.checker.proof.tflite.reading.node_signature import signature

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphfix.checker.proof.tflite.reading.operands import Call

_PAIR: Final = 2
_WHOLE: Final = frozenset({"int32", "int64"})
"""The types for which x * 1 and x + 0 are x.

For floats they are not: kernels replace an infinity by the largest float, and XNNPACK replaces subnormal numbers by 0.
"""
_COMMUTATIVE: Final = frozenset("ADD MUL MAXIMUM MINIMUM LOGICAL_AND LOGICAL_OR BITWISE_XOR EQUAL NOT_EQUAL".split())
_EXACT: Final = frozenset({*_WHOLE, "bool", "int8", "uint8", "int16", "uint16", "uint32"})


def read(call: Call) -> ProofValue | None:
    """Return the result of an operator that reads its operands by indexing maps; None if it reads whole operands."""
    given = [view for view in call.views if view is not None]
    key = signature(call)
    if not given or len(given) < len(call.views) or key is None:
        return None
    if call.operator.name in CHOOSING and not shaped(call, given):
        return None
    if kernel_choice.by_place(call, given[0]):
        return _in_place(call, key, given[0])
    dropped = dropped_rank(call, given)
    if dropped:  # The kernel sets return results of different ranks.
        return call.table.result(("rank", *key, dropped, *given), call.description, None)
    result = _broadcast(call, (*key, *kernel_choice.ways(call, given)), _in_order(call, key, given))
    if result is not None:
        kernel_choice.enter_reach(call, given, result.core)
        kernel_choice.enter_rounding(call, given, result.core)
        _enter_whole(call, result)
    return result


def _in_place(call: Call, key: tuple[object, ...], view: ProofValue) -> ProofValue:
    """Return the result of an operator whose elements depend on their place in the operand.

    Unit axes do not change places.
    """
    if view.axes is None or view.sizes is None:
        return call.table.result(("in place", *key, view), call.description, None)
    kept = [axis for axis, size in enumerate(view.sizes) if size != 1]
    plain = ProofValue(view.core, tuple(view.axes[axis] for axis in kept), tuple(view.sizes[axis] for axis in kept))
    result = call.table.result(("in place", *key, plain), call.description, plain.sizes)
    places = {axis: place for place, axis in enumerate(kept)}
    return ProofValue(result.core, tuple(places.get(axis) for axis in range(len(view.sizes))), view.sizes)


def _in_order(call: Call, key: tuple[object, ...], views: Sequence[ProofValue]) -> Sequence[ProofValue]:
    """Return the operands of a commutative operator in the order in which equal operands were read first.

    Floats keep their order, because kernels return the bits of one operand if both are NaN. Quantized integers keep
    their order too.
    """
    tensors = [tensor for tensor in call.inputs if tensor is not None]
    if call.operator.name not in _COMMUTATIVE or len(views) != _PAIR:
        return views
    kinds = {*_EXACT, "float32"} if call.result.dtype == "bool" else _EXACT
    if any(tensor.dtype not in kinds or tensor.quantization is not None for tensor in (*tensors, call.result)):
        return views
    one, two = views
    first = call.table.first_operands.setdefault((key, frozenset((one.core, two.core))), one.core)
    return views if one.core is first else (two, one)


def _enter_whole(call: Call, result: ProofValue) -> None:
    """Record the integer that a CAST converts to a float, because a RANGE may count to this float."""
    content = call.content(0) if call.operator.name == "CAST" and call.result.dtype == "float32" else None
    if content is not None and len(content) == 1 and result.sizes == () and call.result.quantization is None:
        result.core.content = content


def _broadcast(call: Call, key: tuple[object, ...], views: Sequence[ProofValue]) -> ProofValue | None:
    """Return the term of an element-wise operator, or of an operator with a rule for maps, else None."""
    name = call.operator.name
    if name in EACH:
        return broadcast.elementwise(call.table, key, views, call.description)
    if name in UNARY and len(views) == 1:
        return broadcast.unary(call.table, key, views[0], call.description)
    mapped = OPERATORS.get(name, NO_RULES).mapped
    return mapped[1](call, key, views) if mapped is not None and len(views) == mapped[0] else None


def beside_neutral(call: Call) -> ProofValue | None:
    """Return the other operand, stretched, for an integer product with ones or an integer sum with zeros; else None."""
    tensors = [tensor for tensor in (*call.inputs, call.result) if tensor is not None]
    if len(call.views) != _PAIR or call.integer("fusedActivationFunction") or {each.dtype for each in tensors} - _WHOLE:
        return None
    if any(tensor.quantization is not None for tensor in tensors):
        return None
    one, two = call.views
    return (
        None
        if one is None or two is None
        else neutral_elements.neutral_result(call.table.algebra, call.operator.name, one, two)
    )
