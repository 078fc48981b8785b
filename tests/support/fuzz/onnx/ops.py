"""The element-wise operators of the fuzz: from which operator set, on which types, with how many operands."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache

FIRST_EXPAND = 8
FLOAT, INT, BOOL, WORD = "float32", "int64", "bool", "object"


@dataclass(frozen=True, slots=True)
class Op:
    """One operator."""

    name: str
    since: int
    dtypes: tuple[str, ...]
    """Types of the first operand that onnxruntime has kernels for."""
    arity: int = 2
    """0: any number."""
    result: str | None = None
    """The result's type, None where it is the operands'."""
    attributes: dict[str, object] = field(default_factory=dict)


OPS = (
    *(Op(name, 7, (FLOAT, INT)) for name in ("Add", "Sub", "Mul", "Div")),
    Op("Pow", 7, (FLOAT,)),
    *(Op(name, 7, (BOOL,)) for name in ("And", "Or", "Xor")),
    Op("Equal", 7, (INT, BOOL), result=BOOL),
    Op("Equal", 11, (FLOAT,), result=BOOL),
    Op("Equal", 19, (WORD,), result=BOOL),
    *(Op(name, 7, (FLOAT,), result=BOOL) for name in ("Greater", "Less")),
    *(Op(name, 12, (FLOAT, INT), result=BOOL) for name in ("GreaterOrEqual", "LessOrEqual")),
    *(Op(name, 8, (FLOAT,), 0) for name in ("Max", "Min", "Sum", "Mean")),
    *(Op(name, 12, (INT,), 0) for name in ("Max", "Min")),
    Op("Where", 9, (BOOL,), 3),
    Op("Mod", 10, (INT,)),
    Op("Mod", 10, (FLOAT,), attributes={"fmod": 1}),
    Op("BitShift", 11, ("uint8",), attributes={"direction": "LEFT"}),
    *(Op(name, 18, (INT,)) for name in ("BitwiseAnd", "BitwiseOr", "BitwiseXor")),
    Op("StringConcat", 20, (WORD,)),
)


@cache
def fitting(opset: int) -> tuple[Op, ...]:
    """The operators that an operator set has."""
    return tuple(op for op in OPS if op.since <= opset)
