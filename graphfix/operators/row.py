"""The records of the catalogue: how an operator broadcasts, which operands take part, and which are left alone."""

from __future__ import annotations

from typing import Literal

from graphfix.results.records import dataclass

TFLITE = "tflite"
"""The domain of TFLite's builtin operators."""

Style = Literal["multidirectional", "unidirectional", "matmul", "gemm", "legacy", "equal", "own"]
"""How the operands that take part in the broadcast are combined.

- multidirectional: numpy's rule for all of them, right-aligned.
- unidirectional: right-aligned to operand `Row.onto`, which has the result's shape.
- matmul: numpy.matmul. The batch axes [:-2] broadcast. An operand of rank 1 gets an axis, which the result loses again.
- gemm: right-aligned to (M, N), the product shape of A and B (`Row.product`) with transA and transB.
- legacy: operator sets before 7, to operand 0 (Gemm: to (M, N)) by the attributes `broadcast` and `axis`.
- equal: no broadcast, although similar operators broadcast. All operands must have the same shape.
- own: a special rule. No rewrite changes the operator, for the reason `Row.left`.
"""

When = Literal[
    "always",
    "one element",
    "one element each",
    "one element under ones",
    "constant of rank 2",
    "blocks of rank 2",
    "rank 1",
]


def standard(domain: str) -> str:
    """Return the domain, with "" for "ai.onnx", the other name of ONNX's standard domain."""
    return "" if domain == "ai.onnx" else domain


@dataclass(frozen=True, slots=True)
class Seen:
    """The properties of an operand at its node that decide whether an exemption applies."""

    rank: int
    """The rank; -1 if unknown."""
    constant: bool = False
    """Whether the operand is an initializer or the result of a Constant node."""
    blocks: bool = False
    """Whether the operand is a constant quantized in blocks that a DequantizeLinear unpacks."""
    one: bool = False
    """Whether the operand may have exactly one element."""
    one_each: bool = False
    """Whether all operands that take part may have exactly one element each, and their ranks may differ."""
    under_ones: bool = False
    """Whether the operand may have one element and is aligned with axes of size 1 only.

    The result then has a higher rank, and another axis of it is not 1. A scalar counts as aligned with the last axis.
    """


@dataclass(frozen=True, slots=True)
class Exempt:
    """A condition (`when`) under which the rewrites leave an operand alone on purpose. It is not a finding."""

    reason: str
    """Completes the sentence "left alone because"."""
    when: When = "always"
    also: Exempt | None = None
    """The next exemption of the same operand; None if there are no more. Each exemption applies independently."""

    def holds(self, seen: Seen) -> str | None:
        """Return the reason of the first exemption in the chain that applies to an operand, or None if none applies."""
        met = {
            "always": True,
            "one element": seen.one,
            "one element each": seen.one_each,
            "one element under ones": seen.under_ones,
            "constant of rank 2": seen.constant and seen.rank == 2,  # noqa: PLR2004 -- the rank that the name says
            "blocks of rank 2": seen.blocks and seen.rank == 2,  # noqa: PLR2004 -- likewise
            "rank 1": seen.rank == 1,
        }
        if met[self.when]:
            return self.reason
        return None if self.also is None else self.also.holds(seen)


@dataclass(frozen=True, slots=True)
class Operand:
    """An operand that takes part in the broadcast, with its exemptions."""

    index: int
    keep_rank: Exempt | None = None
    """Why the rewrite equalize-ranks leaves the operand alone; None if the rewrite may change it."""
    keep_dims: Exempt | None = None
    """Why the rewrite materialize-broadcasts leaves the operand alone; None if the rewrite may change it."""


@dataclass(frozen=True, slots=True)
class Row:
    """How one operator broadcasts in a range of versions of its domain."""

    domain: str
    op: str
    since: int
    until: int | None
    """The last version that the row covers; None if it also covers the newest."""
    style: Style
    operands: tuple[Operand, ...] = ()
    """The operands that take part, without per-axis parameters. Empty if `variadic`: then all operands do."""
    variadic: bool = False
    onto: int | None = None
    """Styles unidirectional and legacy: the operand that has the shape of the result.

    Style own: an operand with the shape of this operand is no site.
    """
    max_rank: int | None = None
    """The largest rank of the result for which the runtime broadcasts; None for no limit."""
    evidence: str = ""
    """The measurement or source that shows the rule, in one line."""
    product: tuple[int, int] | None = None
    """Gemm and similar operators: the operands A and B. The result has the shape (M, N) of their product."""
    channel_axis: int | None = None
    """Legacy PRelu: the axis of operand 0 that a slope with several elements follows."""
    left: Exempt | None = None
    """Style own: why no rewrite changes the operator."""
    unequal: str | None = None
    """Style equal: the consequence of operands with different shapes. Completes "left alone because"."""

    def taking_part(self, count: int) -> tuple[Operand, ...]:
        """Return the operands that take part in a node with `count` operands.

        Absent operands are included in `count`.
        """
        if self.variadic:
            return tuple(Operand(index, self.left, self.left) for index in range(count))
        return tuple(operand for operand in self.operands if operand.index < count)


@dataclass(frozen=True, slots=True)
class StretchForm:
    """How an operator that only stretches its operand 0 describes the target of the stretch."""

    domain: str
    op: str
    by: Literal["shape", "repeats", "axes"]
    """The source of the target's sizes.

    - shape: operand 1 is the shape of the result.
    - repeats: operand 1 has one factor for each axis.
    - axes: the attribute `broadcast_dimensions` lists the result's axis for each axis of the operand.
    """
    standard: bool
    """Whether this is one of the format's own forms of a stretch, which is not converted to another form."""
    standard_before: int = 0
    """This form is also standard before this operator set: ONNX has no Expand before set 8, but Tile."""
    two_way: bool = False
    """By shape: the target may have fewer axes than the operand, and a 1 in the target keeps the operand's size."""

    def is_standard(self, version: int) -> bool:
        """Return whether this is one of the format's own forms of a stretch in operator set `version`."""
        return self.standard or version < self.standard_before
