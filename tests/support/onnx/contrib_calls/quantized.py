"""Calls of operators on quantized tensors that are no matrix products."""

from __future__ import annotations

from tests.support.onnx.contrib_calls.drawing import MICROSOFT, Call, Draw, Draws, Key, scalar
from tests.support.onnx.contrib_calls.windows import spatial, window

EIGHT_BITS = ("uint8", "int8")


def _pair(draw: Draw) -> Call:
    shape, kind = draw.shape(0, 4), draw.pick(*EIGHT_BITS)
    shapes = [shape, draw.broadcast(shape)]
    if draw.chance():
        shapes.reverse()
    zero = draw.chance(0.9)  # load-time inference refuses an empty name
    operands = []
    for each in shapes:
        operands += [draw.numbers(each, kind), scalar(0.5), scalar(1, kind) if zero else None]
    return Call([*operands, scalar(0.5), *draw.pick([scalar(1, kind)], [])])


def _where(draw: Draw) -> Call:
    shape, kind = draw.shape(0, 4), draw.pick(*EIGHT_BITS)
    shapes = [shape, draw.broadcast(shape), draw.broadcast(shape)]
    draw.random.shuffle(shapes)
    rest = [scalar(0.5), scalar(1, kind)]
    operands = [draw.numbers(shapes[0], "bool"), draw.numbers(shapes[1], kind), *rest]
    return Call([*operands, draw.numbers(shapes[2], kind), *rest, *rest])


def _unary(**attributes: float) -> Draws:
    def call(draw: Draw) -> Call:
        kind = draw.pick(*EIGHT_BITS)
        zeros = [draw.maybe(scalar(1, kind)) for _ in range(2)]
        return Call(
            [draw.numbers(draw.shape(), kind), scalar(0.5), zeros[0], scalar(0.1), zeros[1]], draw.some(**attributes)
        )

    return call


def _softmax(draw: Draw) -> Call:
    kind, shape = draw.pick(*EIGHT_BITS), draw.shape(1)
    operands = [draw.numbers(shape, kind), scalar(0.5), draw.maybe(scalar(1, kind)), scalar(0.1), scalar(1, kind)]
    constants = frozenset({1, 2, 3, 4}) if draw.chance() else frozenset()
    return Call(operands, {"opset": draw.pick(11, 13)} | draw.some(axis=draw.axis(len(shape))), constants=constants)


def _concat(draw: Draw) -> Call:
    kind, shape = draw.pick(*EIGHT_BITS), draw.shape(1)
    axis = draw.axis(len(shape))
    operands = [scalar(0.5), scalar(1, kind)]
    for _ in range(draw.random.randint(1, 3)):
        own = [*shape]
        own[axis] = draw.size()
        operands += [draw.numbers(own, kind), scalar(0.5), scalar(1, kind)]
    return Call(operands, {"axis": axis})


def _average(draw: Draw) -> Call:
    kind, last = draw.pick(*EIGHT_BITS), draw.chance(0.4)
    axes = draw.pick(1, 2, 2, 3)
    given, image = window(draw, axes, ceil=True)
    zero = draw.chance(0.9)
    zeros = [scalar(1, kind) if zero else None for _ in range(2)]
    shape = spatial(draw.size(), draw.size(1), image, last=last)
    given |= draw.some(count_include_pad=1) | ({"channels_last": 1} if last else {})
    return Call([draw.numbers(shape, kind), scalar(0.5), zeros[0], scalar(0.5), zeros[1]], given)


def _global_average(draw: Draw) -> Call:
    kind, last = draw.pick(*EIGHT_BITS), draw.chance(0.4)
    shape = spatial(draw.size(), draw.size(1), draw.sizes(draw.pick(1, 2, 3), 1), last=last)
    operands = [draw.numbers(shape, kind), scalar(0.5), scalar(1, kind), scalar(0.5), scalar(1, kind)]
    return Call(operands, {"channels_last": int(last)} if last or draw.chance() else {})


def _conv(draw: Draw) -> Call:
    kinds = draw.pick(("uint8", "uint8"), ("uint8", "int8"), ("int8", "int8"))
    last, group, per_channel = draw.chance(0.3), draw.pick(1, 1, 2), draw.chance(0.3)
    axes = draw.pick(1, 2, 2, 3)
    given, image = window(draw, axes, dilated=True)
    kernel = given["kernel_shape"]
    assert isinstance(kernel, list)
    if draw.chance(0.3):
        del given["kernel_shape"]
    results, inner = group * draw.size(1, 3), draw.size(1, 3)
    shape = spatial(draw.size(), group * inner, image, last=last)
    scales = [results] if per_channel else []
    given |= ({"group": group} if group > 1 else {}) | ({"channels_last": 1} if last else {})
    operands = [
        draw.numbers(shape, kinds[0]),
        scalar(0.5),
        scalar(1, kinds[0]),
        draw.numbers([results, inner, *kernel], kinds[1]),
        draw.positive(*scales),
        draw.numbers(scales, kinds[1]) * 0,
        scalar(0.5),
        scalar(1, kinds[0]),
        draw.maybe(draw.like(results, kind="int32")),
    ]
    return Call(operands, given, constants=frozenset({3}) if draw.chance() else frozenset())


def _quantize(draw: Draw) -> Call:
    shape, floats = draw.shape(0), draw.pick("float32", "float32", "float16")
    kind = draw.pick("uint8", "int8", "uint16", "int16", "int4", "uint4")
    given, scales = _per_axis(draw, shape)
    zero = draw.numbers(scales, kind)
    return Call(
        [draw.numbers(shape, floats), draw.positive(*scales, kind=floats), draw.maybe(zero, 0.9)],
        given,
        constants=_packed(kind, 2),
    )


def _dequantize(draw: Draw) -> Call:
    shape, floats = draw.shape(0), draw.pick("float32", "float32", "float16")
    kind = draw.pick("uint8", "int8", "uint16", "int16", "int32", "int4", "uint4")
    given, scales = _per_axis(draw, shape)
    zero = draw.numbers(scales, kind) * 0 if kind == "int32" else draw.numbers(scales, kind)
    return Call(
        [draw.numbers(shape, kind), draw.positive(*scales, kind=floats), draw.maybe(zero, 0.7)],
        given,
        constants=_packed(kind, 0, 2),
    )


def _packed(kind: str, *operands: int) -> frozenset[int]:
    """The operands that are constants, because numpy hands no values of four bits to onnxruntime."""
    return frozenset(operands) if kind.endswith("int4") else frozenset()


def _per_axis(draw: Draw, shape: list[int]) -> tuple[dict[str, object], list[int]]:
    """The attributes and the shape of a scale: one number, or one for each position of an axis."""
    if not shape or draw.chance(0.6):
        return draw.some(axis=1) if len(shape) > 1 else {}, draw.pick([], [], [1])
    axis = draw.axis(len(shape))
    return ({} if axis == 1 and draw.chance() else {"axis": axis}), [shape[axis]]


def _gather_block(draw: Draw) -> Call:
    kind, floats = draw.pick("uint4", "int4", "uint8"), draw.pick("float32", "float16")
    block, rank, places = draw.pick(16, 32), draw.pick(2, 2, 3), draw.pick("int32", "int64")
    shape = draw.sizes(rank, 1)
    bits = draw.pick(4, 8) if kind == "uint8" else 4
    quantized = rank - 1 if kind == "uint8" or draw.chance(0.7) else draw.random.randrange(rank)
    gathered = 0 if kind == "uint8" else draw.random.choice([at for at in range(rank) if at != quantized])
    shape[quantized] = draw.pick(block, block * 2, block + 2)
    scales = [*shape]
    scales[quantized] = -(-shape[quantized] // block)
    stored, zeros = [*shape], [*scales]
    if kind == "uint8" and bits == 4:
        stored[-1], zeros[-1] = -(-shape[-1] // 2), -(-scales[-1] // 2)
    operands = [
        draw.numbers(stored, kind),
        draw.integers(0, shape[gathered], draw.shape(0, 2), places),
        draw.positive(*scales, kind=floats),
        draw.maybe(draw.numbers(zeros, kind)),
    ]
    given = {"block_size": block, "gather_axis": gathered, "quantize_axis": quantized}
    if kind == "uint8":
        given["bits"] = bits
    return Call(operands, given, constants=frozenset({0, 2, 3}))


def _gather_packed(draw: Draw) -> Call:
    kind, row_bytes = draw.pick((1, 512), (2, 144), (6, 176), (8, 272), (14, 210))  # of 256 values
    blocks = draw.pick(1, 2)
    shape = [draw.size(1), row_bytes * blocks]
    places = draw.integers(0, shape[0], draw.shape(0, 2), draw.pick("int32", "int64"))
    given = {"K": 256 * blocks, "packed_type": kind} | draw.some(output_dtype=draw.pick(1, 10, 16))
    return Call([draw.numbers(shape, "uint8"), places], given)


CALLS: dict[Key, Draws] = {
    (MICROSOFT, "DequantizeLinear"): _dequantize,
    (MICROSOFT, "GatherBlockQuantized"): _gather_block,
    (MICROSOFT, "GatherPacked"): _gather_packed,
    (MICROSOFT, "QLinearAdd"): _pair,
    (MICROSOFT, "QLinearAveragePool"): _average,
    (MICROSOFT, "QLinearConcat"): _concat,
    (MICROSOFT, "QLinearConv"): _conv,
    (MICROSOFT, "QLinearGlobalAveragePool"): _global_average,
    (MICROSOFT, "QLinearLeakyRelu"): _unary(alpha=0.1),
    (MICROSOFT, "QLinearMul"): _pair,
    (MICROSOFT, "QLinearSigmoid"): _unary(),
    (MICROSOFT, "QLinearSoftmax"): _softmax,
    (MICROSOFT, "QLinearWhere"): _where,
    (MICROSOFT, "QuantizeLinear"): _quantize,
}
