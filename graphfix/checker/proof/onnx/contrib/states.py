"""Operators of com.microsoft that carry a state from call to call, and those that hash n-grams of tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnx import TensorProto

from graphfix.checker.proof.onnx.contrib.results import Result, kind_of, like, moved, typed, unknown
from graphfix.checker.proof.onnx.operators import states
from graphfix.checker.proof.onnx.operators.networks import directions

if TYPE_CHECKING:
    from graphfix.checker.proof.core.sizes import Dims, Size
    from graphfix.checker.proof.onnx.contrib.results import Kind, Operators, SizesRule
    from graphfix.checker.proof.onnx.reading.operands import Call

STATES, TEXTS = 4, 2
"""Ranks: the first result of a recurrent network, and token numbers [batch,positions]."""


def _windowed(call: Call, state: Dims) -> Dims:
    """Return the shape of a state, or of the states of the last `state_window` positions."""
    slots = call.integer("state_window", 0)
    return None if state is None or slots < 0 else (slots, *state) if slots else state


def _recurrent_state(call: Call) -> Dims:
    return _windowed(call, states.linear_attention(call, 1))


def _convolution_state(call: Call) -> Dims:
    """Return the shape of a causal convolution's state over one axis; None for other forms."""
    if call.integer("channels_last", 0) or call.integer("ndim", 1) != 1 or call.integer("dilation", 1) < 1:
        return None
    return _windowed(call, states.causal_convolution(call, 1))


def _past_kind(call: Call) -> Kind:
    """Return the element type of a state: that of the past state, operand 3; None if that is absent."""
    return None if call.operand(3) is None else kind_of(3)(call)


def _lstm(rank: int) -> SizesRule:
    """Return the rule of DynamicQuantizeLSTM: Y[seq,directions,batch,hidden], or a state without the first axis."""

    def rule(call: Call) -> Dims:
        data, hidden = call.sizes(0), call.integer("hidden_size", 0)
        count = directions(call)
        steps, batch = data[:2] if data is not None and len(data) == STATES - 1 else (None, None)
        whole = (steps, count, batch, hidden if hidden > 0 else None)
        return whole[STATES - rank :]

    return rule


def _grams(call: Call) -> tuple[int, int] | None:
    """Return the longest n-gram and the heads for each of its lengths."""
    longest, heads = (call.integer(name, 0) for name in ("max_ngram_size", "n_head_per_ngram"))
    return (longest, heads) if longest > 1 and heads > 0 else None


def _hashes(call: Call) -> Dims:
    """[...,(longest - 1) * heads] for tokens [...]."""
    tokens, grams = call.sizes(0), _grams(call)
    return None if tokens is None or grams is None else (*tokens, (grams[0] - 1) * grams[1])


def _history(call: Call) -> Dims:
    """[batch,longest - 1]."""
    tokens, grams = call.sizes(0), _grams(call)
    return None if tokens is None or grams is None or len(tokens) != TEXTS else (tokens[0], grams[0] - 1)


def _texts(call: Call) -> Size | None:
    """Return the number of packed texts: operand 3 has the offset of each text, and the end."""
    places = call.sizes(3)
    texts = None if places is None or len(places) != 1 else call.table.arithmetic.add(places[0], -1)
    return None if isinstance(texts, int) and texts < 0 else texts


def _histories(call: Call) -> Dims:
    grams = _grams(call)
    return None if grams is None else (_texts(call), grams[0] - 1)


def _captured(call: Call) -> Dims:
    grams, capacity = _grams(call), call.integer("state_update_capacity", 0)
    return None if grams is None or capacity < 1 else (_texts(call), capacity, grams[0] - 1)


def _words(call: Call) -> Dims:
    """WordConvEmbedding: words[count,letters] and filters [made,1,window,letter size] to [count,made]."""
    words, filters = call.sizes(0), call.sizes(1)
    return None if words is None or len(words) != TEXTS or not filters else (words[0], filters[0])


def _packed_rows(call: Call) -> Dims:
    """GatedDeltaNet: queries and values [...,heads,size] to [...,heads,size], with the greater number of heads."""
    asked, values = call.sizes(0), call.sizes(2)
    if asked is None or values is None or len(asked) != len(values) or len(asked) < STATES - 1:
        return None
    return (*values[:-2], call.table.arithmetic.greater(asked[-2], values[-2]), values[-1])


_LSTM = tuple(moved(0, _lstm(rank)) for rank in (STATES, STATES - 1, STATES - 1))
OPERATORS: Operators = {
    "LinearAttention": (
        moved(0, lambda call: states.linear_attention(call, 0)), Result(_recurrent_state, _past_kind),
    ),
    "CausalConvWithState": (like(0), moved(0, _convolution_state)),
    "LinearAttentionGate": (like(0), like(3)),
    "VarlenCausalConvWithState": (like(0), like(4)),
    "DynamicQuantizeLSTM": _LSTM,
    "AttnLSTM": _LSTM,
    "NGramHashMapping": (moved(0, _hashes), moved(0, _history)),
    "VarlenNGramHashMapping": (
        moved(0, _hashes), moved(0, _histories), typed(TensorProto.INT32, _histories), moved(0, _captured),
    ),
    "WordConvEmbedding": (moved(1, _words),),
    "GatedDeltaNet": (
        moved(0, _packed_rows), typed(TensorProto.FLOAT, like(6).sizes), typed(TensorProto.FLOAT, unknown),
    ),
    "ConvStateReplay": (like(2),),
    "GatedDeltaNetStateReplay": (like(2),),
}  # fmt: skip
"""Of com.microsoft."""
