"""The rules for one result of an operator, its sizes and its element type, and functions that create such rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from graphfix.checker.proof.core.sizes import Dims, Size
    from graphfix.checker.proof.onnx.reading.operands import Call

Kind: TypeAlias = "int | bytes | None"
"""An element type as a number of TensorProto, or the bytes of another type; None if it is unknown."""
SizesRule: TypeAlias = "Callable[[Call], Dims]"
KindRule: TypeAlias = "Callable[[Call], Kind]"


class Result(NamedTuple):
    """The rules of one result: `sizes` returns its dims and `kind` its element type for a call.

    A rule returns None if it does not apply.
    """

    sizes: SizesRule
    kind: KindRule


Operators: TypeAlias = "Mapping[str, tuple[Result, ...]]"
"""The rules of the results of each operator, in the order of the results. Results without rules are unknown."""


def kind_of(at: int) -> KindRule:
    """Return the rule of a result that has the element type of operand `at`."""
    return lambda call: call.operand_types[at] if at < len(call.operand_types) else None


def same_as(at: int) -> Result:
    """Return the rules of a result with the shape and the element type of operand `at`."""
    return Result(lambda call: call.sizes(at), kind_of(at))


def typed(kind: int, sizes: SizesRule) -> Result:
    """Return the rules of a result that always has the element type `kind`, with the rule `sizes`."""
    return Result(sizes, lambda _: kind)


def with_sizes(at: int, sizes: SizesRule) -> Result:
    """Return the rules of a result with the element type of operand `at`, and with the rule `sizes`."""
    return Result(sizes, kind_of(at))


def unknown(_: Call) -> None:
    """Return None: a rule for an unknown shape or an unknown type."""


UNKNOWN = Result(unknown, unknown)


def ranked(rank: int) -> SizesRule:
    """Return the rule of a result with a known rank and unknown sizes."""
    return lambda _: (None,) * rank


def constant(call: Call, at: int, length: int | None = None) -> Sequence[Size] | None:
    """Return the elements of operand `at` if all are known and can be sizes, else None.

    Return None also if there are not `length` elements. A term is accepted if it is a size; other terms may be
    negative.
    """
    content = call.content(at)
    if content is None or (length is not None and len(content) != length):
        return None
    is_size = call.table.arithmetic.is_size
    return content if all(size >= 0 if isinstance(size, int) else is_size(size) for size in content) else None
