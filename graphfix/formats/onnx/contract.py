"""Whether a node of constants is one that its operator's specification allows: only such a node is computed.

First the schema: how many operands and results, their element types, the attributes and their types. Then what the
specification's text demands of ranks and values. Outside of it runtimes fail, or give what each of them likes.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import prod

import onnx
from onnx.defs import OpSchema

from graphfix.formats.onnx.contract_values import CONTRACTS, Array, Question, nothing_more
from graphfix.formats.onnx.file.proto import AttributeProto, NodeProto, TensorProto
from graphfix.formats.onnx.infer.operands import attributes


def allowed(message: NodeProto, version: int, arrays: Sequence[Array | None]) -> bool:
    """Whether the specification allows this node, of the standard operators, on these operands."""
    schema = _schema(message.op_type, version)
    if schema is None or not _fits(schema, message, arrays):
        return False
    question = Question(message.op_type, version, arrays, attributes(message), len(message.output))
    return CONTRACTS.get(message.op_type, nothing_more)(question)


@cache
def _schema(op: str, version: int) -> OpSchema | None:
    try:
        schema = onnx.defs.get_schema(op, version, "")
    except onnx.defs.SchemaError:
        return None
    return None if schema.deprecated else schema


def _fits(schema: OpSchema, message: NodeProto, arrays: Sequence[Array | None]) -> bool:
    if not schema.min_input <= len(arrays) <= schema.max_input:
        return False
    if not schema.min_output <= len(message.output) <= schema.max_output:
        return False
    return _types_fit(schema, arrays) and _attributes_fit(schema, message)


def _types_fit(schema: OpSchema, arrays: Sequence[Array | None]) -> bool:
    """Whether each operand has a type that the operator takes, and those of one variable have one type."""
    chosen: dict[str, str] = {}
    for at, array in enumerate(arrays):
        parameter = schema.inputs[min(at, len(schema.inputs) - 1)]
        if array is None:
            if parameter.option != OpSchema.FormalParameterOption.Optional:
                return False
            continue
        kind = _type(array)
        if kind not in parameter.types or chosen.setdefault(parameter.type_str, kind) != kind:
            return False
    return True


def _type(array: Array) -> str:
    code = onnx.helper.np_dtype_to_tensor_dtype(array.dtype)
    return f"tensor({TensorProto.DataType.Name(code).lower()})"


def _attributes_fit(schema: OpSchema, message: NodeProto) -> bool:
    """Whether each attribute is one that the operator has, of its type, once, and the required ones are there."""
    names = [attribute.name for attribute in message.attribute]
    if len(set(names)) < len(names):
        return False
    for attribute in message.attribute:
        known = schema.attributes.get(attribute.name)
        if known is None or attribute.type != _KINDS.get(known.type):
            return False
    required = {name for name, known in schema.attributes.items() if known.required}
    return required <= set(names) and all(map(_plain, message.attribute))


def _plain(attribute: AttributeProto) -> bool:
    """Whether the value stands in the attribute itself; a tensor has one element (ConstantOfShape)."""
    tensor = attribute.t
    return not attribute.ref_attr_name and tensor.data_location != TensorProto.EXTERNAL and prod(tensor.dims) == 1


_KINDS = {
    OpSchema.AttrType.INT: AttributeProto.INT,
    OpSchema.AttrType.INTS: AttributeProto.INTS,
    OpSchema.AttrType.FLOAT: AttributeProto.FLOAT,
    OpSchema.AttrType.FLOATS: AttributeProto.FLOATS,
    OpSchema.AttrType.STRING: AttributeProto.STRING,
    OpSchema.AttrType.TENSOR: AttributeProto.TENSOR,
}
"""By the name that schemas have for it: the type of an attribute in a file."""
