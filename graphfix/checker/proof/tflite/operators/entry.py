"""The record of the proof's rules for one TFLite operator.

Each module beside this one contains a table `OPERATORS` of these records for a family of operators. `registry` joins
the tables and applies the rules.
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
    """The rule of an operator that computes known integers, such as the elements of a shape."""

    rule: ViewRule
    is_known: bool = False
    """Whether operand 0 must be known integers. Most sums have unknown elements, so the rule is skipped early."""
    one_type: bool = False
    """Whether all operands must have the result's type. If False, only operand 0 must have it."""
    retypes: bool = False
    """Whether operand 0 may have another type than the result."""


class Folding(NamedTuple):
    """The rule of an operator that computes a small constant from small constants."""

    rule: FoldingRule
    takes: Literal["any", "one type", "indices"] = "any"
    """The operand types that kernels accept: any, one type for all, or int32 for all operands except the first."""


class Rules(NamedTuple):
    """The rules of one operator. Each rule returns None if it does not apply."""

    sizes: SizesRule | None = None
    """Returns the sizes of the result, with None for each unknown size."""
    view: ViewRule | None = None
    """Returns the result as a value of operand 0's core, for an operator that only adds, drops or repeats axes.

    The rule applies if the result and operand 0 have the same quantization.
    """
    copied: Callable[[Call, ProofValue], ProofValue | None] | None = None
    """Returns the result as a value of operand 0's core, if the operator moves and converts no element."""
    integers: Integers | None = None
    fold: Folding | None = None
    built: Callable[[Constants, Call], ProofValue | None] | None = None
    """Returns the result of operands that need not all be small constants."""
    mapped: tuple[int, Callable[[Call, tuple[object, ...], Sequence[ProofValue]], ProofValue | None]] | None = None
    """(number of operands, rule). The rule returns the term of an operator that does not broadcast like `ADD` does."""


def same_sizes(call: Call) -> Dims:
    """Return the sizes of operand 0, as the sizes of the result."""
    return call.sizes(0)


def asked_sizes(index: int) -> SizesRule:
    """Return the sizes rule of an operator whose operand `index` is the shape of the result."""

    def rule(call: Call) -> Dims:
        target = call.target(index)
        return None if target is None or any(isinstance(size, int) and size < 0 for size in target) else target

    return rule
