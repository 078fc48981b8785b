"""What is known of a value's sign without running the model (both formats)."""

from __future__ import annotations

from graphfix.graph.view import Value
from graphfix.operators import tosa


def never_negative(value: Value) -> bool:
    """Whether each element is provably 0 or more: a constant's, or the result of an operator that makes no other."""
    if value.kind == "constant":
        numbers = value.literal
        return numbers is not None and all(isinstance(n, (int, float)) and n >= 0 for n in numbers)
    return value.producer is not None and value.producer.op in tosa.NEVER_NEGATIVE


def power(base: Value) -> str | None:
    """Why a power of this base is left, or None."""
    return None if never_negative(base) else tosa.NEGATIVE_BASE
