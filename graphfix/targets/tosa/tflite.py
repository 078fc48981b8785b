"""TFLite operators that tosa-converter-for-tflite can't convert, or converts wrongly: tables, and checks of nodes.

docs/tosa-values-tflite.md has the source of each entry: every operator, its types, and the models that were tried.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import exp
from types import MappingProxyType

from graphfix.graph.view import Node
from graphfix.targets.tosa.either_format import (
    CAST_OF_INT4,
    CONDITION,
    LOOP,
    NARROW,
    NO_FORM,
    TRIPS,
    UNSIGNED,
    WRONG,
    power,
)

STATE = "it keeps a state, and the converter writes variables that no TOSA tool reads"
STABLEHLO = "STABLEHLO_"
"""The prefix of StableHLO's operators. 32 of these operators were tried, and not one converts."""
LEFT_OUT = "the converter leaves the operators of StableHLO as they are"
UNSUPPORTED: dict[str, str] = {
    **dict.fromkeys(
        "UNIDIRECTIONAL_SEQUENCE_LSTM LSTM RNN UNIDIRECTIONAL_SEQUENCE_RNN BIDIRECTIONAL_SEQUENCE_LSTM"
        " BIDIRECTIONAL_SEQUENCE_RNN".split(),
        LOOP,
    ),
    **dict.fromkeys(
        "COMPLEX_ABS RIGHT_SHIFT WHERE NON_MAX_SUPPRESSION_V4 NON_MAX_SUPPRESSION_V5 CUMSUM TOPK_V2 FILL"
        " LOCAL_RESPONSE_NORMALIZATION REVERSE_SEQUENCE DYNAMIC_UPDATE_SLICE EMBEDDING_LOOKUP SEGMENT_SUM"
        " UNSORTED_SEGMENT_SUM UNSORTED_SEGMENT_PROD UNSORTED_SEGMENT_MAX UNSORTED_SEGMENT_MIN MATRIX_DIAG"
        " MATRIX_SET_DIAG BITCAST SPARSE_TO_DENSE UNIQUE L2_POOL_2D RANDOM_UNIFORM RANDOM_STANDARD_NORMAL"
        " MULTINOMIAL".split(),
        NO_FORM,
    ),
    **dict.fromkeys("SVDF VAR_HANDLE READ_VARIABLE ASSIGN_VARIABLE CALL_ONCE".split(), STATE),
    "WHILE": TRIPS,
    "IF": CONDITION,
    "FLOOR_MOD": WRONG,
    "ROUND": f"numbers halfway between two it rounds up, LiteRT to the even one: {WRONG}",
    "DENSIFY": "what it unpacks is not known before the model runs",
}
DEPENDENCIES = "model_control_dependencies"
"""The metadata entry that orders operators. It is redundant in a model without state, where the operands order them."""
METADATA: Mapping[str, str] = MappingProxyType(
    {
        "keep_stablehlo_constant": "with it the converter leaves every constant as stablehlo.constant",
        DEPENDENCIES: "the converter reads its edges as tfl.control_node, and refuses the model",
    }
)
"""Metadata entry -> the effect on the converter if a file has the entry, whatever its content is."""
COMPARISONS = frozenset("LESS LESS_EQUAL GREATER GREATER_EQUAL EQUAL NOT_EQUAL".split())
BY_TYPE: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        **dict.fromkeys(COMPARISONS, NARROW),
        **dict.fromkeys(("EQUAL", "NOT_EQUAL"), NARROW | {"bool"}),
        **dict.fromkeys(("ABS", "SIGN", "SQRT"), NARROW),
        **dict.fromkeys(("EXP", "LOG", "RSQRT", "GELU", "HARD_SWISH"), frozenset({"int16"})),
        **dict.fromkeys(("DIV", "FLOOR_DIV", "LOG_SOFTMAX", "L2_NORMALIZATION"), frozenset({"int8"})),
        **dict.fromkeys(("MEAN", "REDUCE_PROD", "ARG_MAX"), frozenset({"int32"})),
        "ARG_MIN": frozenset({"int8", "int32"}),
        **dict.fromkeys(("GATHER", "GATHER_ND"), frozenset({"bool"})),
    }
)
"""Operator -> types of its first operand for which the converter has no form, or a form that TOSA 1.0 lacks."""
WRONG_BY_TYPE: Mapping[str, frozenset[str]] = MappingProxyType({"NEG": NARROW, "SUM": frozenset({"int16"})})
"""Operator -> types of its first operand for which the converter computes a wrong result.

For NEG it negates the numbers that the integers represent, and for SUM it shifts int16 out of 32 bits.
"""
INT8 = (-128, 127)
FAR = 2.0**31
"""An EXP result of at least this many quantization steps wraps in the converter's table."""
INT16_SPAN, TABLE_ENDS = 2**16 - 1, 10
"""The number of steps in int16, and the largest distance of operands in the converter's table for SOFTMAX."""


def form(node: Node) -> str | None:
    """Return why the node will not convert, or will be converted wrongly; None if nothing is known against it."""
    if node.op.startswith(STABLEHLO):
        return LEFT_OUT
    ask = _ASK.get(node.op)
    return UNSUPPORTED.get(node.op) or _by_type(node) or (ask(node) if ask is not None else None)


def _by_type(node: Node) -> str | None:
    """Return why the operator can't be converted, or not correctly, for the types of its values; None if it can."""
    values = [value for value in (*node.operands, *node.results) if value is not None]
    unsigned = next((value.dtype for value in values if value.dtype in UNSIGNED), None)
    if unsigned is not None:
        return f"TOSA's profiles have no {unsigned}"
    if {"int4", "float32"} <= {value.dtype for value in values}:
        return CAST_OF_INT4
    dtype = values[0].dtype if values else ""
    if dtype in BY_TYPE.get(node.op, ()):
        compared = node.op in COMPARISONS
        return f"the converter compares no {dtype}" if compared else f"the converter has no {node.op} of {dtype}"
    return WRONG if dtype in WRONG_BY_TYPE.get(node.op, ()) else None


def _softmax(node: Node) -> str | None:
    """Return why a SOFTMAX can't be converted correctly, or None."""
    result = node.results[0]
    if result is not None and result.dtype != node.operand(0).dtype:
        return f"it makes {result.dtype} of {node.operand(0).dtype}, and the converter wants one type"
    beta = node.attributes.get("beta", 1.0)
    if beta != 1.0:
        return f"its beta is {beta:g}, and the converter knows no other than 1"
    scale, _ = node.operand(0).quantization or (0.0, 0)
    apart = node.operand(0).dtype == "int16" and scale * INT16_SPAN > TABLE_ENDS
    return f"of numbers that are {TABLE_ENDS} and more apart {WRONG}" if apart else None


def _product(node: Node) -> str | None:
    """Return why a BATCH_MATMUL can't be converted (its operands and result have different types), or None."""
    values = (*node.operands, *node.results)
    types = dict.fromkeys(value.dtype for value in values if value is not None)
    return f"the converter takes one type, not {' and '.join(types)}" if len(types) > 1 else None


def _slice(node: Node) -> str | None:
    """Return why a SLICE can't be converted (its begin is not known before the run), or None."""
    return None if node.operand(1).elements is not None else "where it begins is known only at run time"


def _strided_slice(node: Node) -> str | None:
    """Return why a STRIDED_SLICE can't be converted, or None.

    Its bounds and steps must be known before the run. A begin before the first element and negative steps are refused.
    """
    places = [node.operand(at).elements for at in (1, 2, 3)]
    if None in places:
        return "where it begins and ends is known only at run time"
    data, starts = node.operand(0).shape.axes or (), places[0] or ()
    if any(
        isinstance(size, int) and isinstance(at, int) and at < -size for size, at in zip(data, starts, strict=False)
    ):
        return "it begins in front of its operand, and the converter does not cut that off"
    backwards = any(isinstance(step, int) and step < 0 for step in places[2] or ())
    return "it goes backwards, and the converter knows no such form" if backwards else None


def _scatter(node: Node) -> str | None:
    """Return why a SCATTER_ND can't be converted, or None.

    Its indices must be known before the run, and all different.
    """
    indices, places = node.operand(0), node.operand(0).elements
    axes = indices.shape.axes or ()
    if places is None or not axes:
        return "the converter takes indices that are known alone"
    width = axes[-1] if isinstance(axes[-1], int) else 1
    rows = [places[at : at + width] for at in range(0, len(places), max(width, 1))]
    return None if len(set(rows)) == len(rows) else "an index stands there twice, and the converter adds nothing up"


def _nearest(node: Node) -> str | None:
    """Return why a RESIZE_NEAREST_NEIGHBOR converts wrongly, or None: it needs half_pixel_centers or align_corners."""
    if node.attributes.get("half_pixel_centers") or node.attributes.get("align_corners"):
        return None
    return f"its coordinates are neither of centers nor of corners: {WRONG}"


def _exponential(node: Node) -> str | None:
    """Return why an EXP of int8 converts wrongly, or None.

    The converter computes it by a table. A result that is too large for the table wraps.
    """
    data, result = node.operand(0), node.results[0]
    if data.dtype != "int8" or result is None or data.quantization is None or result.quantization is None:
        return None
    (scale, zero), (step, _) = data.quantization, result.quantization
    largest = (INT8[1] - zero) * scale
    return WRONG if exp(min(largest, 700.0)) / step >= FAR else None


_ASK: Mapping[str, Callable[[Node], str | None]] = MappingProxyType(
    {
        "POW": power,
        "SOFTMAX": _softmax,
        "BATCH_MATMUL": _product,
        "SLICE": _slice,
        "STRIDED_SLICE": _strided_slice,
        "RESIZE_NEAREST_NEIGHBOR": _nearest,
        "SCATTER_ND": _scatter,
        "EXP": _exponential,
    }
)
"""Operator -> the check of its nodes."""
