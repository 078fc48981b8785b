"""What a target can't take, node by node, in what the rewrites made of the model: nothing is changed.

    ADD(x[1,1,2,1,3,1,4], y[..])      rank 7: the level ends at 6                      GF301
    ADD(x[?,3], y[?,3])               a free size: TOSA 1.0 has none                   GF302
    y = LSTM(x, w, r)                 the converters have no form for it               GF305
    p = Pow(x, e)                     x may be negative: TOSA leaves that open         GF305

The tables are a target's (`operators.tosa`); the questions are asked in order, and the first answer about an operator
is the one that is reported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import TypeAlias

from graphfix.graph.edits import Leave
from graphfix.graph.view import Node, Value
from graphfix.operators import tosa
from graphfix.operators.row import TFLITE

Questions: TypeAlias = Callable[[Node], Iterator[Leave]]
"""What stands in the way of a node."""


def of_tosa(node: Node) -> Iterator[Leave]:
    """A finding for each thing that TOSA or a converter to it can't take."""
    values = [value for value in (*node.operands, *node.results) if value is not None]
    sizes = next(filter(None, map(_size, values)), None)
    if sizes is not None:
        yield sizes
    why = (
        tosa.UNSUPPORTED.get((node.domain, node.op))
        or _owner(node)
        or _scales(node)
        or _form(node)
        or _type(node, values)
    )
    if why is not None:
        yield Leave(None, why, "GF305", "left")


def _size(value: Value) -> Leave | None:
    """Too long, too open, or nothing at all."""
    axes = value.shape.axes
    if axes is None or not value.shape.static:
        return Leave(None, f"{value} has a size that is free: TOSA 1.0 has none", "GF302", "left")
    if len(axes) > tosa.MAX_RANK:
        why = f"{value} has rank {len(axes)}: TOSA's level 8k ends at {tosa.MAX_RANK}"
        return Leave(None, why, "GF301", "left")
    if 0 in axes and value.kind != "constant" and value.is_read:
        return Leave(None, f"{value} has no elements: TOSA has no size 0", "GF305", "left")
    return None


def _owner(node: Node) -> str | None:
    """An operator that is none of the format's own."""
    if node.domain in tosa.CUSTOM:
        return "it is a custom operator: TOSA keeps it as tosa.custom, and only its owner can run it"
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
    if (node.domain, node.op) in tosa.POWERS and not _never_negative(node.operand(0)):
        return "its base may be negative, and tosa.pow of a negative base is unpredictable"
    if (node.domain, node.op) == ("", "Resize"):
        return _resize(node)
    if (node.domain, node.op) in tosa.GATHERS and _many_int64(node.operand(1)):
        return "its indices are int64, which TOSA 1.0 has not: with int32 ones it converts"
    if node.domain == TFLITE and node.op in tosa.COMPARISONS and node.operand(0).dtype in tosa.NARROW:
        return f"the converter compares no {node.operand(0).dtype}"
    return None


def _many_int64(indices: Value) -> bool:
    """Whether these constant indices stay int64: torch-mlir makes a slice of a Gather with a single one."""
    return indices.kind == "constant" and indices.dtype == "int64" and set(indices.shape.axes or ()) - {1} != set()


def _never_negative(value: Value) -> bool:
    if value.kind == "constant":
        numbers = value.literal
        return numbers is not None and all(isinstance(n, (int, float)) and n >= 0 for n in numbers)
    return value.producer is not None and value.producer.op in tosa.NEVER_NEGATIVE


def _resize(node: Node) -> str | None:
    mode = str(node.attributes.get("mode", "nearest"))
    where = str(node.attributes.get("coordinate_transformation_mode", "half_pixel"))
    return (
        None
        if (where, mode) in tosa.RESIZES
        else f"torch-mlir reads no {mode} Resize with {where}, or reads it wrongly"
    )


def _type(node: Node, values: list[Value]) -> str | None:
    """The first type that TOSA lacks; the constants that say a shape or an axis are int64 in many models.

    In a body nothing is said of types: the node that holds it is named already.
    """
    if node.graph.path != "main":
        return None
    lacking = (value.dtype for value in values if value.dtype in tosa.TYPES and not _steering(value))
    return next((tosa.TYPES[dtype] for dtype in lacking), None)


def _steering(value: Value) -> bool:
    return value.kind == "constant" and value.dtype == "int64"


BY_TARGET: Mapping[str, Questions] = MappingProxyType({"tosa": of_tosa})
"""Target -> what it can't take; any other target takes whatever its rewrites make."""
