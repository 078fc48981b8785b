"""Operators for which onnx's shape inference sometimes returns another size than onnxruntime computes.

`wrong_shapes` runs onnx's inference only for models that contain such a node. docs/load-inference.md has the
measurements. A condition here may be wider than the measured one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from graphfix.graph.view import Node, optional_operand
from graphfix.shapes.dim import Shape

ENDS: Final = 2
STEPS: Final = 4
"""The indices of Slice's operands for the ends and the steps."""
FUNCTION: Final = "function "
"""The beginning of the path of a function's graph."""
LARGEST: Final = (1 << 31) - 1
"""The number that exporters write for the end of an axis of any size. Larger numbers mean the end of an axis too."""
AXES_ARE_COUNTED_BACK_SINCE: Final = 11
"""The opset since which Unsqueeze may have negative axes. onnx's older inference ignores them."""


def is_suspect(node: Node) -> bool:
    """Return whether onnx may infer a wrong size for a result of the node."""
    condition = SUSPECT.get(node.op)
    return condition is not None and not node.domain and condition(node)


def _integers(node: Node, name: str) -> tuple[int, ...]:
    """Return the integers of an attribute; () if it is absent or a reference."""
    found = node.attributes.get(name)
    if isinstance(found, int):
        return (found,)
    return tuple(each for each in found if isinstance(each, int)) if isinstance(found, tuple) else ()


def _refers(node: Node, *names: str) -> bool:
    """Return whether one of these attributes is a reference to an attribute of the function that contains the node."""
    return any(name in node.attributes and node.attributes[name] is None for name in names)


def _pads_automatically(node: Node) -> bool:
    return node.attributes.get("auto_pad", "NOTSET") not in ("", "NOTSET")


def _shape(node: Node, at: int) -> Shape | None:
    """Return the shape of an operand; None if the operand is absent or its rank is unknown."""
    value = optional_operand(node, at)
    return value.shape if value is not None and value.shape.ranked else None


def _sizes(node: Node, at: int) -> Iterable[object]:
    """Return the dims of an operand; () if its rank is unknown."""
    shape = _shape(node, at)
    return () if shape is None else shape.json or ()


def _pool(node: Node) -> bool:
    """Return whether a pooling node rounds sizes up, or has `auto_pad` together with pads or dilations.

    Returns True too if one of these attributes is a reference to an attribute of a function.
    """
    if any(_integers(node, "ceil_mode")) or _refers(node, "ceil_mode", "auto_pad", "pads", "dilations"):
        return True
    dilated = any(size != 1 for size in _integers(node, "dilations"))
    return _pads_automatically(node) and (dilated or bool(_integers(node, "pads")))


def _conv_transpose(node: Node) -> bool:
    """Return whether a ConvTranspose states its output's shape or padding, or pads automatically.

    Returns True too if one of these attributes is a reference to an attribute of a function.
    """
    given = any(_integers(node, "output_padding")) or bool(_integers(node, "output_shape"))
    return given or _pads_automatically(node) or _refers(node, "output_padding", "output_shape", "auto_pad")


def _slices_backwards(node: Node) -> bool:
    """Return whether a Slice may have a negative step whose end is LARGEST or more.

    onnx reads this end as the last element.
    """
    if optional_operand(node, STEPS) is None:
        return False
    steps = _elements(node, STEPS)
    if steps is not None and all(step > 0 for step in steps):
        return False
    ends = _elements(node, ENDS)  # Computed ends are evaluated only if they matter, because the evaluation needs numpy.
    if steps is None or ends is None:
        return True
    return any(step < 0 and end >= LARGEST for step, end in zip(steps, ends, strict=False))


def _elements(node: Node, at: int) -> Sequence[float] | None:
    """Return the numbers of an operand if they are known before the run; else None."""
    value = optional_operand(node, at)
    found = value.elements if value is not None else None
    return None if found is None else [each for each in found if not isinstance(each, str)]


def _resize(node: Node) -> bool:
    """Return whether a Resize has a fractional scale, or keeps the aspect ratio along negative axes."""
    keeps_ratio = node.attributes.get("keep_aspect_ratio_policy", "stretch") != "stretch"
    if keeps_ratio and any(axis < 0 for axis in _integers(node, "axes")):
        return True
    operands = enumerate(node.operands)
    floats = [at for at, value in operands if at and value is not None and value.dtype.startswith("float")]
    return any(scale % 1 for at in floats for scale in _elements(node, at) or ())


def _reduction(node: Node) -> bool:
    """Return whether a reduction's operand has a size 0, or its `noop_with_empty_axes` is neither 0 nor 1."""
    return 0 in _sizes(node, 0) or any(flag not in (0, 1) for flag in _integers(node, "noop_with_empty_axes"))


def _product(node: Node) -> bool:
    """Return whether a MatMul's first operand has a size 0. The kernel then returns the first operand's batch sizes."""
    return 0 in _sizes(node, 0)


def _prelu(node: Node) -> bool:
    """Return whether a PRelu's slope may stretch its operand, because onnx infers the operand's shape for the result.

    The slope may do so if it has another size where the operand's size is 1, if its rank is larger, or if a rank is
    unknown. The specification states that a slope does not stretch the operand, so a free size of the operand is not
    assumed to be 1.
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
    """Return whether a Range has constant operands that are not integers.

    Its length depends on the precision of a subtraction. In a function the operands may be constant at a call.
    """
    is_constant = all(_elements(node, at) is not None for at in range(3)) or node.graph.path.startswith(FUNCTION)
    return is_constant and not node.operand(0).dtype.startswith("int")


def _recurrence(node: Node) -> bool:
    """Return whether the batch is, or may be, the first axis of a recurrent node (attribute `layout`)."""
    return any(_integers(node, "layout")) or _refers(node, "layout")


def _unsqueeze(node: Node) -> bool:
    """Return whether an Unsqueeze has a negative axis in an opset that does not count axes from the end."""
    return node.version < AXES_ARE_COUNTED_BACK_SINCE and any(axis < 0 for axis in _integers(node, "axes"))


def _normalization(node: Node) -> bool:
    """Return whether the node has a second result and may normalize several axes."""
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
"""For each standard operator, the function that returns whether onnx may infer a wrong size for a node."""
