"""Shape rules of the operators that return a state for the next call: linear attention and causal convolutions.

Sources: the ONNX operator specification; onnxruntime's operators of the same names have more attributes.
"""

from __future__ import annotations

from graphfix.formats.onnx.infer.operands import NOTHING, Call, Results
from graphfix.formats.onnx.infer.sizes import positive, product, quotient, ranked, total
from graphfix.shapes.shape import UNKNOWN, Shape, Size

SEQUENCE = 3
"""The rank of [batch, sequence, features] and of [batch, channels, length]."""


def linear_attention(call: Call) -> Results:
    """[B,T,max(Q,K)*V/K] of values [B,T,V] in K heads; a state [B,K,key,value], a window of states in front of it."""
    query, key, value = (ranked(call, at, SEQUENCE) for at in range(3))
    queries, groups, terms = positive(call, "q_num_heads"), positive(call, "kv_num_heads"), call.terms
    if query is None:
        return NOTHING
    value_head = quotient(terms, value[2], groups) if value else UNKNOWN
    key_head = quotient(terms, key[2], groups) if key else quotient(terms, query[2], queries)
    heads = max(queries, groups) if isinstance(queries, int) and isinstance(groups, int) else UNKNOWN
    state = _in_window(call, (query[0], groups, key_head, value_head))
    return (Shape((*query[:2], product(terms, heads, value_head))), state)


def _in_window(call: Call, state: tuple[Size, ...]) -> Shape | None:
    """The state, of which the attribute `state_window` has several in front; None where that is below 0."""
    window = call.number("state_window", 0)
    return None if window < 0 else Shape((window, *state) if window else state)


def causal_convolution(call: Call) -> Results:
    """The operand's shape [B,C,L]; the last (k-1)*dilation positions [B,C,..] for the next call.

    With channels_last the operand is [B,L,C..], the state [B,(k-1)*dilation,C..]. What only a GPU computes with more
    attributes is not known.
    """
    dims, weight = call.dims(0), call.dims(1)
    last, capacity = call.flag("channels_last", 0), call.number("state_update_capacity", 0)
    extended = any(call.number(name, usual) != usual for name, usual in _EXTENSIONS.items())
    if dims is None or last is None or extended:
        return NOTHING
    history = product(call.terms, total(call.terms, weight[-1], -1), call.number("dilation", 1)) if weight else UNKNOWN
    if call.number("ndim", 1) != 1 or len(dims) < SEQUENCE:
        return (call.shape(0),)
    state = (dims[0], history, *dims[2:]) if last else (*dims[:2], history)
    channels = dims[2] if last else dims[1]
    return (call.shape(0), _in_window(call, state), Shape((dims[0], max(capacity, 0), channels)))


_EXTENSIONS = {"state_length": 0, "state_channels_last": -1, "input_channels": 0, "input_channel_offset": 0}
"""Attributes that change the result's or the state's sizes on a GPU, and their defaults."""
