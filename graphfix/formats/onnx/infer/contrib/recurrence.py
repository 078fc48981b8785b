"""Operators with a state: recurrent networks, linear attention, causal convolutions.

Sources: onnxruntime's docs/ContribOperators.md and its CPU kernels; the ONNX operator specification.
"""

from __future__ import annotations

from collections.abc import Mapping

from graphfix.formats.onnx.infer.call import NOTHING, Call, Results
from graphfix.formats.onnx.infer.contrib.operator import FLOAT, MICROSOFT, SAME, Operator, like
from graphfix.formats.onnx.infer.operators.attention import (
    causal_convolution,
    history_length,
    linear_attention,
    recurrent,
)
from graphfix.formats.onnx.infer.operators.elementwise import shapes_of
from graphfix.formats.onnx.infer.sizes import ranked, total
from graphfix.shapes.dim import UNKNOWN, Shape, Size

STATE = 4
"""The rank of a state [batch, heads, key, value]."""


def _packed_convolution(call: Call) -> Results:
    """Return the result shapes of VarlenCausalConvWithState for packed tokens [T,C].

    The results have the shapes [T,C], [batch,C,history] (a state for each sequence), and [batch,capacity,C] (captured
    tokens). Operand 2 contains the bounds [batch+1] of the sequences.
    """
    tokens, ends = ranked(call, 0, 2), ranked(call, 2, 1)
    if tokens is None:
        return NOTHING
    batch = total(call.terms, ends[0], -1) if ends else UNKNOWN
    history = history_length(call)
    capacity = max(call.number("state_update_capacity", 0), 0)
    return (call.shape(0), Shape((batch, tokens[1], history)), Shape((batch, capacity, tokens[1])))


def _delta(call: Call) -> Results:
    """Return the result shapes of GatedDeltaNet: `[..,max(Q,V),value]`, the state, and [batch,?].

    Query is `[..,Q,key]`, and value (operand 2) is `[..,V,value]`. The state has the shape of operand 6. If operand 2
    is absent, operand 0 contains query, key and value, and sizes of the state replace the number of heads and `value`.
    """
    query, value, state = call.dims(0), call.dims(2), ranked(call, 6, STATE)
    if query is None:
        return NOTHING
    if not call.has(2):
        tokens, heads, head = query[:-1], state[1] if state else UNKNOWN, state[2] if state else UNKNOWN
    else:
        tokens, head = query[:-2], value[-1] if value else UNKNOWN
        heads = _most(query[-2] if len(query) > 1 else UNKNOWN, value[-2] if value and len(value) > 1 else UNKNOWN)
    kept = Shape(state) if state is not None else Shape((UNKNOWN,) * STATE)
    return (Shape((*tokens, heads, head)), kept, Shape((kept.dims[0], UNKNOWN)))


def _most(one: Size, other: Size) -> Size:
    """Return the greater of two numbers; UNKNOWN if a size is not a number."""
    return max(one, other) if isinstance(one, int) and isinstance(other, int) else UNKNOWN


def _verified(call: Call) -> Results:
    """Return the five result shapes of Mamba2Verify for operand 0, [rows,width].

    Results 0 and 4 are [rows,D], where D is the length of operand 8. Results 1 and 2 have the shapes of operands 1 and
    2, and are snapshots of both states. Result 3 is [rows,C], where C is the second size of operand 1.
    """
    rows, states, norm = ranked(call, 0, 2), call.dims(1), ranked(call, 8, 1)
    count, width = rows[0] if rows else UNKNOWN, norm[0] if norm else UNKNOWN
    channels = states[1] if states is not None and len(states) > 1 else UNKNOWN
    weight_shape = Shape((count, width))
    return (weight_shape, call.shape(1), call.shape(2), Shape((count, channels)), weight_shape)


OPERATORS: Mapping[tuple[str, str], Operator] = {
    (MICROSOFT, "AttnLSTM"): Operator(recurrent, SAME),
    (MICROSOFT, "CausalConvWithState"): Operator(causal_convolution, SAME),
    (MICROSOFT, "DynamicQuantizeLSTM"): Operator(recurrent, (FLOAT,)),
    (MICROSOFT, "GatedDeltaNet"): Operator(_delta, (like(0), FLOAT)),
    **{(MICROSOFT, op): Operator(shapes_of(2), (like(2),)) for op in ("ConvStateReplay", "GatedDeltaNetStateReplay")},
    (MICROSOFT, "LinearAttention"): Operator(linear_attention, (like(0), like(3, 0))),
    (MICROSOFT, "Mamba2Verify"): Operator(_verified, (like(0), like(0), FLOAT, like(0), FLOAT)),
    (MICROSOFT, "VarlenCausalConvWithState"): Operator(_packed_convolution, SAME),
}
