"""Whether a node of constants is one that its operator's specification allows: only such a node is computed.

First the schema: how many operands and results, their element types, the attributes and their types. Then what the
specification's text demands of ranks and values. Outside of it runtimes fail, or give what each of them likes.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import onnx

from graphfix.formats.onnx.constants.contract_values import CONTRACTS, Array, Question, nothing_more
from graphfix.formats.onnx.file.attributes import attributes
from graphfix.formats.onnx.schemas import KINDS, Schema, schema
from graphfix.results.onnx_messages import AttributeProto, NodeProto, TensorProto


def allowed(message: NodeProto, version: int, arrays: Sequence[Array | None]) -> bool:
    """Whether the specification allows this node, of the standard operators, on these operands."""
    known = schema(message.op_type, "", version)
    if known is None or known.deprecated or not _fits(known, message, arrays):
        return False
    question = Question(message.op_type, version, arrays, attributes(message), len(message.output))
    return CONTRACTS.get(message.op_type, nothing_more)(question)


def _fits(known: Schema, message: NodeProto, arrays: Sequence[Array | None]) -> bool:
    if len(arrays) not in known.operands or len(message.output) not in known.results:
        return False
    return _types_fit(known, arrays) and _attributes_fit(known, message)


def _types_fit(known: Schema, arrays: Sequence[Array | None]) -> bool:
    """Whether each operand has a type that the operator takes, and those of one variable have one type."""
    chosen: dict[str, str] = {}
    for at, array in enumerate(arrays):
        parameter = known.inputs[min(at, len(known.inputs) - 1)]
        if array is None:
            if parameter.option != "optional":
                return False
            continue
        kind = _type(array)
        if kind not in parameter.types or chosen.setdefault(parameter.variable, kind) != kind:
            return False
    return True


def _type(array: Array) -> str:
    code = onnx.helper.np_dtype_to_tensor_dtype(array.dtype)
    return f"tensor({TensorProto.DataType.Name(code).lower()})"


def _attributes_fit(known: Schema, message: NodeProto) -> bool:
    """Whether each attribute is one that the operator has, of its type, once, and the required ones are there."""
    names = [attribute.name for attribute in message.attribute]
    if len(set(names)) < len(names):
        return False
    for attribute in message.attribute:
        asked = known.attributes.get(attribute.name)
        if asked is None or asked.kind not in _COMPUTED or attribute.type != asked.kind:
            return False
    required = {name for name, asked in known.attributes.items() if asked.required}
    return required <= set(names) and all(map(_plain, message.attribute))


def _plain(attribute: AttributeProto) -> bool:
    """Whether the value stands in the attribute itself; a tensor has one element (ConstantOfShape)."""
    tensor = attribute.t
    return not attribute.ref_attr_name and tensor.data_location != TensorProto.EXTERNAL and prod(tensor.dims) == 1


_COMPUTED = frozenset({KINDS[name] for name in ("INT", "INTS", "FLOAT", "FLOATS", "STRING", "TENSOR")})
"""Types of attributes that a node that is computed may have."""
