"""Random nodes with an operand that broadcasts, for kernels that may compute otherwise if it is lifted or stretched."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from tests.support.onnx.contrib_calls.drawing import MICROSOFT, Array, Draw, scalar


@dataclass(frozen=True, slots=True)
class Case:
    """One node and the sizes that one of its operands is stretched to."""

    operands: Sequence[Array | None]
    full: Sequence[int]
    """The operand's shape in full; it is lifted to this rank."""
    attributes: Mapping[str, object] = field(default_factory=dict)
    results: int = 1


Cases: TypeAlias = Callable[[Draw, str, int], Case]
"""Of an element type and the place of the operand."""


@dataclass(frozen=True, slots=True)
class Kernel:
    """An operator, the operands that are asked about, and the element types of its CPU kernels."""

    op: str
    operands: tuple[int, ...]
    kinds: tuple[str, ...]
    cases: Cases
    domain: str = MICROSOFT
    version: int = 1

    @property
    def name(self) -> str:
        """The operator with its version in the standard domain."""
        return f"{self.op}-{self.version}" if not self.domain else self.op


HALVES = ("float32", "float16")
FLOATS = ("float32", "float64", "float16")
BYTES = ("uint8", "int8")


def _extent(draw: Draw) -> int:
    """A size at which kernels differ: of one element, a part of a vector register, or several."""
    return draw.pick(1, 2, 3, 5, 8, 16, 17, 33, 64)


def _deep(draw: Draw) -> int:
    """A size at which matrix products are computed by another number of partial sums."""
    return draw.pick(1, 3, 16, 17, 64, 130, 256)


def _rows(draw: Draw, rank: int = 3) -> list[int]:
    return [*(draw.pick(1, 2, 3, 4) for _ in range(rank - 1)), _extent(draw)]


def _skip(*, simplified: bool) -> Cases:
    def case(draw: Draw, kind: str, _: int) -> Case:
        full = _rows(draw)
        hidden = full[-1]
        skip = draw.pick(full[1:], [1, *full[1:]])
        vectors = [draw.like(hidden, kind=kind) for _ in range(2 if simplified else 3)]
        operands = [draw.numbers(full, kind), draw.numbers(skip, kind), vectors[0], *map(draw.maybe, vectors[1:])]
        return Case(operands, full, results=draw.pick(1, 4))

    return case


def _bias(draw: Draw, kind: str, _: int) -> Case:
    full = _rows(draw, draw.pick(2, 3))
    return Case([draw.numbers(full, kind), draw.like(full[-1], kind=kind)], full)


def _normalization(draw: Draw, kind: str, at: int) -> Case:
    full = _rows(draw)
    parameters = [draw.numbers(draw.pick(full[-1:], [1], full[1:], [1, *full[1:]]), kind)]
    operands = [draw.numbers(full, kind), *parameters, *([draw.like(full[-1], kind=kind)] if at > 1 else [])]
    if at > 1:
        operands[1:] = [draw.like(full[-1], kind=kind), parameters[0]]
    return Case(operands, full)


def _product(
    draw: Draw, kinds: tuple[str, str], at: int, *, swap: bool = False
) -> tuple[list[Array], list[int], list[str]]:
    """Two factors, of which the one at `at` lacks batch axes or has some of size 1; its shape in full; the swaps."""
    rows, inner, columns = draw.pick(1, 1, 2, 7, 16), _deep(draw), _deep(draw)
    batch = [draw.pick(1, 2, 3) for _ in range(draw.pick(1, 2))]
    swaps = [name for name in ("transA", "transB") if swap and draw.chance()]
    shapes = [
        [inner, rows] if "transA" in swaps else [rows, inner],
        [columns, inner] if "transB" in swaps else [inner, columns],
    ]
    own = draw.pick([], [], [1] * len(batch), [1, *batch[1:]])
    leads = [own, batch] if at == 0 else [batch, own]
    factors = [draw.numbers([*lead, *shape], kind) for lead, shape, kind in zip(leads, shapes, kinds, strict=True)]
    return factors, [*batch, *shapes[at]], swaps


def _matmul(draw: Draw, kind: str, at: int) -> Case:
    factors, full, _ = _product(draw, (kind, kind), at)
    return Case(factors, full)


def _fused_matmul(draw: Draw, kind: str, at: int) -> Case:
    factors, full, swaps = _product(draw, (kind, kind), at, swap=True)
    return Case(factors, full, dict.fromkeys(swaps, 1) | draw.some(alpha=0.3))


def _to_float(draw: Draw, kind: str, at: int) -> Case:
    if at == 6:
        factors, _, _ = _product(draw, (kind, kind), 1)
        columns = factors[1].shape[-1]
        full = [*factors[0].shape[:-1], columns]
        return Case([*factors, scalar(0.5), scalar(0.3), None, None, draw.like(columns)], full)
    factors, full, _ = _product(draw, (kind, kind), at)
    zeros = [draw.maybe(scalar(1, kind)) for _ in range(2)]
    return Case([*factors, scalar(0.5), scalar(0.3), *zeros], full)


def _integer(*, zeros: bool) -> Cases:
    def case(draw: Draw, kind: str, at: int) -> Case:
        factors, full, _ = _product(draw, (kind, kind), at)
        return Case([*factors, *((scalar(1, kind), scalar(2, kind)) if zeros else ())], full)

    return case


def _dynamic(draw: Draw, kind: str, at: int) -> Case:
    if at == 4:
        factors, _, _ = _product(draw, ("float32", kind), 1)
        columns = factors[1].shape[-1]
        full = [*factors[0].shape[:-1], columns]
        return Case([*factors, scalar(0.3), None, draw.like(columns)], full)
    factors, full, _ = _product(draw, ("float32", kind), at)
    return Case([*factors, scalar(0.3), draw.maybe(scalar(1, kind))], full)


def _n_bits(draw: Draw, kind: str, _: int) -> Case:
    block, columns, lead = 32, _extent(draw), [draw.pick(1, 2, 3), draw.pick(1, 2, 5)]
    operands = [
        draw.numbers([*lead, block], kind),
        draw.integers(0, 255, [columns, 1, block // 2], "uint8"),
        draw.positive(columns, kind=kind),
        None,
        None,
        draw.like(columns, kind=kind),
    ]
    return Case(operands, [*lead, columns], {"K": block, "N": columns, "bits": 4, "block_size": block})


def _gemm_shapes(draw: Draw) -> tuple[list[int], list[int], list[int], list[int], dict[str, object]]:
    rows, inner, columns = draw.pick(1, 2, 7, 16), _deep(draw), _deep(draw)
    swaps = {name: 1 for name in ("transA", "transB") if draw.chance()}
    a = [inner, rows] if "transA" in swaps else [rows, inner]
    b = [columns, inner] if "transB" in swaps else [inner, columns]
    return a, b, draw.pick([], [1], [columns], [1, columns], [rows, 1], [1, 1]), [rows, columns], dict(swaps)


def _gemm(*, activation: bool) -> Cases:
    def case(draw: Draw, kind: str, _: int) -> Case:
        a, b, c, full, given = _gemm_shapes(draw)
        given |= draw.some(alpha=0.3, beta=0.7) | ({"activation": draw.pick("Relu", "Tanh")} if activation else {})
        return Case([draw.numbers(shape, kind) for shape in (a, b, c)], full, given)

    return case


def _q_gemm(draw: Draw, kind: str, _: int) -> Case:
    a, b, c, full, given = _gemm_shapes(draw)
    result = [scalar(0.5), scalar(1, kind)] if draw.chance() else []
    operands = [
        draw.numbers(a, kind),
        scalar(0.5),
        scalar(1, kind),
        draw.numbers(b, kind),
        scalar(0.3),
        scalar(2, kind),
    ]
    return Case([*operands, draw.numbers(c, "int32"), *result], full, given | draw.some(alpha=0.3))


def _broadcast(draw: Draw) -> tuple[list[int], list[int]]:
    """A shape in full, and one that broadcasts onto it."""
    full = _rows(draw, draw.pick(2, 3))
    own = [1 if draw.chance(0.3) else size for size in full][draw.pick(0, 0, 1, 2) :]
    return full, own


def _pair(draw: Draw, kind: str, at: int) -> Case:
    full, own = _broadcast(draw)
    shapes = [own, full] if at == 0 else [full, own]
    scales = [scalar(0.5), scalar(1, kind)]
    x, y = (draw.integers(0, 127, shape, kind) for shape in shapes)
    return Case([x, *scales, y, *scales, scalar(0.7), scalar(3, kind)], full)


def _where(draw: Draw, kind: str, at: int) -> Case:
    full, own = _broadcast(draw)
    shapes = {place: own if place == at else full for place in (0, 1, 4)}
    scales = [scalar(0.5), scalar(1, kind)]
    x, y = (draw.integers(0, 127, shapes[place], kind) for place in (1, 4))
    return Case([draw.numbers(shapes[0], "bool"), x, *scales, y, *scales, scalar(0.7), scalar(3, kind)], full)


def _gated_add(draw: Draw, kind: str, _: int) -> Case:
    full = _rows(draw)
    return Case([draw.numbers(full, kind), draw.numbers(full, kind), draw.numbers([*full[:-1], 1], kind)], full)


def _scaled(draw: Draw, kind: str, _: int) -> Case:
    full = _rows(draw)
    return Case([draw.numbers(full, kind), draw.numbers(draw.pick([], [1]), kind)], full)


def _mix(*, post: bool) -> Cases:
    """Streams (..., C, H) with gates (..., C, 1)."""

    def case(draw: Draw, kind: str, _: int) -> Case:
        full = _rows(draw, 4)
        streams, gates = draw.numbers(full, kind), draw.numbers([*full[:-1], 1], kind)
        return Case([streams, draw.numbers([*full[:2], full[-1]], kind), gates] if post else [streams, gates], full)

    return case


def _mask(draw: Draw, batch: int, heads: int, queries: int, keys: int, kind: str) -> Array:
    return draw.like(draw.pick(1, batch), draw.pick(1, heads), queries, keys, kind=kind)


def _attention(draw: Draw, kind: str, _: int) -> Case:
    batch, heads, queries, keys, size = draw.pick(1, 2), draw.pick(1, 2, 4), draw.pick(1, 3, 8), draw.pick(1, 5, 16), 8
    own = kind.removesuffix(" mask of bool")
    q, k, v = (draw.like(batch, heads, length, size, kind=own) for length in (queries, keys, keys))
    shape = draw.pick([queries, keys], [1, 1, queries, keys], [batch, 1, queries, keys], [1, heads, queries, keys])
    mask = draw.numbers(shape, own) if own == kind else draw.numbers(shape, "bool") | (np.arange(keys) == 0)
    return Case([q, k, v, mask], [batch, heads, queries, keys], draw.some(scale=0.3, softcap=2.0))


def _packed_attention(draw: Draw, kind: str, _: int) -> Case:
    batch, heads, queries, size, hidden = draw.pick(1, 2), draw.pick(1, 2, 4), draw.pick(1, 3, 8), 8, 16
    width = 3 * heads * size
    operands = [draw.like(batch, queries, hidden), draw.like(hidden, width), draw.like(width), None, None]
    full = [batch, heads, queries, queries]
    return Case([*operands, _mask(draw, *full, kind)], full, {"num_heads": heads})


def _multi_head(draw: Draw, kind: str, _: int) -> Case:
    batch, heads, queries, keys, size = draw.pick(1, 2), draw.pick(1, 2, 4), draw.pick(1, 3, 8), draw.pick(1, 5, 16), 8
    q, k, v = (draw.like(batch, length, heads * size) for length in (queries, keys, keys))
    full = [batch, heads, queries, keys]
    return Case([q, k, v, None, None, _mask(draw, *full, kind)], full, {"num_heads": heads})


def _grouped(draw: Draw, kind: str, _: int) -> Case:
    batch, heads, queries, size = draw.pick(1, 2), draw.pick(2, 4), draw.pick(1, 3, 8), 16
    q, k = draw.like(batch, queries, heads * size, kind=kind), draw.like(batch, queries, 2 * size, kind=kind)
    past = np.zeros((batch, 2, 0, size), kind)
    full = [batch, heads, queries, queries]
    lengths = [np.full(batch, queries - 1, np.int32), scalar(queries, "int32"), None, None, None]
    mask = _mask(draw, *full, kind)
    return Case([q, k, k, past, past, *lengths, mask], full, {"num_heads": heads, "kv_num_heads": 2}, 3)


def _decoder(draw: Draw, kind: str, _: int) -> Case:
    batch, heads, past, size = draw.pick(1, 2), draw.pick(1, 2, 4), 4, 8
    step = draw.like(batch, 1, heads * size)
    full = [batch, heads, 1, past + 1]
    pasts = [draw.like(batch, heads, 8, size) for _ in range(2)]
    operands = [step, step, step, None, _mask(draw, *full, kind), *pasts, np.array([past], np.int32)]
    return Case(operands, full, {"num_heads": heads, "past_present_share_buffer": 1}, 3)


def _linear(draw: Draw, kind: str, _: int) -> Case:
    batch, length, heads, size = draw.pick(1, 2), draw.pick(1, 3, 8), draw.pick(1, 2, 4), 8
    x = draw.like(batch, length, heads * size, kind=kind) / 8
    operands = [x, x, x, None, None, draw.like(batch, length, 1, kind=kind)]
    given = {"q_num_heads": heads, "kv_num_heads": heads, "update_rule": "delta"}
    return Case(operands, [batch, length, heads], given, 2)


MASKED = ("float32", "float32 mask of bool", "float16", "float16 mask of bool")

KERNELS: tuple[Kernel, ...] = (
    Kernel("SkipLayerNormalization", (1,), (*FLOATS, "bfloat16"), _skip(simplified=False)),
    Kernel("SkipSimplifiedLayerNormalization", (1,), (*FLOATS, "bfloat16"), _skip(simplified=True)),
    Kernel("LayerNormalization", (1, 2), (*FLOATS, "bfloat16"), _normalization, "", 17),
    Kernel("SimplifiedLayerNormalization", (1,), (*FLOATS, "bfloat16"), _normalization, "", 17),
    Kernel("RMSNormalization", (1,), (*FLOATS, "bfloat16"), _normalization, "", 23),
    Kernel("BiasGelu", (1,), ("float32",), _bias),
    Kernel("FastGelu", (1,), ("float32",), _bias),
    Kernel("ScaledSiLU", (1,), (*HALVES, "bfloat16"), _scaled),
    Kernel("GatedAdd", (2,), HALVES, _gated_add),
    Kernel("HyperConnectionPreMix", (1,), (*HALVES, "bfloat16"), _mix(post=False)),
    Kernel("HyperConnectionPostMix", (2,), (*HALVES, "bfloat16"), _mix(post=True)),
    Kernel("MatMul", (0, 1), (*FLOATS, "int32", "int64", "uint32", "uint64"), _matmul, "", 13),
    Kernel("FusedMatMul", (0, 1), FLOATS, _fused_matmul),
    Kernel("TransposeMatMul", (0, 1), ("float32",), _fused_matmul),
    Kernel("MatMulInteger", (0, 1), BYTES, _integer(zeros=True), "", 10),
    Kernel("MatMulInteger16", (0, 1), ("int16",), _integer(zeros=False)),
    Kernel("MatMulIntegerToFloat", (0, 1, 6), BYTES, _to_float),
    Kernel("DynamicQuantizeMatMul", (0, 1, 4), BYTES, _dynamic),
    Kernel("MatMulNBits", (5,), HALVES, _n_bits),
    Kernel("Gemm", (2,), FLOATS, _gemm(activation=False), "", 13),
    Kernel("FusedGemm", (2,), ("float32",), _gemm(activation=True)),
    Kernel("QGemm", (6,), BYTES, _q_gemm),
    Kernel("QLinearAdd", (0, 3), BYTES, _pair),
    Kernel("QLinearMul", (0, 3), BYTES, _pair),
    Kernel("QLinearWhere", (0, 1, 4), BYTES, _where),
    Kernel("Attention", (3,), MASKED, _attention, "", 23),
    Kernel("Attention", (3,), MASKED, _attention, "", 25),
    Kernel("Attention", (5,), ("float32",), _packed_attention),
    Kernel("MultiHeadAttention", (5,), ("float32",), _multi_head),
    Kernel("GroupQueryAttention", (10,), HALVES, _grouped),
    Kernel("DecoderMaskedMultiHeadAttention", (4,), ("float32",), _decoder),
    Kernel("LinearAttention", (5,), ("float32",), _linear),
)
