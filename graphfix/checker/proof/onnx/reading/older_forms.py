"""Convert nodes of older operator sets to their form in set 17: an attribute that became an operand is read as operand.

Source: the changelog of the ONNX operators. A node whose meaning changed stays as it is, and keeps its version.
"""

from __future__ import annotations

from dataclasses import replace
from math import copysign
from typing import TYPE_CHECKING, TypeAlias

import onnx
from onnx import AttributeProto, TensorProto

from graphfix.checker.files.onnx.operators import LEGACY_END
from graphfix.checker.proof.neutral.constant_folding import constant_array
from graphfix.checker.proof.onnx.reading.operands import COUNTED_BACK_SINCE
from graphfix.checker.proof.onnx.reading.types import dtype
from graphfix.checker.proof.onnx.reading.versions import CURRENT_SET, inference_mode, meaning
from graphfix.results.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from graphfix.checker.proof.core.terms import ProofValue
    from graphfix.checker.proof.onnx.reading.constants import FileConstants


@dataclass(frozen=True, slots=True)
class VersionedNode:
    """The parts of a node that depend on the version of its operator.

    `views` are the values of the operands, None for each absent operand.
    """

    op: str
    since: int
    """The version of the operator's meaning."""
    views: tuple[ProofValue | None, ...]
    attributes: Mapping[str, AttributeProto]
    outputs: int
    """The number of results, up to the last result that has a name."""


EVERY_VERSION = 2**31
"""A version above all versions: marks operators whose nodes are converted in all operator sets."""
Rule: TypeAlias = "Callable[[FileConstants, VersionedNode], VersionedNode | None]"
"""Returns the node in its present form; None if that form can't express the node."""


def present_form(constants: FileConstants, node: VersionedNode) -> VersionedNode:
    """Return a node of an operator in `CONVERSIONS` in the form of operator set 17.

    A node that this form can't express is returned unchanged.
    """
    until, rule = CONVERSIONS[node.op]
    if node.since >= until:
        return replace(node, since=meaning(node.op, "", node.since, frozenset(node.attributes)))
    made = rule(constants, node)
    if made is None:
        return node
    views = made.views
    while views and views[-1] is None:
        views = views[:-1]
    now = max(node.since, CURRENT_SET)
    return replace(made, views=views, since=meaning(made.op, "", now, frozenset(made.attributes)))


def _without(node: VersionedNode, *names: str) -> dict[str, AttributeProto]:
    """Return the node's attributes except those with these names."""
    return {name: given for name, given in node.attributes.items() if name not in names}


def _with(node: VersionedNode, at: int, view: ProofValue | None) -> tuple[ProofValue | None, ...]:
    """Return the node's operands with `view` at index `at`; operands before it that the node lacks are None."""
    padded = (*node.views, *(None,) * (at - len(node.views)))
    return (*padded[:at], view, *padded[at + 1 :])


def _integers(*names: str) -> Rule:
    """Return the rule for integer attributes that became operands 1, 2, ... of type int64, in this order.

    The rule returns None if a node has both the attribute and the operand.
    """

    def rule(constants: FileConstants, node: VersionedNode) -> VersionedNode | None:
        for at, name in enumerate(names, 1):
            given = node.attributes.get(name)
            if given is not None and at < len(node.views):
                return None
            if given is not None:
                numbers = tuple(given.ints) if given.type == AttributeProto.INTS else (given.i,)
                view = constants.shared.table.integers(numbers, "int64")
                node = replace(node, views=_with(node, at, view), attributes=_without(node, name))
        return node

    return rule


def _scalar(constants: FileConstants, value: float) -> ProofValue:
    """Return a float32 scalar as a constant, for an attribute that became an operand."""
    return constants.constant(onnx.helper.make_tensor("", TensorProto.FLOAT, (), [value]), str(value))


def _pad(constants: FileConstants, node: VersionedNode) -> VersionedNode | None:
    """Return a Pad whose attributes `pads` and `value` are operands 1 and 2."""
    node = _integers("pads")(constants, node) or node
    value = node.attributes.get("value")
    # The default of the operand is 0 of the data's type, so a value of 0 is dropped.
    if value is None or (value.f == 0 and copysign(1, value.f) > 0):
        return replace(node, attributes=_without(node, "value"))
    return replace(node, views=_with(node, 2, _scalar(constants, value.f)), attributes=_without(node, "value"))


def _clip(constants: FileConstants, node: VersionedNode) -> VersionedNode | None:
    """Return a Clip whose attributes `min` and `max` are operands 1 and 2.

    The default of a bound was the largest float32 number, for all types. For types other than float32, this default
    becomes an operand. Before set 6 the specification states the largest number of the data's type, but the schema has
    no default. So None is returned there if a bound is absent.
    """
    if node.since < 6 and not {"min", "max"} <= node.attributes.keys():  # noqa: PLR2004 - the first version with default bounds
        return None
    plain = bool(node.views) and node.views[0] is not None and dtype(node.views[0].core) == TensorProto.FLOAT
    largest = float(onnx.helper.tensor_dtype_to_np_dtype(TensorProto.FLOAT).type("3.4028235e38"))
    for at, name, default in ((1, "min", -largest), (2, "max", largest)):
        given = node.attributes.get(name)
        if given is None and plain:
            continue
        view = _scalar(constants, default if given is None else given.f)
        node = replace(node, views=_with(node, at, view), attributes=_without(node, name))
    return node


def _batch_normalization(_: FileConstants, node: VersionedNode) -> VersionedNode | None:
    """Return a BatchNormalization that does not train, without its old attributes; None for any other one.

    Before set 7 it trained unless `is_test` was set. Before set 14 it trained if it had more than one result. With
    `spatial` 0 it had statistics for each element.
    """
    spatial = node.attributes.get("spatial")
    trained = node.since < LEGACY_END and not inference_mode(node.attributes)
    if trained or node.outputs > 1 or (spatial is not None and not spatial.i):
        return None
    return replace(node, attributes=_without(node, "spatial", "is_test", "consumed_inputs"))


def _softmax(_: FileConstants, node: VersionedNode) -> VersionedNode | None:
    """Return a Softmax (or LogSoftmax, Hardmax) over one axis; None if it normalizes over several axes together.

    Before set 13 it normalized over all axes from `axis` on. These are one axis if all other axes from `axis` on have
    size 1. Return None also if the shape is unknown.
    """
    data, given = node.views[0] if node.views else None, node.attributes.get("axis")
    if data is None or not data.sizes:
        return None
    rank = len(data.sizes)
    axis = 1 if given is None else given.i
    if axis < 0 and node.since < COUNTED_BACK_SINCE:
        return None
    axis += rank if axis < 0 else 0
    taken = [at for at in range(axis, rank) if data.sizes[at] != 1] or [rank - 1]
    if len(taken) > 1 or not 0 <= axis < rank:
        return None
    last = onnx.helper.make_attribute("axis", taken[0] - rank)
    return replace(node, attributes={**_without(node, "axis"), "axis": last})


def _enlarged(constants: FileConstants, node: VersionedNode) -> VersionedNode | None:
    """Return an Upsample, or a Resize of set 10, as a present Resize with asymmetric coordinates that are rounded down.

    Return None for a Resize that selects nearest elements and may shrink an axis, because onnxruntime rounds up there.
    """
    given, views = node.attributes.get("scales"), node.views
    if given is not None:
        tensor = onnx.helper.make_tensor("", TensorProto.FLOAT, (len(given.floats),), list(given.floats))
        views = (*views[:1], constants.constant(tensor, "scales"))
    if len(views) != 2 or (_may_shrink(node) and not _grows(views[1])):  # noqa: PLR2004 - data and scales
        return None
    cut = {
        name: onnx.helper.make_attribute(name, text)
        for name, text in (("coordinate_transformation_mode", "asymmetric"), ("nearest_mode", "floor"))
    }
    kept = _without(node, "scales")
    return replace(node, op="Resize", views=(views[0], None, views[1]), attributes={**kept, **cut})


def _may_shrink(node: VersionedNode) -> bool:
    """Return whether a node that selects nearest elements may shrink an axis. An Upsample never does.

    Only a Resize in mode nearest may shrink an axis here, because an Upsample has scales of at least 1.
    """
    mode = node.attributes.get("mode")
    return node.op == "Resize" and (mode is None or mode.s == b"nearest")


def _grows(scales: ProofValue | None) -> bool:
    """Return whether the scales are constants of at least 1 each."""
    factors = constant_array(scales)
    return factors is not None and bool((factors >= 1).all())


def _resize(constants: FileConstants, node: VersionedNode) -> VersionedNode | None:
    """Return a Resize whose operands without elements are absent.

    Set 11 requires an empty tensor in place of absent scales, and runtimes accept an empty tensor in later sets too.
    """
    if node.since < 11:  # noqa: PLR2004 - the first version with coordinate modes
        return _enlarged(constants, node)
    return replace(node, views=tuple(None if view is None or view.sizes == (0,) else view for view in node.views))


def _transposed_convolution(_: FileConstants, node: VersionedNode) -> VersionedNode | None:
    """Return a ConvTranspose unchanged; None if it states `output_shape` or automatic padding other than VALID.

    Before set 11, automatic padding was distributed the other way round.
    """
    automatic = node.attributes.get("auto_pad")
    if "output_shape" in node.attributes or (automatic is not None and automatic.s not in (b"NOTSET", b"VALID")):
        return None
    return node


def _aligned(_: FileConstants, node: VersionedNode) -> VersionedNode | None:
    """Return a RoiAlign with the coordinate mode `output_half_pixel`, which was the only one before set 16."""
    given = onnx.helper.make_attribute("coordinate_transformation_mode", "output_half_pixel")
    return replace(node, attributes={**node.attributes, "coordinate_transformation_mode": given})


def _renamed(op: str) -> Rule:
    """Return the rule for an operator that was renamed to `op`."""
    return lambda _, node: replace(node, op=op)


CONVERSIONS: Mapping[str, tuple[int, Rule]] = {
    **dict.fromkeys(("Squeeze", "Unsqueeze", "ReduceSum"), (13, _integers("axes"))),
    "Split": (13, _integers("split")),
    "Slice": (10, _integers("starts", "ends", "axes")),
    "TopK": (10, _integers("k")),
    "Pad": (11, _pad),
    "Clip": (11, _clip),
    "BatchNormalization": (14, _batch_normalization),
    **dict.fromkeys(("Softmax", "LogSoftmax", "Hardmax"), (13, _softmax)),
    "Upsample": (11, _enlarged),
    "Resize": (EVERY_VERSION, _resize),
    "ConvTranspose": (11, _transposed_convolution),
    "RoiAlign": (16, _aligned),
    "Scatter": (17, _renamed("ScatterElements")),
}
"""For each operator, the version from which it has its present form, and the rule that converts an older node."""
