"""The record of the proof's rules for one TFLite operator.

Each module beside this one has a table `OPERATORS` of such records for a family of operators. `registry` joins the
tables, and applies the rules.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from graphfix.checker.proof.core.sizes import Dims
    from graphfix.checker.proof.core.terms import ProofValue
    from graphfix.checker.proof.neutral.constant_folding import Array
    from graphfix.checker.proof.neutral.constants import Constants
    from graphfix.checker.proof.tflite.reading.operands import Call

SizesRule: TypeAlias = "Callable[[Call], Dims]"
ViewRule: TypeAlias = "Callable[[Call], ProofValue | None]"
FoldingRule: TypeAlias = "Callable[[Call, Sequence[Array]], Array | None]"


class Integers(NamedTuple):
    """How an operator computes known integers, such as the elements of a shape."""

    rule: ViewRule
    is_known: bool = False
    """Whether operand 0 must be known integers. Most sums are of unknown elements, so the rule is skipped early."""
    one_type: bool = False
    """Whether all operands must be of the result's type. Otherwise only operand 0 must be."""
    retypes: bool = False
    """Whether operand 0 may be of another type than the result."""


class Folding(NamedTuple):
    """How an operator computes a small constant from small constants."""

    rule: FoldingRule
    takes: Literal["any", "one type", "indices"] = "any"
    """The operand types that kernels accept: any, one type, or int32 for all operands but the first."""


class Rules(NamedTuple):
    """The rules of one operator. Each returns None if it does not apply."""

    sizes: SizesRule | None = None
    """Returns the sizes of the result; None for a size that is unknown."""
    view: ViewRule | None = None
    """Returns the result as a view of operand 0, of an operator that only adds, drops or repeats axes.

    It applies if the result is quantized as the operand is.
    """
    copied: Callable[[Call, ProofValue], ProofValue | None] | None = None
    """Returns the view of operand 0 that the result is, if these operands move or convert no element."""
    integers: Integers | None = None
    fold: Folding | None = None
    built: Callable[[Constants, Call], ProofValue | None] | None = None
    """Returns the result of operands that need not all be small constants."""
    mapped: tuple[int, Callable[[Call, tuple[object, ...], Sequence[ProofValue]], ProofValue | None]] | None = None
    """(number of operands, rule): returns the term of an operator that reads operands by maps in its own way."""


def same_sizes(call: Call) -> Dims:
    """Return the sizes of operand 0."""
    return call.sizes(0)


def asked_sizes(index: int) -> SizesRule:
    """Return the rule of an operator whose operand `index` is the result's shape."""

    def rule(call: Call) -> Dims:
        target = call.target(index)
        return None if target is None or any(isinstance(size, int) and size < 0 for size in target) else target

    return rule
