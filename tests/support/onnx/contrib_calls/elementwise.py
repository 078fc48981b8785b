"""Calls of activations and of operators that work element by element."""

from __future__ import annotations

from tests.support.onnx.contrib_calls.drawing import MICROSOFT, STANDARD, Call, Draw, Draws, Key

FLOATS = ("float32", "float16", "bfloat16")


EXPERIMENTAL = 9
"""The newest operator set of ONNX's domain in which onnxruntime registers ONNX's former experimental operators."""


def _unary(*kinds: str, version: int = 0, **attributes: float) -> Draws:
    def call(draw: Draw) -> Call:
        given = {name: draw.pick(value, 0.0, 1.5) for name, value in attributes.items()}
        kept = given if draw.chance(0.7) else draw.some(**given)  # onnxruntime 1.23 requires some of them
        return Call([draw.numbers(draw.shape(), draw.pick(*kinds))], kept, version=version)

    return call


def _bias_gelu(draw: Draw) -> Call:
    shape = [*draw.shape(0, 3), draw.size()]
    return Call([draw.numbers(shape), draw.like(shape[-1])])


def _fast_gelu(draw: Draw) -> Call:
    shape = [*draw.shape(0, 3), draw.size()]
    bias = draw.maybe(draw.like(shape[-1]))
    return Call([draw.numbers(shape)] if bias is None and draw.chance() else [draw.numbers(shape), bias])


def _gated_add(draw: Draw) -> Call:
    shape, kind = [*draw.shape(0, 3), draw.size()], draw.pick("float32", "float16")
    return Call([draw.numbers(shape, kind), draw.numbers(shape, kind), draw.numbers([*shape[:-1], 1], kind)])


def _scaled_silu(draw: Draw) -> Call:
    kind = draw.pick(*FLOATS)
    scale = draw.maybe(draw.numbers(draw.pick([1], []), draw.pick(*FLOATS)))
    shape = draw.shape(1)
    if draw.chance(0.1):
        scale = draw.numbers([shape[-1]], draw.pick(*FLOATS))
    return Call([draw.numbers(shape, kind), scale], draw.some(alpha=1.5))


def _linear_attention_gate(draw: Draw) -> Call:
    kind, shape = draw.pick("float32", "float16", "bfloat16"), draw.sizes(3)
    beta = draw.chance()
    operands = [draw.numbers(shape, kind), draw.like(shape[-1]), draw.like(shape[-1])]
    if beta or draw.chance(0.3):
        operands.append(draw.numbers(shape, kind))
    return Call(operands, results=(True, beta) if beta or draw.chance() else (True,))


def _image_scaler(draw: Draw) -> Call:
    shape = draw.sizes(4)
    bias = [float(at) for at in range(shape[1])]
    given = {"bias": bias, "scale": draw.pick(0.0, 1.0, 2.0)} if bias else {}
    return Call([draw.numbers(shape)], given, version=EXPERIMENTAL)


def _bit_cast(draw: Draw) -> Call:
    same = draw.pick(
        ("float32", "int32", "uint32"),
        ("float64", "int64", "uint64"),
        ("int16", "uint16", "float16"),
        ("int8", "uint8"),
    )
    to = {
        "float32": 1, "uint8": 2, "int8": 3, "uint16": 4, "int16": 5, "int32": 6, "int64": 7, "float16": 10,
        "float64": 11, "uint32": 12, "uint64": 13,
    }[draw.pick(*same)]  # fmt: skip
    return Call([draw.numbers(draw.shape(), draw.pick(*same))], {"to": to}, version=26)


def _cum_prod(draw: Draw) -> Call:
    shape = draw.shape(1)
    axis = draw.integers(-len(shape), len(shape), draw.pick([], [1]), draw.pick("int32", "int64"))
    kind = draw.pick("float32", "float64", "int32", "int64")
    return Call([draw.numbers(shape, kind), axis], draw.some(reverse=1, exclusive=1), version=26)


CALLS: dict[Key, Draws] = {
    (MICROSOFT, "BiasGelu"): _bias_gelu,
    (MICROSOFT, "FastGelu"): _fast_gelu,
    (MICROSOFT, "GatedAdd"): _gated_add,
    (MICROSOFT, "Gelu"): _unary("float32"),
    (MICROSOFT, "LinearAttentionGate"): _linear_attention_gate,
    (MICROSOFT, "QuickGelu"): _unary("float32", alpha=1.7),
    (MICROSOFT, "SampleOp"): _unary("float32"),
    (MICROSOFT, "ScaledSiLU"): _scaled_silu,
    (STANDARD, "Affine"): _unary("float32", version=EXPERIMENTAL, alpha=2.0, beta=1.0),
    (STANDARD, "BitCast"): _bit_cast,
    (STANDARD, "CumProd"): _cum_prod,
    (STANDARD, "ImageScaler"): _image_scaler,
    (STANDARD, "MemcpyFromHost"): _unary("float32", "int8", "bool", "bfloat16"),
    (STANDARD, "MemcpyToHost"): _unary("float32", "int64", "bool", "float16"),
    (STANDARD, "ParametricSoftplus"): _unary("float32", version=EXPERIMENTAL, alpha=2.0, beta=1.0),
    (STANDARD, "Scale"): _unary("float32", version=EXPERIMENTAL, scale=2.0),
    (STANDARD, "ScaledTanh"): _unary("float32", version=EXPERIMENTAL, alpha=2.0, beta=1.0),
    (STANDARD, "Swish"): lambda draw: Call(
        [draw.numbers(draw.shape(), draw.pick("float32", "float16", "float64"))],
        draw.some(alpha=2.0),
        version=24,
    ),
}
