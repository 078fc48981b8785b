"""Shape rules of ONNX's attention operators. Source: the ONNX operator specification, onnxruntime's CPU kernels."""

from __future__ import annotations

from graphfix.formats.onnx.infer.call import NOTHING, Call, Results
from graphfix.formats.onnx.infer.operators.reshaping import unknowns
from graphfix.formats.onnx.infer.operators.sizes import positive, product, quotient, ranked, total
from graphfix.shapes.shape import UNKNOWN, Shape, Size

MERGED = 3
"""The rank of [batch, sequence, heads * head]."""
HEADS = 4
"""The rank of [batch, heads, sequence, head]."""


def attention(call: Call) -> Results:
    """[B,Q,S,V] of queries [B,Q,S,D], keys [B,K,L,D] and values [B,K,L,V], or [B,S,Q*V] of operands of rank 3.

    Present keys [B,K,P+L,D] and values [B,K,P+L,V] have the past in front, scores are [B,Q,S,P+L].
    """
    query, terms = call.dims(0), call.terms
    if query is None or len(query) not in (MERGED, HEADS):
        return NOTHING
    merged = len(query) == MERGED
    queries = positive(call, "q_num_heads") if merged else query[1]
    groups, length, head = _heads_of(call, 1)
    _, _, value_head = _heads_of(call, 2)
    if call.has(4):
        past = ranked(call, 4, HEADS)
        length = total(terms, past[2], length) if past else UNKNOWN
    sequence = query[1] if merged else query[2]
    whole = (query[0], sequence, product(terms, queries, value_head))
    return (
        Shape(whole if merged else (*query[:3], value_head)),
        Shape((query[0], groups, length, head)),
        Shape((query[0], groups, length, value_head)),
        Shape((query[0], queries, sequence, length)),
    )


def _heads_of(call: Call, operand: int) -> tuple[Size, Size, Size]:
    """Return the number of heads, the length and the size of a head of the keys or values."""
    dims = call.dims(operand)
    if dims is not None and len(dims) == HEADS:
        return dims[1], dims[2], dims[3]
    if dims is None or len(dims) != MERGED:
        return UNKNOWN, UNKNOWN, UNKNOWN
    heads = positive(call, "kv_num_heads")
    return heads, dims[1], quotient(call.terms, dims[2], heads) if isinstance(heads, int) else UNKNOWN


def flex_attention(call: Call) -> Results:
    """[B,Q,S,V] of queries [B,Q,S,D] and values [B,K,L,V]."""
    query, value = ranked(call, 0, HEADS), ranked(call, 2, HEADS)
    return (unknowns(HEADS) if query is None else Shape((*query[:3], value[3] if value else UNKNOWN)),)
