"""Normalizations that onnxruntime fuses with a sum, an embedding or a gate.

Sources: onnxruntime's docs/ContribOperators.md and its CPU kernels.
"""

from __future__ import annotations

from collections.abc import Mapping

from graphfix.formats.onnx.infer.call import NOTHING, Call, Results
from graphfix.formats.onnx.infer.contrib.operator import FLOAT, MICROSOFT, SAME, Operator, like, type_attribute
from graphfix.formats.onnx.infer.operators.elementwise import first, normalization, shapes_of
from graphfix.formats.onnx.infer.sizes import positive, quotient, ranked
from graphfix.shapes.dim import Shape

GRID = 2
"""The rank of [batch, sequence] and of an embedding table [words, hidden]."""


def _skip(call: Call) -> Results:
    """Return the result shapes of SkipLayerNormalization: result, mean, inverse deviation, and normalized sum.

    Result and sum have the shape of operand 0, because operand 1 is broadcast onto operand 0. Mean and inverse
    deviation have size 1 in the last axis.
    """
    dims = call.dims(0)
    kept = Shape((*dims[:-1], 1)) if dims else None
    return (call.shape(0), kept, kept, call.shape(0))


def _simplified(call: Call) -> Results:
    """Return the result shapes of SimplifiedLayerNormalization: those of LayerNormalization without the mean."""
    result, *kept = normalization(call) or (None,)
    return (result, *kept[1:])


def _embedded(call: Call) -> Results:
    """Return the result shapes of EmbedLayerNormalization, from words [batch,sequence] and a table [words,hidden].

    The results are [batch,sequence,hidden], a mask index [batch], and the sum that is normalized, shaped as result 0.
    """
    words, table = ranked(call, 0, GRID), ranked(call, 2, GRID)
    if words is None or table is None:
        return NOTHING
    embedded = Shape((*words, table[1]))
    return (embedded, Shape(words[:1]), embedded)


def _pre_mix(call: Call) -> Results:
    """Return the result shape of HyperConnectionPreMix: `[..,C,H]` -> `[..,H]`.

    If the attribute `num_branches` is C, operand 0 is `[..,C*H]` instead.
    """
    dims, branches = call.dims(0), call.number("num_branches", 0)
    if not dims or branches < 0:
        return NOTHING
    if branches:
        return (Shape((*dims[:-1], quotient(call.terms, dims[-1], branches))),)
    return (Shape((*dims[:-2], dims[-1])),) if len(dims) > 1 else NOTHING


def _low_rank_mix(call: Call) -> Results:
    """Return the result shapes of HyperConnectionLowRankMix for operand 0, `[..,C*H]`: `[..,H]`, `[..,C]`, `[..,C*H]`.

    C is the attribute `num_branches`.
    """
    dims, branches = call.dims(0), positive(call, "num_branches")
    if not dims:
        return NOTHING
    return (Shape((*dims[:-1], quotient(call.terms, dims[-1], branches))), Shape((*dims[:-1], branches)), call.shape(0))


_LIKE_THE_OPERAND = """
BranchwiseRMSNorm GatedRMSNorm GroupNorm HyperConnectionPostMix QOrderedLayerNormalization
""".split()
OPERATORS: Mapping[tuple[str, str], Operator] = {
    ("", "SimplifiedLayerNormalization"): Operator(_simplified, (like(1, 0), type_attribute("stash_type", FLOAT))),
    **{
        (MICROSOFT, op): Operator(_skip, (like(0), FLOAT, FLOAT, like(0)))
        for op in ("SkipLayerNormalization", "SkipSimplifiedLayerNormalization")
    },
    **{(MICROSOFT, op): Operator(first, SAME) for op in _LIKE_THE_OPERAND},
    (MICROSOFT, "EmbedLayerNormalization"): Operator(_embedded, (like(2), like(0), like(2))),
    (MICROSOFT, "EngramGate"): Operator(shapes_of(0, 0), SAME),
    (MICROSOFT, "HyperConnectionLowRankMix"): Operator(_low_rank_mix, SAME),
    (MICROSOFT, "HyperConnectionPreMix"): Operator(_pre_mix, SAME),
    (MICROSOFT, "QEmbedLayerNormalization"): Operator(_embedded, (like(8), like(0))),
    (MICROSOFT, "SkipGroupNorm"): Operator(shapes_of(0, 0), SAME),
}
