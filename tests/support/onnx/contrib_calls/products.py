"""Calls of matrix products: fused, quantized, of packed weights, of experts, and what is near them."""

from __future__ import annotations

import numpy as np

from tests.support.onnx.contrib_calls.drawing import MICROSOFT, Call, Draw, Draws, Key, scalar, vector

ACTIVATIONS = ("Relu", "Tanh", "Sigmoid", "LeakyRelu")


def _factors(draw: Draw, *, trans_a: bool = False, trans_b: bool = False) -> tuple[list[int], list[int]]:
    """Two shapes that multiply: batch axes that broadcast, or vectors."""
    rows, inner, columns = draw.sizes(3)
    batch = draw.shape(0, 2)
    a, b = [rows, inner], [inner, columns]
    if draw.chance(0.1):
        a = [inner]
    elif trans_a:
        a.reverse()
    if draw.chance(0.1):
        b = [inner]
    elif trans_b:
        b.reverse()
    left, right = draw.pick((batch, []), ([], batch), (batch, batch), (batch, draw.broadcast(batch)))
    return (left + a if len(a) > 1 else a), (right + b if len(b) > 1 else b)


def _fused_matmul(*, batches: bool) -> Draws:
    def call(draw: Draw) -> Call:
        trans_a, trans_b = draw.chance(), draw.chance()
        kind = draw.pick("float32", "float32", "float64") if batches else "float32"
        given: dict[str, object] = {"transA": int(trans_a), "transB": int(trans_b)} | draw.some(alpha=0.5)
        if not batches or draw.chance(0.7):
            a, b = _factors(draw, trans_a=trans_a, trans_b=trans_b)
            return Call([draw.numbers(a, kind), draw.numbers(b, kind)], given)
        rows, inner, columns = draw.sizes(3)
        batch = draw.sizes(draw.pick(1, 2))
        over_a, over_b = draw.chance(), draw.chance()
        operands = [
            draw.numbers(_across(batch, *size, swap=swap, over=over), kind)
            for size, swap, over in (((rows, inner), trans_a, over_a), ((inner, columns), trans_b, over_b))
        ]
        return Call(operands, given | {"transBatchA": int(over_a), "transBatchB": int(over_b)})

    return call


def _across(batch: list[int], rows: int, columns: int, *, swap: bool, over: bool) -> list[int]:
    """A factor's shape: `over` puts the first of the matrix's axes before the batch axes."""
    if over:
        return [columns, *batch, rows] if swap else [rows, *batch, columns]
    return [*batch, columns, rows] if swap else [*batch, rows, columns]


def _gemm_shapes(draw: Draw) -> tuple[list[int], list[int], list[int], dict[str, object]]:
    rows, inner, columns = draw.sizes(3)
    swap_a, swap_b = draw.chance(), draw.chance()
    a = [inner, rows] if swap_a else [rows, inner]
    b = [columns, inner] if swap_b else [inner, columns]
    given = {name: 1 for name, swap in (("transA", swap_a), ("transB", swap_b)) if swap}
    return a, b, draw.broadcast([rows, columns]), given


def _fused_gemm(draw: Draw) -> Call:
    a, b, c, given = _gemm_shapes(draw)
    operands = [draw.numbers(a), draw.numbers(b), draw.maybe(draw.numbers(c), 0.7)]
    given |= draw.some(alpha=0.5, beta=2.0) | {"activation": draw.pick(*ACTIVATIONS)}
    if given["activation"] == "LeakyRelu":
        given["activation_alpha"] = 0.1
    return Call(operands, given)


def _q_gemm(draw: Draw) -> Call:
    a, b, c, given = _gemm_shapes(draw)
    kinds = draw.pick(("int8", "int8"), ("uint8", "uint8"), ("uint8", "int8"))
    columns = b[0] if "transB" in given else b[1]
    shape = [columns] if draw.chance(0.3) else []
    quantized = draw.chance()
    operands = [
        draw.numbers(a, kinds[0]),
        scalar(0.5),
        scalar(1, kinds[0]),
        draw.numbers(b, kinds[1]),
        draw.positive(*shape),
        draw.numbers(shape, kinds[1]),
        draw.maybe(draw.numbers(c, "int32"), 0.6),
        *([scalar(0.5), scalar(1, kinds[0])] if quantized else []),
    ]
    return Call(operands, given | draw.some(alpha=0.5))


def _integer16(draw: Draw) -> Call:
    a, b = _factors(draw)
    return Call([draw.numbers(a, "int16"), draw.numbers(b, "int16")])


def _to_float(draw: Draw) -> Call:
    a, b = _factors(draw)
    kinds = draw.pick(("int8", "int8"), ("uint8", "uint8"), ("uint8", "int8"))
    columns = b[-1] if len(b) > 1 else 1
    shape = [columns] if draw.chance(0.4) and len(b) < 3 else draw.pick([], [1])
    operands = [
        draw.numbers(a, kinds[0]),
        draw.numbers(b, kinds[1]),
        scalar(0.5),
        draw.positive(*shape),
        draw.maybe(scalar(1, kinds[0])),
        draw.maybe(draw.numbers(shape, kinds[1])),
        draw.maybe(draw.like(columns), 0.4),
    ]
    return Call(operands, constants=draw.pick(frozenset(), frozenset({1})))


def _dynamic(draw: Draw) -> Call:
    a, b = _factors(draw)
    kind = draw.pick("int8", "uint8")
    columns = b[-1] if len(b) > 1 else 1
    shape = [columns] if draw.chance(0.4) and len(b) < 3 else draw.pick([], [1])
    operands = [
        draw.numbers(a),
        draw.numbers(b, kind),
        draw.positive(*shape),
        draw.maybe(draw.numbers(shape, kind)),
        draw.maybe(draw.like(columns), 0.4),
    ]
    return Call(operands, constants=draw.pick(frozenset(), frozenset({1})))


def _n_bits(draw: Draw) -> Call:
    block, bits, kind = draw.pick(16, 32), draw.pick(4, 4, 4, 8, 2), draw.pick("float32", "float32", "float16")
    inner, columns = draw.pick(block, block * 2, block + 3), draw.size(1)
    blocks = -(-inner // block)
    scales = draw.positive(*draw.pick([columns * blocks], [columns, blocks]), kind=kind)
    packed = -(-blocks * bits // 8)
    zeros = draw.pick(
        draw.numbers(draw.pick([columns * packed], [columns, packed]), "uint8"),
        draw.positive(columns, blocks, kind=kind),
    )
    operands = [
        draw.numbers([*draw.shape(0, 2), draw.size(), inner] if draw.chance(0.9) else [inner], kind),
        draw.integers(0, 255, [columns, blocks, block * bits // 8], "uint8"),
        scales,
        draw.maybe(zeros),
        None,
        draw.maybe(draw.like(columns, kind=kind), 0.4),
    ]
    given = {"K": inner, "N": columns, "bits": bits, "block_size": block} | draw.some(accuracy_level=draw.pick(0, 1, 4))
    known = frozenset({1, 2, 3}) if draw.chance(0.8) else frozenset()
    return Call(operands, given, constants=known | {5})  # load-time inference refuses a bias of unknown shape


def _bnb4(draw: Draw) -> Call:
    block, inner, columns = 16, draw.pick(16, 32), draw.size(1)
    elements = inner * columns
    operands = [
        draw.numbers([*draw.shape(0, 2), draw.size(), inner]),
        draw.integers(0, 255, [(elements + 1) // 2], "uint8"),
        draw.positive((elements + block - 1) // block),
    ]
    given = {"K": inner, "N": columns, "block_size": block, "quant_type": draw.pick(0, 1)}
    return Call(operands, given | draw.some(transB=1), constants=frozenset({1, 2}))


def _fp_q4(draw: Draw) -> Call:
    kind, inner, columns = draw.pick(0, 1), 32, draw.size(1, 4)
    size = columns * (20 if kind == 0 else 21)
    operands = [draw.numbers([*draw.shape(0, 2), draw.size(1), inner]), draw.integers(0, 255, [size], "uint8")]
    return Call([*operands, vector(inner, columns)], {"blk_quant_type": kind}, constants=frozenset({1, 2}))


def _experts(draw: Draw) -> Call:
    experts, inter, hidden, fused = draw.size(1, 4), draw.size(1), draw.size(1), draw.chance(0.3)
    tokens = draw.sizes(draw.pick(1, 2))
    width = inter * 2 if fused else inter
    count = int(np.prod(tokens))
    operands = [
        draw.numbers([*tokens, hidden]),
        draw.like(count, experts),
        draw.like(experts, width, hidden),
        draw.maybe(draw.like(experts, width)),
        draw.like(experts, hidden, inter),
        draw.maybe(draw.like(experts, hidden)),
    ]
    given: dict[str, object] = {"k": draw.random.randint(1, experts)} | draw.some(normalize_routing_weights=1)
    if fused:
        given |= {"activation_type": "swiglu", "swiglu_fusion": 1}
    else:
        given["activation_type"] = draw.pick("relu", "gelu", "silu", "identity")
    return Call(operands, given)


def _quantized_experts(draw: Draw) -> Call:
    experts, bits, kind = draw.size(1, 3), draw.pick(4, 8), draw.pick("float32", "float16")
    block = draw.pick(0, 0, 16)
    inter, hidden, fused = draw.pick(16, 32), draw.pick(16, 32), draw.chance()
    width, tokens, pack = inter * 2 if fused else inter, draw.sizes(draw.pick(1, 2)), 8 // bits

    def scales(rows: int, inner: int) -> np.ndarray:
        return draw.positive(experts, rows, *([inner // block] if block else []), kind=kind)

    operands = [
        draw.numbers([*tokens, hidden], kind),
        draw.like(int(np.prod(tokens)), experts, kind=kind),
        draw.integers(0, 255, [experts, width, hidden // pack], "uint8"),
        scales(width, hidden),
        draw.maybe(draw.like(experts, width, kind=kind)),
        draw.integers(0, 255, [experts, hidden, inter // pack], "uint8"),
        scales(hidden, inter),
        draw.maybe(draw.like(experts, hidden, kind=kind)),
    ]
    given: dict[str, object] = {"k": draw.random.randint(1, experts), "expert_weight_bits": bits}
    given |= draw.some(normalize_routing_weights=1) | ({"block_size": block} if block else {})
    if fused:
        given |= {"activation_type": "swiglu", "swiglu_fusion": 1}
    else:
        given["activation_type"] = draw.pick("relu", "gelu", "silu", "identity")
    return Call(operands, given)


def _group_router(draw: Draw) -> Call:
    groups, size, kind = draw.size(1, 3), draw.size(1, 3), draw.pick("float32", "float16", "bfloat16")
    full = draw.chance(0.4)
    if full:
        groups = 1
    experts = groups * size
    given: dict[str, object] = {"top_k": draw.random.randint(1, experts), "n_group": groups}
    given |= {"topk_group": groups if full or draw.chance() else 1} | draw.some(group_topk=1)
    lead = draw.shape(0, 3) if not full else draw.sizes(1)
    operands = [draw.numbers([*lead, experts], kind), draw.like(experts)]
    return Call(operands, given, (False, True, True) if full else (True,))


def _inverse(draw: Draw) -> Call:
    size = draw.size(1)
    return Call([draw.numbers([*draw.shape(0, 2), size, size], draw.pick("float32", "float64", "float16"))])


def _distances(draw: Draw) -> Call:
    (rows, others, inner), kind = draw.sizes(3), draw.pick("float32", "float64")
    return Call(
        [draw.like(rows, inner, kind=kind), draw.like(others, inner, kind=kind)],
        draw.some(metric=draw.pick("euclidean", "sqeuclidean")),
    )


def _sparse(draw: Draw) -> Call:
    a, b, _, given = _gemm_shapes(draw)
    return Call([draw.numbers(a), draw.numbers(b)], given | draw.some(alpha=0.5))


CALLS: dict[Key, Draws] = {
    (MICROSOFT, "CDist"): _distances,
    (MICROSOFT, "DynamicQuantizeMatMul"): _dynamic,
    (MICROSOFT, "FusedGemm"): _fused_gemm,
    (MICROSOFT, "FusedMatMul"): _fused_matmul(batches=True),
    (MICROSOFT, "Inverse"): _inverse,
    (MICROSOFT, "MatMulBnb4"): _bnb4,
    (MICROSOFT, "MatMulFpQ4"): _fp_q4,
    (MICROSOFT, "MatMulInteger16"): _integer16,
    (MICROSOFT, "MatMulIntegerToFloat"): _to_float,
    (MICROSOFT, "MatMulNBits"): _n_bits,
    (MICROSOFT, "MoE"): _experts,
    (MICROSOFT, "MoEGroupRouter"): _group_router,
    (MICROSOFT, "QGemm"): _q_gemm,
    (MICROSOFT, "QMoE"): _quantized_experts,
    (MICROSOFT, "SparseToDenseMatMul"): _sparse,
    (MICROSOFT, "TransposeMatMul"): _fused_matmul(batches=False),
}
