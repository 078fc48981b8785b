"""Shape rules of ONNX's attention operators. Source: the ONNX operator specification, onnxruntime's CPU kernels."""

from __future__ import annotations

from graphfix.formats.onnx.infer.operands import NOTHING, Call, Results
from graphfix.formats.onnx.infer.rules_layout import divided, unknowns
from graphfix.shapes.shape import UNKNOWN, Shape, Size
from graphfix.shapes.terms import Terms, as_size

MERGED = 3
"""The rank of [batch, sequence, heads * head]."""
HEADS = 4
"""The rank of [batch, heads, sequence, head]."""


def attention(call: Call) -> Results:
    """[B,Q,S,V] of queries [B,Q,S,D], keys [B,K,L,D] and values [B,K,L,V], or [B,S,Q*V] of operands of rank 3.

    Present keys [B,K,P+L,D] and values [B,K,P+L,V] have the past in front, scores are [B,Q,S,P+L].
    """
    query, key, value, terms = call.dims(0), call.dims(1), call.dims(2), call.terms
    if query is None or len(query) not in (MERGED, HEADS):
        return NOTHING
    merged = len(query) == MERGED
    queries: Size = _count(call, "q_num_heads") if merged else query[1]
    groups, length, head = _heads_of(terms, key, _count(call, "kv_num_heads"))
    _, _, value_head = _heads_of(terms, value, _count(call, "kv_num_heads"))
    if call.has(4):
        past = call.dims(4)
        length = as_size(terms.add(past[2], length)) if past is not None and len(past) == HEADS else UNKNOWN
    sequence = query[1] if merged else query[2]
    whole = (query[0], sequence, as_size(terms.mul(queries, value_head)))
    return (
        Shape(whole if merged else (*query[:3], value_head)),
        Shape((query[0], groups, length, head)),
        Shape((query[0], groups, length, value_head)),
        Shape((query[0], queries, sequence, length)),
    )


def _count(call: Call, attribute: str) -> Size:
    number = call.number(attribute, 0)
    return number if number > 0 else UNKNOWN


def _heads_of(terms: Terms, dims: tuple[Size, ...] | None, heads: Size) -> tuple[Size, Size, Size]:
    """The heads, the length and the size of a head of keys or values, whose heads are apart or merged."""
    if dims is not None and len(dims) == HEADS:
        return dims[1], dims[2], dims[3]
    if dims is None or len(dims) != MERGED:
        return UNKNOWN, UNKNOWN, UNKNOWN
    return heads, dims[1], divided(terms, dims[2], heads) if isinstance(heads, int) else UNKNOWN


def flex_attention(call: Call) -> Results:
    """[B,Q,S,V] of queries [B,Q,S,D] and values [B,K,L,V]."""
    query, value = call.dims(0), call.dims(2)
    if query is None or len(query) != HEADS:
        return (unknowns(HEADS),)
    return (Shape((*query[:3], value[3] if value is not None and len(value) == HEADS else UNKNOWN)),)
