"""Shape rules of operators with a state: linear attention and causal convolutions.

Sources: the ONNX operator specification; onnxruntime's operators of the same names have more attributes.
"""

from __future__ import annotations

from graphfix.formats.onnx.infer.call import NOTHING, Call, Results
from graphfix.formats.onnx.infer.operators.sizes import positive, product, quotient, ranked, total
from graphfix.shapes.shape import UNKNOWN, Shape, Size

SEQUENCE = 3
"""The rank of [batch, sequence, features] and of [batch, channels, length]."""


def linear_attention(call: Call) -> Results:
    """[B,T,max(Q,K)*V/K] of values [B,T,V] in K heads, and a state [B,K,key,value] or a window of such states."""
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
    """Return the state's shape behind the attribute `state_window`, if that is not 0; None if it is negative."""
    window = call.number("state_window", 0)
    return None if window < 0 else Shape((window, *state) if window else state)


def causal_convolution(call: Call) -> Results:
    """The operand's shape [B,C,L]; the last (k-1)*dilation positions [B,C,..] for the next call.

    With channels_last the operand is [B,L,C..], the state [B,(k-1)*dilation,C..]. Nothing is known if one of the
    `_EXTENSIONS` is used.
    """
    dims, history = call.dims(0), history_length(call)
    last, capacity = call.flag("channels_last", 0), call.number("state_update_capacity", 0)
    extended = any(call.number(name, usual) != usual for name, usual in _EXTENSIONS.items())
    if dims is None or last is None or extended:
        return NOTHING
    if call.number("ndim", 1) != 1 or len(dims) < SEQUENCE:
        return (call.shape(0),)
    state = (dims[0], history, *dims[2:]) if last else (*dims[:2], history)
    channels = dims[2] if last else dims[1]
    return (call.shape(0), _in_window(call, state), Shape((dims[0], max(capacity, 0), channels)))


def history_length(call: Call) -> Size:
    """Return the number of positions that a causal convolution keeps: (k - 1) * dilation."""
    weight = call.dims(1)
    return product(call.terms, total(call.terms, weight[-1], -1), call.number("dilation", 1)) if weight else UNKNOWN


_EXTENSIONS = {"state_length": 0, "state_channels_last": -1, "input_channels": 0, "input_channel_offset": 0}
"""Attributes that GPU kernels alone implement and that change sizes, with their defaults."""
