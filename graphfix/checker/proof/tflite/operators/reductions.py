"""Rules of operators along axes: reductions, sums by segments, and normalizations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from graphfix.checker.proof.core.sizes import all_known
from graphfix.checker.proof.core.terms import MOST_ELEMENTS
from graphfix.checker.proof.neutral import constant_folding
from graphfix.checker.proof.tflite.operators.entry import Folding, Integers, Rules, same_sizes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from graphfix.checker.proof.core.sizes import Dims, Sizes
    from graphfix.checker.proof.core.terms import ProofValue
    from graphfix.checker.proof.neutral.constant_folding import Array
    from graphfix.checker.proof.tflite.operators.entry import FoldingRule
    from graphfix.checker.proof.tflite.reading.operands import Call

_REDUCED: Final = frozenset({"int32", "int64", "float32"})
"""The types of constants whose reductions are computed."""
_TRIPLE: Final = 3


def _reduced_sizes(call: Call) -> Dims:
    """Return the sizes of a reduction: the reduced axes are dropped, or have size 1 if `keepDims` is set."""
    sizes, axes = call.sizes(0), call.known_integers(1)
    if sizes is None or axes is None:
        return None
    gone = {axis + len(sizes) if axis < 0 else axis for axis in axes}
    keep = bool(call.option("keepDims"))
    return tuple(1 if axis in gone else size for axis, size in enumerate(sizes) if keep or axis not in gone)


def _product_integers(call: Call) -> ProofValue | None:
    """Return the product of the known integers of a vector, for REDUCE_PROD."""
    content, axes = call.vector(0), call.known_integers(1)
    if content is None or axes not in ((0,), (-1,)):
        return None
    product = call.table.arithmetic.mul(*content)
    if product is None:
        return None
    return call.result_sizes((product,), scalar=not call.option("keepDims"))


def _folded(rule: str) -> FoldingRule:
    """Return the rule that computes the reduction of a constant."""

    def computed_reduction(call: Call, arrays: Sequence[Array]) -> Array | None:
        data, axes = arrays
        if data.dtype.name not in _REDUCED or axes.ndim > 1:
            return None
        return constant_folding.reduced(
            rule, data, tuple(axes.reshape(-1).tolist()), keep=bool(call.option("keepDims"))
        )

    return computed_reduction


def _segments_sizes(call: Call) -> Dims:
    """Return the sizes of a reduction by segments: the number of segments in operand 2, then axes of operand 0."""
    sizes, rows, count = call.sizes(0), call.sizes(1), call.content(2)
    if sizes is None or rows is None or len(rows) > len(sizes) or count is None or len(count) != 1:
        return None
    return (count[0] if call.table.arithmetic.least(count[0]) >= 0 else None, *sizes[len(rows) :])


def _segments_integers(call: Call) -> ProofValue | None:
    """Return, for each segment, the product of the known integers in the segment.

    An empty segment has the product 1.
    """
    content, rows, count = call.vector(0), call.known_integers(1), call.known_integers(2)
    typed = len(call.inputs) == _TRIPLE and all(each is not None and each.dtype == "int32" for each in call.inputs[1:])
    if content is None or rows is None or count is None or not typed or len(rows) != len(content) or len(count) != 1:
        return None
    if not 0 < count[0] <= MOST_ELEMENTS or not all(0 <= row < count[0] for row in rows):
        return None
    columns = [[size for size, row in zip(content, rows, strict=True) if row == at] for at in range(count[0])]
    products: Sizes | None = all_known(call.table.arithmetic.mul(*column) for column in columns)
    return None if products is None else call.result_sizes(products)


_KEEPING: Final = (
    "SOFTMAX LOG_SOFTMAX L2_NORMALIZATION LOCAL_RESPONSE_NORMALIZATION CUMSUM REVERSE_V2 REVERSE_SEQUENCE".split()
)
"""Operators whose result has the sizes of operand 0."""
OPERATORS: Final[Mapping[str, Rules]] = {
    **dict.fromkeys(_KEEPING, Rules(sizes=same_sizes)),
    **dict.fromkeys(("MEAN", "REDUCE_ANY", "REDUCE_ALL"), Rules(sizes=_reduced_sizes)),
    **{
        op: Rules(sizes=_reduced_sizes, fold=Folding(_folded(rule), "indices"))
        for op, rule in (("SUM", "sum"), ("REDUCE_MAX", "max"), ("REDUCE_MIN", "min"))
    },
    "REDUCE_PROD": Rules(
        sizes=_reduced_sizes, integers=Integers(_product_integers), fold=Folding(_folded("prod"), "indices")
    ),
    **{f"UNSORTED_SEGMENT_{how}": Rules(sizes=_segments_sizes) for how in ("SUM", "MAX", "MIN")},
    "UNSORTED_SEGMENT_PROD": Rules(sizes=_segments_sizes, integers=Integers(_segments_integers)),
}
