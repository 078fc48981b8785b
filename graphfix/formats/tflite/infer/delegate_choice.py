"""Results whose rank depends on the kernel set: XNNPACK ignores the rank of constants of one element.

The shape rules call this module. The rewriter's own statement of the fact is graph/litert_kernels.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphfix.formats.tflite.file.schema import TENSOR_TYPES

if TYPE_CHECKING:
    from graphfix.formats.tflite.infer.operands import Call
    from graphfix.shapes.shape import Shape

RANK_DROPPING = frozenset({"ADD", "SUB", "MUL"})
BYTES = frozenset({"int8", "uint8"})


def rank_depends_on_kernels(call: Call, whole: Shape) -> bool:
    """Return whether only constants of one element have the rank of the broadcast `whole`.

    ADD(x[2,3], c[1,1,1]) of 8 bits is [2,3] in XNNPACK if it has a fused activation or another such operator reads it.
    It is [1,2,3] in the other kernel sets.
    """
    record = call.result()
    if call.op not in RANK_DROPPING or record is None:
        return False
    if TENSOR_TYPES[record.type][0] not in BYTES or not whole.ranked:
        return False
    carrying = [shape for at in range(call.count) if (shape := _carrying(call, at)) is not None]
    return all(shape.ranked and shape.rank < whole.rank for shape in carrying)


def _carrying(call: Call, at: int) -> Shape | None:
    """Return the shape of an operand; None for a constant of one element."""
    shape, tensor = call.shape(at), call.tensor(at)
    if shape is None or (call.scope.is_constant(tensor) and set(shape.axes or ()) <= {1}):
        return None
    return shape
