"""Check whether a node can be converted to TOSA; `onnx` and `tflite` contain the checks of the node's operator."""

from __future__ import annotations

from collections.abc import Iterable

from graphfix.graph.edits import Leave
from graphfix.graph.view import Node, Value
from graphfix.operators.row import TFLITE
from graphfix.results import Site
from graphfix.targets.target import value_text
from graphfix.targets.tosa import either_format as tosa


def unconvertible(node: Node) -> Leave | None:
    """Return the finding for a node that will not convert, with the first reason; None if there is no reason.

    The finding blocks the model if no converter makes a correct result. It does not block if a conversion may succeed.
    """
    values = [value for value in (*node.operands, *node.results) if value is not None]
    reason = _form(node) or _owner(node) or _scales(node) or _type(node, values)
    return Leave(None, reason, "GF305", "left", reason not in tosa.PASSED) if reason is not None else None


def _owner(node: Node) -> str | None:
    """Return why an operator that its format does not define can't be converted, or None for the format's operators."""
    if node.domain in tosa.CUSTOM:
        return tosa.KEPT_CUSTOM
    if node.domain not in tosa.STANDARD:
        return f"the converters to TOSA do not know the operators of '{node.domain}'"
    return None


def _scales(node: Node) -> str | None:
    """Return why an element-wise operator can't be converted (an operand has several scales along an axis), or None."""
    if node.row is None or node.row.style not in tosa.ELEMENT_WISE:
        return None
    value = next((value for value in node.operands if value is not None and value.scales > 1), None)
    if value is None:
        return None
    return f"'{value_text(value)}' has one scale for each index of an axis: no element-wise operator in TOSA does"


def _form(node: Node) -> str | None:
    """Return why the node's operator can't be converted, or None. Only the tables of the node's format are imported."""
    if node.domain == TFLITE:
        from graphfix.targets.tosa import tflite

        return tflite.form(node)
    from graphfix.targets.tosa import onnx

    return onnx.form(node)


def _type(node: Node, values: list[Value]) -> str | None:
    """Return why the first value whose type TOSA lacks can't be converted, or None.

    Constants of int64 are accepted, because they are shapes or axes in many models. In a body the result is always
    None, because the node that contains the body is reported already.
    """
    if node.graph.path != "main":
        return None
    return next(filter(None, map(_lacking, values)), None)


def _lacking(value: Value) -> str | None:
    """Return why TOSA has no type for the value, or None. An int64 becomes int32 if all of its elements fit."""
    if value.dtype != "int64":
        return tosa.TYPES.get(value.dtype)
    if value.kind in ("input", "overridable"):
        return f"'{value.name}' is an input of int64, which TOSA 1.0 has not (--narrow-inputs makes it int32)"
    if value in value.graph.outputs:
        return f"'{value.name}' is an output of int64, which TOSA 1.0 has not: let the model return int32"
    low, high = value.bounds or (0, 0)
    if value.bounds is not None and tosa.INT32[0] <= low and high <= tosa.INT32[1]:
        return None
    # An int64 constant is a shape, an axis or an index, which the converter reads.
    return None if value.kind == "constant" else tosa.TYPES["int64"]


def leaves_int64(sites: Iterable[Site]) -> bool:
    """Return whether a finding states that an integer may be too large for int32."""
    return any(site.reason == tosa.TYPES["int64"] for site in sites)
