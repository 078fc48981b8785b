"""Sizes of one node's results, asked of onnx's inference where all sizes of its operands are numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import onnx
from onnx import NodeProto, TensorProto, numpy_helper

from graphfix.checker.files.onnx.schema import schema
from graphfix.checker.proof import constant_folding

if TYPE_CHECKING:
    from onnx import TypeProto
    from onnx.defs import OpSchema

    from graphfix.checker.proof.onnx.operands import Call
    from graphfix.checker.proof.onnx.shapes import Dims
    from graphfix.checker.proof.terms import View


def alone(call: Call, index: int) -> Dims:
    """Give the dims of result `index`; None where its rank is not told.

    It sees what the operands are now, with bound sizes and computed constants: in a body or a function as well, and
    behind what inference on the whole file does not see through. For an element type that is not known one stands that
    the operator takes: no size follows from it.
    """
    if call.domain or any(view is not None and not _static(view) for view in call.views):
        return None
    known = schema(call.op, call.domain, call.since)
    if known is None or any(given.HasField("g") or given.graphs for given in call.attributes.values()):
        return None
    given = {f"operand{at}": view for at, view in enumerate(call.views) if view is not None}
    names = ["" if view is None else f"operand{at}" for at, view in enumerate(call.views)]
    node = NodeProto(op_type=call.op, input=names, output=call.outputs)
    node.attribute.extend(call.attributes.values())
    constants = {name: tensor for name, view in given.items() if (tensor := _tensor(view)) is not None}
    try:
        types = {name: _type(known, names.index(name), view, constants.get(name)) for name, view in given.items()}
        found = onnx.shape_inference.infer_node_outputs(known, node, types, constants)
    except (onnx.shape_inference.InferenceError, onnx.checker.ValidationError, ValueError):
        return None
    told = found.get(call.outputs[index])
    if told is None or not told.tensor_type.HasField("shape"):
        return None
    return tuple(dim.dim_value if dim.HasField("dim_value") else None for dim in told.tensor_type.shape.dim)


def _type(known: OpSchema, at: int, view: View, constant: TensorProto | None) -> TypeProto:
    """Give the type of an operand: of a constant its own, else float32 where the operator takes it."""
    taken = sorted(known.inputs[min(at, len(known.inputs) - 1)].types)
    name = "tensor(float)" if "tensor(float)" in taken or not taken else taken[0]
    code = TensorProto.DataType.Value(name.removeprefix("tensor(").removesuffix(")").upper())
    sizes = [size for size in view.sizes or () if isinstance(size, int)]
    return onnx.helper.make_tensor_type_proto(code if constant is None else constant.data_type, sizes)


def _static(view: View) -> bool:
    return view.sizes is not None and all(isinstance(size, int) for size in view.sizes)


def _tensor(view: View) -> TensorProto | None:
    array = constant_folding.literal(view)
    return None if array is None else numpy_helper.from_array(array)
