"""Operators for which onnx's shape inference sometimes returns another size than onnxruntime computes.

`wrong_shapes` runs onnx's inference only for models that contain such a node. docs/load-inference.md has the
measurements; a condition here may be wider than the measured one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from graphfix.graph.view import Node, optional_operand
from graphfix.shapes.dim import Shape

ENDS: Final = 2
STEPS: Final = 4
"""The operands of Slice that hold the ends and the steps."""
FUNCTION: Final = "function "
"""The beginning of the path of a function's graph."""
LARGEST: Final = (1 << 31) - 1
"""The number that exporters write for the end of an axis, whatever its size; larger numbers mean the same."""
AXES_ARE_COUNTED_BACK_SINCE: Final = 11
"""Unsqueeze may have negative axes since this operator set; onnx's older inference ignores them."""


def is_suspect(node: Node) -> bool:
    """Return whether onnx may infer a wrong size for a result of a node."""
    condition = SUSPECT.get(node.op)
    return condition is not None and not node.domain and condition(node)


def _integers(node: Node, name: str) -> tuple[int, ...]:
    """Return the numbers of an attribute; () where it is absent or a reference."""
    found = node.attributes.get(name)
    if isinstance(found, int):
        return (found,)
    return tuple(each for each in found if isinstance(each, int)) if isinstance(found, tuple) else ()


def _refers(node: Node, *names: str) -> bool:
    """Return whether one of these attributes is a reference to an attribute of the function around the node."""
    return any(name in node.attributes and node.attributes[name] is None for name in names)


def _pads_automatically(node: Node) -> bool:
    return node.attributes.get("auto_pad", "NOTSET") not in ("", "NOTSET")


def _shape(node: Node, at: int) -> Shape | None:
    """Return the shape of an operand; None where the operand is absent or its rank is not known."""
    value = optional_operand(node, at)
    return value.shape if value is not None and value.shape.ranked else None


def _sizes(node: Node, at: int) -> Iterable[object]:
    """Return the dims of an operand; () where the rank is not known."""
    shape = _shape(node, at)
    return () if shape is None else shape.json or ()


def _pool(node: Node) -> bool:
    """Return whether sizes are rounded up, or `auto_pad` is given beside pads or dilations."""
    if any(_integers(node, "ceil_mode")) or _refers(node, "ceil_mode", "auto_pad", "pads", "dilations"):
        return True
    dilated = any(size != 1 for size in _integers(node, "dilations"))
    return _pads_automatically(node) and (dilated or bool(_integers(node, "pads")))


def _conv_transpose(node: Node) -> bool:
    """Return whether the output's shape is given, or its padding, or whether the padding is automatic."""
    given = any(_integers(node, "output_padding")) or bool(_integers(node, "output_shape"))
    return given or _pads_automatically(node) or _refers(node, "output_padding", "output_shape", "auto_pad")


def _slices_backwards(node: Node) -> bool:
    """Return whether a step may be negative and its end a largest number, which onnx reads as the last element."""
    if optional_operand(node, STEPS) is None:
        return False
    steps = _elements(node, STEPS)
    if steps is not None and all(step > 0 for step in steps):
        return False
    ends = _elements(node, ENDS)  # computed ends are followed only where they matter: numpy does it
    if steps is None or ends is None:
        return True
    return any(step < 0 and end >= LARGEST for step, end in zip(steps, ends, strict=False))


def _elements(node: Node, at: int) -> Sequence[float] | None:
    """Return the numbers of an operand as far as they are known before the model runs."""
    value = optional_operand(node, at)
    found = value.elements if value is not None else None
    return None if found is None else [each for each in found if not isinstance(each, str)]


def _resize(node: Node) -> bool:
    """Return whether a scale is not a whole number, or the ratio is kept along axes that are counted from the end."""
    keeps_ratio = node.attributes.get("keep_aspect_ratio_policy", "stretch") != "stretch"
    if keeps_ratio and any(axis < 0 for axis in _integers(node, "axes")):
        return True
    operands = enumerate(node.operands)
    floats = [at for at, value in operands if at and value is not None and value.dtype.startswith("float")]
    return any(scale % 1 for at in floats for scale in _elements(node, at) or ())


def _reduction(node: Node) -> bool:
    """Return whether an operand without elements is reduced, or `noop_with_empty_axes` is neither 0 nor 1."""
    return 0 in _sizes(node, 0) or any(flag not in (0, 1) for flag in _integers(node, "noop_with_empty_axes"))


def _product(node: Node) -> bool:
    """Return whether the inner size is 0: the kernel then returns the first operand's batch."""
    return 0 in _sizes(node, 0)


def _prelu(node: Node) -> bool:
    """Return whether the slope stretches an axis of size 1: onnx infers the operand's shape.

    The documents say that a slope does not stretch the operand, so a free size of the operand is not taken for 1.
    """
    operand, slope = _shape(node, 0), _shape(node, 1)
    if operand is None or slope is None or slope.rank > operand.rank:
        return True
    pairs = zip(reversed(tuple(_sizes(node, 1))), reversed(tuple(_sizes(node, 0))), strict=False)
    return any(own == 1 and size != 1 for size, own in pairs)


def _scalar(node: Node) -> bool:
    shape = _shape(node, 0)
    return shape is not None and not shape.rank


def _range(node: Node) -> bool:
    """Return whether the operands are known and no integers: the length depends on the precision of a subtraction.

    In a function they may be known at a call.
    """
    is_constant = all(_elements(node, at) is not None for at in range(3)) or node.graph.path.startswith(FUNCTION)
    return is_constant and not node.operand(0).dtype.startswith("int")


def _recurrence(node: Node) -> bool:
    """Return whether the batch is the first axis."""
    return any(_integers(node, "layout")) or _refers(node, "layout")


def _unsqueeze(node: Node) -> bool:
    """Return whether an axis is negative in an operator set that does not count axes from the end."""
    return node.version < AXES_ARE_COUNTED_BACK_SINCE and any(axis < 0 for axis in _integers(node, "axes"))


def _normalization(node: Node) -> bool:
    """Return whether the second result is read, and several axes are normalized."""
    return len(node.results) > 1 and node.attributes.get("axis", -1) != -1


REDUCTIONS = (
    "ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum"
    " ReduceSumSquare ArgMax ArgMin"
)
SUSPECT: Mapping[str, Callable[[Node], bool]] = {
    **dict.fromkeys("MaxPool AveragePool LpPool".split(), _pool),
    **dict.fromkeys("LSTM GRU RNN".split(), _recurrence),
    **dict.fromkeys(REDUCTIONS.split(), _reduction),
    "ConvTranspose": _conv_transpose,
    "MatMul": _product,
    "NonZero": _scalar,
    "PRelu": _prelu,
    "Range": _range,
    "Resize": _resize,
    "SimplifiedLayerNormalization": _normalization,
    "Slice": _slices_backwards,
    "Unsqueeze": _unsqueeze,
    **dict.fromkeys(
        "Attention CenterCropPad Col2Im ConcatFromSequence DFT Einsum MaxRoiPool MaxUnpool RoiAlign SequenceAt"
        " SequenceMap SplitToSequence STFT Unique Upsample".split(),
        lambda _: True,
    ),
}
"""By operator of the standard set: whether the inference of a node may be wrong."""
