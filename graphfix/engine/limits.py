"""What a target can't take, node by node, in what the rewrites made of the model: nothing is changed.

    ADD(x[1,1,2,1,3,1,4], y[..])      rank 7: the level ends at 6                      GF301
    ADD(x[?,3], y[?,3])               a free size: TOSA 1.0 has none                   GF302
    y = LSTM(x, w, r)                 the converters have no form for it               GF305
    p = Pow(x, e)                     x may be negative: TOSA leaves that open         GF305

The tables are a target's (`operators.tosa`); the questions are asked in order, and the first answer about an operator
is the one that is reported. What only one format can ask is in `limits_onnx` and `limits_tflite`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import TypeAlias

from graphfix.engine import limits_onnx, limits_tflite
from graphfix.graph.edits import Leave
from graphfix.graph.view import Node, Value
from graphfix.operators import tosa
from graphfix.operators.row import TFLITE
from graphfix.results import Site

Questions: TypeAlias = Callable[[Node], Iterator[Leave]]
"""What stands in the way of a node."""


def of_tosa(node: Node) -> Iterator[Leave]:
    """A finding for each thing that TOSA or a converter to it can't take."""
    values = [value for value in (*node.operands, *node.results) if value is not None]
    sizes = next(filter(None, map(_size, values)), None)
    if sizes is not None:
        yield sizes
    why = _form(node) or _owner(node) or _scales(node) or _type(node, values)
    if why is not None:
        yield Leave(None, why, "GF305", "left", blocks=why not in tosa.PASSED)


def _size(value: Value) -> Leave | None:
    """Too long, too open, or nothing at all."""
    axes = value.shape.axes
    if axes is None or not value.shape.static:
        return Leave(None, f"{value} has a size that is free: TOSA 1.0 has none", "GF302", "left")
    if len(axes) > tosa.MAX_RANK:
        why = f"{value} has rank {len(axes)}: TOSA's level 8k ends at {tosa.MAX_RANK}"
        return Leave(None, why, "GF301", "left", blocks=True)
    if 0 in axes and value.kind != "constant" and value.is_read:
        return Leave(None, f"{value} has no elements: TOSA has no size 0", "GF305", "left")
    return None


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
    return f"'{value}' has one scale for each index of an axis: no element-wise operator in TOSA does"


def _form(node: Node) -> str | None:
    return limits_tflite.form(node) if node.domain == TFLITE else limits_onnx.form(node)


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
    return None if _steering(value) else tosa.TYPES["int64"]


def leaves_int64(sites: Iterable[Site]) -> bool:
    """Whether a finding says that a whole number may be too large for int32."""
    return any(site.reason == tosa.TYPES["int64"] for site in sites)


def _steering(value: Value) -> bool:
    return value.kind == "constant"


BY_TARGET: Mapping[str, Questions] = MappingProxyType({"tosa": of_tosa})
"""Target -> what it can't take; any other target takes whatever its rewrites make."""
