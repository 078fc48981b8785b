"""Count the implicit broadcasts of a model from the shapes that its values had in a run.

Nothing from graphfix decides which operators broadcast, so the count is independent. For ONNX the documents of the
operators in the onnx package decide. For TFLite the trait `ResultsBroadcastableShape` of its MLIR dialect decides, with
three operators that broadcast in another way according to their documents.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

Shape = tuple[int, ...]
Seen = Sequence[tuple[Sequence[Shape], Shape]]
"""The shapes of one node: pairs of the broadcast operands' shapes and the result's shape.

A node that runs several times has a pair for each run, or only for each different pair.
"""

_PRODUCTS = {"MatMul": (0, 1), "MatMulInteger": (0, 1), "QLinearMatMul": (0, 3)}
_ONE_WAY = {"PRelu": (1,), "Gemm": (2,)}
_NUMPY = "ultidirectional"
"""A text in the documents of each operator that broadcasts all its operands; the first letter may be a capital."""

TFLITE = frozenset(
    "ADD SUB MUL DIV MAXIMUM MINIMUM SQUARED_DIFFERENCE FLOOR_DIV FLOOR_MOD POW ATAN2 EQUAL NOT_EQUAL GREATER"
    " GREATER_EQUAL LESS LESS_EQUAL LOGICAL_AND LOGICAL_OR BITWISE_XOR RIGHT_SHIFT SELECT_V2 PRELU BATCH_MATMUL".split()
)
LAST_TWO = frozenset({*_PRODUCTS, "BATCH_MATMUL"})
"""Products of matrices, which broadcast all axes except the last two."""


def onnx_operands(op: str, domain: str, version: int, count: int) -> Sequence[int]:
    """Return the indices of the operands that an ONNX operator broadcasts; empty if the operator does not broadcast.

    `version` is the operator set, and `count` the number of the node's operands.
    """
    import onnx

    if domain not in {"", "ai.onnx"}:
        return ()
    if op in _PRODUCTS or op in _ONE_WAY:
        return (_PRODUCTS | _ONE_WAY)[op]
    try:
        words = onnx.defs.get_schema(op, version, "").doc
    except onnx.defs.SchemaError:
        return ()
    return range(count) if _NUMPY in words else ()


@dataclass(frozen=True)
class Counted:
    """The operands that a run broadcast.

    `ranks` counts operands that have another rank than the result. `stretched` counts operands that are repeated along
    an axis.
    """

    ranks: int
    stretched: int
    operators: Mapping[str, int]
    """By operator, the number of operands that have another rank or a repeated axis."""


def count(nodes: Iterable[tuple[str, Seen]]) -> Counted:
    """Count the operands that nodes broadcast. Each node is a pair: its operator, and the shapes in its runs.

    An operand is counted once if it broadcasts in any of the node's runs.
    """
    ranks = stretched = 0
    operators: Counter[str] = Counter()
    for op, seen in nodes:
        width = max((len(operands) for operands, _ in seen), default=0)
        for at in range(width):
            pairs = [(operands[at], result) for operands, result in seen]
            other = any(len(mine) != len(result) for mine, result in pairs)
            repeated = any(_stretched(op, mine, result) for mine, result in pairs)
            ranks, stretched = ranks + other, stretched + repeated
            operators.update([op] if other or repeated else [])
    return Counted(ranks, stretched, dict(sorted(operators.items())))


def _stretched(op: str, mine: Shape, result: Shape) -> bool:
    """Return whether an operand of shape `mine` is repeated along an axis of `result`.

    Leading axes that the operand lacks count as size 1. The last two axes of a matrix product are not compared.
    """
    cut = 2 if op in LAST_TWO else 0
    lifted = (1,) * (len(result) - len(mine)) + mine
    return any(lifted[axis] == 1 != result[axis] for axis in range(len(result) - cut))
