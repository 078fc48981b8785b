"""Convert nodes of opset 7 to 16 to opset 17. Source: the ONNX changelog, operator by operator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
import onnx

from graphfix.formats.onnx.opset.converted_graph import ConvertedGraph
from graphfix.graph.edits import Refused
from graphfix.results.onnx_messages import AttributeProto, NodeProto, TensorProto

Conversion: TypeAlias = Callable[[NodeProto, ConvertedGraph], None]
"""A function that converts a node to opset 17, in place. It raises Refused with the reason if it can't."""

KEPT = frozenset(
    "Abs Add ArgMax ArgMin AveragePool Cast Ceil Compress Concat Constant Conv ConvTranspose CumSum DepthToSpace "
    "DequantizeLinear Div Equal Erf Exp Expand Flatten Floor GRU Gather GatherElements GatherND Gemm Greater "
    "GreaterOrEqual Identity If IsNaN LRN LSTM LeakyRelu Less LessOrEqual Log Loop LpPool MatMul Max MaxPool MaxUnpool "
    "Mean MeanVarianceNormalization Min Mod Mul Neg NonMaxSuppression NonZero PRelu Pow QuantizeLinear RNN Reciprocal "
    "ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSumSquare Relu "
    "Reshape ScatterElements ScatterND Shape Sigmoid Sign Size SpaceToDepth Sqrt Sub Sum Tanh Tile Transpose "
    "Where".split()
)
"""Operators whose newer versions, from opset 7 to 17, only allow more, so their nodes are not changed.

The newer versions allow more element types, negative axes, or new attributes whose default is the old behaviour.
"""
AXES_SINCE = 13
FLOAT_LIMIT = float(np.finfo(np.float32).max)


def _take(node: NodeProto, name: str) -> AttributeProto | None:
    """Remove an attribute from a node and return it; None if the node does not have it.

    Raises Refused if the attribute is a reference, because each call of the function decides its value.
    """
    for attribute in node.attribute:
        if attribute.name == name:
            if attribute.ref_attr_name:
                raise Refused(f"`{name}` is decided by the calls of its function")
            taken = AttributeProto()
            taken.CopyFrom(attribute)
            node.attribute.remove(attribute)
            return taken
    return None


def _integers(graph: ConvertedGraph, stem: str, values: Sequence[int]) -> str:
    return graph.constant(stem, np.asarray(values, np.int64))


def _put(node: NodeProto, at: int, name: str) -> None:
    """Set the name of operand `at`. Absent operands before it become empty names."""
    while len(node.input) <= at:
        node.input.append("")
    node.input[at] = name


def _before(version: int, convert: Conversion) -> Conversion:
    """Return a conversion that changes only nodes of opsets below `version`."""

    def converted(node: NodeProto, graph: ConvertedGraph) -> None:
        if graph.version < version:
            convert(node, graph)

    return converted


def _as_operand(name: str) -> Conversion:
    """Return a conversion that moves an attribute of integers to operand 1: the axes of Squeeze, the sizes of Split."""

    def convert(node: NodeProto, graph: ConvertedGraph) -> None:
        taken = _take(node, name)
        if taken is not None:
            _put(node, 1, _integers(graph, name, list(taken.ints)))

    return _before(AXES_SINCE, convert)


def _slice(node: NodeProto, graph: ConvertedGraph) -> None:
    """Convert the starts, ends and axes of a Slice from attributes to operands."""
    for at, name in enumerate(("starts", "ends", "axes"), 1):
        taken = _take(node, name)
        if taken is not None:
            _put(node, at, _integers(graph, name, list(taken.ints)))


def _top_k(node: NodeProto, graph: ConvertedGraph) -> None:
    taken = _take(node, "k")
    if taken is not None:
        _put(node, 1, _integers(graph, "k", [taken.i]))


def _float(graph: ConvertedGraph, stem: str, value: float, like: str) -> str:
    """Add a scalar constant of the element type of the value `like`, and return its name.

    Raises Refused if the element type is unknown or not a float type.
    """
    code = graph.dtype(like)
    if code not in (TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16):
        raise Refused(f"the element type of '{like}' is not known")
    with np.errstate(over="ignore"):  # A number beyond the range of float16 becomes infinity, which is no bound.
        return graph.constant(stem, np.asarray(value, onnx.helper.tensor_dtype_to_np_dtype(code)))


def _pad(node: NodeProto, graph: ConvertedGraph) -> None:
    """Convert the pads and the value of a Pad from attributes to operands."""
    pads, value = _take(node, "pads"), _take(node, "value")
    if pads is not None:
        _put(node, 1, _integers(graph, "pads", list(pads.ints)))
    if value is not None and (value.f or np.signbit(value.f)):  # Without this operand, Pad uses 0.0.
        _put(node, 2, _float(graph, "pad_value", value.f, node.input[0]))


def _clip(node: NodeProto, graph: ConvertedGraph) -> None:
    """Convert the bounds of a Clip from attributes to operands.

    In old opsets an absent bound is float32's largest finite number, for every element type. From opset 11 on it is the
    type's own largest finite number. So an absent bound is written out unless the type is float32.
    """
    for at, name, default in ((1, "min", -FLOAT_LIMIT), (2, "max", FLOAT_LIMIT)):
        taken = _take(node, name)
        if taken is not None or graph.dtype(node.input[0]) != TensorProto.FLOAT:
            _put(node, at, _float(graph, f"clip_{name}", taken.f if taken is not None else default, node.input[0]))


def _dropout(node: NodeProto, graph: ConvertedGraph) -> None:
    """Convert a Dropout, which only copies its operand when a model runs. Raises Refused if its mask is read."""
    if any(node.output[1:]):
        raise Refused("its mask is read, which is of another type there")
    del node.output[1:]
    ratio = _take(node, "ratio")
    if ratio is not None:
        _put(node, 1, graph.constant("ratio", np.asarray(ratio.f, np.float32)))


def _batch_normalization(node: NodeProto, graph: ConvertedGraph) -> None:
    """Remove the attribute `spatial` and the results of the training mode from a BatchNormalization.

    Raises Refused if it has statistics for each element (`spatial=0`), or if a result of the training mode is used.
    """
    spatial = _take(node, "spatial") if graph.version < 9 else None  # noqa: PLR2004 -- where the attribute ends
    if spatial is not None and not spatial.i:
        raise Refused("its statistics are not of whole channels (spatial=0)")
    if graph.version < 14:  # noqa: PLR2004 -- where training is an attribute
        if any(node.output[1:]):
            raise Refused("it is in training mode")
        del node.output[1:]


def _softmax(node: NodeProto, graph: ConvertedGraph) -> None:
    """Convert a Softmax, which before opset 13 is computed over all axes from `axis` to the last, at once.

    If `axis` is not the last axis, the operand is flattened before the node and the result is reshaped behind it.
    """
    taken = _take(node, "axis")
    dims = graph.dims(node.input[0])
    if dims is None:
        raise Refused(f"the rank of '{node.input[0]}' is not known")
    axis = (taken.i if taken is not None else 1) % max(len(dims), 1)
    if axis == len(dims) - 1:
        node.attribute.append(onnx.helper.make_attribute("axis", -1))
        return
    source, result = node.input[0], node.output[0]
    flat, shape, made = (graph.fresh(f"{result}_{part}") for part in ("flat", "shape", "rows"))
    graph.add(onnx.helper.make_node("Flatten", [source], [flat], name=flat, axis=axis))
    graph.add(onnx.helper.make_node("Shape", [source], [shape], name=shape))
    graph.add(onnx.helper.make_node("Reshape", [made, shape], [result], name=graph.fresh(result)), behind=True)
    node.input[0], node.output[0] = flat, made
    node.attribute.append(onnx.helper.make_attribute("axis", -1))


def _upsample(node: NodeProto, graph: ConvertedGraph) -> None:
    """Convert an Upsample to a Resize with the same scales, which are at least 1."""
    taken = _take(node, "scales") if graph.version < 9 else None  # noqa: PLR2004 -- where the attribute ends
    scales = graph.constant("scales", np.asarray(taken.floats, np.float32)) if taken is not None else node.input[1]
    node.op_type = "Resize"
    node.input[:] = [node.input[0], "", scales]
    _coordinates(node)


def _resize(node: NodeProto, graph: ConvertedGraph) -> None:
    """Convert a Resize of opset 10, 11 or 12.

    In opset 10 coordinates are asymmetric and rounded down. From opset 13 on, an operand that is not used is absent,
    but before it is an empty tensor. Raises Refused for an opset 10 Resize that may shrink by nearest elements, because
    opset 10 does not define their selection.
    """
    if graph.version < 11:  # noqa: PLR2004 -- where coordinates are declared
        scales = graph.elements(node.input[1])
        mode = next((attribute.s for attribute in node.attribute if attribute.name == "mode"), b"nearest")
        if mode == b"nearest" and (scales is None or min(scales, default=1) < 1):
            raise Refused("it may make its operand smaller by nearest elements, which that opset leaves open")
        node.input[:] = [node.input[0], "", node.input[1]]
        _coordinates(node)
    elif graph.version < AXES_SINCE:
        empty = [at for at in range(1, len(node.input)) if node.input[at] and graph.dims(node.input[at]) == (0,)]
        for at in empty:
            graph.drop(node.input[at])
            node.input[at] = ""
        while empty and not node.input[-1]:
            node.input.pop()


def _coordinates(node: NodeProto) -> None:
    """Add the attributes by which a Resize computes coordinates as in opset 10."""
    for key, value in (("coordinate_transformation_mode", "asymmetric"), ("nearest_mode", "floor")):
        node.attribute.append(onnx.helper.make_attribute(key, value))


def _roi_align(node: NodeProto, _: ConvertedGraph) -> None:
    node.attribute.append(onnx.helper.make_attribute("coordinate_transformation_mode", "output_half_pixel"))


def _scatter(node: NodeProto, _: ConvertedGraph) -> None:
    node.op_type = "ScatterElements"


def _one_hot(_: NodeProto, __: ConvertedGraph) -> None:
    raise Refused("indices below 0 mean another thing there")


def _scan(_: NodeProto, __: ConvertedGraph) -> None:
    raise Refused("it scans batches there")


CHANGED: dict[str, Conversion] = {
    "Squeeze": _as_operand("axes"),
    "Unsqueeze": _as_operand("axes"),
    "ReduceSum": _as_operand("axes"),
    "Split": _as_operand("split"),
    "Slice": _before(10, _slice),
    "TopK": _before(10, _top_k),
    "Pad": _before(11, _pad),
    "Clip": _before(11, _clip),
    "Dropout": _before(12, _dropout),
    "BatchNormalization": _batch_normalization,
    **dict.fromkeys(("Softmax", "LogSoftmax", "Hardmax"), _before(AXES_SINCE, _softmax)),
    "Upsample": _upsample,
    "Resize": _resize,
    "RoiAlign": _before(16, _roi_align),
    "Scatter": _scatter,
    "OneHot": _before(11, _one_hot),
    "Scan": _before(9, _scan),
}
