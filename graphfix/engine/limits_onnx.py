"""What torch-mlir can't take of an ONNX node, or takes and gets wrong; the tables are `operators.tosa_onnx`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from graphfix.engine import signs
from graphfix.graph.view import Node
from graphfix.operators import tosa_onnx

PAIR = 2
STEPS_AT = 4
"""The operand of Slice that holds its steps."""
SIZES_AT = 3
"""The operand of Resize that holds the result's sizes."""


def form(node: Node) -> str | None:
    """Why the node stays as it is and will not convert, or will be wrong; None if nothing is known against it."""
    ask = _ASK.get(node.op) if not node.domain else None
    known = tosa_onnx.UNSUPPORTED.get((node.domain, node.op)) or (_of_type(node) if not node.domain else None)
    return known or (ask(node) if ask is not None else None)


def _of_type(node: Node) -> str | None:
    dtype = node.operands[0].dtype if node.operands and node.operands[0] is not None else ""
    if dtype in tosa_onnx.UNREAD_TYPES.get(node.op, ()):
        return f"torch-mlir has no form for it of {dtype}"
    return tosa_onnx.WRONG if dtype in tosa_onnx.WRONG_TYPES.get(node.op, ()) else None


def _pool(node: Node) -> str | None:
    kernel = node.attributes.get("kernel_shape")
    if isinstance(kernel, tuple) and len(kernel) == 1:
        return "torch-mlir writes no pool of averages along one axis"
    return None


def _slice(node: Node) -> str | None:
    given = node.operands[STEPS_AT] if len(node.operands) > STEPS_AT else None
    steps = given.elements if given is not None else None
    if any(isinstance(step, int) and step < 0 for step in steps or ()):
        return "torch-mlir slices in no negative steps"
    return None


def _pad(node: Node) -> str | None:
    return "torch-mlir has no form for the mode wrap" if node.attributes.get("mode") == "wrap" else None


def _scatter(node: Node) -> str | None:
    how = node.attributes.get("reduction", "none")
    return None if how == "none" else f"torch-mlir has no form for the reduction {how}"


def _power(node: Node) -> str | None:
    return signs.power(node.operand(0))


def _resize(node: Node) -> str | None:
    mode = str(node.attributes.get("mode", "nearest"))
    if mode == "linear" and len(node.operands) > SIZES_AT and node.operands[SIZES_AT] is not None:
        return "torch-mlir reads a linear Resize by scales alone, not by sizes"
    where = str(node.attributes.get("coordinate_transformation_mode", "half_pixel"))
    return (
        None
        if (where, mode) in tosa_onnx.RESIZES
        else f"torch-mlir reads no {mode} Resize with {where}, or reads it wrongly"
    )


def _concat(node: Node) -> str | None:
    if any(value is not None and value.kind == "constant" for value in node.operands):
        return "torch-mlir leaves a constant operand of a Concat in another dialect"
    return None


def _gelu(node: Node) -> str | None:
    return tosa_onnx.WRONG if node.attributes.get("approximate") == "tanh" else None


def _einsum(node: Node) -> str | None:
    if len(node.operands) > PAIR:
        return "torch-mlir computes another thing of an Einsum of more than two operands"
    return None


_ASK: Mapping[str, Callable[[Node], str | None]] = MappingProxyType(
    {
        "AveragePool": _pool,
        "Concat": _concat,
        "Einsum": _einsum,
        "Gelu": _gelu,
        "Pad": _pad,
        "Pow": _power,
        "Resize": _resize,
        "ScatterElements": _scatter,
        "Slice": _slice,
    }
)
"""Operator -> its question."""
