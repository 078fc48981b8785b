"""Results whose rank depends on the kernel set: XNNPACK ignores the rank of constants of one element.

XNNPACK replaces chains of element-wise operators by lookup tables, and a table's result has the shape of the chain's
operand. The shape rules call this module.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphfix.formats.tflite.file.records import ABSENT
from graphfix.formats.tflite.file.schema import TENSOR_TYPES
from graphfix.graph.litert.lookup_tables import BYTES, FLOATS, OF_BYTES

if TYPE_CHECKING:
    from graphfix.formats.tflite.file.records import Tensor
    from graphfix.formats.tflite.infer.operands import Call
    from graphfix.shapes.shape import Shape


def follow_bytes(call: Call) -> None:
    """Note that the result of an element-wise operator is computed from 8 bits, element by element, if it is."""
    scope = call.scope
    for tensor in call.operator.inputs:
        if tensor != ABSENT and (tensor in scope.from_bytes or _is_of_bytes(scope.record(tensor))):
            scope.from_bytes.update(call.operator.outputs)


def rank_depends_on_kernels(call: Call, whole: Shape) -> bool:
    """Return whether only constants of one element have the rank of the broadcast `whole`.

    In a chain of element-wise operators ADD(x[2,3], c[1,1,1]) is [2,3] in XNNPACK, and [1,2,3] in the other kernel
    sets. Of 8 bits XNNPACK takes ADD, SUB and MUL, of floats that are computed from 8 bits all operators.
    """
    record = call.result()
    if record is None or not whole.ranked:
        return False
    dtype = TENSOR_TYPES[record.type][0]
    in_table = call.op in OF_BYTES if dtype in BYTES else dtype in FLOATS and _is_from_bytes(call)
    if not in_table:
        return False
    carrying = [shape for at in range(call.count) if (shape := _carrying(call, at)) is not None]
    return all(shape.ranked and shape.rank < whole.rank for shape in carrying)


def _is_from_bytes(call: Call) -> bool:
    return not call.scope.from_bytes.isdisjoint(call.operator.outputs)


def _is_of_bytes(record: Tensor) -> bool:
    return TENSOR_TYPES[record.type][0] in BYTES


def _carrying(call: Call, at: int) -> Shape | None:
    """Return the shape of an operand; None for a constant of one element."""
    shape, tensor = call.shape(at), call.tensor(at)
    if shape is None or (call.scope.is_constant(tensor) and set(shape.axes or ()) <= {1}):
        return None
    return shape
