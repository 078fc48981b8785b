"""Rules for the result sizes of Attention and of operators with a state, which exist since operator set 23."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphfix.checker.proof.onnx.operators.entry import Operator

if TYPE_CHECKING:
    from graphfix.checker.proof.core.sizes import Dims, Size, Sizes
    from graphfix.checker.proof.onnx.operators.entry import Operators
    from graphfix.checker.proof.onnx.reading.operands import Call

IN_A_ROW, BY_HEAD = 3, 4
"""Ranks of data whose heads share one axis, [batch,positions,hidden], or have an axis, [batch,heads,positions,size]."""
KEY, VALUE, PAST_KEY = 1, 2, 4
"""Indices of Attention's operands. The past of keys or values, operand i, is operand i + 3."""


def _heads(call: Call, at: int) -> tuple[Size, Size | None, Size, Size | None] | None:
    """Return [batch, heads, positions, size] of operand `at`: queries (0), keys (1) or values (2).

    `size` is that of a head.

    A size is None if it is unknown. Return None if the rank is neither 3 nor 4.
    """
    sizes = call.sizes(at)
    if sizes is None or len(sizes) not in (IN_A_ROW, BY_HEAD):
        return None
    if len(sizes) == BY_HEAD:
        return sizes[0], sizes[1], sizes[2], sizes[3]
    count = call.integer("kv_num_heads" if at else "q_num_heads", 0)
    if count < 1:
        return sizes[0], None, sizes[1], None
    return sizes[0], count, sizes[1], call.table.arithmetic.quotient(sizes[2], count)


def _attention(call: Call, index: int) -> Dims:
    """Return the dims of result `index` of Attention; None if the shape of the queries is unknown.

    Result 0 has the axes of the queries, and heads of the values' size. Results 1 and 2 are the caches of keys and
    values. Result 3 contains the scores of each query with each key.
    """
    asked, values = _heads(call, 0), _heads(call, VALUE)
    if asked is None:
        return None
    batch, heads, positions, _ = asked
    if index in (KEY, VALUE):
        return _cache(call, index)
    if index:
        keys = _heads(call, KEY)
        return batch, heads, positions, None if keys is None else _total(call, PAST_KEY, keys[2])
    size = None if values is None else values[3]
    if call.rank(0) == BY_HEAD:
        return batch, heads, positions, size
    if not isinstance(size, int):
        size = None  # If the size of the values is a symbol, onnx infers 0 for the size of all heads together.
    return batch, positions, None if size is None or heads is None else call.table.arithmetic.mul(size, heads)


def _cache(call: Call, at: int) -> Dims:
    """Return the dims of the cache of the keys (`at` 1) or values (2): [batch, heads, past + new positions, size]."""
    own = _heads(call, at)
    return None if own is None else (own[0], own[1], _total(call, at + 3, own[2]), own[3])


def _total(call: Call, past: int, new: Size) -> Size | None:
    """Return the number of positions in a cache: those of operand `past`, if it is present, plus `new`.

    None if unknown.
    """
    if call.operand(past) is None:
        return new
    before = call.sizes(past)
    return None if before is None or len(before) != BY_HEAD else call.table.arithmetic.add(before[2], new)


def linear_attention(call: Call, index: int) -> Dims:
    """Return the dims of result `index` of a LinearAttention; None if they are unknown.

    Result 0 is [batch, positions, heads * size], and result 1 is the state [batch, heads, key size, value size].
    """
    asked, keys, values = (_row(call, at) for at in range(3))
    heads, own = call.integer("q_num_heads", 0), call.integer("kv_num_heads", 0)
    if asked is None or heads < 1 or own < 1 or index > 1:
        return None
    quotient, mul = call.table.arithmetic.quotient, call.table.arithmetic.mul
    inner, outer = (None if each is None else quotient(each[2], own) for each in (keys, values))
    if index:
        return asked[0], own, inner, outer
    return (*asked[:2], None if outer is None else mul(outer, max(heads, own)))


def _row(call: Call, at: int) -> Sizes | None:
    """Return the shape of operand `at` if its rank is 3, else None."""
    sizes = call.sizes(at)
    return sizes if sizes is not None and len(sizes) == IN_A_ROW else None


def causal_convolution(call: Call, index: int) -> Dims:
    """Return the dims of result `index` of a causal convolution; None if they are unknown.

    Result 0 is [batch, channels, positions]. Result 1 is the state, with (filter size - 1) * dilation positions.
    """
    data, filters = call.sizes(0), call.sizes(1)
    if not index:
        return data
    if index > 1 or data is None or len(data) != IN_A_ROW or filters is None or len(filters) != IN_A_ROW:
        return None
    before = call.table.arithmetic.add(filters[2], -1)
    reach = None if before is None else call.table.arithmetic.mul(before, call.integer("dilation", 1))
    return (*data[:2], None if isinstance(reach, int) and reach < 0 else reach)


OPERATORS: Operators = {
    "Attention": Operator(each_size=_attention),
    "LinearAttention": Operator(each_size=linear_attention),
    "CausalConvWithState": Operator(each_size=causal_convolution),
}
