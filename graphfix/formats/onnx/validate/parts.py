"""Check one part of a model alone: a node against its operator's schema, a declared type, or a tensor's payload."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from math import prod
from typing import Final

from graphfix import operators
from graphfix.formats.onnx.file.external import stated_length
from graphfix.formats.onnx.file.payloads import Cut
from graphfix.formats.onnx.file.tensors import BITS, BYTE, byte_size
from graphfix.formats.onnx.schemas import schema
from graphfix.formats.onnx.validate.errors import MalformedModelError, check_texts, place, shown
from graphfix.operators.row import standard
from graphfix.results.onnx_messages import AttributeProto, NodeProto, TensorProto, ValueInfoProto
from graphfix.results.records import dataclass, field

HELD: Final = {
    AttributeProto.TENSOR: "t",
    AttributeProto.GRAPH: "g",
    AttributeProto.SPARSE_TENSOR: "sparse_tensor",
}
"""For each attribute type, the message field that must be present. An absent number means 0 to many writers."""
ELEMENT_TYPES: Final = frozenset(TensorProto.DataType.values())
"""The known element types, and 0 for a type that is not declared."""
FIELDS: Final = {
    "FLOAT": "float_data", "COMPLEX64": "float_data", "DOUBLE": "double_data", "COMPLEX128": "double_data",
    "INT64": "int64_data", "UINT32": "uint64_data", "UINT64": "uint64_data", "STRING": "string_data",
}  # fmt: skip
"""For each element type, its typed field. All other types use int32_data (onnx.proto, TensorProto)."""


# --- nodes ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Signature:
    """The requirements of a schema for a node."""

    inputs: range
    outputs: range
    needed: tuple[int, ...] = ()
    """The indices of operands that must not be left out, if graphfix reads the operands of this operator."""
    attributes: Mapping[str, int] = field(default_factory=dict)
    """The type of each attribute, by its name."""
    required: frozenset[str] = frozenset()


ANY: Final = Signature(range(1 << 31), range(1 << 31))


@cache
def _schema_signature(op: str, domain: str, version: int) -> Signature:
    """Return the signature of an operator in a version of its operator set; ANY if it has no schema."""
    operator_schema = schema(op, domain, version)
    if operator_schema is None:
        return ANY
    read = operators.row(domain, op, version) is not None or op in ("QuantizeLinear", "DequantizeLinear")
    return Signature(
        operator_schema.operands,
        operator_schema.results,
        tuple(at for at, operand in enumerate(operator_schema.inputs) if read and operand.option == "single"),
        {name: attribute.kind for name, attribute in operator_schema.attributes.items()},
        frozenset(name for name, attribute in operator_schema.attributes.items() if attribute.required),
    )


def signature_of(node: NodeProto, index: int, path: str, versions: Mapping[str, int]) -> Signature:
    """Return the requirements of a node's operator; ANY if its operator set is not imported.

    Raises MalformedModelError if the node has no operator, or if the model does not import the standard operators.
    """
    check_texts([node.op_type, node.domain], f"{path}: node {index}")
    if not node.op_type:
        raise MalformedModelError(f"{path}: node {index} has no operator")
    domain = standard(node.domain)
    version = versions.get(domain)
    if version is None and not domain:
        raise MalformedModelError(f"{place(node, index, path)}: the model imports no version of the standard operators")
    return ANY if version is None else _schema_signature(node.op_type, domain, version)


def check_gap(node: NodeProto, index: int, path: str, signature: Signature) -> None:
    """Raise MalformedModelError if an operand is left out that graphfix reads."""
    for at in signature.needed:
        if not node.input[at]:
            raise MalformedModelError(f"{place(node, index, path)} has no operand {at}")


# --- types ---------------------------------------------------------------------------------------------------


def check_declared(value: ValueInfoProto, path: str) -> None:
    """Raise MalformedModelError if an input or output has an unknown element type or a symbol that is not UTF-8."""
    check_element_type(value, path)
    dims = value.type.tensor_type.shape.dim if value.type.HasField("tensor_type") else ()
    check_texts([dim.dim_param for dim in dims], f"{path}: a dim of {shown(value.name)}")


def check_element_type(value: ValueInfoProto, path: str) -> None:
    """Raise MalformedModelError if the declared element type is not an ONNX type."""
    code = value.type.tensor_type.elem_type
    if code not in ELEMENT_TYPES:
        raise MalformedModelError(f"{path}: {shown(value.name)} has the unknown element type {code}")


def attribute_fault(attribute: AttributeProto, signature: Signature) -> str | None:
    """Return the fault of an attribute, or None if there is none.

    A fault is a type other than the schema's, a missing value, or a reference that is not UTF-8.
    """
    expected = signature.attributes.get(attribute.name)
    if expected is not None and attribute.type not in (expected, AttributeProto.UNDEFINED):
        types = AttributeProto.AttributeType.Name(attribute.type), AttributeProto.AttributeType.Name(expected)
        return f"has the type {types[0]}, the operator asks for {types[1]}"
    field_name = HELD.get(attribute.type)
    if field_name is not None and not attribute.ref_attr_name and not attribute.HasField(field_name):
        return "is empty"
    if isinstance(attribute.ref_attr_name, bytes):
        return f"refers to the name {shown(attribute.ref_attr_name)}, which is not UTF-8"
    return None


LONGEST_NUMBER = 11
"""The largest number of bytes of a number in typed data: a tag, and ten bytes of a varint."""

# --- payloads ------------------------------------------------------------------------------------------------------


def payload_fault(tensor: TensorProto, cut: Cut | None) -> str | None:
    """Return the fault of a tensor's type, shape or payload, or None if there is none.

    `cut` is the position of the payload if it stayed in the source file.
    """
    code = tensor.data_type
    if code not in ELEMENT_TYPES or code == TensorProto.UNDEFINED:
        return f"has the unknown element type {code}"
    if any(size < 0 for size in tensor.dims):
        return f"has the shape {list(tensor.dims)}"
    have, want, unit = _sizes(tensor, cut, prod(tensor.dims))
    if have is None:
        return _excess(tensor, cut, want)
    if have == want:
        return None
    return f"holds {have} {unit}, its shape {list(tensor.dims)} asks for {want}"


def _excess(tensor: TensorProto, cut: Cut | None, numbers: int) -> str | None:
    """Return a reason if typed data in the source has more bytes than `numbers` numbers can need; else None."""
    if cut is None or tensor.data_type == TensorProto.STRING or cut.size <= numbers * LONGEST_NUMBER:
        return None
    return f"holds {cut.size} bytes of numbers, more than its shape {list(tensor.dims)} asks for"


def _sizes(tensor: TensorProto, cut: Cut | None, elements: int) -> tuple[int | None, int, str]:
    """Return the present size of a payload, the required size, and the unit of both.

    The present size is None for typed data that stayed in the source, because its numbers were not counted.
    """
    name = TensorProto.DataType.Name(tensor.data_type)
    bits = BITS.get(name, BYTE)
    if tensor.data_location == TensorProto.EXTERNAL:
        return stated_length(tensor) or byte_size(tensor), byte_size(tensor), "bytes"
    if cut is not None:
        return (None if cut.raw is None else cut.raw[1] - cut.raw[0]), byte_size(tensor), "bytes"
    if tensor.HasField("raw_data") and name != "STRING":
        return len(tensor.raw_data), byte_size(tensor), "bytes"
    count = len(getattr(tensor, FIELDS.get(name, "int32_data")))
    wanted = 2 * elements if name.startswith("COMPLEX") else -(-elements * min(bits, BYTE) // BYTE)
    return count, wanted, "elements" if name == "STRING" else "numbers"
