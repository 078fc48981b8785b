"""Rules of BATCH_MATMUL, FULLY_CONNECTED, PRELU and RFFT2D. Their operands do not broadcast like those of ADD."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from graphfix.checker.proof.core.terms import ProofValue, value_of
from graphfix.checker.proof.neutral import broadcast
from graphfix.checker.proof.tflite.kernels import kernel_choice
from graphfix.checker.proof.tflite.operators.entry import Rules
from graphfix.checker.proof.tflite.reading.node_signature import hybrid

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from graphfix.checker.proof.core.sizes import Dims
    from graphfix.checker.proof.tflite.reading.operands import Call

PLANE: Final = 2
"""The number of trailing axes that RFFT2D transforms."""
_MATRIX: Final = 2


def _multiplied(call: Call, key: tuple[object, ...], views: Sequence[ProofValue]) -> ProofValue | None:
    """Return the term of a BATCH_MATMUL, whose batch axes are broadcast, right-aligned.

    For a product of int8 and floats, the key contains which operands are constants. In such a product XNNPACK treats a
    computed operand as a constant, and multiplies the memory's present content.
    """
    if hybrid(call.inputs):
        key = (*key, tuple(tensor is not None and tensor.payload is not None for tensor in call.inputs))
    outer = (-1 if call.option("adjX") else -2, -2 if call.option("adjY") else -1)
    return broadcast.product(call.table, key, (views[0], views[1]), call.description, outer=outer)


def _fully_connected(call: Call) -> Dims:
    """Return the sizes of a FULLY_CONNECTED. The last size is that of axis 0 of the weights.

    The result keeps all other sizes of operand 0 if the last size of operand 0 is that of axis 1 of the weights. It
    also keeps these sizes if `keepNumDims` is set, because the kernel then checks this. Else these sizes are unknown.
    """
    sizes, weights = call.sizes(0), call.sizes(1)
    rank = len(call.result.dims or ())
    if not sizes or weights is None or len(weights) != _MATRIX or not rank:
        return None
    keeps_rank = len(sizes) == rank and (sizes[-1] == weights[1] or bool(call.option("keepNumDims")))
    return (*(sizes[:-1] if keeps_rank else (None,) * (rank - 1)), weights[0])


def _onto(call: Call, key: tuple[object, ...], views: Sequence[ProofValue]) -> ProofValue | None:
    """Return the term of a PRELU, whose slope broadcasts onto operand 0."""
    key = (*key, *kernel_choice.of_prelu(call, views))
    return broadcast.onto(call.table, key, views[0], views[1:], call.description)


def _transformed(call: Call, key: tuple[object, ...], views: Sequence[ProofValue]) -> ProofValue | None:
    """Return the term of an RFFT2D, which transforms each plane of the last two axes separately.

    Axes of size 1 in front of the plane do not change the result. So they are axes of the returned value, and not of
    its core. The last two sizes of the result are n and m // 2 + 1, for the lengths n and m in operand 1.
    """
    data, lengths = views
    wanted = call.known_integers(1)
    if data.axes is None or data.sizes is None or len(data.sizes) <= PLANE or wanted is None or len(wanted) != PLANE:
        return None
    batch = len(data.sizes) - PLANE
    kept = [axis for axis in range(len(data.sizes)) if axis >= batch or data.sizes[axis] != 1]
    plain = ProofValue(data.core, tuple(data.axes[axis] for axis in kept), tuple(data.sizes[axis] for axis in kept))
    sizes = (*plain.sizes[:-PLANE], wanted[0], wanted[1] // 2 + 1) if plain.sizes else ()
    result = value_of(call.table.result(("planes", *key, plain, lengths), call.description, sizes).core)
    places = {axis: place for place, axis in enumerate(kept)}
    followed = tuple((result.axes or ())[places[axis]] if axis in places else None for axis in range(batch + PLANE))
    shape = tuple(sizes[places[axis]] if axis in places else 1 for axis in range(batch + PLANE))
    return ProofValue(result.core, followed, shape)


OPERATORS: Final[Mapping[str, Rules]] = {
    "BATCH_MATMUL": Rules(mapped=(2, _multiplied)),
    "FULLY_CONNECTED": Rules(sizes=_fully_connected),
    "PRELU": Rules(mapped=(2, _onto)),
    "RFFT2D": Rules(mapped=(2, _transformed)),
}
