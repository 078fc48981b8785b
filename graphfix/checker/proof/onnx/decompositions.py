"""Operators by their definition in others: a PRelu of float32, and a Softmax over several axes of an older set."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnx import TensorProto, helper

from graphfix.checker.proof.onnx.nodes import PRODUCTS, channels
from graphfix.checker.proof.onnx.sequence_shapes import taken
from graphfix.checker.proof.onnx.table import LEGACY_END
from graphfix.checker.proof.onnx.types import dtype
from graphfix.checker.proof.onnx.validate import loads
from graphfix.checker.proof.onnx.versions import PRESENT
from graphfix.checker.proof.sizes import right_aligned

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from graphfix.checker.proof.onnx.operands import Among, Call
    from graphfix.checker.proof.terms import View

ONE_AXIS = 13
"""From here on a Softmax is taken over one axis."""


def defined(call: Call, among: Among) -> View | None:
    """Read a node as those that define it; None where it is a term."""
    rule = DEFINED.get(call.op) if not call.domain else None
    return rule(call, among) if rule is not None and loads(call) else None


def _prelu(call: Call, among: Among) -> View | None:
    """Multiply by 1 where x >= 0, else by the slope: onnxruntime's PRelu of float32, bit for bit, NaN included.

    None for other types, of which not every zero is the same, and where the slope may not fit the data: PRelu never
    stretches those.
    """
    data, slope = call.operand(0), call.operand(1)
    if data is None or slope is None or dtype(data.core) != TensorProto.FLOAT:
        return None
    slope = channels(data, slope) if call.version < LEGACY_END else slope
    if slope is None or data.sizes is None or slope.sizes is None or len(slope.sizes) > len(data.sizes):
        return None
    facing = zip(right_aligned(slope.sizes, len(data.sizes)), data.sizes, strict=True)
    if not all(size in (1, own) for size, own in facing):
        return None
    nodes = [
        helper.make_node("Constant", [], ["zero"], value_float=0.0),
        helper.make_node("Constant", [], ["one"], value_float=1.0),
        helper.make_node("GreaterOrEqual", ["x", "zero"], ["kept"], call.description),
        helper.make_node("Where", ["kept", "one", "slope"], ["factor"], call.description),
        helper.make_node("Mul", ["x", "factor"], ["y"], call.description),
    ]
    known = len(call.table.cores)
    result = among(nodes, max(call.version, PRESENT), {"x": data, "slope": slope})
    new = result.core.number >= known
    if call.table.product_ops.setdefault(result.core, "PRelu" if new else "Mul") != "PRelu":
        call.table.assumes[PRODUCTS] = None
    return result


def _flat(call: Call, among: Among) -> View | None:
    """All axes from `axis` on are one, and the ones in front are one."""
    data = call.operand(0)
    axis, sizes = call.integer("axis", 1), call.sizes(0)
    if call.since >= ONE_AXIS or data is None or sizes is None or not call.lowest(len(sizes)) <= axis < len(sizes):
        return None
    if not all(isinstance(size, int) and size for size in sizes[1 if axis else 0 :]):
        return None  # a 0 in the target of a Reshape would stand for another size
    nodes = [
        helper.make_node("Flatten", ["x"], ["flat"], call.description, axis=axis),
        helper.make_node(call.op, ["flat"], ["taken"], call.description, axis=-1),
        helper.make_node("Shape", ["x"], ["shape"], call.description),
        helper.make_node("Reshape", ["taken", "shape"], ["y"], call.description),
    ]
    return among(nodes, PRESENT, {"x": data})


DEFINED: Mapping[str, Callable[[Call, Among], View | None]] = {
    "SequenceAt": taken, "PRelu": _prelu, "Softmax": _flat, "LogSoftmax": _flat, "Hardmax": _flat,
}  # fmt: skip
