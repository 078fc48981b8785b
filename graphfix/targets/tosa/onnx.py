"""ONNX operators that torch-mlir can't convert to TOSA, or converts wrongly: tables, and checks of nodes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from graphfix.graph.view import Node
from graphfix.targets.tosa.either_format import CONDITION, LOOP, NARROW, NO_FORM, TRIPS, UNSIGNED, WRONG, power

UNKNOWN = "torch-mlir has no form for it"
UNREAD = (
    "Acos Acosh AffineGrid Asin Asinh Atanh Attention Bernoulli BitCast Col2Im ConvInteger Cosh DFT DeformConv Det"
    " GridSample GroupNormalization IsInf LRN LpPool MaxUnpool Mish Multinomial RandomNormal RandomNormalLike"
    " RandomUniform RandomUniformLike ReduceLogSumExp RMSNormalization RoiAlign RotaryEmbedding Shrink Sinh Softsign"
    " Swish TensorScatter ThresholdedRelu".split()
)
"""Operators that torch-mlir refuses for all operands, or converts to float64."""
UNREAD_TYPES = {
    **dict.fromkeys(
        "Abs Add Clip CumSum Equal Greater GreaterOrEqual Less LessOrEqual MatMul Max Min Mod Mul Pow ReduceL1 ReduceL2"
        " ReduceMean ReduceProd ReduceSum ReduceSumSquare Sub Sum".split(),
        NARROW,
    ),
    "Pad": frozenset({"int16"}),
    "Relu": NARROW | {"int32"},
    "Range": NARROW | {"float32", "float64"},
}
WRONG_TYPES = {"Neg": frozenset({"int8"})}
"""Operator -> types of its first operand for which torch-mlir converts it wrongly.

`UNREAD_TYPES` lists refused types.
"""
UNSUPPORTED: dict[tuple[str, str], str] = {
    **dict.fromkeys((("", op) for op in ("LSTM", "GRU", "RNN", "Scan", "ReverseSequence")), LOOP),
    ("", "Loop"): TRIPS,
    ("", "If"): CONDITION,
    ("com.microsoft", "DynamicQuantizeLSTM"): LOOP,
    ("", "NonZero"): NO_FORM,
    ("", "NonMaxSuppression"): NO_FORM,
    **{("", op): UNKNOWN for op in UNREAD},
}
RESIZES = frozenset({("half_pixel", "linear"), ("align_corners", "linear"), ("half_pixel", "bilinear")})
ITSELF = {**dict.fromkeys(("float16", "float32", "int32", "int64"), "Max"), "bool": "Or"}
"""Element type -> the operator that wraps a constant operand of a Concat.

Both operands of the operator are the constant.
"""
PAIR = 2
IMAGE = 4
"""The number of axes of a batch of images."""
STEPS_AT = 4
"""The index of Slice's operand with the steps."""
SIZES_AT = 3
"""The index of Resize's operand with the sizes of the result."""


def form(node: Node) -> str | None:
    """Return why the node will not convert, or will be converted wrongly; None if nothing is known against it."""
    ask = _ASK.get(node.op) if not node.domain else None
    row = UNSUPPORTED.get((node.domain, node.op)) or (_of_type(node) if not node.domain else None)
    return row or (ask(node) if ask is not None else None)


def _of_type(node: Node) -> str | None:
    """Return why the operator can't be converted for the types of its values, or None."""
    dtype = node.operands[0].dtype if node.operands and node.operands[0] is not None else ""
    for value in (*node.operands, *node.results):
        if value is not None and value.dtype in UNSIGNED:
            return f"torch-mlir takes numbers of {value.dtype} for signed ones, or finds no type for them"
    if dtype in UNREAD_TYPES.get(node.op, ()):
        return f"torch-mlir has no form for it of {dtype}"
    return WRONG if dtype in WRONG_TYPES.get(node.op, ()) else None


def _average(node: Node) -> str | None:
    """Return why an AveragePool can't be converted (it has one or three spatial axes, or dilations), or None."""
    kernel = node.attributes.get("kernel_shape")
    if isinstance(kernel, tuple) and len(kernel) != PAIR:
        axes = "one axis" if len(kernel) == 1 else f"{len(kernel)} axes"
        return f"torch-mlir writes no pool of averages along {axes}"
    return _dilated(node)


def _dilated(node: Node) -> str | None:
    """Return why an operator can't be converted because it has dilations, or None."""
    numbers = node.attributes.get("dilations")
    if isinstance(numbers, tuple) and any(isinstance(number, int) and number > 1 for number in numbers):
        return "torch-mlir writes no such operator with dilations"
    return None


def _transposed(node: Node) -> str | None:
    """Return why a ConvTranspose can't be converted, or None.

    torch-mlir requires explicit, equal padding at both ends of each axis, one group, and no dilations.
    """
    pads, pad = node.attributes.get("pads"), node.attributes.get("auto_pad", "NOTSET")
    even = not isinstance(pads, tuple) or pads[: len(pads) // 2] == pads[len(pads) // 2 :]
    if pad not in ("NOTSET", "VALID") or node.attributes.get("output_shape") is not None or not even:
        return "torch-mlir pads a ConvTranspose by even pads alone"
    grouped = node.attributes.get("group", 1) != 1
    return "torch-mlir writes no ConvTranspose in groups" if grouped else _dilated(node)


def _convolved(node: Node) -> str | None:
    """Return why a Conv can't be converted (it has groups and more than two spatial axes), or None."""
    if node.attributes.get("group", 1) != 1 and node.operand(0).shape.ranked and node.operand(0).shape.rank > IMAGE:
        return "torch-mlir writes no Conv in groups along three axes"
    return None


def _trained(node: Node) -> str | None:
    """Return why a BatchNormalization can't be converted (it is in training mode), or None."""
    return "torch-mlir writes numbers of float64" if node.attributes.get("training_mode") else None


def _computed(node: Node) -> str | None:
    """Return why a node can't be converted because an operand after the first is not a constant, or None."""
    value = next((value for value in node.operands[1:] if value is not None and value.kind != "constant"), None)
    return None if value is None else f"torch-mlir reads a constant as operand '{value.name}' alone"


def _dropped(node: Node) -> str | None:
    """Return why a Dropout can't be converted (its mask is an output, or a later operand is computed), or None."""
    mask = node.results[1] if len(node.results) > 1 else None
    if mask in node.graph.outputs:
        return "torch-mlir leaves its mask in another dialect"
    return _computed(node)


def _scaled(node: Node) -> str | None:
    """Return why a QLinearMatMul can't be converted, or None: all operands but the two matrices must be constants.

    The other operands are scales and zero points.
    """
    matrices = 0, 3
    if all(value is None or value.kind == "constant" for at, value in enumerate(node.operands) if at not in matrices):
        return None
    return "torch-mlir reads constant scales and zero points alone"


def _normalized(_: Node) -> str | None:
    """Return why an LpNormalization converts wrongly: for elements that are all 0, TOSA returns NaN."""
    return "of numbers that are all 0 TOSA makes NaN, and onnxruntime 0"


def _slice(node: Node) -> str | None:
    """Return why a Slice can't be converted (it has a negative step), or None."""
    given = node.operands[STEPS_AT] if len(node.operands) > STEPS_AT else None
    steps = given.elements if given is not None else None
    if any(isinstance(step, int) and step < 0 for step in steps or ()):
        return "torch-mlir slices in no negative steps"
    return None


def _pad(node: Node) -> str | None:
    """Return why a Pad can't be converted (its mode is wrap), or None."""
    return "torch-mlir has no form for the mode wrap" if node.attributes.get("mode") == "wrap" else None


def _scatter(node: Node) -> str | None:
    """Return why a ScatterElements can't be converted (it has a reduction), or None."""
    how = node.attributes.get("reduction", "none")
    return None if how == "none" else f"torch-mlir has no form for the reduction {how}"


def _resize(node: Node) -> str | None:
    """Return why a Resize can't be converted correctly, or None."""
    mode = str(node.attributes.get("mode", "nearest"))
    if mode == "linear" and len(node.operands) > SIZES_AT and node.operands[SIZES_AT] is not None:
        return "torch-mlir reads a linear Resize by scales alone, not by sizes"
    where = str(node.attributes.get("coordinate_transformation_mode", "half_pixel"))
    return None if (where, mode) in RESIZES else f"torch-mlir reads no {mode} Resize with {where}, or reads it wrongly"


def _concat(node: Node) -> str | None:
    """Return why a Concat can't be converted (an operand is a constant), or None."""
    if any(value is not None and value.kind == "constant" for value in node.operands):
        return "torch-mlir leaves a constant operand of a Concat in another dialect"
    return None


def _loss(node: Node) -> str | None:
    """Return why a NegativeLogLikelihoodLoss can't be converted (it is a loss of images), or None."""
    if node.operand(0).shape.ranked and node.operand(0).shape.rank > PAIR:
        return "torch-mlir converts losses of scores [batch,classes] only, not losses of images"
    return None


def _gelu(node: Node) -> str | None:
    """Return why a Gelu converts wrongly (it is approximated by Tanh), or None."""
    return WRONG if node.attributes.get("approximate") == "tanh" else None


def _einsum(node: Node) -> str | None:
    """Return why an Einsum converts wrongly (it has more than two operands), or None."""
    if len(node.operands) > PAIR:
        return "torch-mlir computes another thing of an Einsum of more than two operands"
    return None


_ASK: Mapping[str, Callable[[Node], str | None]] = MappingProxyType(
    {
        "AveragePool": _average,
        "BatchNormalization": _trained,
        "Concat": _concat,
        "Conv": _convolved,
        "ConvTranspose": _transposed,
        "CumSum": _computed,
        "Dropout": _dropped,
        "Einsum": _einsum,
        "Gelu": _gelu,
        "LpNormalization": _normalized,
        "MaxPool": _dilated,
        "NegativeLogLikelihoodLoss": _loss,
        "Pad": _pad,
        "Pow": power,
        "QLinearMatMul": _scaled,
        "Resize": _resize,
        "ScatterElements": _scatter,
        "Slice": _slice,
    }
)
"""Operator -> the check of its nodes."""
