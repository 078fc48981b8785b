"""Rules of RESHAPE, EXPAND_DIMS, SQUEEZE and TRANSPOSE: the result has the same elements with other axes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from graphfix.checker.proof.core.result import NO_SIZE_BESIDE_IS_0
from graphfix.checker.proof.core.sizes import numbers
from graphfix.checker.proof.core.terms import ProofValue
from graphfix.checker.proof.neutral import views
from graphfix.checker.proof.tflite.operators.entry import Folding, Rules

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from graphfix.checker.proof.core.sizes import Dims, Size, Sizes
    from graphfix.checker.proof.neutral.constant_folding import Array
    from graphfix.checker.proof.tflite.reading.operands import Call

_SCALAR: Final = (0,)
"""The option by which old converters write a RESHAPE to a scalar."""


# --- RESHAPE ----------------------------------------------------------------------------------------------------------


def _target(call: Call) -> Sizes | None:
    """Return the shape that a RESHAPE requests: operand 1, or the option if there is no operand 1.

    None if it is unknown.
    """
    if len(call.views) > 1:
        # If the operand has another type, the kernel reads the option.
        return call.target(1) if call.inputs[1] is not None and call.inputs[1].dtype == "int32" else None
    option = call.option("newShape")
    return option if isinstance(option, tuple) and option != _SCALAR else None


def _reshape_sizes(call: Call) -> Dims:
    """Return the sizes of a RESHAPE, with the size that is written -1 computed."""
    target, sizes = _target(call), call.sizes(0)
    if target is None:
        return None
    others = [size for size in target if size not in (-1, 0)]
    left = _left(call, sizes, others) if sizes and len(others) == len(target) - 1 else None
    return tuple(left if size == -1 else size for size in target)


def _left(call: Call, sizes: Sizes, others: Sequence[Size]) -> Size | None:
    """Return the size that a RESHAPE writes as -1; None if it is unknown.

    The kernel ignores sizes of 0 in both products. So a term can be cancelled only if no other size remains, or if no
    size can be 0. The latter is then an assumption of the proof.
    """
    left = call.table.arithmetic.inferred_size(sizes, others)
    if left is not None and (numbers(sizes) is None or numbers(others) is None):
        call.table.assumptions[NO_SIZE_BESIDE_IS_0] = None
    return left


def _reshape_view(call: Call) -> ProofValue | None:
    """Return the result of a RESHAPE as a value of operand 0's core, or as known integers of a vector."""
    view, target = call.views[0], _target(call)
    if view is None or target is None:
        return None
    content = call.content(0)
    if content is not None and target in ((-1,), (len(content),)):
        return call.result_integers(content)
    return views.reshaped(view, target, zero_copies=False)


def _reshape_folded(_: Call, arrays: Sequence[Array]) -> Array | None:
    """Return a constant in another shape. A size may be -1; numpy would accept any negative number for it."""
    if len(arrays) != 2 or arrays[1].ndim != 1 or (arrays[1] < -1).any():  # noqa: PLR2004 - the data and its sizes
        return None
    return arrays[0].reshape(arrays[1].tolist())


# --- EXPAND_DIMS and SQUEEZE ------------------------------------------------------------------------------------------


def _expand_sizes(call: Call) -> ProofValue | None:
    """Return the result of an EXPAND_DIMS: operand 0 with a unit axis inserted."""
    axes = call.known_integers(1)
    if call.views[0] is None or axes is None or len(axes) != 1:
        return None
    return views.unsqueezed(call.views[0], axes)


def _squeeze(call: Call) -> ProofValue | None:
    """Return the result of a SQUEEZE: operand 0 without the axes in the option.

    If the option is empty, all unit axes are dropped.
    """
    axes = call.option("squeezeDims")
    if call.views[0] is None:
        return None
    given = axes if isinstance(axes, tuple) and axes else None
    gone = views.unit_axes(call.table.arithmetic, call.views[0].sizes) if given is None else given
    return None if gone is None else views.squeezed(call.views[0], gone)


# --- TRANSPOSE --------------------------------------------------------------------------------------------------------


def _transpose_sizes(call: Call) -> Dims:
    """Return the sizes of a TRANSPOSE by a constant permutation."""
    sizes, order = call.sizes(0), call.known_integers(1)
    if sizes is None or order is None or sorted(order) != list(range(len(sizes))):
        return None
    return tuple(sizes[axis] for axis in order)


def _transpose_copied(call: Call, view: ProofValue) -> ProofValue | None:
    """Return the result of a TRANSPOSE that moves only axes of size 1, as a value of operand 0's core."""
    axes = call.known_integers(1)
    if view.axes is None or view.sizes is None or axes is None or sorted(axes) != list(range(len(view.sizes))):
        return None
    ordered = [axis for axis in axes if view.sizes[axis] != 1]
    if ordered != sorted(ordered):
        return None
    return ProofValue(view.core, tuple(view.axes[axis] for axis in axes), tuple(view.sizes[axis] for axis in axes))


def _transpose_folded(_: Call, arrays: Sequence[Array]) -> Array | None:
    data, order = arrays
    return np.transpose(data, order) if sorted(order.tolist()) == list(range(data.ndim)) else None


OPERATORS: Final[Mapping[str, Rules]] = {
    "RESHAPE": Rules(sizes=_reshape_sizes, view=_reshape_view, fold=Folding(_reshape_folded, "indices")),
    "EXPAND_DIMS": Rules(view=_expand_sizes),
    "SQUEEZE": Rules(view=_squeeze),
    "TRANSPOSE": Rules(sizes=_transpose_sizes, copied=_transpose_copied, fold=Folding(_transpose_folded, "indices")),
}
