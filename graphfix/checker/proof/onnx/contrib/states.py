"""Rules for operators of com.microsoft that keep a state between calls, or that hash n-grams of tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnx import TensorProto

from graphfix.checker.proof.onnx.contrib.results import Result, kind_of, same_as, typed, unknown, with_sizes
from graphfix.checker.proof.onnx.operators import states
from graphfix.checker.proof.onnx.operators.networks import directions

if TYPE_CHECKING:
    from graphfix.checker.proof.core.sizes import Dims, Size
    from graphfix.checker.proof.onnx.contrib.results import Kind, Operators, SizesRule
    from graphfix.checker.proof.onnx.reading.operands import Call

STATES, TEXTS = 4, 2
"""Ranks: of the first result of a recurrent network, and of token numbers [batch,positions]."""


def _windowed(call: Call, state: Dims) -> Dims:
    """Return the shape of a state, with the attribute `state_window` in front if it is above 0; None if it is unknown.

    The operator then returns the states of that many last positions.
    """
    slots = call.integer("state_window", 0)
    return None if state is None or slots < 0 else (slots, *state) if slots else state


def _recurrent_state(call: Call) -> Dims:
    """Return the dims of the state of a LinearAttention."""
    return _windowed(call, states.linear_attention(call, 1))


def _convolution_state(call: Call) -> Dims:
    """Return the dims of a causal convolution's state over one axis; None for other forms of the operator."""
    if call.integer("channels_last", 0) or call.integer("ndim", 1) != 1 or call.integer("dilation", 1) < 1:
        return None
    return _windowed(call, states.causal_convolution(call, 1))


def _past_kind(call: Call) -> Kind:
    """Return the element type of a state: the type of the past state, operand 3; None if operand 3 is absent."""
    return None if call.operand(3) is None else kind_of(3)(call)


def _lstm(rank: int) -> SizesRule:
    """Return the rule for a result of DynamicQuantizeLSTM of this rank.

    Rank 4 is Y[seq,directions,batch,hidden]. Rank 3 is a state, [directions,batch,hidden].
    """

    def rule(call: Call) -> Dims:
        data, hidden = call.sizes(0), call.integer("hidden_size", 0)
        count = directions(call)
        steps, batch = data[:2] if data is not None and len(data) == STATES - 1 else (None, None)
        states = (steps, count, batch, hidden if hidden > 0 else None)
        return states[STATES - rank :]

    return rule


def _grams(call: Call) -> tuple[int, int] | None:
    """Return the length of the longest n-gram and the number of heads for each length; None if they are not valid."""
    longest, heads = (call.integer(name, 0) for name in ("max_ngram_size", "n_head_per_ngram"))
    return (longest, heads) if longest > 1 and heads > 0 else None


def _hashes(call: Call) -> Dims:
    """Return the dims of the hashes of n-grams: tokens [...] -> [..., (longest - 1) * heads]."""
    tokens, grams = call.sizes(0), _grams(call)
    return None if tokens is None or grams is None else (*tokens, (grams[0] - 1) * grams[1])


def _history(call: Call) -> Dims:
    """Return the dims of the history of tokens: [batch, longest n-gram - 1]."""
    tokens, grams = call.sizes(0), _grams(call)
    return None if tokens is None or grams is None or len(tokens) != TEXTS else (tokens[0], grams[0] - 1)


def _texts(call: Call) -> Size | None:
    """Return the number of packed texts, because operand 3 contains the offset of each text and the end of the last.

    Return None if it is unknown.
    """
    places = call.sizes(3)
    texts = None if places is None or len(places) != 1 else call.table.arithmetic.add(places[0], -1)
    return None if isinstance(texts, int) and texts < 0 else texts


def _histories(call: Call) -> Dims:
    """Return the dims of the histories of packed texts: [texts, longest n-gram - 1]."""
    grams = _grams(call)
    return None if grams is None else (_texts(call), grams[0] - 1)


def _captured(call: Call) -> Dims:
    """Return the dims of the states that are recorded for packed texts: [texts, capacity, longest n-gram - 1]."""
    grams, capacity = _grams(call), call.integer("state_update_capacity", 0)
    return None if grams is None or capacity < 1 else (_texts(call), capacity, grams[0] - 1)


def _words(call: Call) -> Dims:
    """Return the dims of a WordConvEmbedding: [count, made].

    The operands are words[count,letters] and filters[made,1,window,letter size].
    """
    words, filters = call.sizes(0), call.sizes(1)
    return None if words is None or len(words) != TEXTS or not filters else (words[0], filters[0])


def _packed_rows(call: Call) -> Dims:
    """Return the dims of GatedDeltaNet's result 0: [..., heads, size], with the greater number of heads.

    Queries and values are [...,heads,size]; `size` is that of the values.
    """
    asked, values = call.sizes(0), call.sizes(2)
    if asked is None or values is None or len(asked) != len(values) or len(asked) < STATES - 1:
        return None
    return (*values[:-2], call.table.arithmetic.greater(asked[-2], values[-2]), values[-1])


_LSTM = tuple(with_sizes(0, _lstm(rank)) for rank in (STATES, STATES - 1, STATES - 1))
OPERATORS: Operators = {
    "LinearAttention": (
        with_sizes(0, lambda call: states.linear_attention(call, 0)), Result(_recurrent_state, _past_kind),
    ),
    "CausalConvWithState": (same_as(0), with_sizes(0, _convolution_state)),
    "LinearAttentionGate": (same_as(0), same_as(3)),
    "VarlenCausalConvWithState": (same_as(0), same_as(4)),
    "DynamicQuantizeLSTM": _LSTM,
    "AttnLSTM": _LSTM,
    "NGramHashMapping": (with_sizes(0, _hashes), with_sizes(0, _history)),
    "VarlenNGramHashMapping": (
        with_sizes(0, _hashes), with_sizes(0, _histories), typed(TensorProto.INT32, _histories), with_sizes(0,
        _captured),
    ),
    "WordConvEmbedding": (with_sizes(1, _words),),
    "GatedDeltaNet": (
        with_sizes(0, _packed_rows), typed(TensorProto.FLOAT, same_as(6).sizes), typed(TensorProto.FLOAT, unknown),
    ),
    "ConvStateReplay": (same_as(2),),
    "GatedDeltaNetStateReplay": (same_as(2),),
}  # fmt: skip
"""The rules of the operators of com.microsoft, by operator."""
