"""Rules of SELECT and SELECT_V2, which choose elements by a condition."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from graphfix.checker.proof.core.sizes import all_known
from graphfix.checker.proof.core.terms import integer_type
from graphfix.checker.proof.neutral import broadcast, constant_folding, integer_values
from graphfix.checker.proof.tflite.operators.entry import Folding, Integers, Rules

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from graphfix.checker.proof.core.arithmetic import Arithmetic
    from graphfix.checker.proof.core.sizes import Size, Sizes
    from graphfix.checker.proof.core.terms import ProofValue
    from graphfix.checker.proof.neutral.constant_folding import Array
    from graphfix.checker.proof.tflite.reading.operands import Call

_TRIPLE: Final = 3


def shaped(call: Call, views: Sequence[ProofValue]) -> bool:
    """Return whether the result of SELECT or SELECT_V2 has the shape of its operands.

    If each operand has one element, the kernel uses the shape that the file states for the result.
    """
    shapes = [view.sizes for view in views]
    if any(isinstance(size, int) and size != 1 for sizes in shapes for size in sizes or ()):
        return True
    return None not in shapes and max(len(sizes or ()) for sizes in shapes) == len(call.result.stored)


def _select_mapped(call: Call, key: tuple[object, ...], views: Sequence[ProofValue]) -> ProofValue | None:
    """Return the term of a SELECT; None if the shapes do not fit, or if a rank is unknown.

    The condition is a scalar, has the shape of the values, or follows axis 0 of the values.
    """
    condition, one, two = views
    if condition.sizes is None or condition.axes is None or one.sizes is None or one.sizes != two.sizes:
        return None
    rank = len(one.sizes)
    if condition.sizes == one.sizes or not condition.sizes:
        axes = (None,) * (rank - len(condition.axes)) + condition.axes
    elif len(condition.sizes) == 1 and rank > 1 and condition.sizes[0] == one.sizes[0]:
        axes = (*condition.axes, *(None,) * (rank - 1))
    else:
        return None
    uses = [(condition.core, axes), (one.core, one.axes or ()), (two.core, two.axes or ())]
    return broadcast.aligned(call.table, key, uses, one.sizes, call.description)


def _select_integers(call: Call) -> ProofValue | None:
    """Return the integers that a SELECT_V2 chooses by known conditions, or by conditions "a size is 1"."""
    views = [view for view in call.views if view is not None]
    if len(views) != _TRIPLE or views[0].content is None or integer_type(views[0]) != "bool":
        return None
    contents = [views[0].content, call.content(1), call.content(2)]
    length = max(len(content or ()) for content in contents)
    if any(content is None or len(content) not in (1, length) for content in contents):
        return None
    columns = zip(*(integer_values.repeated(view, length) for view in views), strict=True)
    chosen: Sizes | None = all_known(_chosen(call.table.arithmetic, *column) for column in columns)
    scalar = all(not view.sizes for view in views)
    if chosen is None or (length == 1 and call.result.stored != (() if scalar else (1,))):
        return None  # For single elements LiteRT uses the shape that the file states.
    return call.result_integers(chosen, scalar=scalar)


def _chosen(arithmetic: Arithmetic, condition: Size, one: Size, two: Size) -> Size | None:
    """Return the integer that a condition chooses between `one` and `two`; None if it is unknown.

    If the condition is "`two` is 1", the operator chooses `one` for true and `two` for false. This is the size to which
    the sizes `one` and `two` broadcast. If they do not broadcast, the operator chooses `two`, and the operator that
    reads both sizes fails.
    """
    if isinstance(condition, int):
        return one if condition else two
    if condition.key != ("is 1", two) or arithmetic.least(one) < 0:
        return None
    return arithmetic.algebra.broadcast_size((one, two))


def _select_folded(call: Call, arrays: Sequence[Array]) -> Array | None:
    """Return the elements that a SELECT_V2 chooses from constants.

    Returns None if each operand has one element and the file states another shape, because LiteRT uses the stated
    shape.
    """
    chosen, one, two = arrays
    if chosen.dtype != bool or one.dtype != two.dtype or not constant_folding.small(*arrays):
        return None
    found = np.where(chosen, one, two)
    return found if max(each.size for each in arrays) > 1 or found.shape == call.result.stored else None


OPERATORS: Final[Mapping[str, Rules]] = {
    "SELECT": Rules(mapped=(3, _select_mapped)),
    "SELECT_V2": Rules(integers=Integers(_select_integers, is_known=True, retypes=True), fold=Folding(_select_folded)),
}
