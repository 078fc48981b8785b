"""Count implicit broadcasts from the shapes that a run had; which operators broadcast is the formats' own word.

Nothing here is graphfix's: for ONNX the documents of the operators in the onnx package decide, for TFLite the trait
`ResultsBroadcastableShape` of its MLIR dialect, with the three operators that its documents say broadcast otherwise.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

Shape = tuple[int, ...]
Seen = Sequence[tuple[Sequence[Shape], Shape]]
"""Of one node: the operands that take part and the result, once for each time it ran."""

_PRODUCTS = {"MatMul": (0, 1), "MatMulInteger": (0, 1), "QLinearMatMul": (0, 3)}
_ONE_WAY = {"PRelu": (1,), "Gemm": (2,)}
_NUMPY = "ultidirectional"
"""What the documents of an operator say that broadcasts all its operands (with a capital or without)."""

TFLITE = frozenset(
    "ADD SUB MUL DIV MAXIMUM MINIMUM SQUARED_DIFFERENCE FLOOR_DIV FLOOR_MOD POW ATAN2 EQUAL NOT_EQUAL GREATER"
    " GREATER_EQUAL LESS LESS_EQUAL LOGICAL_AND LOGICAL_OR BITWISE_XOR RIGHT_SHIFT SELECT_V2 PRELU BATCH_MATMUL".split()
)
LAST_TWO = frozenset({*_PRODUCTS, "BATCH_MATMUL"})
"""Products of matrices: all axes but the last two are broadcast."""


def onnx_operands(op: str, domain: str, version: int, count: int) -> Sequence[int]:
    """Return the operands of an ONNX operator that are broadcast; none where it does not broadcast."""
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
    """What a run broadcast: operands of another rank than the result, operands that are repeated along an axis."""

    ranks: int
    stretched: int
    operators: Mapping[str, int]
    """Operands that are either, by operator."""


def count(nodes: Iterable[tuple[str, Seen]]) -> Counted:
    """Count what nodes broadcast in a run."""
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
    cut = 2 if op in LAST_TWO else 0
    lifted = (1,) * (len(result) - len(mine)) + mine
    return any(lifted[axis] == 1 != result[axis] for axis in range(len(result) - cut))
