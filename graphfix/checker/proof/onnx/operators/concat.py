"""Rules for Concat: result sizes, known elements of joined vectors, and folding of constants."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from onnx import TensorProto

from graphfix.checker.proof.core.sizes import numbers, result_sizes
from graphfix.checker.proof.core.terms import MOST_ELEMENTS, integer_type, value_of
from graphfix.checker.proof.onnx.operators.entry import Operator, allowed_axis
from graphfix.checker.proof.onnx.reading.types import dtype

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphfix.checker.proof.core.sizes import Dims, Sizes
    from graphfix.checker.proof.core.terms import Core, ProofValue
    from graphfix.checker.proof.neutral.constant_folding import Array
    from graphfix.checker.proof.onnx.operators.entry import Operators
    from graphfix.checker.proof.onnx.reading.operands import Call


def joined(call: Call, shapes: Sequence[Sizes | None]) -> Dims:
    """Return the dims of a result that joins operands of these shapes along the attribute `axis`.

    All other sizes come from an operand that certainly has elements, because onnxruntime does not check the other sizes
    of operands without elements. Without such an operand, a size is unknown if the operands differ in it. All sizes are
    unknown if the rank of one operand is unknown. Return None if no rank is known, the ranks differ, or the axis is out
    of range.
    """
    ranked = next((sizes for sizes in shapes if sizes is not None), None)
    axis = call.integer("axis", 1)
    if ranked is None or not -len(ranked) <= axis < len(ranked):
        return None
    given = [result_sizes(sizes) for sizes in shapes if sizes is not None]
    if any(len(sizes) != len(ranked) for sizes in given):
        return None
    if len(given) < len(shapes):
        return (None,) * len(ranked)
    axis %= len(ranked)
    filled = next((sizes for sizes in given if 0 not in (numbers(sizes) or (0,))), None)
    dims = [
        filled[at] if filled is not None else column[0] if len(set(column)) == 1 else None
        for at, column in enumerate(zip(*given, strict=True))
    ]
    lengths = [sizes[axis] for sizes in given]
    # An operand without elements need not fit the other operands. So the lengths are added only if they are all
    # numbers, or if all other sizes are known.
    counted = numbers(lengths) is not None or None not in (*dims[:axis], *dims[axis + 1 :])
    return (*dims[:axis], call.table.arithmetic.add(*lengths) if counted else None, *dims[axis + 1 :])


def _concat_view(call: Call) -> ProofValue | None:
    """Return the known integers of joined vectors as one vector; None if an integer is unknown or the types differ."""
    contents = [call.content(index) for index in range(len(call.views))]
    dtypes = {integer_type(view) for view in call.views if view is not None}
    dtype = dtypes.pop() if len(dtypes) == 1 else None
    if dtype is None or None in contents or any(call.rank(index) != 1 for index in range(len(call.views))):
        return None
    if call.integer("axis", 1) not in (0, call.lowest_axis(1)):
        return None
    joined_content = tuple(term for content in contents if content is not None for term in content)
    return call.table.integers(joined_content, dtype) if len(joined_content) <= MOST_ELEMENTS else None


def enter_elements(call: Call, core: Core) -> None:
    """Record the elements of a Concat's result that are known, for example of a partly known shape.

    Nothing is recorded unless an element is known and all operands are short int64 vectors. `core` is the core of the
    result.
    """
    parts = [_known_elements(view) for view in call.views]
    if None in parts or all(element is None for part in parts for element in part or ()):
        return
    elements = tuple([element for part in parts for element in part or ()])
    if len(elements) <= MOST_ELEMENTS:
        core.elements = elements


def _known_elements(view: ProofValue | None) -> Dims:
    """Return the elements of a vector of int64, with None for each unknown element; None for any other value.

    Return None also if the length is unknown or too large.
    """
    if view is None or view.sizes is None or len(view.sizes) != 1:
        return None
    if view.content is not None:
        return view.content if integer_type(view) == "int64" else None
    count = view.sizes[0]
    if dtype(view.core) != TensorProto.INT64 or not isinstance(count, int) or count > MOST_ELEMENTS:
        return None
    return view.core.elements if view.core.elements is not None and view == value_of(view.core) else (None,) * count


def _concat_fold(call: Call, arrays: Sequence[Array | None]) -> Array | None:
    """Compute a Concat of constants; None unless all have one type and the operator set allows the axis."""
    given = [array for array in arrays if array is not None]
    axis = allowed_axis(call, 1, given[0].ndim) if given else None
    if axis is None or len(given) < len(arrays) or len({array.dtype for array in given}) > 1:
        return None
    return np.concatenate(given, axis=axis)


OPERATORS: Operators = {
    "Concat": Operator(
        sizes=lambda call: joined(call, [view.sizes for view in call.views if view is not None]),
        view=_concat_view,
        fold=_concat_fold,
    )
}
