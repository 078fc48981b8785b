"""Rules for reductions over axes: ReduceSum and similar operators, ArgMax and ArgMin."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphfix.checker.proof.core.result import NONE_WITHOUT_ELEMENTS
from graphfix.checker.proof.core.sizes import numbers
from graphfix.checker.proof.core.terms import integer_type
from graphfix.checker.proof.neutral import constant_folding, integer_values
from graphfix.checker.proof.onnx.operators.entry import (
    SIZE_TYPE_NUMBERS,
    Operator,
    allowed_axes,
    normalized_axes,
    unknown_sizes,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphfix.checker.proof.core.sizes import Dims, Sizes
    from graphfix.checker.proof.core.terms import ProofValue
    from graphfix.checker.proof.neutral.constant_folding import Array
    from graphfix.checker.proof.onnx.operators.entry import Fold, Operators
    from graphfix.checker.proof.onnx.reading.operands import Call

_REDUCTIONS = (
    "ReduceMean ReduceSum ReduceMax ReduceMin ReduceProd ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp"
    " ReduceSumSquare".split()
)
_FOLDED = {f"Reduce{rule.title()}": rule for rule in constant_folding.REDUCTIONS}
"""The operation in `constant_folding` for each reduction that is computed for constants."""


def _reduce_sizes(call: Call) -> Dims:
    """Return the dims of a reduction. If the axes are unknown, only the rank is known, and only if axes are kept."""
    sizes, keep, idle = call.sizes(0), call.flag("keepdims", default=True), call.flag("noop_with_empty_axes")
    if sizes is None or keep is None or idle is None:
        return None
    rank, axes = len(sizes), call.integers("axes")
    if axes is None and call.operand(1) is not None:
        axes = numbers(call.int64_vector(1))
        if axes is None:
            return unknown_sizes(rank) if keep else None
    if not axes and idle:
        return sizes
    axes = axes or tuple(range(rank))
    if not axes:
        return sizes
    if normalized_axes(axes, rank) is None:
        return None
    return _reduced_sizes(call, sizes, axes, keep=keep)


def _reduced_sizes(call: Call, sizes: Sizes, axes: Sequence[int], *, keep: bool) -> Dims:
    """Return `sizes` without the reduced `axes`, or with size 1 on them if `keep`.

    If there are no elements, onnxruntime does not reduce axes that are counted from the end. So the dims are unknown if
    a size is 0. If a size may be 0 and an axis is negative, the proof assumes that no size is 0.
    """
    if 0 in sizes:
        return unknown_sizes(len(sizes)) if keep else None
    if min(axes) < 0 and numbers(sizes) is None:
        call.table.assumptions[NONE_WITHOUT_ELEMENTS] = None
    gone = {axis % len(sizes) for axis in axes}
    return tuple(1 if axis in gone else size for axis, size in enumerate(sizes) if keep or axis not in gone)


def _arg_sizes(call: Call) -> Dims:
    """Return the dims of an ArgMax or ArgMin; None for a scalar, an unknown shape or an axis out of range."""
    sizes, axis, keep = call.sizes(0), call.integer("axis", 0), call.flag("keepdims", default=True)
    if not sizes or keep is None or not -len(sizes) <= axis < len(sizes):
        return None
    return _reduced_sizes(call, sizes, (axis,), keep=keep)


def _product_view(call: Call) -> ProofValue | None:
    """Return the product of all elements of a vector of known integers, by a ReduceProd; None for any other operand.

    Return None also if the product does not fit its type.
    """
    content, view, keep = call.content(0), call.views[0], call.flag("keepdims", default=True)
    kind = None if view is None else integer_type(view)
    axes = call.axes()
    if (
        content is None
        or kind not in SIZE_TYPE_NUMBERS
        or call.rank(0) != 1
        or keep is None
        or axes not in (None, (0,), (-1,))
    ):
        return None
    if axes is None and (call.operand(1) is not None or call.flag("noop_with_empty_axes") is not False):
        return None
    product = integer_values.fitted_size(call.table, call.table.arithmetic.mul(*content), kind or "")
    return None if product is None else call.table.integers((product,), kind, scalar=not keep)


def _reduction_fold(rule: str) -> Fold:
    """Return the rule that computes a reduction of a constant. `rule` is the operation in `constant_folding`."""

    def computed_reduction(call: Call, arrays: Sequence[Array | None]) -> Array | None:
        data, keep, idle = arrays[0], call.flag("keepdims", default=True), call.flag("noop_with_empty_axes")
        given = len(arrays) > 1 or "axes" in call.attributes
        if data is None or keep is None or idle is None:
            return None
        axes = allowed_axes(call, call.axes(), data.ndim) if given else ()
        if axes is None or ("axes" in call.attributes and not axes):
            return None
        if not axes and idle:
            return data
        return constant_folding.reduced(rule, data, axes or None, keep=keep)

    return computed_reduction


OPERATORS: Operators = {
    **{
        op: Operator(
            sizes=_reduce_sizes,
            view=_product_view if op == "ReduceProd" else None,
            fold=_reduction_fold(_FOLDED[op]) if op in _FOLDED else None,
        )
        for op in _REDUCTIONS
    },
    **dict.fromkeys(("ArgMax", "ArgMin"), Operator(sizes=_arg_sizes)),
}
