"""Operators that generate text: they run a decoder, which is an attribute of the node, and return tokens.

Source: onnxruntime's docs/ContribOperators.md and its CPU kernels (contrib_ops/cpu/transformers).
"""

from __future__ import annotations

from collections.abc import Mapping

from graphfix.formats.onnx.infer.call import Call, Results
from graphfix.formats.onnx.infer.contrib.operator import FLOAT, INT32, MICROSOFT, Operator, like
from graphfix.formats.onnx.infer.sizes import positive, scalar, unknowns
from graphfix.shapes.dim import UNKNOWN, Shape, Size


def _batch(call: Call) -> Size:
    """Return the first size of operand 0, the batch size; UNKNOWN if operand 0 is unranked or a scalar."""
    dims = call.dims(0)
    return dims[0] if dims else UNKNOWN


def _beams(call: Call) -> Results:
    """Return the result shapes of BeamSearch and WhisperBeamSearch.

    The first results are tokens [batch,returned,longest], scores [batch,returned], and scores of every step
    [?,batch,beams,vocabulary]. Operands 1, 3 and 4 contain longest, beams and returned. WhisperBeamSearch has two more
    results, of rank 5 and 1.
    """
    batch, returned, longest = _batch(call), scalar(call, 4), scalar(call, 1)
    steps = Shape((UNKNOWN, batch, scalar(call, 3), positive(call, "vocab_size")))
    more = (Shape((batch, returned, UNKNOWN, UNKNOWN, UNKNOWN)), Shape((batch,)))
    return (Shape((batch, returned, longest)), Shape((batch, returned)), steps, *more)


def _sampled(call: Call) -> Results:
    """Return the result shapes of GreedySearch and Sampling: tokens [batch,longest], and logits of rank 2.

    Operand 1 contains `longest`, the greatest length.
    """
    return (Shape((_batch(call), scalar(call, 1))), unknowns(2))


OPERATORS: Mapping[tuple[str, str], Operator] = {
    (MICROSOFT, "BeamSearch"): Operator(_beams, (INT32, like(5, 6))),
    (MICROSOFT, "GreedySearch"): Operator(_sampled, (INT32,)),
    (MICROSOFT, "Sampling"): Operator(_sampled, (INT32, FLOAT)),
    (MICROSOFT, "WhisperBeamSearch"): Operator(_beams, (INT32, like(5, 6), like(5, 6), FLOAT, like(5, 6))),
}
