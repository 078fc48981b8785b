"""The record of what the proof knows of one standard operator, and the arithmetic on axes that several operators share.

The rules hold for nodes that a runtime runs. A rule returns None, or None for a size, where it does not apply, where
runtimes disagree, and where they accept what the specification does not. Source: the operators' specifications, and the
results of onnxruntime for random attributes and sizes (`tests/checker/proof/onnx/test_shapes.py`, `test_folding.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from graphfix.checker.proof.core.sizes import Dims
    from graphfix.checker.proof.core.terms import View
    from graphfix.checker.proof.neutral.constant_folding import Array
    from graphfix.checker.proof.onnx.reading.operands import Call

Fold: TypeAlias = "Callable[[Call, Sequence[Array | None]], Array | Sequence[Array] | None]"
"""Computes a node of constants; an operand that is not given is None. Returns the result, or the results, or None."""
SIZE_TYPES = {6: "int32", 7: "int64"}
"""The types that shapes are computed in, by their numbers in TensorProto."""
SIZE_TYPE_NUMBERS = {name: number for number, name in SIZE_TYPES.items()}


class Operator(NamedTuple):
    """The rules of one operator; a rule that is None does not exist.

    An operator has `sizes` or `each_size`. Operators of neither get their sizes from their views, or have none.
    """

    sizes: Callable[[Call], Dims] | None = None
    """Returns the dims of the first result. No other result has known sizes."""
    each_size: Callable[[Call, int], Dims] | None = None
    """Returns the dims of the result at an index."""
    view: Callable[[Call], View | None] | None = None
    """Returns the view of operand 0 that the only result is, or the known integers in it; None if it is a term."""
    fold: Fold | None = None
    """Computes the results of a node whose operands are all small constants; None if it does not."""


Operators: TypeAlias = "Mapping[str, Operator]"
"""The rules of operators of the standard set, by operator."""


def unknown_sizes(rank: int | None) -> Dims:
    """Return dims of this rank with unknown sizes; None if the rank is unknown."""
    return None if rank is None else (None,) * rank


def normalized_axes(axes: Sequence[int] | None, rank: int) -> tuple[int, ...] | None:
    """Return axes counted from the front; None if an axis is out of range, or is given twice."""
    if axes is None or not all(-rank <= axis < rank for axis in axes):
        return None
    found = tuple(axis % rank for axis in axes)
    return found if len(set(found)) == len(found) else None


def allowed_axes(call: Call, axes: Sequence[int] | None, rank: int) -> tuple[int, ...] | None:
    """Return axes counted from the front; None where the node's operator set does not allow them."""
    return None if axes is None or min(axes, default=0) < call.lowest(rank) else normalized_axes(axes, rank)


def allowed_axis(call: Call, default: int, rank: int) -> int | None:
    """Return the axis of the attribute `axis`, counted from the front; None where the set does not allow it."""
    found = allowed_axes(call, (call.integer("axis", default),), rank)
    return None if found is None else found[0]
