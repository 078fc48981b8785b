"""Parts of a term's key by which XNNPACK chooses a kernel: stretched operands, and constants of one element.

`kernel_choice` calls this module. Measured with LiteRT 2.3 on its three kernel sets: tests/whole/test_kernel_choice.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from graphfix.checker.proof.core.sizes import right_aligned
from graphfix.checker.proof.tflite.kernels.lookup_tables import BYTES, is_unit_constant

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from graphfix.checker.proof.core.sizes import Size, Sizes
    from graphfix.checker.proof.core.terms import ProofValue
    from graphfix.checker.proof.tflite.reading.operands import Call

SELECTING = frozenset({"MAXIMUM", "MINIMUM"})
"""Operators that return one of their operands. The kernel decides which operand that is for a NaN or for two zeros."""
FLOATS = frozenset({"float32", "float16"})
TAKEN = frozenset({"ADD", "SUB", "MUL"})
"""The operators of 8 bits with two operands that LiteRT delegates to XNNPACK."""
PAIR = 2


class _Unit(NamedTuple):
    """A constant of the file with one element, and the rank of the other operand."""

    place: int
    rank: int
    other: int | ProofValue
    """The rank of the other operand; the other operand itself if its rank is unknown."""
    outranks: bool
    """Whether the constant has more axes than the other operand, or may have more."""


def selecting_kernel(call: Call, views: Sequence[ProofValue]) -> tuple[object, ...]:
    """Return the part of a key by which XNNPACK chooses a kernel for MAXIMUM or MINIMUM of floats, else ().

    The innermost axis of a size other than 1 decides: the kernel repeats operand 0 along this axis, or operand 1, or
    neither. The kernels differ in which operand they return if one is NaN or both are zero. XNNPACK exchanges the
    operands for a constant of one element. A lookup table returns yet another operand.
    """
    if call.operator.name not in SELECTING or call.result.dtype not in FLOATS:
        return ()
    units = tuple((unit.place, unit.outranks) for unit in _units(call, views))
    chain = None if call.chain is None or call.chain.is_finite else call.chain
    return ("selects", _innermost(views), units, chain)


def _innermost(views: Sequence[ProofValue]) -> tuple[object, ...]:
    """Return, from the last axis on, how each operand is repeated; () if no operand is repeated.

    If a rank is unknown, the operands themselves are returned. An axis of unknown size may be 1, so the axis in front
    of it is included too.
    """
    one, two = (view.sizes for view in views)
    if one is None or two is None:
        return tuple(views)
    rank = max(len(one), len(two))
    axes = list(_decisive(one, two, rank))
    return tuple(axes) if any(a != b for a, b in axes) else ()


def _decisive(one: Sizes, two: Sizes, rank: int) -> Iterator[tuple[object, object]]:
    """Yield a pair for each axis, from the last axis on: the sizes of both operands.

    The pairs end with the first axis that is certainly larger than 1. For this axis, the pair contains whether each
    operand is repeated along the axis. Axes of size 1 in both operands are skipped.
    """
    pairs = zip(right_aligned(one, rank), right_aligned(two, rank), strict=True)
    for a, b in reversed(list(pairs)):
        if a == b == 1:
            continue
        if _exceeds_one(a) or _exceeds_one(b):
            yield a == 1, b == 1
            return
        yield a, b


def _exceeds_one(size: Size) -> bool:
    return isinstance(size, int) and size != 1


def dropped_rank(call: Call, views: Sequence[ProofValue]) -> tuple[object, ...]:
    """Return the part of a key for an operator whose results have different ranks in LiteRT's kernel sets, else ().

    XNNPACK ignores the rank of a constant of one element in a lookup table. For x[2,3] and c[1,1,1] its result is
    [2,3], and [1,2,3] in the other kernel sets. Of 8 bits XNNPACK computes ADD, SUB and MUL; of floats in a chain, all
    operators.
    """
    of_bytes = call.result.dtype in BYTES
    if len(views) != PAIR or call.chain is None or (of_bytes and call.operator.name not in TAKEN):
        return ()
    units = tuple(("rank", unit.rank, unit.other) for unit in _units(call, views) if unit.outranks)
    return (*units, call.chain) if units else ()


def _units(call: Call, views: Sequence[ProofValue]) -> Iterator[_Unit]:
    """Yield each operand that is a constant of the file with one element."""
    for place, (tensor, other) in enumerate(zip(call.inputs, reversed(views), strict=True)):
        if tensor is None or not is_unit_constant(tensor):
            continue
        rank = None if other.sizes is None else len(other.sizes)
        yield _Unit(
            place,
            len(tensor.stored),
            other if rank is None else rank,
            bool(tensor.stored) if rank is None else len(tensor.stored) > rank,
        )
