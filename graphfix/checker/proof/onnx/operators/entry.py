"""The record of the proof's rules for one standard operator, and helpers for axes that several operators share.

The rules are true for nodes that a runtime executes. A rule returns None, or None for a size, if it does not apply, if
runtimes disagree, or if runtimes accept more than the specification. Source: the operators' specifications, and the
results of onnxruntime for random attributes and sizes (`tests/checker/proof/onnx/test_shapes.py`, `test_folding.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from graphfix.checker.proof.core.sizes import Dims
    from graphfix.checker.proof.core.terms import ProofValue
    from graphfix.checker.proof.neutral.constant_folding import Array
    from graphfix.checker.proof.onnx.reading.operands import Call

Fold: TypeAlias = "Callable[[Call, Sequence[Array | None]], Array | Sequence[Array] | None]"
"""Computes a node whose operands are constants; an absent operand is None.

Returns the result, or the results, or None if the rule does not apply.
"""
SIZE_TYPES = {6: "int32", 7: "int64"}
"""The types in which shapes are computed, by their numbers in TensorProto."""
SIZE_TYPE_NUMBERS = {name: number for number, name in SIZE_TYPES.items()}


class Operator(NamedTuple):
    """The rules of one operator; None for a rule that the operator does not have.

    An operator has either `sizes` or `each_size`. If it has neither, its sizes come from its other rules, or are
    unknown.
    """

    sizes: Callable[[Call], Dims] | None = None
    """Returns the dims of the first result. No other result has known sizes."""
    each_size: Callable[[Call, int], Dims] | None = None
    """Returns the dims of the result at an index."""
    view: Callable[[Call], ProofValue | None] | None = None
    """Returns the only result as operand 0 read by another map, or as known integers; None if it is neither."""
    fold: Fold | None = None
    """Computes the results of a node whose operands are all small constants; returns None if it does not."""


Operators: TypeAlias = "Mapping[str, Operator]"
"""The rules of standard operators, by operator."""


def unknown_sizes(rank: int | None) -> Dims:
    """Return the dims of a value of this rank whose sizes are all unknown; None if the rank is unknown."""
    return None if rank is None else (None,) * rank


def normalized_axes(axes: Sequence[int] | None, rank: int) -> tuple[int, ...] | None:
    """Return axes counted from the front; None if they are unknown, or if an axis is out of range or repeated."""
    if axes is None or not all(-rank <= axis < rank for axis in axes):
        return None
    found = tuple(axis % rank for axis in axes)
    return found if len(set(found)) == len(found) else None


def allowed_axes(call: Call, axes: Sequence[int] | None, rank: int) -> tuple[int, ...] | None:
    """Return axes counted from the front; None if they are unknown, out of range, repeated, or not allowed.

    Operator sets before 11 do not allow negative axes.
    """
    return None if axes is None or min(axes, default=0) < call.lowest_axis(rank) else normalized_axes(axes, rank)


def allowed_axis(call: Call, default: int, rank: int) -> int | None:
    """Return the axis in the attribute `axis`, counted from the front; None if it is out of range or not allowed.

    `default` is the axis of a node without the attribute. Operator sets before 11 do not allow negative axes.
    """
    found = allowed_axes(call, (call.integer("axis", default),), rank)
    return None if found is None else found[0]
