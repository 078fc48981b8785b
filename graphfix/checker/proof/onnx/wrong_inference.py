"""Operators whose results onnx's shape inference, of some version, takes for another size than a kernel returns.

Each has a condition on the node; a node that meets it may be inferred rightly all the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphfix.checker.proof.onnx.operands import domain_of
from graphfix.checker.proof.sizes import numbers

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from onnx import NodeProto

    from graphfix.checker.proof.onnx.operands import Environment


def is_suspect(node: NodeProto, environment: Environment) -> bool:
    """Return whether the inference of a node's results may be wrong; `environment` holds its operands."""
    asked = SUSPECT.get(node.op_type)
    return asked is not None and not domain_of(node.domain) and asked(node, environment)


def _text(node: NodeProto, name: str) -> str:
    return next((each.s.decode(errors="replace") for each in node.attribute if each.name == name), "")


def _numbers(node: NodeProto, name: str) -> list[int]:
    return next((list(each.ints) or [each.i] for each in node.attribute if each.name == name), [])


def _pool(node: NodeProto, environment: Environment) -> bool:
    """A last window that begins in the padding is counted; padding to SAME leaves dilations out."""
    del environment
    dilated = any(size != 1 for size in _numbers(node, "dilations"))
    return any(_numbers(node, "ceil_mode")) or (dilated and _text(node, "auto_pad").startswith("SAME"))


def _conv_transpose(node: NodeProto, environment: Environment) -> bool:
    """The output's padding or shape beside automatic padding."""
    del environment
    padded = _text(node, "auto_pad") not in ("", "NOTSET")
    return padded or bool(_numbers(node, "output_shape")) or any(_numbers(node, "output_padding"))


def _slice(node: NodeProto, environment: Environment) -> bool:
    """Backwards to an end that is a largest number."""
    if len(node.input) <= 4 or not node.input[4]:  # noqa: PLR2004 - the operand that holds the steps
        return False
    known = numbers(environment.find(node.input[4]).content)
    return known is None or any(step < 0 for step in known)


def _recurrence(node: NodeProto, environment: Environment) -> bool:
    """The batch in front."""
    del environment
    return any(_numbers(node, "layout"))


def _always(node: NodeProto, environment: Environment) -> bool:
    del node, environment
    return True


SUSPECT: Mapping[str, Callable[[NodeProto, Environment], bool]] = {
    **dict.fromkeys("MaxPool AveragePool LpPool".split(), _pool),
    "ConvTranspose": _conv_transpose,
    "Slice": _slice,
    **dict.fromkeys("LSTM GRU RNN".split(), _recurrence),
    **dict.fromkeys(
        "Attention CenterCropPad Col2Im ConcatFromSequence DFT Einsum MaxRoiPool MaxUnpool Range Resize RoiAlign "
        "SequenceAt SequenceMap SimplifiedLayerNormalization SplitToSequence STFT Unique Upsample".split(),
        _always,
    ),
}
"""By operator of the standard set: when the inference may be wrong."""
