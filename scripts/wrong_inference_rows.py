"""The table of docs/load-inference.md: for which nodes load-time inference gives another size than the kernel.

`ROWS` is data to be copied: operators, when the inference is wrong, in words and as a function of a node and its
operands. wrong_inference.py runs random models against it, and fails where a wrong size is inferred of a node that no
row describes. A node that a row describes may be inferred correctly all the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import floor
from typing import Any, NamedTuple

import numpy as np
from onnx import AttributeProto, GraphProto, NodeProto, helper

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
    return bool(attribute(node, "ceil_mode", 0)) and attribute(node, "auto_pad", "NOTSET").startswith("SAME")


def _ceil_mode_of_another_number(node: NodeProto, _: Operands, __: int) -> bool:
    return attribute(node, "ceil_mode", 0) not in (0, 1)


def _pads_beside_auto_pad(node: NodeProto, _: Operands, __: int) -> bool:
    return attribute(node, "auto_pad", "NOTSET") != "NOTSET" and any(attribute(node, "pads", ()))


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


def _float_range(_: NodeProto, operands: Operands, __: int) -> bool:
    return operands[0] is not None and operands[0].dtype == np.float32


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


def _both_sides(node: NodeProto, _: Operands, __: int) -> bool:
    return bool(attribute(node, "onesided", 1))


def _unjoined(node: NodeProto, operands: Operands, _: int) -> bool:
    return len(operands) > 1 and operands[1] is not None and not attribute(node, "keepdims", 1)


def _axis_before_the_last(node: NodeProto, operands: Operands, _: int) -> bool:
    return operands[0] is not None and attribute(node, "axis", -1) not in (-1, operands[0].ndim - 1)


def _long_past(_: NodeProto, operands: Operands, __: int) -> bool:
    return len(operands) > 4 and operands[3] is not None


ROWS: Sequence[Row] = (
    Row(
        LAYERS,
        "`ceil_mode` is 1, and the last window of an axis begins behind the data and the padding before it, or is "
        "longer than the padded data: inference counts this window, the kernel leaves it out",
        _last_window_in_padding,
    ),
    Row(LAYERS, "`ceil_mode` is neither 0 nor 1: inference rounds up, the kernel down", _ceil_mode_of_another_number),
    Row(
        LAYERS,
        "`auto_pad` is SAME_UPPER or SAME_LOWER, and a dilation is not 1: the kernel leaves the dilations out of the "
        "padding",
        _same_and_dilated,
    ),
    Row(
        LAYERS,
        "`auto_pad` is SAME_UPPER or SAME_LOWER, and `ceil_mode` is 1: inference rounds up, the kernel leaves out a "
        "window behind the data",
        _same_and_rounded_up,
    ),
    Row(
        LAYERS,
        "`pads` are given beside an `auto_pad` other than NOTSET: inference adds them, the kernel ignores them",
        _pads_beside_auto_pad,
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
    ),
    Row(
        REDUCTIONS,
        "`noop_with_empty_axes` is neither 0 nor 1, and no axes are given: inference reduces nothing, the kernel all",
        _noop_of_another_number,
    ),
    Row(
        ("MatMul",),
        "the operands' last and last but one axis have no elements, and their batches differ: the kernel returns the "
        "first operand's batch",
        _batches_of_nothing,
    ),
    Row(("NonZero",), "the operand has rank 0: inference returns no rows, the kernel one", _scalar),
    Row(
        ("Loop",),
        "the body declares other sizes of a state than the operand has: inference believes the body",
        _body_of_other_sizes,
    ),
    Row(("PRelu",), "the slope stretches the operand: inference returns the operand's shape", _long_slope),
    Row(
        ("Range",),
        "the operands are float32 constants: inference divides in double precision, the kernel in single precision",
        _float_range,
    ),
    Row(
        ("Slice",),
        "a step is negative, and its end is 2^31-1 or more: inference takes the end for the last element, the kernel "
        "for the place before the first one",
        _backwards_to_a_huge_end,
    ),
    Row(
        ("Unsqueeze",),
        "the operator set is older than 11, and an axis is negative: inference leaves out axes that the kernel adds",
        _negative_axes_too_early,
    ),
    Row(
        ("Resize", "Upsample"),
        "a size times its scale is a whole number in single precision, and less in double precision: inference rounds "
        "the latter down, the kernel the former",
        _scaled_to_another_number,
    ),
    Row(("STFT",), "`onesided` is 1 or absent: inference by onnx returns all bins, the kernel half", _both_sides),
    Row(
        ("SplitToSequence",),
        "`keepdims` is 0 and `split` is given: inference by onnx keeps the axis, the kernel removes it",
        _unjoined,
    ),
    Row(
        ("SimplifiedLayerNormalization",),
        "`axis` is before the last one: `inv_std_var` is inferred with 1 as its last size alone, the kernel has 1 from "
        "that axis on",
        _axis_before_the_last,
    ),
    Row(
        ("GroupQueryAttention",),
        "past keys are given: `present` is inferred as long as `past`, the kernel returns it as long as both together",
        _long_past,
        MICROSOFT,
    ),
    Row(
        ("NhwcMaxPool",),
        "`auto_pad` is SAME_UPPER or SAME_LOWER, and a dilation is not 1: the kernel leaves the dilations out of the "
        "padding",
        _same_and_dilated,
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
