"""Operators that the proof reads as other nodes that compute exactly the same, such as a PRelu of float32."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from graphfix.checker.files.onnx.operators import LEGACY_END
from graphfix.checker.proof.core.sizes import numbers, right_aligned
from graphfix.checker.proof.onnx.closed_world.validate import loads
from graphfix.checker.proof.onnx.operators.broadcasting import channels
from graphfix.checker.proof.onnx.operators.elementwise import POWERS_ARE_PRODUCTS
from graphfix.checker.proof.onnx.operators.repeating import by_scales
from graphfix.checker.proof.onnx.operators.slice_and_pad import negative_steps_as_gather
from graphfix.checker.proof.onnx.operators.split import sequence_part_as_slice
from graphfix.checker.proof.onnx.reading.types import dtype
from graphfix.checker.proof.onnx.reading.versions import CURRENT_SET

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from graphfix.checker.proof.core.terms import ProofValue
    from graphfix.checker.proof.onnx.reading.operands import Call, NodesReader

THREE = 3
"""The least number of operands for which an Einsum is decomposed into pairs."""
ONE_AXIS = 13
"""From this version on, a Softmax is computed over one axis."""


def defined(call: Call, among: NodesReader) -> ProofValue | None:
    """Return the result of a node, computed by the operators that define it; None if the node itself becomes a term.

    `among` reads the nodes of the definition.
    """
    rule = DEFINED.get(call.op) if not call.domain else None
    return rule(call, among) if rule is not None and loads(call) else None


def _prelu(call: Call, among: NodesReader) -> ProofValue | None:
    """Return a float32 PRelu as x * (x >= 0 ? 1 : slope), which equals onnxruntime's result bit for bit, NaN included.

    Return None for other types, where zeros differ, and if the slope may not fit the data, because a PRelu never
    stretches the data.
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
    cores_before = len(call.table.cores)
    result = among(nodes, max(call.version, CURRENT_SET), {"x": data, "slope": slope})
    new = result.core.number >= cores_before
    if call.table.product_ops.setdefault(result.core, "PRelu" if new else "Mul") != "PRelu":
        call.table.assumptions[POWERS_ARE_PRODUCTS] = None
    return result


def _flat(call: Call, among: NodesReader) -> ProofValue | None:
    """Return a Softmax over all axes from `axis` on (before version 13) as a Softmax over the last axis of a matrix.

    LogSoftmax and Hardmax are read in the same way. Return None if a size is not a number above 0. If `axis` is not 0,
    the size of axis 0 may be any.
    """
    data = call.operand(0)
    axis, sizes = call.integer("axis", 1), call.sizes(0)
    if (
        call.meaning_version >= ONE_AXIS
        or data is None
        or sizes is None
        or not call.lowest_axis(len(sizes)) <= axis < len(sizes)
    ):
        return None
    axis %= len(sizes)
    if not all(isinstance(size, int) and size for size in sizes[1 if axis else 0 :]):
        return None  # in the target of a Reshape, a 0 would mean the operand's size
    nodes = [
        helper.make_node("Flatten", ["x"], ["flat"], call.description, axis=axis),
        helper.make_node(call.op, ["flat"], ["taken"], call.description, axis=-1),
        helper.make_node("Shape", ["x"], ["shape"], call.description),
        helper.make_node("Reshape", ["taken", "shape"], ["y"], call.description),
    ]
    return among(nodes, CURRENT_SET, {"x": data})


def _in_pairs(call: Call, among: NodesReader) -> ProofValue | None:
    """Return an Einsum of three or more float32 operands as a chain of Einsums of two operands, from the left.

    onnxruntime computes the same bits for both. Return None if a letter is in one term only, because onnxruntime sums
    over it at another time.
    """
    left, arrow, out = call.text("equation").decode("utf-8", "replace").replace(" ", "").partition("->")
    terms = left.split(",")
    views = [view for view in call.views if view is not None]
    counts = Counter("".join((*terms, out)))
    plain = bool(arrow) and all(len(set(term)) == len(term) and term.isalpha() for term in (*terms, out or "a"))
    if not plain or len(terms) != len(views) or len(views) != len(call.views) or len(terms) < THREE:
        return None
    if min(counts.values()) == 1 or any(dtype(view.core) != TensorProto.FLOAT for view in views):
        return None
    nodes, letters, name = [], terms[0], "x0"
    for at in range(1, len(terms)):
        later = {*"".join(terms[at + 1 :]), *out}
        kept = "".join(dict.fromkeys(letter for letter in letters + terms[at] if letter in later))
        kept = out if at == len(terms) - 1 else kept
        equation = f"{letters},{terms[at]}->{kept}"
        nodes.append(helper.make_node("Einsum", [name, f"x{at}"], [f"y{at}"], call.description, equation=equation))
        letters, name = kept, f"y{at}"
    return among(nodes, max(call.version, CURRENT_SET), {f"x{at}": view for at, view in enumerate(views)})


def _reversed(call: Call, among: NodesReader) -> ProofValue | None:
    """Return a ReverseSequence of equal lengths as a Gather of its time steps.

    Return None if the lengths differ or are unknown, or if a size is unknown.
    """
    data, lengths = call.operand(0), numbers(call.int64_vector(1))
    axes = call.integer("time_axis", 0), call.integer("batch_axis", 1)
    have = numbers((call.sizes(0) or ())[:2])
    if data is None or have is None or len(have) < len(axes) or sorted(axes) != [0, 1] or not lengths:
        return None
    steps, length = have[axes[0]], lengths[0]
    if lengths != (length,) * have[axes[1]] or not 1 <= length <= steps:
        return None
    places = np.array([*reversed(range(length)), *range(length, steps)], np.int64)
    nodes = [
        helper.make_node("Constant", [], ["places"], value=numpy_helper.from_array(places)),
        helper.make_node("Gather", ["x", "places"], ["y"], call.description, axis=axes[0]),
    ]
    return among(nodes, max(call.version, CURRENT_SET), {"x": data})


DEFINED: Mapping[str, Callable[[Call, NodesReader], ProofValue | None]] = {
    "Einsum": _in_pairs, "Resize": by_scales, "SequenceAt": sequence_part_as_slice, "PRelu": _prelu,
    "Softmax": _flat, "LogSoftmax": _flat, "Hardmax": _flat, "ReverseSequence": _reversed,
    "Slice": negative_steps_as_gather,
}  # fmt: skip
