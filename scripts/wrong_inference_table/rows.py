"""The table of docs/load-inference.md: for which nodes load-time inference gives another size than the kernel.

`ROWS` is data to be copied: operators, when the inference is wrong, in words and as a function of a node and its
operands. wrong_inference.py runs random models against it, and fails where a wrong size is inferred of a node that no
row describes. A node that a row describes may be inferred correctly all the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil, floor
from typing import Any, NamedTuple

import numpy as np
from onnx import AttributeProto, GraphProto, NodeProto, helper

from graphfix.results.runtime_facts import EVERY, SIZE_0_KEEPS_AXES, Versions

Operands = Sequence[np.ndarray[Any, Any] | None]
"""The operands in order; None for an absent operand and for one that is no tensor."""
Condition = Callable[[NodeProto, Operands, int], bool]
"""Of a node, its operands and the operator set of its domain that the model imports."""
MICROSOFT = "com.microsoft"
LARGEST = 2**31 - 1
LAYERS = ("AveragePool", "LpPool", "MaxPool")
REDUCTIONS = tuple(f"Reduce{name}" for name in "L1 L2 LogSum LogSumExp Max Mean Min Prod Sum SumSquare".split())


class Row(NamedTuple):
    """Operators of a domain whose results have other sizes than inference says, if the condition is met."""

    operators: tuple[str, ...]
    words: str
    """When the inference is wrong; completes the sentence "the inferred sizes may be wrong if"."""
    condition: Condition
    domain: str = ""
    versions: Versions = EVERY
    """The versions of onnxruntime in which it was seen; without a limit where one version alone was asked."""


def attribute(node: NodeProto, name: str, default: Any) -> Any:  # noqa: ANN401 -- any attribute's value
    """Return an attribute's value, text as str, or the default."""
    for each in node.attribute:
        if each.name == name:
            value = helper.get_attribute_value(each)
            return value.decode() if each.type == AttributeProto.STRING else value
    return default


def _same_and_dilated(node: NodeProto, _: Operands, __: int) -> bool:
    dilated = any(it != 1 for it in attribute(node, "dilations", ()))
    return dilated and attribute(node, "auto_pad", "NOTSET").startswith("SAME")


def _last_window_in_padding(node: NodeProto, operands: Operands, _: int) -> bool:
    """Whether rounding up adds a window behind the data and the padding before it, or no window fits at all."""
    data, kernel = operands[0], attribute(node, "kernel_shape", ())
    if data is None or not attribute(node, "ceil_mode", 0) or attribute(node, "auto_pad", "NOTSET") not in _EXPLICIT:
        return False
    rank = len(kernel)
    strides, dilations = (attribute(node, name, [1] * rank) for name in ("strides", "dilations"))
    pads = attribute(node, "pads", [0] * 2 * rank)
    for at in range(rank):
        size, before, behind = data.shape[at + 2], pads[at], pads[at + rank]
        reach = dilations[at] * (kernel[at] - 1) + 1
        last = -(-(size + before + behind - reach) // strides[at])
        if last * strides[at] >= size + before or reach > size + before + behind:
            return True
    return False


_EXPLICIT = ("NOTSET", "VALID")


def _same_and_rounded_up(node: NodeProto, _: Operands, __: int) -> bool:
    if not attribute(node, "ceil_mode", 0) or not attribute(node, "auto_pad", "NOTSET").startswith("SAME"):
        return False
    kernel = attribute(node, "kernel_shape", ())
    return any(stride > size for stride, size in zip(attribute(node, "strides", ()), kernel, strict=False))


def _ceil_mode_of_another_number(node: NodeProto, _: Operands, __: int) -> bool:
    return attribute(node, "ceil_mode", 0) not in (0, 1)


def _pads_beside_auto_pad(node: NodeProto, _: Operands, __: int) -> bool:
    return attribute(node, "auto_pad", "NOTSET") != "NOTSET" and bool(attribute(node, "pads", ()))


def _same_with_output_padding(node: NodeProto, _: Operands, __: int) -> bool:
    return attribute(node, "auto_pad", "NOTSET").startswith("SAME") and any(attribute(node, "output_padding", ()))


def _batches_of_nothing(_: NodeProto, operands: Operands, __: int) -> bool:
    one, other = operands[0], operands[1]
    return one is not None and other is not None and one.shape[-1:] == (0,) and one.shape[:-2] != other.shape[:-2]


def _scalar(_: NodeProto, operands: Operands, __: int) -> bool:
    return operands[0] is not None and not operands[0].ndim


def _body_of_other_sizes(node: NodeProto, operands: Operands, _: int) -> bool:
    """Whether a Loop's body declares a size of a state that the operand does not have."""
    states = attribute(node, "body", GraphProto()).input[2:]
    for value, operand in zip(states, operands[2:], strict=False):
        tensor = value.type.tensor_type
        if operand is not None and tensor.HasField("shape"):
            sizes = [dim.dim_value if dim.HasField("dim_value") else None for dim in tensor.shape.dim]
            if len(sizes) != operand.ndim or any(
                size is not None and size != own for size, own in zip(sizes, operand.shape, strict=True)
            ):
                return True
    return False


def _small_output_shape(node: NodeProto, operands: Operands, _: int) -> bool:
    data, sizes = operands[0], attribute(node, "output_shape", ())
    return data is not None and any(size < own for size, own in zip(sizes, data.shape[2:], strict=False))


def _reduces_nothing(node: NodeProto, operands: Operands, _: int) -> bool:
    axes = operands[1] if len(operands) > 1 and operands[1] is not None else attribute(node, "axes", ())
    axes = [*axes, attribute(node, "axis", 0)]  # of ArgMax and ArgMin
    return operands[0] is not None and operands[0].size == 0 and any(axis < 0 for axis in axes)


def _noop_of_another_number(node: NodeProto, _: Operands, __: int) -> bool:
    return attribute(node, "noop_with_empty_axes", 0) not in (0, 1)


def _long_slope(_: NodeProto, operands: Operands, __: int) -> bool:
    data, slope = operands[0], operands[1]
    return data is not None and slope is not None and np.broadcast_shapes(data.shape, slope.shape) != data.shape


def _rounded_difference(_: NodeProto, operands: Operands, __: int) -> bool:
    """Whether the length of a Range of float32 depends on the precision of the subtraction."""
    if any(it is None or it.dtype != np.float32 for it in operands):
        return False
    start, limit, step = (np.float32(it.item()) for it in operands if it is not None)
    exact = float(limit) - float(start)
    return ceil(float(limit - start) / float(step)) != ceil(exact / float(step))


def _backwards_to_a_huge_end(_: NodeProto, operands: Operands, __: int) -> bool:
    if len(operands) < 5 or operands[4] is None or operands[2] is None:
        return False
    return any(
        step < 0 and end >= LARGEST for step, end in zip(operands[4].tolist(), operands[2].tolist(), strict=False)
    )


def _negative_axes_too_early(node: NodeProto, _: Operands, version: int) -> bool:
    return version < 11 and any(axis < 0 for axis in attribute(node, "axes", ()))


def _scaled_to_another_number(node: NodeProto, operands: Operands, version: int) -> bool:
    """Whether rounding down a scaled size depends on the precision in which it is multiplied."""
    place = 2 if node.op_type == "Resize" and version > 10 else 1
    given = operands[place] if len(operands) > place else None
    factors = np.asarray(attribute(node, "scales", ()) if given is None else given, np.float32)
    if operands[0] is None:
        return False
    axes = attribute(node, "axes", range(operands[0].ndim))
    return any(
        floor(operands[0].shape[axis] * float(factor)) != floor(np.float32(operands[0].shape[axis]) * factor)
        for axis, factor in zip(axes, factors, strict=False)
    )


def _negative_axes_keep_the_ratio(node: NodeProto, _: Operands, __: int) -> bool:
    kept = attribute(node, "keep_aspect_ratio_policy", "stretch") != "stretch"
    return kept and any(axis < 0 for axis in attribute(node, "axes", ()))


def _both_sides(node: NodeProto, _: Operands, __: int) -> bool:
    return bool(attribute(node, "onesided", 1))


def _unjoined(node: NodeProto, operands: Operands, _: int) -> bool:
    return len(operands) > 1 and operands[1] is not None and not attribute(node, "keepdims", 1)


def _axis_before_the_last(node: NodeProto, operands: Operands, _: int) -> bool:
    return operands[0] is not None and attribute(node, "axis", -1) not in (-1, operands[0].ndim - 1)


def _letter_of_two_sizes(node: NodeProto, operands: Operands, _: int) -> bool:
    """Whether an index of an Einsum has the size 1 in one operand and another size elsewhere."""
    sizes: dict[str, set[int]] = {}
    terms = attribute(node, "equation", "").replace(" ", "").partition("->")[0].split(",")
    for term, operand in zip(terms, operands, strict=False):
        before, _, behind = term.partition("...")
        shape = () if operand is None else operand.shape
        for letter, size in [*zip(before, shape, strict=False), *zip(behind[::-1], shape[::-1], strict=False)]:
            sizes.setdefault(letter, set()).add(size)
    return any(len(found) > 1 for found in sizes.values())


def _negative_target(_: NodeProto, operands: Operands, __: int) -> bool:
    return len(operands) > 1 and operands[1] is not None and bool((operands[1] < 0).any())


def _scores(node: NodeProto, _: Operands, __: int) -> bool:
    return len(node.output) > 2 and bool(node.output[2])


def _long_past(_: NodeProto, operands: Operands, __: int) -> bool:
    return len(operands) > 4 and operands[3] is not None


ROWS: Sequence[Row] = (
    Row(
        LAYERS,
        "`pads`, even zeros, are given beside an `auto_pad` other than NOTSET: inference pads by them, the kernel by "
        "`auto_pad`",
        _pads_beside_auto_pad,
    ),
    Row(
        LAYERS,
        "`auto_pad` is SAME_UPPER or SAME_LOWER, and a dilation is not 1: the kernel leaves the dilations out of the "
        "padding",
        _same_and_dilated,
    ),
    Row(
        LAYERS,
        "`ceil_mode` is 1, and the last window of an axis begins behind the data and the padding before it, or is "
        "longer than the padded data: inference counts this window, the kernel leaves it out",
        _last_window_in_padding,
    ),
    Row(LAYERS, "`ceil_mode` is neither 0 nor 1: inference rounds up, the kernel down", _ceil_mode_of_another_number),
    Row(
        ("AveragePool",),
        "`auto_pad` is SAME_UPPER or SAME_LOWER, `ceil_mode` is 1, and a stride is longer than the window: inference "
        "counts a window behind the data, the kernel leaves it out",
        _same_and_rounded_up,
    ),
    Row(
        ("ConvTranspose",),
        "`auto_pad` is SAME_UPPER or SAME_LOWER, and `output_padding` is not 0: inference adds it, the kernel does not",
        _same_with_output_padding,
    ),
    Row(
        ("ConvTranspose",),
        "`output_shape` has a size below the operand's size of that axis: inference stops there, so the inferred shape "
        "has too few axes",
        _small_output_shape,
    ),
    Row(
        (*REDUCTIONS, "ArgMax", "ArgMin"),
        "the operand has no elements, and an axis is negative: the kernel does not reduce that axis",
        _reduces_nothing,
        versions=SIZE_0_KEEPS_AXES.versions,
    ),
    Row(
        REDUCTIONS,
        "`noop_with_empty_axes` is neither 0 nor 1, and no axes are given: inference reduces nothing, the kernel all",
        _noop_of_another_number,
    ),
    Row(
        ("MatMul",),
        "the inner size is 0, and the batches differ: the kernel returns the first operand's batch, not the broadcast "
        "one",
        _batches_of_nothing,
    ),
    Row(
        ("Einsum",),
        "an index has the size 1 where it occurs first and another size elsewhere: inference takes the 1, the kernel "
        "stretches it",
        _letter_of_two_sizes,
    ),
    Row(
        ("CenterCropPad",),
        "a size of `shape` is negative: inference returns it as it is, the kernel returns 0",
        _negative_target,
    ),
    Row(("NonZero",), "the operand has rank 0: inference returns no rows, the kernel one", _scalar),
    Row(
        ("Loop",),
        "the body declares other sizes of a state than the operand has: inference by onnx believes the body",
        _body_of_other_sizes,
    ),
    Row(("PRelu",), "the slope stretches the operand: inference returns the operand's shape", _long_slope),
    Row(
        ("Range",),
        "the operands are float32 constants, and the length depends on the precision: inference subtracts `start` in "
        "single precision, the kernel in double precision",
        _rounded_difference,
    ),
    Row(
        ("Slice",),
        "a step is negative, and its end is 2^31-1 or more: inference takes the end for the last element, the kernel "
        "for the place before the first one",
        _backwards_to_a_huge_end,
    ),
    Row(
        ("Unsqueeze",),
        "the operator set is older than 11, and an axis is negative: inference adds no axis",
        _negative_axes_too_early,
    ),
    Row(
        ("Resize", "Upsample"),
        "a size times its scale is a whole number in single precision, and less in double precision: inference rounds "
        "the latter down, the kernel the former",
        _scaled_to_another_number,
    ),
    Row(
        ("Resize",),
        "`keep_aspect_ratio_policy` is not stretch, and an axis is negative: the kernel does not scale that axis",
        _negative_axes_keep_the_ratio,
    ),
    Row(("STFT",), "`onesided` is 1 or absent: inference by onnx returns all bins, the kernel half", _both_sides),
    Row(
        ("SplitToSequence",),
        "`keepdims` is 0 and `split` is given: inference by onnx keeps the axis, the kernel removes it",
        _unjoined,
    ),
    Row(
        ("SimplifiedLayerNormalization",),
        "`axis` is before the last one: `inv_std_var` is inferred with the size 1 at that axis alone, the kernel "
        "returns 1 from that axis on",
        _axis_before_the_last,
    ),
    Row(
        ("GroupQueryAttention",),
        "past keys are given: `present` is inferred as long as `past`, the kernel returns it as long as both together",
        _long_past,
        MICROSOFT,
        Versions(before="1.32"),
    ),
    Row(
        ("NhwcMaxPool",),
        "`auto_pad` is SAME_UPPER or SAME_LOWER, and a dilation is not 1: the kernel leaves the dilations out of the "
        "padding",
        _same_and_dilated,
        MICROSOFT,
    ),
    Row(
        ("WhisperBeamSearch",),
        "`scores` is returned: inference does not take `max_length` less the prompt's length as its first size",
        _scores,
        MICROSOFT,
    ),
)


def row_of(node: NodeProto, operands: Operands, version: int) -> Row | None:
    """Return the first row that describes a node; None if there is none."""
    domain = "" if node.domain == "ai.onnx" else node.domain
    for row in ROWS:
        if row.domain == domain and node.op_type in row.operators and row.condition(node, operands, version):
            return row
    return None
