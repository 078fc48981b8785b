"""Calls of normalizations, with a skip, of embeddings, by branches and by gates."""

from __future__ import annotations

import numpy as np

from tests.support.onnx.contrib_calls.drawing import MICROSOFT, STANDARD, Call, Draw, Draws, Key

FLOATS = ("float32", "float64", "float16")
BRANCHES = ("float32", "float16", "bfloat16")


def _scaled(version: int, results: int) -> Draws:
    """X and a scale of the axes from `axis` on."""

    def call(draw: Draw) -> Call:
        shape, kind = draw.shape(1), draw.pick(*FLOATS)
        axis = draw.axis(len(shape))
        scale = shape[axis:] if draw.chance(0.8) else draw.broadcast(shape)
        given = {"axis": axis} | draw.some(epsilon=1e-3)
        operands = [draw.numbers(shape, kind), draw.numbers(scale, kind)]
        return Call(
            operands, given, (True, draw.chance()) if results == 2 and draw.chance() else (True,), version=version
        )

    return call


def _skip(*, simplified: bool) -> Draws:
    def call(draw: Draw) -> Call:
        rank, kind = draw.pick(2, 3, 3), draw.pick("float32", "float16")  # the schema refuses float64
        shape = draw.sizes(rank)
        skip = draw.pick(shape, shape, shape[-2:], [1, *shape[-2:]])
        vectors = [draw.like(shape[-1], kind=kind) for _ in range(2 if simplified else 3)]
        operands = [draw.numbers(shape, kind), draw.numbers(skip, kind), vectors[0], *map(draw.maybe, vectors[1:])]
        results = (True, draw.chance(0.3), draw.chance(0.3), draw.chance()) if draw.chance(0.7) else (True,)
        return Call(operands, draw.some(epsilon=1e-3), results)

    return call


def _embed(draw: Draw) -> Call:
    batch, sequence, hidden, words = draw.size(), draw.size(), draw.size(1), 6
    ids = [draw.integers(0, 2, [batch, sequence], "int32") for _ in range(2)]
    segments = draw.chance(0.6)
    positions = draw.integers(0, sequence, draw.pick([1, sequence], [batch, sequence]), "int32")
    operands = [
        ids[0],
        ids[1] if segments else None,
        *(draw.like(size, hidden) for size in (words, 6)),
        draw.like(2, hidden) if segments else None,
        draw.like(hidden),
        draw.like(hidden),
        draw.maybe(draw.integers(0, 2, [batch, sequence], "int32")),
        draw.maybe(positions, 0.3),
    ]
    given = draw.some(epsilon=1e-3) | {"mask_index_type": draw.pick(0, 1)} if draw.chance(0.8) else {}
    results = draw.pick((True, True), (True, True, True), (True, False, True), (True,))
    return Call(operands, given, results)


def _quantized_embed(draw: Draw) -> Call:
    batch, sequence, hidden, kind = draw.size(), draw.size(), draw.size(1), draw.pick("uint8", "int8")
    segments = draw.chance(0.6)
    ids = [draw.integers(0, 2, [batch, sequence], "int32") for _ in range(2)]
    tables = [draw.like(size, hidden, kind=kind) for size in (6, 6, 2)]
    scales = [np.float32(0.1) for _ in range(5)]
    zeros = [np.array(1, kind) for _ in range(5)]
    if not segments:
        ids[1] = tables[2] = scales[2] = zeros[2] = None  # type: ignore[call-overload]
    vectors = [draw.like(hidden, kind=kind) for _ in range(2)]
    mask = draw.maybe(draw.integers(0, 2, [batch, sequence], "int32"))
    operands = [*ids, *tables, *vectors, mask, *map(_plain, scales), *zeros]
    return Call(operands, draw.some(epsilon=1e-3), (True, True))


def _plain(value: object) -> object:
    return None if value is None else np.asarray(value)


def _branchwise(draw: Draw) -> Call:
    lead, branches, hidden, kind = draw.shape(0, 2), draw.size(1), draw.size(1), draw.pick(*BRANCHES)
    flat = draw.chance()
    shape = [*lead, branches * hidden] if flat else [*lead, branches, hidden]
    scale = draw.maybe(
        draw.numbers(draw.pick([branches * hidden], [branches, hidden], [hidden]), draw.pick(*BRANCHES)), 0.7
    )
    given = ({"num_branches": branches} if flat else {}) | draw.some(epsilon=1e-3)
    return Call([draw.numbers(shape, kind), scale], given)


def _gated_norm(draw: Draw) -> Call:
    lead, groups, size, kind = draw.shape(0, 3), draw.size(), draw.size(1), draw.pick(*BRANCHES)
    shape = [*lead, groups * size]
    given = draw.some(epsilon=1e-3, activation=draw.pick("silu", "swish", "sigmoid"))
    return Call([draw.numbers(shape, kind), draw.like(size, kind=kind), draw.numbers(shape, kind)], given)


def _engram_gate(draw: Draw) -> Call:
    (batch, sequence, copies, hidden), kind = draw.sizes(4), draw.pick("float32", "float16")
    full = [batch, sequence, copies, hidden]
    scales = [draw.like(copies, hidden, kind=kind) for _ in range(3)]
    normed = draw.chance()
    operands = [
        draw.numbers(full, kind),
        draw.numbers(full, kind),
        draw.like(batch, sequence, hidden, kind=kind),
        *scales[:2],
    ]
    if normed or draw.chance(0.3):
        operands.append(scales[2])
    return Call(operands, draw.some(epsilon=1e-3), (True, True) if normed else (True,))


def _pre_mix(draw: Draw) -> Call:
    lead, branches, hidden, kind = draw.shape(0, 2), draw.size(1), draw.size(1), draw.pick(*BRANCHES)
    flat = draw.chance()
    streams = [*lead, branches * hidden] if flat else [*lead, branches, hidden]
    mixes = [[*lead, branches], [*lead, branches, 1], [*lead, branches, hidden]]
    mix = draw.pick(*mixes, *([[*lead, branches * hidden]] if flat else []))
    given = ({"num_branches": branches} if flat else {}) | draw.some(reduction_scale=0.5)
    return Call([draw.numbers(streams, kind), draw.numbers(mix, draw.pick(*BRANCHES))], given)


def _post_mix(draw: Draw) -> Call:
    lead, branches, hidden, kind = draw.shape(0, 2), draw.size(1), draw.size(1), draw.pick(*BRANCHES)
    flat, gates = draw.chance(), draw.pick(*BRANCHES)
    streams = [*lead, branches * hidden] if flat else [*lead, branches, hidden]
    mix = draw.pick([*lead, branches], [*lead, branches, 1], [*lead, branches, hidden])
    stream_mix = draw.maybe(draw.numbers([*lead, branches, branches], gates))
    operands = [draw.numbers(streams, kind), draw.numbers([*lead, hidden], kind), draw.numbers(mix, gates), stream_mix]
    return Call(operands, {"num_branches": branches} if flat else {})


CALLS: dict[Key, Draws] = {
    (MICROSOFT, "BranchwiseRMSNorm"): _branchwise,
    (MICROSOFT, "EmbedLayerNormalization"): _embed,
    (MICROSOFT, "EngramGate"): _engram_gate,
    (MICROSOFT, "GatedRMSNorm"): _gated_norm,
    (MICROSOFT, "HyperConnectionPostMix"): _post_mix,
    (MICROSOFT, "HyperConnectionPreMix"): _pre_mix,
    (MICROSOFT, "QEmbedLayerNormalization"): _quantized_embed,
    (MICROSOFT, "SkipLayerNormalization"): _skip(simplified=False),
    (MICROSOFT, "SkipSimplifiedLayerNormalization"): _skip(simplified=True),
    (STANDARD, "RMSNormalization"): _scaled(23, 1),
    (STANDARD, "SimplifiedLayerNormalization"): _scaled(17, 2),
}
