"""Name what TOSA 1.0 at level 8k can't take, node by node; nothing is changed (both formats, target tosa).

    ADD(x[1,1,2,1,3,1,4], y[..])      rank 7: the level ends at 6                      GF301
    ADD(x[?,3], y[?,3])               a free size: TOSA 1.0 has none                   GF302
    y = LSTM(x, w, r)                 the converters have no form for it               GF305
    p = Pow(x, e)                     x may be negative: TOSA leaves that open         GF305

It runs last: what other rewrites of the target bring into a form that is read is no finding any more. Each line is
what the converters and the reference model were seen to do (docs/decisions.md): some refuse with the name of another
operator, some end the process, and some convert without a word and compute something else.
"""

from __future__ import annotations

from collections.abc import Iterator

from graphfix.graph.edits import DEFAULT, Edit, Leave, Options
from graphfix.graph.view import Node, Value
from graphfix.operators.row import TFLITE

MAX_RANK = 6
NO_FORM = "the converters to TOSA have no form for it"
LOOP = "it runs a body again and again, and the converters to TOSA write no loops"
WRONG = "it converts without a word, and TOSA computes something else"
UNSUPPORTED: dict[tuple[str, str], str] = {
    **dict.fromkeys((("", "LSTM"), ("", "GRU"), ("", "RNN"), ("", "Loop"), ("", "Scan")), LOOP),
    **dict.fromkeys(((TFLITE, "WHILE"), (TFLITE, "UNIDIRECTIONAL_SEQUENCE_LSTM"), (TFLITE, "LSTM")), LOOP),
    ("", "If"): "its condition is known only at run time",
    (TFLITE, "IF"): "its condition is known only at run time",
    ("com.microsoft", "DynamicQuantizeLSTM"): LOOP,
    (TFLITE, "FLOOR_MOD"): WRONG,
    (TFLITE, "COMPLEX_ABS"): NO_FORM,
    (TFLITE, "RIGHT_SHIFT"): NO_FORM,
    ("", "NonZero"): NO_FORM,
    (TFLITE, "WHERE"): NO_FORM,
    (TFLITE, "NON_MAX_SUPPRESSION_V4"): NO_FORM,
    (TFLITE, "NON_MAX_SUPPRESSION_V5"): NO_FORM,
    ("", "NonMaxSuppression"): NO_FORM,
    (TFLITE, "DENSIFY"): "what it unpacks is not known before the model runs",
}
POWERS = frozenset({("", "Pow"), (TFLITE, "POW")})
NEVER_NEGATIVE = frozenset(
    "Abs Sqrt Exp Relu Sigmoid Softmax Softplus ABS SQRT EXP RELU RELU6 LOGISTIC SOFTMAX SQUARE SQUARED_DIFFERENCE"
    " RSQRT ReduceL2 ReduceSumSquare".split()
)
"""Operators whose results are at least 0."""
TYPES = {
    "uint8": "TOSA's profiles have no uint8",
    "int64": "TOSA 1.0 has no int64",
    "float64": "TOSA has no float64",
    "string": "TOSA has no strings",
}
COMPARISONS = frozenset("LESS LESS_EQUAL GREATER GREATER_EQUAL EQUAL NOT_EQUAL".split())
GATHERS = frozenset({("", "Gather"), ("", "GatherElements"), ("", "GatherND")})
NARROW = frozenset({"int8", "int16"})
RESIZES = frozenset({("half_pixel", "linear"), ("align_corners", "linear"), ("half_pixel", "bilinear")})
CUSTOM = frozenset({"tflite.custom"})
ELEMENT_WISE = frozenset({"multidirectional", "unidirectional"})
STANDARD = frozenset({"", TFLITE})


def plan(node: Node, options: Options = DEFAULT) -> Iterator[Edit]:  # noqa: ARG001 -- every plan takes the options
    """Yield a finding for each thing that stands in the way."""
    values = [value for value in (*node.operands, *node.results) if value is not None]
    yield from _sizes(values)
    why = UNSUPPORTED.get((node.domain, node.op)) or _operator(node) or _type(node, values)
    if why is not None:
        yield Leave(None, why, "GF305", "left")


def _sizes(values: list[Value]) -> Iterator[Leave]:
    """The first value that is too long or too open."""
    for value in values:
        axes = value.shape.axes
        if axes is None or not value.shape.static:
            yield Leave(None, f"{value} has a size that is free: TOSA 1.0 has none", "GF302", "left")
            return
        if len(axes) > MAX_RANK:
            yield Leave(None, f"{value} has rank {len(axes)}: TOSA's level 8k ends at {MAX_RANK}", "GF301", "left")
            return
        if 0 in axes and value.kind != "constant" and value.is_read:
            yield Leave(None, f"{value} has no elements: TOSA has no size 0", "GF305", "left")
            return


def _operator(node: Node) -> str | None:
    if node.domain in CUSTOM:
        return "it is a custom operator: TOSA keeps it as tosa.custom, and only its owner can run it"
    if node.domain not in STANDARD:
        return f"the converters to TOSA do not know the operators of '{node.domain}'"
    if node.row is not None and node.row.style in ELEMENT_WISE and _per_axis(node) is not None:
        return f"'{_per_axis(node)}' has one scale for each index of an axis: no element-wise operator in TOSA does"
    return _form(node)


def _per_axis(node: Node) -> Value | None:
    return next((value for value in node.operands if value is not None and value.scales > 1), None)


def _form(node: Node) -> str | None:
    if (node.domain, node.op) in POWERS and not _never_negative(node.operand(0)):
        return "its base may be negative, and tosa.pow of a negative base is unpredictable"
    if (node.domain, node.op) == ("", "Resize"):
        return _resize(node)
    if (node.domain, node.op) in GATHERS and _many_int64(node.operand(1)):
        return "its indices are int64, which TOSA 1.0 has not: with int32 ones it converts"
    if node.domain == TFLITE and node.op in COMPARISONS and node.operand(0).dtype in NARROW:
        return f"the converter compares no {node.operand(0).dtype}"
    return None


def _many_int64(indices: Value) -> bool:
    """Whether these constant indices stay int64: torch-mlir makes a slice of a Gather with a single one."""
    return indices.kind == "constant" and indices.dtype == "int64" and set(indices.shape.axes or ()) - {1} != set()


def _never_negative(value: Value) -> bool:
    if value.kind == "constant":
        numbers = value.literal
        return numbers is not None and all(isinstance(n, (int, float)) and n >= 0 for n in numbers)
    return value.producer is not None and value.producer.op in NEVER_NEGATIVE


def _resize(node: Node) -> str | None:
    mode = str(node.attributes.get("mode", "nearest"))
    where = str(node.attributes.get("coordinate_transformation_mode", "half_pixel"))
    return None if (where, mode) in RESIZES else f"torch-mlir reads no {mode} Resize with {where}, or reads it wrongly"


def _type(node: Node, values: list[Value]) -> str | None:
    """The first type that TOSA lacks; the constants that say a shape or an axis are int64 in many models.

    In a body nothing is said of types: the node that holds it is named already.
    """
    if node.graph.path != "main":
        return None
    lacking = (value.dtype for value in values if value.dtype in TYPES and not _steering(value))
    return next((TYPES[dtype] for dtype in lacking), None)


def _steering(value: Value) -> bool:
    return value.kind == "constant" and value.dtype == "int64"
