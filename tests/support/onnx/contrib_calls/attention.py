"""Calls of attention in all its forms, with past and present, masks and biases, and of rotary embeddings."""

from __future__ import annotations

import numpy as np

from tests.support.onnx.contrib_calls.drawing import MICROSOFT, STANDARD, Call, Draw, Draws, Key, scalar, vector


def _bias(draw: Draw, batch: int, heads: int, queries: int, keys: int, kind: str = "float32") -> np.ndarray:
    """A bias of the scores: batch and heads may be 1."""
    return draw.like(draw.pick(batch, 1), draw.pick(heads, 1), queries, keys, kind=kind)


def _standard_attention(draw: Draw) -> Call:
    batch, queries, keys, kind = draw.size(), draw.size(), draw.size(), draw.pick("float32", "float16")
    kv_heads, size, value_size = draw.size(1, 3), draw.size(1), draw.size(1)
    heads = kv_heads * draw.pick(1, 1, 2)
    past = draw.maybe(draw.size())
    total = keys + (past or 0)
    flat = draw.chance()

    def states(count: int, length: int, width: int) -> np.ndarray:
        return draw.numbers([batch, length, count * width] if flat else [batch, count, length, width], kind)

    masks = ([queries, total], [1, 1, queries, total], [batch, heads, queries, total], [batch, 1, queries, total])
    mask = draw.maybe(draw.numbers(draw.pick(*masks), draw.pick(kind, "bool")))
    operands = [states(heads, queries, size), states(kv_heads, keys, size), states(kv_heads, keys, value_size), mask]
    present, version = past is not None, draw.pick(23, 23, 24, 25)
    if past is not None:
        operands += [draw.like(batch, kv_heads, past, width, kind=kind) for width in (size, value_size)]
    elif version > 23 and draw.chance(0.3):
        operands += [None, None, draw.integers(0, total + 1, [batch])]
    given = draw.some(is_causal=1, scale=0.5, softcap=2.0, qk_matmul_output_mode=draw.pick(0, 1, 2, 3))
    if flat:
        given |= {"q_num_heads": heads, "kv_num_heads": kv_heads}
    qk = draw.chance(0.4)
    results = (True, present or draw.chance(0.2), present or draw.chance(0.2), qk)
    return Call(operands, given, results, version=version)


def _packed_attention(draw: Draw) -> Call:
    (batch, queries), heads, size, hidden = draw.sizes(2), draw.size(1, 3), draw.size(1), draw.size(1)
    past = draw.maybe(draw.size(), 0.4)
    value_size = size if past is not None else draw.pick(size, draw.size(1))
    width, total = heads * (2 * size + value_size), queries + (past or 0)
    mask = _key_mask(draw, batch, queries, total)
    operands = [draw.like(batch, queries, hidden), draw.like(hidden, width), draw.maybe(draw.like(width), 0.95), mask]
    operands.append(None if past is None else draw.like(2, batch, heads, past, size))
    operands.append(draw.maybe(_bias(draw, batch, heads, queries, total), 0.4 if past is None else 0.1))
    given = {"num_heads": heads} | draw.some(scale=0.5, unidirectional=1, mask_filter_value=-100.0)
    if value_size != size or draw.chance(0.3):
        given["qkv_hidden_sizes"] = [heads * size, heads * size, heads * value_size]
    present = past is not None or draw.chance(0.2)
    if past is not None and draw.chance(0.2):
        given["past_present_share_buffer"] = 1
        operands[4] = draw.like(2, batch, heads, total + draw.size(), size)
        operands += [None] * (6 - len(operands)) + [vector(past, kind="int32")]
    return Call(operands, given, (True, True) if present else (True,), frozenset({1}) if draw.chance() else frozenset())


def _key_mask(draw: Draw, batch: int, queries: int, total: int) -> np.ndarray | None:
    shapes: tuple[list[int], ...] = ([batch, total], [batch], [2 * batch], [batch, queries, total])
    return draw.maybe(draw.integers(0, 2, draw.pick(*shapes), "int32"))


def _quantized_attention(draw: Draw) -> Call:
    (batch, queries), heads, size, hidden = draw.sizes(2), draw.size(1, 3), draw.size(1), draw.size(1)
    past, kind, weights = draw.maybe(draw.size(), 0.4), "uint8", draw.pick("uint8", "int8")
    width, total = 3 * heads * size, queries + (past or 0)
    scale = draw.positive(width) if draw.chance(0.3) else scalar(0.1)
    operands = [
        draw.like(batch, queries, hidden, kind=kind),
        draw.like(hidden, width, kind=weights),
        draw.like(width),
        scalar(0.1),
        scale,
        _key_mask(draw, batch, queries, total),
        draw.maybe(scalar(1, kind)),
        draw.maybe(scalar(1, weights)),
        None if past is None else draw.like(2, batch, heads, past, size),
    ]
    given = {"num_heads": heads} | draw.some(unidirectional=1)
    return Call(operands, given, (True, True) if past is not None else (True,), frozenset({1}))


def _multi_head(draw: Draw) -> Call:
    (batch, queries, keys), heads, size, value_size = draw.sizes(3), draw.size(1, 3), draw.size(1), draw.size(1)
    form = draw.pick(*8 * ("plain",), *3 * ("cross",), "packed kv", "packed qkv")  # no CPU kernel for packed ones
    if form != "plain":
        value_size = size
    if form == "packed qkv":
        keys = queries
    past = draw.maybe(draw.size(), 0.4) if form == "plain" else None
    if past is not None and draw.chance(0.9):
        value_size = size
    total = keys + (past or 0)
    q = draw.like(batch, queries, heads * size)
    k = draw.like(batch, keys, heads * size)
    v = draw.like(batch, keys, heads * value_size)
    operands: list[object] = [q, k, v]
    if form == "packed kv":
        operands = [q, draw.like(batch, keys, heads, 2, size), None]
    elif form == "packed qkv":
        operands = [draw.like(batch, queries, heads, 3, size), None, None]
    elif form == "cross":
        operands[1:] = [draw.like(batch, heads, keys, width) for width in (size, value_size)]
    operands.append(draw.maybe(draw.like(heads * (2 * size + value_size)), 0.3) if form != "packed qkv" else None)
    shapes: tuple[list[int], ...] = ([batch, total], [batch], [3 * batch + 2], [batch, keys], [batch, queries, total])
    operands.append(draw.maybe(draw.integers(0, 2, draw.pick(*shapes), "int32"), 0.4))
    operands.append(draw.maybe(_bias(draw, batch, heads, queries, total), 0.4))
    if past is not None:
        operands += [draw.like(batch, heads, past, width) for width in (size, value_size)]
    given = {"num_heads": heads} | draw.some(scale=0.5, unidirectional=1)
    present = form in ("plain", "packed kv", "packed qkv") and (past is not None or draw.chance(0.3))
    qk = draw.chance(0.3)
    return Call(operands, given, (True, present, present, qk), declared={3: "float32"} if qk else {})


def _decoder_masked(draw: Draw) -> Call:
    batch, heads, size, longest = draw.size(1), draw.size(1, 3), draw.size(1), draw.size(2, 6)
    cross, value_size = draw.chance(0.3), size
    past = draw.random.randrange(longest)
    step = draw.like(batch, 1, heads * size)
    total = past + 1
    if cross:
        keys = draw.size(1)
        operands: list[object] = [step, *(draw.like(batch, heads, keys, size) for _ in range(2))]
        operands.append(draw.maybe(draw.integers(0, 2, [batch, keys], "int32")))
        operands += [draw.maybe(_bias(draw, batch, heads, 1, keys), 0.1)]
        results = (True, False, False, draw.chance())
        given: dict[str, object] = {"num_heads": heads} | ({"output_qk": 1} if results[3] else {})
        return Call(operands, given, results, declared={3: "float32"} if results[3] else {})
    share = draw.chance(0.9)
    stored = longest if share else past
    operands = [step, draw.like(batch, 1, heads * size), draw.like(batch, 1, heads * value_size)]
    operands.append(draw.maybe(draw.integers(1, 2, [batch, total], "int32"), 0.4))
    operands.append(draw.maybe(_bias(draw, batch, heads, 1, total), 0.4))
    operands += [draw.like(batch, heads, stored, width) for width in (size, value_size)]
    operands.append(vector(past, kind="int32"))
    operands += [None, None, draw.maybe(draw.like(heads * (2 * size + value_size)), 0.3)]
    qk = draw.chance(0.3)
    given = {"num_heads": heads, "past_present_share_buffer": int(share)} | ({"output_qk": 1} if qk else {})
    return Call(operands, given, (True, True, True, qk), declared={3: "float32"} if qk else {})


def _grouped(draw: Draw) -> Call:
    batch, queries, kind = draw.size(1), draw.size(1), draw.pick("float32", "float16")
    kv_heads, size, past = draw.size(1, 3), draw.pick(16, 16, 16, 32, 8), draw.pick(0, 0, draw.size(1))
    if past and queries > 1:
        batch = 1
    heads = kv_heads * draw.pick(1, 2)
    packed, rotary = draw.chance(0.4), draw.chance(0.4)
    total = past + queries
    query = draw.like(batch, queries, (heads + 2 * kv_heads if packed else heads) * size, kind=kind)
    keys = [None if packed else draw.like(batch, queries, kv_heads * size, kind=kind) for _ in range(2)]
    stored = past if draw.chance(0.7) else total + draw.size()
    pasts = [draw.like(batch, kv_heads, stored, size, kind=kind) for _ in range(2)]
    if past == 0 and draw.chance(0.4):
        pasts = [None, None]  # type: ignore[list-item]
    caches = [draw.like(12, size // 2, kind=kind) if rotary else None for _ in range(2)]
    operands = [query, *keys, *pasts, np.full(batch, total - 1, np.int32), scalar(total, "int32"), *caches]
    operands.append(draw.maybe(draw.integers(0, 8, [batch, queries]), 0.2) if rotary else None)
    operands.append(draw.maybe(_bias(draw, batch, heads, queries, total, kind), 0.3))
    operands.append(draw.maybe(draw.like(heads, kind=kind), 0.2))
    given = {"num_heads": heads, "kv_num_heads": kv_heads}
    given |= draw.some(scale=0.5, softcap=1.0, local_window_size=2, smooth_softmax=0)
    if rotary:
        given |= {"do_rotary": 1} | draw.some(rotary_interleaved=1)
    if draw.chance(0.05):  # refused by the CPU kernel
        operands += [None] * (14 - len(operands)) + [draw.like(size, kind=kind) for _ in range(2)]
    if draw.chance(0.3) and pasts[0] is not None:
        given |= _small_cache(draw, operands, kv_heads, size)
    qk = draw.chance(0.3)
    if qk:
        given["qk_output"] = draw.pick(1, 2)
    return Call(operands, given, (True, True, True, qk) if qk or pasts[0] is not None or draw.chance() else (True,))


def _small_cache(draw: Draw, operands: list[object], kv_heads: int, size: int) -> dict[str, object]:
    """Make the past of a GroupQueryAttention one of 8 or 4 bits, with its scales; return the attributes."""
    bits, per_channel = draw.pick(8, 4), draw.chance(0.3)
    for at in (3, 4):
        *lead, width = np.shape(operands[at])  # type: ignore[arg-type]  # a tensor
        stored = [*lead, width * bits // 8]
        operands[at] = draw.integers(0, 100, stored, "int8" if bits == 8 else "uint8")
    operands += [None] * (12 - len(operands))
    operands[12:14] = [draw.positive(*([kv_heads * size] if per_channel else [1])) for _ in range(2)]
    kind = "PER_CHANNEL" if per_channel else "PER_TENSOR"
    return {"kv_cache_bit_width": bits, "k_quant_type": kind, "v_quant_type": kind}


def _sparse(draw: Draw) -> Call:
    block, kv_heads, size = 16, draw.size(1, 2), draw.pick(16, 32)
    heads, batch, blocks = kv_heads * draw.pick(1, 2), draw.size(1, 2), draw.pick(1, 2)
    longest = block * blocks
    past = draw.pick(0, draw.random.randrange(longest))
    queries = draw.random.randint(1, longest - past) if past == 0 else 1
    total, packed, kind = past + queries, draw.chance(0.3), draw.pick("float32", "float16")
    query = draw.like(batch, queries, (heads + 2 * kv_heads if packed else heads) * size, kind=kind)
    keys = [None if packed else draw.like(batch, queries, kv_heads * size, kind=kind) for _ in range(2)]
    pasts = [draw.like(batch, kv_heads, longest, size, kind=kind) for _ in range(2)]
    layouts = draw.pick(1, kv_heads)
    rows = np.array([[sum(range(at + 1)) for at in range(blocks + 1)]] * layouts, np.int32)
    columns = np.array([[at for row in range(blocks) for at in range(row + 1)]] * layouts, np.int32)
    operands = [query, *keys, *pasts, rows, columns, scalar(total, "int32"), np.full(batch, total, np.int32)]
    # without do_rotary: the kernel of onnxruntime 1.31 then reads positions that it never wrote
    given: dict[str, object] = {"num_heads": heads, "kv_num_heads": kv_heads, "sparse_block_size": block}
    return Call(operands, given | draw.some(scale=0.5), (True, True, True))


def _linear(draw: Draw) -> Call:
    batch, length = draw.sizes(2)
    kv_heads, size, value_size = draw.size(1, 3), draw.size(1), draw.size(1)
    heads = kv_heads * draw.pick(1, 2)
    rule, slots = draw.pick("linear", "gated", "delta", "gated_delta"), draw.pick(*20 * (0,), 1, 2)
    gated, delta = "gated" in rule, "delta" in rule
    state = [*([slots] if slots else []), batch, kv_heads, size, value_size]
    decays: tuple[list[int], ...] = ([batch, length, kv_heads], [batch, length, kv_heads * size])
    betas: tuple[list[int], ...] = ([batch, length, kv_heads], [batch, length, 1])
    operands = [
        draw.like(batch, length, heads * size),
        draw.like(batch, length, kv_heads * size),
        draw.like(batch, length, kv_heads * value_size),
        draw.maybe(draw.numbers(state)),
        draw.numbers(draw.pick(*decays)) if gated else None,
        draw.numbers(draw.pick(*betas)) if delta else None,
    ]
    given = {"q_num_heads": heads, "kv_num_heads": kv_heads} | draw.some(scale=0.5, chunk_size=2)
    given |= {"state_window": slots} if slots else {}
    return Call(operands, given if rule == "gated_delta" else given | {"update_rule": rule}, (True, True))


def _delta_net(draw: Draw) -> Call:
    batch, length, heads, size, value_size = (draw.size(1, 3) for _ in range(5))
    value_heads, kind = heads * draw.pick(1, 2), draw.pick("float32", "float16", "bfloat16")
    spelled = draw.chance(0.3)
    lead = [batch, length] if spelled else [batch * length]
    rule = draw.pick("linear", "gated", "delta", "gated_delta")
    packed = draw.chance(0.3) and not spelled
    if packed:
        qkv: list[object] = [draw.numbers([*lead, 2 * heads * size + value_heads * value_size], kind), None, None]
    else:
        qkv = [draw.numbers([*lead, heads, size], kind) for _ in range(2)]
        qkv.append(draw.numbers([*lead, value_heads, value_size], kind))
    ragged = draw.chance() and not spelled
    offsets = np.arange(0, batch * length + 1, length, dtype=np.int32) if ragged else None
    gates = draw.pick("float32", kind)
    decay = (
        draw.numbers(draw.pick([*lead, value_heads], [*lead, value_heads, size]), gates) if "gated" in rule else None
    )
    beta = draw.numbers([*lead, value_heads], gates) if "delta" in rule else None
    state = draw.like(batch, value_heads, value_size, size) if packed or not ragged or draw.chance() else None
    given = draw.some(scale=0.5, qk_l2_norm=1, chunk_size=32) | ({} if rule == "gated_delta" else {"update_rule": rule})
    operands = [*qkv, offsets, decay, beta, state]
    capacity = draw.pick(0, 0, 2)
    if capacity:
        given["state_update_capacity"] = capacity
        operands += [None, None, np.full(batch, 1, np.int32)]
    final = draw.chance(0.7)
    return Call(operands, given, (True, final, bool(capacity)))


def _rotary(*, standard: bool) -> Draws:
    """A rotary embedding: of operator set 23, or onnxruntime's own, whose operands have another order."""

    def call(draw: Draw) -> Call:
        (batch, length), heads, half, kind = (
            draw.sizes(2),
            draw.size(1, 3),
            draw.size(1, 4),
            draw.pick("float32", "float16"),
        )
        partial = draw.chance(0.3)
        size = 2 * half + (2 * draw.size(1) if partial else 0)
        flat = draw.chance()
        x = draw.numbers([batch, length, heads * size] if flat else [batch, heads, length, size], kind)
        given = draw.some(interleaved=1)
        if flat and (standard or partial or draw.chance()):
            given["num_heads"] = heads
        if partial:
            given |= {"rotary_embedding_dim": 2 * half, "num_heads": heads}
        if standard:
            places = draw.maybe(draw.integers(0, 8, [batch, length]))
            shape = [batch, length, half] if places is None else [8, half]
            return Call([x, *(draw.numbers(shape, kind) for _ in range(2)), places], given, version=23)
        places = draw.integers(0, 3, draw.pick([1], [batch, length]))
        if not flat:
            given.pop("num_heads", None) if not partial else None
        return Call([x, places, *(draw.like(8, half, kind=kind) for _ in range(2))], given)

    return call


def _multimodal_rotary(draw: Draw) -> Call:
    (batch, length), heads, kind = draw.sizes(2), draw.size(1, 3), draw.pick("float32", "float16")
    sections = [draw.size(0, 2), draw.size(0, 2), draw.size(1, 2)]
    half, flat = sum(sections), draw.chance()
    x = draw.numbers([batch, length, heads * half * 2] if flat else [batch, heads, length, half * 2], kind)
    given = {"mrope_section": sections} | draw.some(interleaved=1, mrope_layout=draw.pick(0, 1))
    if flat:
        given["num_heads"] = heads
    if flat and draw.chance():
        given |= {"rotary_embedding_dim": 2 * half}
    places = draw.integers(0, 8, [3, batch, length])
    return Call([x, places, *(draw.like(8, half, kind=kind) for _ in range(2))], given)


def _tensor_scatter(draw: Draw) -> Call:
    shape, kind = (
        [draw.size(), *draw.sizes(draw.pick(2, 3))],
        draw.pick("float32", "int64", "float16", "bool", "bfloat16"),
    )
    axis = draw.random.randint(1, len(shape) - 1)
    update = [*shape]
    update[axis] = draw.random.randint(0, shape[axis])
    places = draw.maybe(draw.integers(0, shape[axis] - update[axis] + 1, [shape[0]]))
    given: dict[str, object] = {"axis": draw.pick(axis, axis - len(shape))} | draw.some(
        mode=draw.pick("linear", "circular")
    )
    return Call([draw.numbers(shape, kind), draw.numbers(update, kind), places], given, version=24)


CALLS: dict[Key, Draws] = {
    (MICROSOFT, "Attention"): _packed_attention,
    (MICROSOFT, "DecoderMaskedMultiHeadAttention"): _decoder_masked,
    (MICROSOFT, "GatedDeltaNet"): _delta_net,
    (MICROSOFT, "GroupQueryAttention"): _grouped,
    (MICROSOFT, "LinearAttention"): _linear,
    (MICROSOFT, "MRotaryEmbedding"): _multimodal_rotary,
    (MICROSOFT, "MultiHeadAttention"): _multi_head,
    (MICROSOFT, "QAttention"): _quantized_attention,
    (MICROSOFT, "RotaryEmbedding"): _rotary(standard=False),
    (MICROSOFT, "SparseAttention"): _sparse,
    (STANDARD, "Attention"): _standard_attention,
    (STANDARD, "RotaryEmbedding"): _rotary(standard=True),
    (STANDARD, "TensorScatter"): _tensor_scatter,
}
