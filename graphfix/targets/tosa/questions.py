"""What TOSA, or a converter to it, can't take of a node; `onnx` and `tflite` are asked about the node's operator."""

from __future__ import annotations

from collections.abc import Iterable

from graphfix.graph.edits import Leave
from graphfix.graph.view import Node, Value
from graphfix.operators.row import TFLITE
from graphfix.results import Site
from graphfix.targets.target import value_text
from graphfix.targets.tosa import either_format as tosa


def unconvertible(node: Node) -> Leave | None:
    """Return a node that stays, with the first reason against its conversion; None if there is none.

    It blocks the model if no converter makes anything right of it, and does not if a conversion may succeed.
    """
    values = [value for value in (*node.operands, *node.results) if value is not None]
    reason = _form(node) or _owner(node) or _scales(node) or _type(node, values)
    return Leave(None, reason, "GF305", "left", reason not in tosa.PASSED) if reason is not None else None


def _owner(node: Node) -> str | None:
    """An operator that is none of the format's own."""
    if node.domain in tosa.CUSTOM:
        return tosa.KEPT_CUSTOM
    if node.domain not in tosa.STANDARD:
        return f"the converters to TOSA do not know the operators of '{node.domain}'"
    return None


def _scales(node: Node) -> str | None:
    """An element-wise operator on a value with one scale for each index of an axis."""
    if node.row is None or node.row.style not in tosa.ELEMENT_WISE:
        return None
    value = next((value for value in node.operands if value is not None and value.scales > 1), None)
    if value is None:
        return None
    return f"'{value_text(value)}' has one scale for each index of an axis: no element-wise operator in TOSA does"


def _form(node: Node) -> str | None:
    """Return why the node's operator can't be converted; the tables of one format alone are imported."""
    if node.domain == TFLITE:
        from graphfix.targets.tosa import tflite

        return tflite.form(node)
    from graphfix.targets.tosa import onnx

    return onnx.form(node)


def _type(node: Node, values: list[Value]) -> str | None:
    """The first type that TOSA lacks; the constants that say a shape or an axis are int64 in many models.

    In a body nothing is said of types: the node that holds it is named already.
    """
    if node.graph.path != "main":
        return None
    return next(filter(None, map(_lacking, values)), None)


def _lacking(value: Value) -> str | None:
    """Why TOSA can't hold a value of its type; int64 becomes int32 where every number of it fits."""
    if value.dtype != "int64":
        return tosa.TYPES.get(value.dtype)
    if value.kind in ("input", "overridable"):
        return f"'{value.name}' is an input of int64, which TOSA 1.0 has not (--narrow-inputs makes it int32)"
    if value in value.graph.outputs:
        return f"'{value.name}' is an output of int64, which TOSA 1.0 has not: let the model return int32"
    low, high = value.bounds or (0, 0)
    if value.bounds is not None and tosa.INT32[0] <= low and high <= tosa.INT32[1]:
        return None
    return None if value.kind == "constant" else tosa.TYPES["int64"]  # it steers: a shape, an axis, an index


def leaves_int64(sites: Iterable[Site]) -> bool:
    """Whether a finding says that a whole number may be too large for int32."""
    return any(site.reason == tosa.TYPES["int64"] for site in sites)
