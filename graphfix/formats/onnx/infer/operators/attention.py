"""Shape rules of sequence models: attention, linear attention, causal convolutions, recurrent networks.

Sources: the ONNX operator specification, onnxruntime's CPU kernels. onnxruntime's own operators of the same names
(`infer.contrib`) have more attributes, which these rules read too.
"""

from __future__ import annotations

from collections.abc import Mapping

from graphfix.formats.onnx.infer.call import NOTHING, Call, Results, Rule
from graphfix.formats.onnx.infer.sizes import positive, product, quotient, ranked, total, unknowns
from graphfix.shapes.dim import UNKNOWN, Shape, Size

SEQUENCE = 3
"""The rank of [batch, sequence, features], of [batch, channels, length], and of [steps, batch, features]."""
HEADS = 4
"""The rank of [batch, heads, sequence, head]."""
_EXTENSIONS = {"state_length": 0, "state_channels_last": -1, "input_channels": 0, "input_channel_offset": 0}
"""Attributes that GPU kernels alone implement and that change sizes, with their defaults."""

# --- attention --------------------------------------------------------------------------------------------------------


def attention(call: Call) -> Results:
    """[B,Q,S,V] of queries [B,Q,S,D], keys [B,K,L,D] and values [B,K,L,V], or [B,S,Q*V] of operands of rank 3.

    Present keys [B,K,P+L,D] and values [B,K,P+L,V] have the past in front, scores are [B,Q,S,P+L].
    """
    query, terms = call.dims(0), call.terms
    if query is None or len(query) not in (SEQUENCE, HEADS):
        return NOTHING
    merged = len(query) == SEQUENCE
    queries = positive(call, "q_num_heads") if merged else query[1]
    groups, length, head = _heads_of(call, 1)
    _, _, value_head = _heads_of(call, 2)
    if call.has(4):
        past = ranked(call, 4, HEADS)
        length = total(terms, past[2], length) if past else UNKNOWN
    sequence = query[1] if merged else query[2]
    result = (query[0], sequence, product(terms, queries, value_head))
    return (
        Shape(result if merged else (*query[:3], value_head)),
        Shape((query[0], groups, length, head)),
        Shape((query[0], groups, length, value_head)),
        Shape((query[0], queries, sequence, length)),
    )


def _heads_of(call: Call, operand: int) -> tuple[Size, Size, Size]:
    """Return the number of heads, the length and the size of a head of the keys or values."""
    dims = call.dims(operand)
    if dims is not None and len(dims) == HEADS:
        return dims[1], dims[2], dims[3]
    if dims is None or len(dims) != SEQUENCE:
        return UNKNOWN, UNKNOWN, UNKNOWN
    heads = positive(call, "kv_num_heads")
    return heads, dims[1], quotient(call.terms, dims[2], heads) if isinstance(heads, int) else UNKNOWN


def flex_attention(call: Call) -> Results:
    """[B,Q,S,V] of queries [B,Q,S,D] and values [B,K,L,V]."""
    query, value = ranked(call, 0, HEADS), ranked(call, 2, HEADS)
    return (unknowns(HEADS) if query is None else Shape((*query[:3], value[3] if value else UNKNOWN)),)


# --- linear attention and causal convolutions -------------------------------------------------------------------------


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


# --- recurrent networks -----------------------------------------------------------------------------------------------


def recurrent(call: Call) -> Results:
    """LSTM, GRU, RNN: Y [steps,directions,batch,hidden] and the last states [directions,batch,hidden].

    With layout=1 the batch is the first axis.
    """
    dims, hidden = call.dims(0), positive(call, "hidden_size")
    if dims is None or len(dims) != SEQUENCE:
        dims = (UNKNOWN,) * SEQUENCE
    directions = 2 if call.text("direction", "forward") == "bidirectional" else 1
    if call.flag("layout", 0) is None:
        return NOTHING
    if call.flag("layout", 0):
        batch, steps, _ = dims
        state = Shape((batch, directions, hidden))
        return (Shape((batch, steps, directions, hidden)), state, state)
    steps, batch, _ = dims
    state = Shape((directions, batch, hidden))
    return (Shape((steps, directions, batch, hidden)), state, state)


SHAPES: Mapping[str, Rule] = {
    **dict.fromkeys(("GRU", "LSTM", "RNN"), recurrent),
    "Attention": attention,
    "CausalConvWithState": causal_convolution,
    "LinearAttention": linear_attention,
}
