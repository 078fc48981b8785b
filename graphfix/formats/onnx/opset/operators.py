"""How the operators of opset 7 to 16 are stated at opset 17. Source: the ONNX changelog, operator by operator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import AttributeProto, NodeProto, TensorProto

from graphfix.graph.edits import Refused


class Bench(Protocol):
    """What a form may ask and add."""

    def dims(self, name: str) -> tuple[int | None, ...] | None:
        """The sizes of a value as far as they are numbers; None where its rank is not known."""

    def dtype(self, name: str) -> int:
        """The element type of a value, 0 where it is not known."""

    def number(self, name: str) -> Sequence[float] | None:
        """The elements of a constant, None for anything else."""

    def constant(self, stem: str, array: NDArray[np.generic]) -> str:
        """The name of a constant."""

    def fresh(self, stem: str) -> str:
        """A name that nothing has."""

    def drop(self, name: str) -> None:
        """Note that a value has a reader less."""

    def add(self, node: NodeProto, *, behind: bool = False) -> None:
        """Add a node before the one that is restated, or behind it."""


Form: TypeAlias = Callable[[NodeProto, int, Bench], None]
"""States a node of an opset at 17, in place. Raises Refused with the reason why it can't."""

KEPT = frozenset(
    "Abs Add ArgMax ArgMin AveragePool Cast Ceil Compress Concat Constant Conv ConvTranspose CumSum DepthToSpace "
    "DequantizeLinear Div Equal Erf Exp Expand Flatten Floor GRU Gather GatherElements GatherND Gemm Greater "
    "GreaterOrEqual Identity If IsNaN LRN LSTM LeakyRelu Less LessOrEqual Log Loop LpPool MatMul Max MaxPool MaxUnpool "
    "Mean MeanVarianceNormalization Min Mod Mul Neg NonMaxSuppression NonZero PRelu Pow QuantizeLinear RNN Reciprocal "
    "ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSumSquare Relu "
    "Reshape ScatterElements ScatterND Shape Sigmoid Sign Size SpaceToDepth Sqrt Sub Sum Tanh Tile Transpose "
    "Where".split()
)
"""From opset 7 to 17 these only allow more: element types, negative axes, attributes whose default is what was."""
AXES_SINCE = 13
OPERANDS_SINCE = {"Slice": 10, "TopK": 10, "Pad": 11, "Clip": 11, "Dropout": 12}
"""The opset from which these take operands instead of attributes."""
FLOAT_LIMIT = float(np.finfo(np.float32).max)


def _take(node: NodeProto, name: str) -> AttributeProto | None:
    """Take an attribute off a node. Raises Refused for one that a function's call decides."""
    for attribute in node.attribute:
        if attribute.name == name:
            if attribute.ref_attr_name:
                raise Refused(f"`{name}` is decided by the calls of its function")
            taken = AttributeProto()
            taken.CopyFrom(attribute)
            node.attribute.remove(attribute)
            return taken
    return None


def _integers(bench: Bench, stem: str, numbers: Sequence[int]) -> str:
    return bench.constant(stem, np.asarray(numbers, np.int64))


def _put(node: NodeProto, at: int, name: str) -> None:
    """Give operand `at` a name; what is absent before it is empty."""
    while len(node.input) <= at:
        node.input.append("")
    node.input[at] = name


def _as_operand(name: str) -> Form:
    """An attribute of integers becomes operand 1: the axes of Squeeze, the sizes of Split."""

    def form(node: NodeProto, version: int, bench: Bench) -> None:
        taken = _take(node, name) if version < AXES_SINCE else None
        if taken is not None:
            _put(node, 1, _integers(bench, name, list(taken.ints)))

    return form


def _slice(node: NodeProto, version: int, bench: Bench) -> None:
    if version >= OPERANDS_SINCE["Slice"]:
        return
    for at, name in enumerate(("starts", "ends", "axes"), 1):
        taken = _take(node, name)
        if taken is not None:
            _put(node, at, _integers(bench, name, list(taken.ints)))


def _top_k(node: NodeProto, version: int, bench: Bench) -> None:
    taken = _take(node, "k") if version < OPERANDS_SINCE["TopK"] else None
    if taken is not None:
        _put(node, 1, _integers(bench, "k", [taken.i]))


def _float(bench: Bench, stem: str, value: float, like: str) -> str:
    """A scalar of the element type of the value `like`."""
    code = bench.dtype(like)
    if code not in (TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16):
        raise Refused(f"the element type of '{like}' is not known")
    with np.errstate(over="ignore"):  # beyond what float16 holds: no bound
        return bench.constant(stem, np.asarray(value, onnx.helper.tensor_dtype_to_np_dtype(code)))


def _pad(node: NodeProto, version: int, bench: Bench) -> None:
    if version >= OPERANDS_SINCE["Pad"]:
        return
    pads, value = _take(node, "pads"), _take(node, "value")
    if pads is not None:
        _put(node, 1, _integers(bench, "pads", list(pads.ints)))
    if value is not None and value.f:
        _put(node, 2, _float(bench, "pad_value", value.f, node.input[0]))


def _clip(node: NodeProto, version: int, bench: Bench) -> None:
    """Without a bound it is the largest finite number in both, and float32's in the old one, whatever the type."""
    if version >= OPERANDS_SINCE["Clip"]:
        return
    for at, name, default in ((1, "min", -FLOAT_LIMIT), (2, "max", FLOAT_LIMIT)):
        taken = _take(node, name)
        if taken is not None or bench.dtype(node.input[0]) != TensorProto.FLOAT:
            _put(node, at, _float(bench, f"clip_{name}", taken.f if taken is not None else default, node.input[0]))


def _dropout(node: NodeProto, version: int, bench: Bench) -> None:
    """It does nothing when a model runs."""
    if version >= OPERANDS_SINCE["Dropout"]:
        return
    if any(node.output[1:]):
        raise Refused("its mask is read, which is of another type there")
    del node.output[1:]
    ratio = _take(node, "ratio")
    if ratio is not None:
        _put(node, 1, bench.constant("ratio", np.asarray(ratio.f, np.float32)))


def _batch_normalization(node: NodeProto, version: int, _: Bench) -> None:
    spatial = _take(node, "spatial") if version < 9 else None  # noqa: PLR2004 -- where the attribute ends
    if spatial is not None and not spatial.i:
        raise Refused("its statistics are not of whole channels (spatial=0)")
    if version < 14:  # noqa: PLR2004 -- where training is an attribute
        if any(node.output[1:]):
            raise Refused("it is in training mode")
        del node.output[1:]


def _softmax(node: NodeProto, version: int, bench: Bench) -> None:
    """Before opset 13 it is taken over all axes from `axis` on, at once."""
    if version >= AXES_SINCE:
        return
    taken = _take(node, "axis")
    dims = bench.dims(node.input[0])
    if dims is None:
        raise Refused(f"the rank of '{node.input[0]}' is not known")
    axis = (taken.i if taken is not None else 1) % max(len(dims), 1)
    if axis == len(dims) - 1:
        node.attribute.append(onnx.helper.make_attribute("axis", -1))
        return
    source, result = node.input[0], node.output[0]
    flat, shape, made = (bench.fresh(f"{result}_{part}") for part in ("flat", "shape", "rows"))
    bench.add(onnx.helper.make_node("Flatten", [source], [flat], name=flat, axis=axis))
    bench.add(onnx.helper.make_node("Shape", [source], [shape], name=shape))
    bench.add(onnx.helper.make_node("Reshape", [made, shape], [result], name=bench.fresh(result)), behind=True)
    node.input[0], node.output[0] = flat, made
    node.attribute.append(onnx.helper.make_attribute("axis", -1))


def _upsample(node: NodeProto, version: int, bench: Bench) -> None:
    """A Resize by scales of at least 1."""
    taken = _take(node, "scales") if version < 9 else None  # noqa: PLR2004 -- where the attribute ends
    scales = bench.constant("scales", np.asarray(taken.floats, np.float32)) if taken is not None else node.input[1]
    node.op_type = "Resize"
    node.input[:] = [node.input[0], "", scales]
    _coordinates(node)


def _resize(node: NodeProto, version: int, bench: Bench) -> None:
    """At opset 10 coordinates are scaled and cut; from 13 on what is not given is absent, not empty."""
    if version < 11:  # noqa: PLR2004 -- where coordinates are stated
        scales = bench.number(node.input[1])
        mode = next((attribute.s for attribute in node.attribute if attribute.name == "mode"), b"nearest")
        if mode == b"nearest" and (scales is None or min(scales, default=1) < 1):
            raise Refused("it may make its operand smaller by nearest elements, which that opset leaves open")
        node.input[:] = [node.input[0], "", node.input[1]]
        _coordinates(node)
    elif version < AXES_SINCE:
        for at in range(1, len(node.input)):
            if node.input[at] and bench.dims(node.input[at]) == (0,):
                bench.drop(node.input[at])
                node.input[at] = ""


def _coordinates(node: NodeProto) -> None:
    for key, value in (("coordinate_transformation_mode", "asymmetric"), ("nearest_mode", "floor")):
        node.attribute.append(onnx.helper.make_attribute(key, value))


def _roi_align(node: NodeProto, version: int, _: Bench) -> None:
    if version < 16:  # noqa: PLR2004 -- where the default changes
        node.attribute.append(onnx.helper.make_attribute("coordinate_transformation_mode", "output_half_pixel"))


def _scatter(node: NodeProto, _: int, __: Bench) -> None:
    node.op_type = "ScatterElements"


def _one_hot(_: NodeProto, version: int, __: Bench) -> None:
    if version < 11:  # noqa: PLR2004 -- where negative indices count from the end
        raise Refused("indices below 0 mean another thing there")


def _scan(_: NodeProto, version: int, __: Bench) -> None:
    if version < 9:  # noqa: PLR2004 -- where the batch axis goes
        raise Refused("it scans batches there")


CHANGED: dict[str, Form] = {
    "Squeeze": _as_operand("axes"),
    "Unsqueeze": _as_operand("axes"),
    "ReduceSum": _as_operand("axes"),
    "Split": _as_operand("split"),
    "Slice": _slice,
    "TopK": _top_k,
    "Pad": _pad,
    "Clip": _clip,
    "Dropout": _dropout,
    "BatchNormalization": _batch_normalization,
    "Softmax": _softmax,
    "LogSoftmax": _softmax,
    "Hardmax": _softmax,
    "Upsample": _upsample,
    "Resize": _resize,
    "RoiAlign": _roi_align,
    "Scatter": _scatter,
    "OneHot": _one_hot,
    "Scan": _scan,
}
