"""What is known of one result of an operator: a rule for its sizes and a rule for its element type."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from graphfix.checker.proof.onnx.operands import Call
    from graphfix.checker.proof.sizes import Dims, Size

Kind: TypeAlias = "int | bytes | None"
"""A TensorProto type; None for one that is not known."""
SizesRule: TypeAlias = "Callable[[Call], Dims]"
KindRule: TypeAlias = "Callable[[Call], Kind]"


class Result(NamedTuple):
    """The rules of one result; each returns None for what it does not know."""

    sizes: SizesRule
    kind: KindRule


Operators: TypeAlias = "Mapping[str, tuple[Result, ...]]"
"""By operator the rules of its results, in order; of results behind them nothing is known."""


def kind_of(at: int) -> KindRule:
    """Return the rule of a result that has the element type of operand `at`."""
    return lambda call: call.kinds[at] if at < len(call.kinds) else None


def sizes_of(at: int) -> SizesRule:
    """Return the rule of a result that has the shape of operand `at`."""
    return lambda call: call.sizes(at)


def like(at: int) -> Result:
    """Return the rules of a result with the shape and the element type of operand `at`."""
    return Result(sizes_of(at), kind_of(at))


def typed(kind: int, sizes: SizesRule) -> Result:
    """Return the rules of a result of one element type, whatever the operands are."""
    return Result(sizes, lambda _: kind)


def moved(at: int, sizes: SizesRule) -> Result:
    """Return the rules of a result with the element type of operand `at` and other sizes."""
    return Result(sizes, kind_of(at))


def unknown(_: Call) -> None:
    """Return None: nothing is known."""


UNKNOWN = Result(unknown, unknown)


def ranked(rank: int) -> SizesRule:
    """Return the rule of a result of which only the rank is known."""
    return lambda _: (None,) * rank


def constant(call: Call, at: int, length: int | None = None) -> Sequence[Size] | None:
    """Return the elements of an operand that are known and may be sizes; None if there are not `length` of them.

    Elements that are known as terms count if they are sizes: any other term may be negative.
    """
    content = call.content(at)
    if content is None or (length is not None and len(content) != length):
        return None
    is_size = call.table.arithmetic.is_size
    return content if all(size >= 0 if isinstance(size, int) else is_size(size) for size in content) else None
