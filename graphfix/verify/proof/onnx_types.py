"""Element types of results, as far as an operator's schema tells them from those of its operands."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import onnx
from onnx import TensorProto

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphfix.verify.proof.onnx_call import Call
    from graphfix.verify.proof.terms import View

NAMES = {"float": "float32", "double": "float64"}
"""Types that onnx calls by other names than numpy."""


def named(data_type: int) -> str:
    """Give the name of a TensorProto type as constants are entered by: `float32`."""
    name: str = TensorProto.DataType.Name(data_type).lower()
    return NAMES.get(name, name)


def typed(call: Call, results: Sequence[View | None]) -> None:
    """Note the element types of new results: that of an operand, the one that the schema has, or a Cast's."""
    for index, view in enumerate(results):
        if view is None or view.core.dtype is not None:
            continue
        if call.op == "Cast" and not call.domain:
            view.core.dtype = named(call.integer("to", 0))
            continue
        place, name = _source(call.domain, call.op, call.since, index)
        operand = call.views[place] if place is not None and place < len(call.views) else None
        view.core.dtype = name if operand is None else operand.core.dtype


@cache
def _source(domain: str, op: str, since: int, index: int) -> tuple[int | None, str | None]:
    """Give the operand whose type a result has, or the only type that it may have."""
    try:
        schema = onnx.defs.get_schema(op, since, domain)
    except onnx.defs.SchemaError:
        return None, None
    if not schema.outputs:
        return None, None
    output = schema.outputs[min(index, len(schema.outputs) - 1)]
    if not output.is_homogeneous:
        return None, None
    for place, operand in enumerate(schema.inputs):
        if operand.type_str == output.type_str and operand.is_homogeneous:
            return place, None
    if len(output.types) != 1 or not next(iter(output.types)).startswith("tensor("):
        return None, None
    name = next(iter(output.types)).removeprefix("tensor(").removesuffix(")")
    return None, NAMES.get(name, name)
