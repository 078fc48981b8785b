"""Attention and rotary embeddings: results, and the present keys and values, which are the past of the next call.

Sources: onnxruntime's docs/ContribOperators.md and its CPU kernels (contrib_ops/cpu/bert).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from graphfix.formats.onnx.infer.call import NOTHING, Call, Results
from graphfix.formats.onnx.infer.contrib.operator import MICROSOFT, SAME, Attributes, Operator, like
from graphfix.formats.onnx.infer.operators.attention import HEADS, SEQUENCE
from graphfix.formats.onnx.infer.operators.elementwise import first, shapes_of
from graphfix.formats.onnx.infer.sizes import positive, product, quotient, ranked, scalar, total
from graphfix.results.onnx_messages import TensorProto
from graphfix.shapes.dim import UNKNOWN, Shape, Size, same

KINDS = 3
"""Query, key and value."""
PACKED = 5
"""The rank of [batch, sequence, heads, 2 or 3, head], and of [2, batch, heads, sequence, head]."""


def _packed_weights(call: Call, *, past: int) -> Results:
    """Return the shapes of Attention's result and present for operand 0, [B,S,D]; `past` is the operand with the past.

    The weight [D,H+H+V] computes query, key and value. The result is [B,S,V], and present is [2,B,N,P+S,H/N], where P
    is the length of the past. If H and V differ, the last size is unknown, because one tensor cannot contain both.
    """
    dims, weights, biases = ranked(call, 0, SEQUENCE), ranked(call, 1, 2), ranked(call, 2, 1)
    batch, sequence, _ = dims or (UNKNOWN,) * SEQUENCE
    terms, sizes = call.terms, call.list("qkv_hidden_sizes")
    packed_size = weights[1] if weights else biases[0] if biases else UNKNOWN
    hidden = values = quotient(terms, packed_size, KINDS)
    if sizes is not None:
        are_known = len(sizes) == KINDS and min(sizes) > 0
        hidden, _, values = sizes if are_known else (UNKNOWN,) * KINDS
    heads, alike = positive(call, "num_heads"), sizes is None or same(hidden, values)
    return (
        Shape((batch, sequence, values)),
        _present_pair(call, past, (batch, heads, sequence, quotient(terms, hidden, heads) if alike else UNKNOWN)),
    )


def _present_pair(call: Call, past: int, current: tuple[Size, ...]) -> Shape:
    """Return the shape of present, which contains keys and values in one tensor: [2,B,N,P+S,H].

    `current` is (B, N, S, H), and `past` is the operand with the past, of length P. If past and present share one
    buffer, present has the shape of the past.
    """
    batch, heads, sequence, head = current
    before = ranked(call, past, PACKED)
    shared = call.flag("past_present_share_buffer", 0)
    if shared is not False:
        return Shape(before if shared and before else (2, batch, heads, UNKNOWN, head))
    length = sequence if not call.has(past) else total(call.terms, before[3], sequence) if before else UNKNOWN
    return Shape((2, batch, heads, length, head))


# --- query, key and value apart ---------------------------------------------------------------------------------------


def _multi_head(call: Call) -> Results:
    """Return the four result shapes of MultiHeadAttention: result, present keys, present values and scores.

    The shapes are [B,S,V], [B,N,P+L,H/N], [B,N,P+L,V/N] and [B,N,S,P+L]. Key and value are [B,L,hidden], or
    [B,N,L,head] of an encoder, which has no past. Key and value may be packed into the key [B,L,N,2,head]. Query, key
    and value may be packed into the query [B,S,N,3,head].
    """
    query, heads, terms = call.dims(0), positive(call, "num_heads"), call.terms
    if query is None or len(query) not in (SEQUENCE, PACKED):
        return NOTHING
    batch, sequence = query[:2]
    if len(query) == PACKED:
        length, key_head, value_head = sequence, query[4], query[4]
        values = product(terms, heads, query[4])
    else:
        key_head = quotient(terms, query[2], heads)
        length, values, value_head = _key_value_sizes(call, query[2], heads)
    length = _total_length(call, length)
    return (
        Shape((batch, sequence, values)),
        Shape((batch, heads, length, key_head)),
        Shape((batch, heads, length, value_head)),
        Shape((batch, heads, sequence, length)),
    )


def _key_value_sizes(call: Call, hidden: Size, heads: Size) -> tuple[Size, Size, Size]:
    """Return the length of the keys, the hidden size of the values, and the value size of one head."""
    key, value, terms = call.dims(1), call.dims(2), call.terms
    length: Size = UNKNOWN
    if key is not None and len(key) in (SEQUENCE, PACKED):
        length = key[1]
    elif key is not None and len(key) == HEADS:
        length = key[2]
    if not call.has(2):
        packed = key is not None and len(key) == PACKED
        return length, (hidden if packed else UNKNOWN), (quotient(terms, hidden, heads) if packed else UNKNOWN)
    if value is not None and len(value) == SEQUENCE:
        return length, value[2], quotient(terms, value[2], heads)
    if value is not None and len(value) == HEADS:
        return length, product(terms, heads, value[3]), value[3]
    return length, UNKNOWN, UNKNOWN


def _total_length(call: Call, length: Size) -> Size:
    """Return the number of past and new positions; `length` is the number of new ones, operand 6 the past keys.

    If operand 8 is present, the past is the buffer of the result, so the length is the past's.
    """
    if not call.has(6):
        return length
    past = ranked(call, 6, HEADS)
    if past is None:
        return UNKNOWN
    return past[2] if call.has(8) else total(call.terms, past[2], length)


def _decoder_masked(call: Call) -> Results:
    """Return the four result shapes of DecoderMaskedMultiHeadAttention, which reads one token.

    The results are those of MultiHeadAttention. If key is absent, the query contains query, key and value. In cross
    attention the key is [B,N,L,head] of an encoder, and both presents are unknown.
    """
    query, heads, terms = ranked(call, 0, SEQUENCE), positive(call, "num_heads"), call.terms
    if query is None:
        return NOTHING
    batch, sequence, hidden = query
    past = ranked(call, 5, HEADS)
    key, value = call.dims(1), call.dims(2)
    if not call.has(1):
        values = quotient(terms, hidden, KINDS)
        head = quotient(terms, values, heads)
    else:
        head = quotient(terms, hidden, heads)
        values = UNKNOWN if value is None else value[2] if len(value) == SEQUENCE else product(terms, heads, value[-1])
    if key is not None and len(key) == HEADS:
        return (Shape((batch, sequence, values)), None, None, Shape((batch, heads, sequence, key[2])))
    shared = call.flag("past_present_share_buffer", 0)
    length: Size = UNKNOWN
    if shared is False:
        length = sequence if not call.has(5) else total(terms, past[2], sequence) if past else UNKNOWN
    elif shared and past:
        length = past[2]
    present = Shape((batch, heads, length, head))
    value_head = quotient(terms, values, heads)
    scores = Shape((batch, heads, sequence, UNKNOWN if shared is not False else length))
    return (Shape((batch, sequence, values)), present, Shape((batch, heads, length, value_head)), scores)


def _group_query(call: Call) -> Results:
    """Return the four result shapes of GroupQueryAttention: result, present keys, present values and scores.

    The result is [B,S,N*head], and a present is [B,kv,T,head], where T is the greater of the past's length and operand
    6. Operand 6 contains the number of all positions, past and new. The query may contain query, key and value, as
    [B,S,(N+2*kv)*head]. With `sliding_window_cache` past and present are one buffer of constant size.
    """
    query = ranked(call, 0, SEQUENCE)
    if query is None:
        return NOTHING
    batch, sequence, hidden = query
    heads, groups, terms = positive(call, "num_heads"), positive(call, "kv_num_heads"), call.terms
    packed = not call.has(1)
    head = _packed_head(call, hidden, heads, groups) if packed else quotient(terms, hidden, heads)
    every = scalar(call, 6)
    window = call.flag("sliding_window_cache", 0)
    present = [_group_query_present(call, past, (batch, groups, every, head), window=window) for past in (3, 4)]
    output = product(terms, head, heads) if packed else hidden
    return (Shape((batch, sequence, output)), *present, Shape((batch, heads, sequence, every)))


def _group_query_present(call: Call, at: int, current: tuple[Size, ...], *, window: bool | None) -> Shape:
    """Return the shape of the present that belongs to the past in operand `at`; `current` is (B, kv, positions, head).

    Elements of 4 or 8 bits may be packed along the head axis, so a known past decides the size of that axis. Without a
    past, the size is `head`, or unknown if an attribute requests quantized elements. `window` is the attribute
    `sliding_window_cache`; None if it is invalid.
    """
    batch, groups, every, head = current
    past = ranked(call, at, HEADS)
    if not call.has(at):
        quantized = call.text("k_quant_type", "NONE") != "NONE" or call.text("v_quant_type", "NONE") != "NONE"
        return Shape((batch, groups, every if window is False else UNKNOWN, UNKNOWN if quantized else head))
    if past is None:
        return Shape((batch, groups, UNKNOWN, UNKNOWN))
    if window is not False:
        return Shape((batch, groups, past[2] if window else UNKNOWN, past[3]))
    length = UNKNOWN if every == UNKNOWN else call.terms.maximum(every, past[2])
    return Shape((batch, groups, length, past[3]))


def _sparse(call: Call) -> Results:
    """Return the result shapes of SparseAttention: [B,S,N*head], and the shapes of operands 3 and 4.

    Operands 3 and 4 are the past keys and values, whose buffers the present keys and values reuse.
    """
    query = ranked(call, 0, SEQUENCE)
    if query is None:
        return NOTHING
    heads, groups, terms = positive(call, "num_heads"), positive(call, "kv_num_heads"), call.terms
    hidden = query[2]
    if not call.has(1):
        hidden = product(terms, heads, _packed_head(call, hidden, heads, groups))
    return (Shape((*query[:2], hidden)), call.shape(3), call.shape(4))


# --- without a kernel for the CPU -------------------------------------------------------------------------------------


def _packed_tokens(call: Call) -> Results:
    """Return the result shape of PackedAttention: [T,V], from tokens [T,D] and a weight [D,H+H+V]."""
    tokens, weights, sizes = ranked(call, 0, 2), ranked(call, 1, 2), call.list("qkv_hidden_sizes")
    packed_size = quotient(call.terms, weights[1], KINDS) if weights else UNKNOWN
    values = packed_size if sizes is None else sizes[2] if len(sizes) == KINDS and sizes[2] > 0 else UNKNOWN
    return NOTHING if tokens is None else (Shape((tokens[0], values)),)


def _packed_multi_head(call: Call) -> Results:
    """Return the result shape of PackedMultiHeadAttention: [T,V], from a query [T,hidden] or a packed [T,N,3,head]."""
    query, value = call.dims(0), ranked(call, 2, 2)
    if query is None or len(query) not in (2, HEADS):
        return NOTHING
    if len(query) == HEADS:
        return (Shape((query[0], product(call.terms, query[1], query[3]))),)
    return (Shape((query[0], value[1] if value else UNKNOWN)),)


def _decoder(call: Call) -> Results:
    """Return the result shapes of DecoderAttention: the query's shape, and two caches [B,N,?,head].

    The length of the caches is unknown, because it depends on flags that are operands.
    """
    query, heads = ranked(call, 0, SEQUENCE), positive(call, "num_heads")
    if query is None:
        return NOTHING
    _, batch, hidden = query
    cache = Shape((batch, heads, UNKNOWN, quotient(call.terms, hidden, heads)))
    return (call.shape(0), cache, cache)


def _paged(call: Call) -> Results:
    """Return the result shapes of PagedAttention: [T,N*head], and the shapes of operands 3 and 4, the caches.

    The query is [T,hidden], or [T,(N+2*kv)*head] if the key is absent. The last size is unknown if values have a head
    size that differs from the query's.
    """
    query, heads, groups = ranked(call, 0, 2), positive(call, "num_heads"), positive(call, "kv_num_heads")
    if query is None:
        return NOTHING
    narrow = call.text("kv_cache_layout") == "LATENT" or call.number("v_head_size", 0) != 0
    hidden = query[1] if call.has(1) else product(call.terms, heads, _packed_head(call, query[1], heads, groups))
    return (Shape((query[0], UNKNOWN if narrow else hidden)), call.shape(3), call.shape(4))


def _packed_head(call: Call, packed_size: Size, heads: Size, groups: Size) -> Size:
    """Return the size of one head of query, key and value packed into [..,(N+2*kv)*head]."""
    return quotient(call.terms, packed_size, total(call.terms, heads, call.terms.mul(groups, 2)))


def _score_type(types: Sequence[int], _: Attributes) -> int:
    """Return the type of the scores: float32 if operand 0 is float32, else 0 (unknown).

    The schema leaves the type open, and the CPU kernels compute only float32 scores.
    """
    return TensorProto.FLOAT if types and types[0] == TensorProto.FLOAT else 0


_SCORED = (like(0), like(0), like(0), _score_type)
_LIKE_THE_QUERY = "LongformerAttention MRotaryEmbedding QOrderedLongformerAttention RotaryEmbedding".split()
OPERATORS: Mapping[tuple[str, str], Operator] = {
    **{(MICROSOFT, op): Operator(first, SAME) for op in _LIKE_THE_QUERY},
    **{
        (MICROSOFT, op): Operator(lambda call: _packed_weights(call, past=4), SAME)
        for op in ("Attention", "DecoderMaskedSelfAttention")
    },
    (MICROSOFT, "DecoderAttention"): Operator(_decoder, SAME),
    (MICROSOFT, "DecoderMaskedMultiHeadAttention"): Operator(_decoder_masked, _SCORED),
    (MICROSOFT, "GemmaRotaryEmbedding"): Operator(shapes_of(1, 3), (like(1, 3),)),
    (MICROSOFT, "GroupQueryAttention"): Operator(_group_query, (like(0), like(3, 0), like(4, 0), like(0))),
    (MICROSOFT, "MultiHeadAttention"): Operator(_multi_head, _SCORED),
    (MICROSOFT, "PackedAttention"): Operator(_packed_tokens, SAME),
    (MICROSOFT, "PackedMultiHeadAttention"): Operator(_packed_multi_head, SAME),
    **{
        (MICROSOFT, op): Operator(_paged, (like(0), like(3), like(4)))
        for op in ("PagedAttention", "SparsePagedAttention")
    },
    (MICROSOFT, "QAttention"): Operator(lambda call: _packed_weights(call, past=8), (like(3),)),
    (MICROSOFT, "SparseAttention"): Operator(_sparse, SAME),
}
