"""What tosa-converter-for-tflite can't take of a node, or takes and gets wrong; tables: `operators.tosa_tflite`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import exp
from types import MappingProxyType

from graphfix.engine import signs
from graphfix.graph.view import Node
from graphfix.operators import tosa, tosa_tflite

INT8 = (-128, 127)
FAR = 2.0**31
"""Steps beyond which the converter's table wraps."""
INT16_SPAN, TABLE_ENDS = 2**16 - 1, 10
"""Where the converter's table for a SOFTMAX of int16 ends."""


def form(node: Node) -> str | None:
    """Why the node stays as it is and will not convert, or will be wrong; None if nothing is known against it."""
    if node.op.startswith(tosa_tflite.STABLEHLO):
        return tosa_tflite.LEFT_OUT
    ask = _ASK.get(node.op)
    return tosa_tflite.UNSUPPORTED.get(node.op) or _by_type(node) or (ask(node) if ask is not None else None)


def _by_type(node: Node) -> str | None:
    """A type that the operator is not converted for, or not rightly."""
    values = [value for value in (*node.operands, *node.results) if value is not None]
    unsigned = next((value.dtype for value in values if value.dtype in tosa_tflite.UNSIGNED), None)
    if unsigned is not None:
        return f"TOSA's profiles have no {unsigned}"
    if {"int4", "float32"} <= {value.dtype for value in values}:
        return tosa.CAST_OF_INT4
    dtype = values[0].dtype if values else ""
    if dtype in tosa_tflite.BY_TYPE.get(node.op, ()):
        compared = node.op in tosa_tflite.COMPARISONS
        return f"the converter compares no {dtype}" if compared else f"the converter has no {node.op} of {dtype}"
    return tosa_tflite.WRONG if dtype in tosa_tflite.WRONG_BY_TYPE.get(node.op, ()) else None


def _power(node: Node) -> str | None:
    return signs.power(node.operand(0))


def _softmax(node: Node) -> str | None:
    result = node.results[0]
    if result is not None and result.dtype != node.operand(0).dtype:
        return f"it makes {result.dtype} of {node.operand(0).dtype}, and the converter wants one type"
    beta = node.attributes.get("beta", 1.0)
    if beta != 1.0:
        return f"its beta is {beta:g}, and the converter knows no other than 1"
    scale, _ = node.operand(0).quantization or (0.0, 0)
    apart = node.operand(0).dtype == "int16" and scale * INT16_SPAN > TABLE_ENDS
    return f"of numbers that are {TABLE_ENDS} and more apart {tosa_tflite.WRONG}" if apart else None


def _product(node: Node) -> str | None:
    """The operands and the result of a BATCH_MATMUL have one type."""
    values = (*node.operands, *node.results)
    types = dict.fromkeys(value.dtype for value in values if value is not None)
    return f"the converter takes one type, not {' and '.join(types)}" if len(types) > 1 else None


def _slice(node: Node) -> str | None:
    """A SLICE is cut at places that are known."""
    return None if node.operand(1).elements is not None else "where it begins is known only at run time"


def _strided_slice(node: Node) -> str | None:
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
    """A SCATTER_ND is converted where its indices are known, and all different."""
    indices, places = node.operand(0), node.operand(0).elements
    axes = indices.shape.axes or ()
    if places is None or not axes:
        return "the converter takes indices that are known alone"
    width = axes[-1] if isinstance(axes[-1], int) else 1
    rows = [places[at : at + width] for at in range(0, len(places), max(width, 1))]
    return None if len(set(rows)) == len(rows) else "an index stands there twice, and the converter adds nothing up"


def _nearest(node: Node) -> str | None:
    if node.attributes.get("half_pixel_centers") or node.attributes.get("align_corners"):
        return None
    return f"its coordinates are neither of centers nor of corners: {tosa_tflite.WRONG}"


def _exponential(node: Node) -> str | None:
    """EXP of int8 is a table: what is too large for it wraps."""
    data, result = node.operand(0), node.results[0]
    if data.dtype != "int8" or result is None or data.quantization is None or result.quantization is None:
        return None
    (scale, zero), (step, _) = data.quantization, result.quantization
    largest = (INT8[1] - zero) * scale
    return tosa_tflite.WRONG if exp(min(largest, 700.0)) / step >= FAR else None


_ASK: Mapping[str, Callable[[Node], str | None]] = MappingProxyType(
    {
        "POW": _power,
        "SOFTMAX": _softmax,
        "BATCH_MATMUL": _product,
        "SLICE": _slice,
        "STRIDED_SLICE": _strided_slice,
        "RESIZE_NEAREST_NEIGHBOR": _nearest,
        "SCATTER_ND": _scatter,
        "EXP": _exponential,
    }
)
"""Operator -> its question."""
