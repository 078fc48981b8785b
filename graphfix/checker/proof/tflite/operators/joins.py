"""Rules of CONCATENATION, PACK and UNPACK, which join operands along an axis, or split an operand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from graphfix.checker.proof.core.sizes import all_known
from graphfix.checker.proof.tflite.operators.entry import Folding, Integers, Rules
from graphfix.checker.proof.tflite.reading.node_signature import type_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from graphfix.checker.files.tflite.records import Operator, Subgraph
    from graphfix.checker.proof.core.sizes import Dims, Size
    from graphfix.checker.proof.core.terms import ProofValue
    from graphfix.checker.proof.neutral.constant_folding import Array
    from graphfix.checker.proof.tflite.reading.operands import Call


def _concatenation_sizes(call: Call) -> Dims:
    """Return the sizes of a CONCATENATION: those of operand 0, with the sum of all sizes along the axis."""
    sizes = call.sizes(0)
    if not sizes:
        return None
    at = call.integer("axis") % len(sizes)
    parts = [call.sizes(index) for index in range(len(call.views))]
    lengths = [part[at] for part in parts if part is not None and len(part) == len(sizes)]
    total = call.table.arithmetic.add(*lengths) if len(lengths) == len(parts) else None
    return tuple(total if axis == at else size for axis, size in enumerate(sizes))


def _concatenation_integers(call: Call) -> ProofValue | None:
    """Return the known integers of joined vectors."""
    parts = [call.vector(index) for index in range(len(call.views))]
    if call.integer("axis") not in (0, -1) or call.integer("fusedActivationFunction"):
        return None
    are_known = all_known(parts)
    return None if are_known is None else call.result_integers(tuple(term for part in are_known for term in part))


def without_empty(
    graph: Subgraph, operator: Operator, views: Sequence[ProofValue | None]
) -> tuple[Operator, Sequence[ProofValue | None]]:
    """Return (operator, operands) of a CONCATENATION without the operands whose size along the axis is 0.

    Other operators are returned unchanged. So is a CONCATENATION whose operands differ in type, or in sizes of other
    axes, because LiteRT refuses it.
    """
    axis = operator.options.get("axis", 0)
    if operator.name != "CONCATENATION" or not isinstance(axis, int) or None in views:
        return operator, views
    kinds = [
        (type_of(graph.tensors[at]), _beside((view and view.sizes) or (), axis))
        for at, view in zip(operator.inputs, views, strict=True)
    ]
    sizes = [(view and view.sizes) or () for view in views]
    kept = [at for at, each in enumerate(sizes) if not (-len(each) <= axis < len(each) and each[axis] == 0)]
    if not 0 < len(kept) < len(views) or len(set(kinds)) > 1:
        return operator, views
    return operator._replace(inputs=tuple(operator.inputs[at] for at in kept)), [views[at] for at in kept]


def _beside(sizes: tuple[Size, ...], axis: int) -> tuple[Size | None, ...]:
    """Return the sizes with None in place of the size of an axis."""
    return tuple(None if at == axis % len(sizes) else size for at, size in enumerate(sizes))


def _pack_sizes(call: Call) -> Dims:
    """Return the sizes of a PACK: those of operand 0, with the number of operands inserted at the axis."""
    sizes = call.sizes(0)
    if sizes is None:
        return None
    at = call.integer("axis") % (len(sizes) + 1)
    return (*sizes[:at], len(call.views), *sizes[at:])


def _pack_integers(call: Call) -> ProofValue | None:
    """Return the known integers of joined scalars."""
    parts = [call.content(index) for index in range(len(call.views))]
    if any(view is None or view.sizes != () for view in call.views) or call.integer("axis"):
        return None
    are_known = all_known(parts)
    if are_known is None or call.integer("valuesCount") != len(parts):
        return None
    return call.result_integers(tuple(term for part in are_known for term in part))


def _pack_folded(call: Call, arrays: Sequence[Array]) -> Array | None:
    if call.integer("valuesCount") != len(call.views):
        return None
    return np.stack(arrays, axis=call.integer("axis"))


def _unpack(call: Call) -> Dims:
    """Return the sizes of each result of an UNPACK: those of the operand without the axis."""
    sizes, axis = call.sizes(0), call.integer("axis")
    if sizes is None or not -len(sizes) <= axis < len(sizes):
        return None
    at = axis % len(sizes)
    return (*sizes[:at], *sizes[at + 1 :])


OPERATORS: Final[Mapping[str, Rules]] = {
    "CONCATENATION": Rules(
        sizes=_concatenation_sizes,
        integers=Integers(_concatenation_integers, one_type=True),
        fold=Folding(lambda call, arrays: np.concatenate(arrays, axis=call.integer("axis")), "one type"),
    ),
    "PACK": Rules(
        sizes=_pack_sizes,
        integers=Integers(_pack_integers, one_type=True),
        fold=Folding(_pack_folded, "one type"),
    ),
    "UNPACK": Rules(sizes=_unpack),
}
