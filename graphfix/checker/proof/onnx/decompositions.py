"""Operators by their definition in others: a PRelu of float32, and a Softmax over several axes of an older set."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from graphfix.checker.files.onnx.operators import LEGACY_END
from graphfix.checker.proof.core.sizes import numbers, right_aligned
from graphfix.checker.proof.neutral.integer_values import cut
from graphfix.checker.proof.onnx.layout_shapes import places
from graphfix.checker.proof.onnx.nodes import PRODUCTS, channels
from graphfix.checker.proof.onnx.sequence_shapes import taken
from graphfix.checker.proof.onnx.types import dtype
from graphfix.checker.proof.onnx.validate import loads
from graphfix.checker.proof.onnx.versions import PRESENT

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from onnx import NodeProto

    from graphfix.checker.proof.core.terms import View
    from graphfix.checker.proof.onnx.operands import Among, Call

THREE = 3
"""Operands from which on an Einsum has several pairs."""
SIZES = 3
"""The operand of a Resize that holds the result's sizes."""
STEPS = 4
"""The operand of a Slice that holds its steps."""
OF_SIZES = frozenset({"axes", "keep_aspect_ratio_policy", "antialias"})
"""Attributes of a Resize by which sizes, or what is made of them, mean another thing."""
CROPPED = b"tf_crop_and_resize"
"""The coordinates that read the operand roi."""
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


def _in_pairs(call: Call, among: Among) -> View | None:
    """Take an Einsum of three operands or more from the left, two at a time: onnxruntime does, bit for bit.

    None where a letter is in one term alone: it is summed at another time then.
    """
    given = call.attributes.get("equation")
    text = "" if given is None else given.s.decode("utf-8", "replace").replace(" ", "")
    left, arrow, out = text.partition("->")
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
    return among(nodes, max(call.version, PRESENT), {f"x{at}": view for at, view in enumerate(views)})


def _by_scales(call: Call, among: Among) -> View | None:
    """Read the sizes of a linear Resize as the scales that onnxruntime makes of them: quotients in float32."""
    mode, data, asked = call.attributes.get("mode"), call.operand(0), call.content(SIZES)
    where = call.attributes.get("coordinate_transformation_mode")
    if mode is None or mode.s != b"linear" or data is None or asked is None or not _of_sizes_alone(call):
        return None
    if where is not None and where.s == CROPPED:
        return None
    have, want = numbers(data.sizes or ()), numbers(asked)
    if have is None or want is None or len(have) != len(want) or not all(have):
        return None
    scales = np.array(want, np.float32) / np.array(have, np.float32)
    if [int(scale * np.float32(size)) for scale, size in zip(scales, have, strict=True)] != list(want):
        return None
    nodes = [
        helper.make_node("Constant", [], ["scales"], value=numpy_helper.from_array(scales)),
        helper.make_node("Constant", [], ["roi"], value=numpy_helper.from_array(np.zeros(0, np.float32))),
        helper.make_node("Resize", ["x", "roi", "scales"], ["y"], call.description),
    ]
    nodes[-1].attribute.extend(given for name, given in call.attributes.items() if name not in OF_SIZES)
    return among(nodes, max(call.version, PRESENT), {"x": data})


def _of_sizes_alone(call: Call) -> bool:
    """Whether the sizes are those of all axes, taken as they are, and what lies between is taken once."""
    policy = call.attributes.get("keep_aspect_ratio_policy")
    plain = policy is None or policy.s == b"stretch"
    return plain and "axes" not in call.attributes and not call.integer("antialias", 0)


def _reversed(call: Call, among: Among) -> View | None:
    """Return the value of a ReverseSequence of equal lengths, as a Gather of its time steps; None for other lengths."""
    data, lengths = call.operand(0), numbers(call.vector(1))
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
    return among(nodes, max(call.version, PRESENT), {"x": data})


def _backwards(call: Call, among: Among) -> View | None:
    """Return the value of a Slice with negative steps as a Gather on each of these axes, behind a Slice of the others.

    None if all steps are positive, or if a size, a bound or a step that decides is not a known number.
    """
    steps = numbers(call.indices(STEPS)) if call.operand(STEPS) is not None else None
    if not steps or min(steps) > 0:
        return None
    data, sizes = call.operand(0), call.sizes(0)
    starts, ends, axes = (numbers(call.indices(at)) for at in range(1, STEPS))
    if data is None or sizes is None or starts is None or ends is None:
        return None
    at = places(range(len(starts)) if call.operand(3) is None else axes, len(sizes))
    if at is None or not len(at) == len(starts) == len(ends) == len(steps):
        return None
    bounds = list(zip(at, starts, ends, steps, strict=True))
    nodes = _slice_of(call, [bound for bound in bounds if bound[-1] > 0])
    for axis, *bound in (bound for bound in bounds if bound[-1] < 0):
        size = sizes[axis]
        taken = cut(size, *bound) if isinstance(size, int) else None
        if not taken:
            return None
        name, picked = nodes[-1].output[0] if nodes else "x", numpy_helper.from_array(np.array(taken, np.int64))
        nodes.append(helper.make_node("Constant", [], [f"places{axis}"], value=picked))
        nodes.append(helper.make_node("Gather", [name, f"places{axis}"], [f"y{axis}"], call.description, axis=axis))
    return among(nodes, max(call.version, PRESENT), {"x": data})


def _slice_of(call: Call, bounds: Sequence[tuple[int, int, int, int]]) -> list[NodeProto]:
    """Return the nodes of a Slice of `x` by (axis, start, end, step); none for no axis."""
    if not bounds:
        return []
    columns = dict(zip(("axes", "starts", "ends", "steps"), zip(*bounds, strict=True), strict=True))
    constants = [helper.make_node("Constant", [], [name], value_ints=column) for name, column in columns.items()]
    return [*constants, helper.make_node("Slice", ["x", "starts", "ends", "axes", "steps"], ["cut"], call.description)]


DEFINED: Mapping[str, Callable[[Call, Among], View | None]] = {
    "Einsum": _in_pairs, "Resize": _by_scales, "SequenceAt": taken, "PRelu": _prelu,
    "Softmax": _flat, "LogSoftmax": _flat, "Hardmax": _flat, "ReverseSequence": _reversed,
    "Slice": _backwards,
}  # fmt: skip
