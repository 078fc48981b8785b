"""Read the attributes of nodes as Python values: numbers, text, and tuples of these."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from graphfix.formats.onnx.file.messages import Step
from graphfix.formats.onnx.file.tensors import elements_of
from graphfix.results.onnx_messages import AttributeProto, NodeProto, TensorProto

NUMBERS = frozenset(
    (
        *(TensorProto.INT64, TensorProto.INT32, TensorProto.BOOL),
        *(TensorProto.FLOAT16, TensorProto.FLOAT, TensorProto.DOUBLE),
    )
)
"""The element types of a one-element tensor that is read as a number."""

READ: Mapping[int, Callable[[AttributeProto], object]] = {
    AttributeProto.INT: lambda held: held.i,
    AttributeProto.INTS: lambda held: tuple(held.ints),
    AttributeProto.FLOAT: lambda held: held.f,
    AttributeProto.FLOATS: lambda held: tuple(held.floats),
    AttributeProto.STRING: lambda held: held.s.decode("utf-8", "replace"),
    AttributeProto.STRINGS: lambda held: tuple(each.decode("utf-8", "replace") for each in held.strings),
}


def attributes(node: NodeProto) -> dict[str, object]:
    """Return the attributes of a node that are numbers, text, or lists of these (as tuples), by name.

    References to attributes of a function are left out. The tensor of a ConstantOfShape is returned as a number if it
    has one element of a type in NUMBERS, and otherwise as None.
    """
    found: dict[str, object] = {}
    for attribute in node.attribute:
        if attribute.ref_attr_name:
            continue
        kind = attribute.type
        read = READ.get(kind)
        if read is not None:
            found[attribute.name] = read(attribute)
        elif kind == AttributeProto.TENSOR and node.op_type == "ConstantOfShape":
            found[attribute.name] = _number(attribute.t)
    return found


def held_by(attribute: AttributeProto) -> tuple[Any, ...] | None:
    """Return the values of an attribute as a tuple; None for a reference, and for a type that is not read.

    An attribute with a single value is returned as a tuple of one element.
    """
    read = READ.get(attribute.type)
    if read is None or attribute.ref_attr_name:
        return None
    attribute_value = read(attribute)
    return attribute_value if isinstance(attribute_value, tuple) else (attribute_value,)


def attributes_of(step: Step) -> dict[str, object]:
    """Return the attributes of a step's node, as `attributes` does. They are read once and cached."""
    if step.attributes is None:
        step.attributes = attributes(step.message)
    return step.attributes


def _number(tensor: TensorProto) -> int | float | None:
    """Return the only element of a tensor, a bool as 0 or 1; None for another shape or type, and for external data."""
    if tensor.data_type not in NUMBERS or tuple(tensor.dims) not in ((), (1,)):
        return None
    if tensor.data_location == TensorProto.EXTERNAL:
        return None
    (number,) = elements_of(tensor)
    return number if isinstance(number, float) else int(number)
