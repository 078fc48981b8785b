"""Rules for the attention operators of com.microsoft: packed weights, heads on one axis, grouped heads, and caches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphfix.checker.proof.onnx.contrib.results import (
    UNKNOWN,
    Result,
    constant,
    kind_of,
    ranked,
    same_as,
    unknown,
    with_sizes,
)

if TYPE_CHECKING:
    from graphfix.checker.proof.core.sizes import Dims, Size, Sizes
    from graphfix.checker.proof.onnx.contrib.results import Kind, KindRule, Operators, SizesRule
    from graphfix.checker.proof.onnx.reading.operands import Call

MATRIX, IN_A_ROW, BY_HEAD, PAIRS = 2, 3, 4, 5
"""Ranks: weights, data whose heads share one axis, a cache [batch,heads,positions,size], and two caches in one."""


def _of_rank(call: Call, at: int, rank: int) -> Sizes | None:
    """Return the shape of operand `at` if its rank is `rank`, else None."""
    sizes = call.sizes(at)
    return sizes if sizes is not None and len(sizes) == rank else None


def _divided(call: Call, size: Size | None, by: int) -> Size | None:
    """Return `size` divided by `by`.

    Return None if the size is unknown, the divisor is below 1, or the quotient is not exact for all sizes.
    """
    return None if size is None or by < 1 else call.table.arithmetic.quotient(size, by)


def _times(call: Call, size: Size | None, by: Size) -> Size | None:
    """Return `size` times `by`; None if the size is unknown."""
    return None if size is None else call.table.arithmetic.mul(size, by)


# --- weights of queries, keys and values in one matrix ---------------------------------------------------------------


def _value_size(call: Call) -> Size | None:
    """Return the size of all heads of the values together: from an attribute, or a third of the weights' columns.

    Return None if it is unknown.
    """
    stated = call.integers("qkv_hidden_sizes")
    if stated:
        return stated[2] if len(stated) == 3 and stated[2] > 0 else None  # noqa: PLR2004 - sizes of queries, keys and values
    weights = _of_rank(call, 1, MATRIX)
    columns = None if weights is None else weights[1]
    # If the number of columns is a symbol, onnxruntime infers 0.
    return _divided(call, columns, 3) if isinstance(columns, int) else None


def _packed(call: Call) -> Dims:
    """Return the dims of result 0 for packed weights: [batch, positions, size of all heads of the values].

    One matrix contains the weights of queries, keys and values.
    """
    data = _of_rank(call, 0, IN_A_ROW)
    return None if data is None else (*data[:2], _value_size(call))


def _present_pair(past: int) -> SizesRule:
    """Return the rule for the cache of keys and values together: [2, batch, heads, past + new positions, head size].

    `past` is the index of the operand that is the past cache.
    """

    def rule(call: Call) -> Dims:
        data, heads, before = _of_rank(call, 0, IN_A_ROW), call.integer("num_heads", 0), call.sizes(past)
        size = _divided(call, _value_size(call), heads)
        if data is None or heads < 1:
            return None
        total = _length(call, past, before, data[1])
        return (2, data[0], heads, None if call.integer("past_present_share_buffer", 0) else total, size)

    return rule


def _length(call: Call, past: int, before: Sizes | None, new: Size) -> Size | None:
    """Return the number of positions in a present cache: past positions plus `new`. None if it is unknown.

    `past` is the index of the operand that is the past cache, and `before` its shape.
    """
    if call.operand(past) is None:
        return new
    return None if before is None or len(before) < BY_HEAD else call.table.arithmetic.add(before[-2], new)


# --- queries, keys and values apart ----------------------------------------------------------------------------------


def _multi_head(call: Call) -> Dims:
    """Return the dims of MultiHeadAttention's result 0: [batch, positions, size of all heads of the values].

    Queries are [batch,positions,hidden], or packed with keys and values. Keys and values have heads on one axis, have
    an axis of heads, or are packed together.
    """
    asked = call.sizes(0)
    if asked is None:
        return None
    if len(asked) == PAIRS:
        return (*asked[:2], _times(call, asked[2], asked[4]))
    if len(asked) != IN_A_ROW or call.operand(1) is None:
        return None
    if call.operand(2) is None:
        return asked if call.rank(1) == PAIRS else (*asked[:2], None)
    return (*asked[:2], _width(call))


def _width(call: Call) -> Size | None:
    """Return the size of all heads of the values (operand 2) together.

    Return None if the shape is unknown or its rank is neither 3 nor 4.
    """
    values = call.sizes(2)
    if values is None or len(values) not in (IN_A_ROW, BY_HEAD):
        return None
    return values[2] if len(values) == IN_A_ROW else _times(call, values[1], values[3])


def _cache(at: int, past: int) -> SizesRule:
    """Return the rule for a present cache: operand `past`, extended by the keys or values of operand `at`."""

    def rule(call: Call) -> Dims:
        asked, own = _of_rank(call, 0, IN_A_ROW), _of_rank(call, at, IN_A_ROW)
        heads = call.integer("num_heads", 0)
        if asked is None or own is None or heads < 1 or _shares(call):
            return None
        length = _length(call, past, call.sizes(past), own[1])
        return asked[0], heads, length, _divided(call, own[2], heads)

    return rule


def _shares(call: Call) -> bool:
    """Return whether operand 8 or 9 is present. Then past and present may be one buffer, or there may be beams."""
    return any(call.operand(at) is not None for at in (8, 9))


def _step(call: Call) -> Dims:
    """Return the dims of DecoderMaskedMultiHeadAttention's result 0: [batch, positions, size of all values' heads].

    A runtime executes the operator for one position only. Return None if a shape is unknown.
    """
    asked, values = _of_rank(call, 0, IN_A_ROW), call.sizes(2)
    if asked is None or values is None or len(values) not in (IN_A_ROW, BY_HEAD):
        return None
    return (*asked[:2], _width(call))


# --- grouped heads ---------------------------------------------------------------------------------------------------


def _head_size(call: Call) -> Size | None:
    """Return the size of a head; without operand 1, operand 0 contains queries, keys and values in one row.

    Return None if it is unknown.
    """
    asked = _of_rank(call, 0, IN_A_ROW)
    heads, own = call.integer("num_heads", 0), call.integer("kv_num_heads", 0)
    if asked is None or heads < 1 or own < 1:
        return None
    return _divided(call, asked[2], heads if call.operand(1) is not None else heads + 2 * own)


def _grouped(call: Call) -> Dims:
    """Return the dims of result 0 for grouped heads: the queries' [batch, positions, size of all heads]."""
    asked, heads = _of_rank(call, 0, IN_A_ROW), call.integer("num_heads", 0)
    if asked is None or heads < 1:
        return None
    if call.operand(1) is not None:
        return asked
    return (*asked[:2], _times(call, _head_size(call), heads))


def _grouped_cache(past: int) -> SizesRule:
    """Return the rule for a present cache of GroupQueryAttention: [batch, heads, positions, head size].

    `past` is the index of the operand that is the past cache.
    """

    def rule(call: Call) -> Dims:
        asked, own, before = _of_rank(call, 0, IN_A_ROW), call.integer("kv_num_heads", 0), call.sizes(past)
        if asked is None or own < 1:
            return None
        if call.operand(past) is None:
            plain = "k_quant_type" not in call.attributes and "v_quant_type" not in call.attributes
            size = _head_size(call) if plain else None
        else:
            size = before[3] if before is not None and len(before) == BY_HEAD else None
        return asked[0], own, _grouped_length(call, past, before), size

    return rule


def _grouped_length(call: Call, past: int, before: Sizes | None) -> Size | None:
    """Return the number of positions in the present cache: all positions, or those of a longer past cache.

    With the attribute `sliding_window_cache` the past cache keeps its length. Return None if the number is unknown.
    `past` is the index of the operand that is the past cache, and `before` its shape.
    """
    if call.integer("sliding_window_cache", 0):
        return before[2] if before is not None and len(before) == BY_HEAD else None
    total = constant(call, 6, 1)
    if total is None:
        return None
    if call.operand(past) is None:
        return total[0]
    if before is None or len(before) != BY_HEAD:
        return None
    length = call.table.arithmetic.greater(before[2], total[0])
    # If the length of the past is a number, onnxruntime infers that number for the result.
    return None if isinstance(before[2], int) and length != before[2] else length


def _cache_kind(past: int) -> KindRule:
    """Return the rule for the type of a present cache: the type of operand `past`, or of operand 0 if there is no past.

    The rule returns None for a quantized cache without a past.
    """

    def rule(call: Call) -> Kind:
        if call.operand(past) is not None:
            return kind_of(past)(call)
        return None if {"k_quant_type", "v_quant_type"} & call.attributes.keys() else kind_of(0)(call)

    return rule


OPERATORS: Operators = {
    "Attention": (with_sizes(0, _packed), with_sizes(0, _present_pair(4))),
    "QAttention": (with_sizes(3, _packed), with_sizes(3, _present_pair(8))),
    "DecoderMaskedSelfAttention": (with_sizes(0, _packed),),
    "MultiHeadAttention": (
        with_sizes(0, _multi_head), with_sizes(0, _cache(1, 6)), with_sizes(0, _cache(2, 7)), UNKNOWN,
    ),
    "DecoderMaskedMultiHeadAttention": (
        with_sizes(0, _step), with_sizes(0, ranked(BY_HEAD)), with_sizes(0, ranked(BY_HEAD)),
    ),
    "GroupQueryAttention": (
        with_sizes(0, _grouped), Result(_grouped_cache(3), _cache_kind(3)), Result(_grouped_cache(4), _cache_kind(4)),
    ),
    "SparseAttention": (with_sizes(0, _grouped), same_as(3), same_as(4)),
    **dict.fromkeys(("PagedAttention", "SparsePagedAttention"), (with_sizes(0, unknown), same_as(3), same_as(4))),
    "DynamicSparseAttention": (with_sizes(0, _grouped),),
}  # fmt: skip
"""The rules of the operators of com.microsoft, by operator."""
