"""The records of the catalogue: how an operator broadcasts, which operands take part, which are left."""

from __future__ import annotations

from typing import Literal

from graphfix.results.records import dataclass

TFLITE = "tflite"
"""The domain of TFLite's builtin operators."""

Style = Literal["multidirectional", "unidirectional", "matmul", "gemm", "legacy", "equal", "own"]
"""How the operands that take part broadcast.

- multidirectional: numpy's rule over all of them, right-aligned.
- unidirectional: right-aligned onto operand `Row.onto`, whose shape is the result's.
- matmul: numpy.matmul; the batch axes [:-2] broadcast, a rank-1 operand is promoted and its axis removed.
- gemm: right-aligned onto (M, N), which A and B (`Row.product`) and transA/transB make.
- legacy: operator sets before 7, onto operand 0 (Gemm: onto (M, N)) by the attributes `broadcast` and `axis`.
- equal: no broadcast, though the operator looks like one that has it; all operands need one shape.
- own: a rule of its own; no rewrite touches it, `Row.left` says why.
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
    """Return the domain, empty for ONNX's standard operators under either of their names."""
    return "" if domain == "ai.onnx" else domain


@dataclass(frozen=True, slots=True)
class Seen:
    """What is known of an operand where its node reads it."""

    rank: int
    """-1 where it is not known."""
    constant: bool = False
    """Whether it is an initializer or a Constant node's result."""
    blocks: bool = False
    """Whether it is a constant that a DequantizeLinear unpacks, quantized in blocks."""
    one: bool = False
    """Whether it may have one element."""
    one_each: bool = False
    """Whether every operand that takes part may have one element, and their ranks may differ."""
    under_ones: bool = False
    """Whether it may have one element, and the axes of the result that it stands under are 1 as well."""


@dataclass(frozen=True, slots=True)
class Exempt:
    """An operand that the rewrites leave as it is: not a finding."""

    reason: str
    """Completes the sentence "left alone because"."""
    when: When = "always"
    also: Exempt | None = None
    """The next exemption of the same operand; they hold independently of each other."""

    def holds(self, seen: Seen) -> str | None:
        """Give the reason of the first exemption of the chain that holds for an operand, None when none does."""
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
    """An operand that takes part in the broadcast."""

    index: int
    keep_rank: Exempt | None = None
    """Why equalize-ranks leaves it."""
    keep_dims: Exempt | None = None
    """Why materialize-broadcasts leaves it."""


@dataclass(frozen=True, slots=True)
class Row:
    """How one operator broadcasts over a range of its domain's operator set versions."""

    domain: str
    op: str
    since: int
    until: int | None
    """The last version that the row covers, None for up to the newest."""
    style: Style
    operands: tuple[Operand, ...] = ()
    """Those that take part; empty for variadic, which means all; per-axis parameters are never among them."""
    variadic: bool = False
    onto: int | None = None
    """Unidirectional and legacy: the operand whose shape is the result's. Own: an operand of its shape is no site."""
    max_rank: int | None = None
    """The rank of the result above which the runtime does not broadcast."""
    evidence: str = ""
    """What was measured, in one line."""
    product: tuple[int, int] | None = None
    """Gemm and operators of its form: the operands A and B, whose product's shape (M, N) is the result's."""
    channel_axis: int | None = None
    """Legacy PRelu: the axis of operand 0 that a slope of several elements follows."""
    left: Exempt | None = None
    """Style own: why no rewrite touches the operator."""
    unequal: str | None = None
    """Style equal: what comes of operands whose shapes differ; completes "left alone because"."""

    def taking_part(self, count: int) -> tuple[Operand, ...]:
        """Name the operands that take part, for a node that has `count` operands (absent ones counted)."""
        if self.variadic:
            return tuple(Operand(index, self.left, self.left) for index in range(count))
        return tuple(operand for operand in self.operands if operand.index < count)


@dataclass(frozen=True, slots=True)
class StretchForm:
    """How an operator that is a stretch of its operand 0, and nothing else, says what to stretch to."""

    domain: str
    op: str
    by: Literal["shape", "repeats", "axes"]
    """Operand 1 is the target's shape, or one factor an axis, or the attribute `broadcast_dimensions` names the axes
    of the result that the operand's axes follow, and the shape of the result is the target."""
    standard: bool
    """Whether it is a form that the format's own stretch has: it is then not written as another one."""
    standard_before: int = 0
    """The operator set before which this form is standard too: ONNX has no Expand before set 8, only Tile."""
    two_way: bool = False
    """By shape: the target may be shorter than the operand, and a 1 in it keeps the operand's size."""

    def is_standard(self, version: int) -> bool:
        """Return whether the form is one of the format's own stretches in this operator set."""
        return self.standard or version < self.standard_before
