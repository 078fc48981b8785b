"""Operators for which some version of onnx infers another size than the kernels return.

Each operator has a condition on the node. Even if a node fulfils the condition, the inferred size may be right.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphfix.checker.proof.core.sizes import numbers
from graphfix.checker.proof.neutral.constant_folding import constant_array
from graphfix.checker.proof.onnx.reading.operands import domain_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from onnx import NodeProto

    from graphfix.checker.proof.core.sizes import Sizes
    from graphfix.checker.proof.onnx.reading.operands import Environment


_LARGEST = (1 << 31) - 1
"""The number that exporters write for the end of an axis of any size. Larger numbers mean the same."""


def is_suspect(node: NodeProto, environment: Environment) -> bool:
    """Return whether the inferred shapes of a node's results may be wrong.

    `environment` contains the node's operands.
    """
    asked = SUSPECT.get(node.op_type)
    return asked is not None and not domain_of(node.domain) and asked(node, environment)


def _text(node: NodeProto, name: str) -> str:
    """Return a text attribute; "" if the node does not have it."""
    return next((each.s.decode(errors="replace") for each in node.attribute if each.name == name), "")


def _numbers(node: NodeProto, name: str) -> list[int]:
    """Return an attribute of one or several integers as a list; an empty list if the node does not have it."""
    return next((list(each.ints) or [each.i] for each in node.attribute if each.name == name), [])


def _sizes(names: Sequence[str], at: int, environment: Environment) -> Sizes | None:
    """Return the shape of an operand or result; None if the rank is unknown or the operand is omitted."""
    name = names[at] if at < len(names) else ""
    return environment.find(name).sizes if name else None


def _pool(node: NodeProto, environment: Environment) -> bool:
    """Return whether the inferred size of a pool may be wrong.

    With `ceil_mode`, onnx counts a last window that begins in the padding. Beside automatic padding, onnx ignores
    dilations and pads.
    """
    kernel, dilations = _numbers(node, "kernel_shape"), _numbers(node, "dilations")
    automatic = _text(node, "auto_pad") not in ("", "NOTSET")
    if automatic and (_numbers(node, "pads") or any(size != 1 for size in dilations)):
        return True
    if not any(_numbers(node, "ceil_mode")):
        return False
    operand, result = _sizes(node.input, 0, environment), _sizes(node.output, 0, environment)
    if operand is None or result is None or len(operand) != len(result) or len(operand) != len(kernel) + 2:
        return True
    rank = len(kernel)
    pads, strides = _numbers(node, "pads") or [0] * 2 * rank, _numbers(node, "strides") or [1] * rank
    if {len(pads), 2 * len(strides), 2 * len(dilations or kernel)} != {2 * rank} or automatic or 0 in strides:
        return True
    for axis, (size, found) in enumerate(zip(operand[2:], result[2:], strict=True)):
        window = (dilations[axis] if dilations else 1) * (kernel[axis] - 1) + 1
        if isinstance(size, int) and found != -(-(size + pads[axis] + pads[axis + rank] - window) // strides[axis]) + 1:
            return True
    return False


def _conv_transpose(node: NodeProto, _: Environment) -> bool:
    """Return whether a ConvTranspose pads automatically, or states `output_padding` or `output_shape`."""
    padded = _text(node, "auto_pad") not in ("", "NOTSET")
    return padded or bool(_numbers(node, "output_shape")) or any(_numbers(node, "output_padding"))


def _slice(node: NodeProto, environment: Environment) -> bool:
    """Return whether a Slice may go backwards to an end of 2**31 - 1 or more, which a kernel reads as the beginning."""
    if len(node.input) <= 4 or not node.input[4]:  # noqa: PLR2004 - operand 4 contains the steps
        return False
    ends, steps = (numbers(environment.find(name).content) if name else None for name in (node.input[2], node.input[4]))
    if steps is not None and all(step > 0 for step in steps):
        return False
    return steps is None or ends is None or any(end >= _LARGEST for end in ends)


def _resize(node: NodeProto, environment: Environment) -> bool:
    """Return whether a Resize has constant scales that are not integers, so that sizes are rounded."""
    for name in node.input[1:]:
        scales = constant_array(environment.find(name)) if name else None
        if scales is not None and scales.dtype.kind == "f" and (scales % 1).any():
            return True
    return False


def _prelu(node: NodeProto, environment: Environment) -> bool:
    """Return whether the slope of a PRelu may stretch the data."""
    operand, slope = (_sizes(node.input, at, environment) for at in (0, 1))
    if operand is None or slope is None or len(slope) > len(operand):
        return True
    return any(size not in (1, own) for size, own in zip(reversed(slope), reversed(operand), strict=False))


SUSPECT: Mapping[str, Callable[[NodeProto, Environment], bool]] = {
    **dict.fromkeys("MaxPool AveragePool LpPool".split(), _pool),
    "ConvTranspose": _conv_transpose,
    "PRelu": _prelu,
    "Slice": _slice,
    **dict.fromkeys("Resize Upsample".split(), _resize),
    # recurrent operators are suspect if `layout` puts the batch in front
    **dict.fromkeys("LSTM GRU RNN".split(), lambda node, _: any(_numbers(node, "layout"))),
    **dict.fromkeys(
        "Attention CenterCropPad Col2Im ConcatFromSequence DFT Einsum MaxRoiPool MaxUnpool Range RoiAlign "
        "SequenceAt SequenceMap SimplifiedLayerNormalization SplitToSequence STFT Unique".split(),
        lambda _, __: True,
    ),
}
"""The condition under which the inferred shape may be wrong, by the operator of the standard set."""
