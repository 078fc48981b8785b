"""The few verbs that a rewrite may plan with.

A verb names an operand of the planned node, never a value: other readers of the same value keep theirs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

from graphfix.graph.view import Node, Value
from graphfix.operators.row import TFLITE
from graphfix.results.records import dataclass
from graphfix.shapes.axis import Certainty
from graphfix.shapes.dim import Shape

AxisOf: TypeAlias = tuple[int, int]
"""(operand, axis): the run-time size of that operand's axis."""


EXPAND_LIMIT = 1 << 20
"""Bytes that one materialized constant may take, unless the user says otherwise."""


@dataclass(frozen=True, slots=True)
class Lift:
    """Give operand `operand` unit axes at the positions `axes` of the lifted shape: [4] at (0, 1) -> [1,1,4]."""

    operand: int
    axes: tuple[int, ...]
    code: str = "GF101"


@dataclass(frozen=True, slots=True)
class Stretch:
    """Repeat the size-1 axes of an operand by an explicit node, its rank unchanged (unless a rank is unknown).

    The target is the broadcast of the operand with every entry of `by`: another operand of the node (its
    run-time shape), or a whole shape given axis by axis as numbers and axes of operands.
    """

    operand: int
    by: tuple[int | tuple[int | AxisOf, ...], ...]
    to: Shape
    """The shape after."""
    code: str = "GF102"
    axes: tuple[Certainty, ...] = ()
    """How certain it is that the operator repeats each axis of the result; () where the rank is not known."""


@dataclass(frozen=True, slots=True)
class Fold:
    """Bypass the node: whoever reads its first result reads its operand `operand`."""

    code: str = "GF203"
    operand: int = 0


@dataclass(frozen=True, slots=True)
class Bypass:
    """Let the planned node read `source` as operand `operand`: what its producer there passes on."""

    operand: int
    source: Value
    code: str = "GF203"


@dataclass(frozen=True, slots=True)
class Restate:
    """Let the planned node read a constant in the shape `to`, right-aligned with its own.

    Unit axes in front come or go, and axes along which nothing changes are cut to 1.
    """

    operand: int
    to: Shape
    code: str = "GF203"


@dataclass(frozen=True, slots=True)
class Canonicalize:
    """The node is a stretch of its operand 0: write it as the format's own stretch to the static shape `to`."""

    to: Shape
    code: str = "GF202"


@dataclass(frozen=True, slots=True)
class Upgrade:
    """State the whole model at `version` of its operator set; once, whatever number of nodes ask for it."""

    version: int
    code: str


@dataclass(frozen=True, slots=True)
class DropMetadata:
    """Remove the metadata entry `name` from the file (TFLite)."""

    name: str
    why: str
    """A clause for the report: what a tool does because of the entry."""
    code: str


@dataclass(frozen=True, slots=True)
class StateShape:
    """Write the shape of a value into the file, where the file states none or a wrong one.

    Sizes that are not known are left open. Nothing is stated of a value of unknown rank.
    """

    value: Value
    why: str
    """A clause for the report: what the file states."""
    code: str


@dataclass(frozen=True, slots=True)
class Evaluate:
    """Write what the node computes, which is known before the model runs, as a constant; the node goes."""

    code: str


@dataclass(frozen=True, slots=True)
class Inline:
    """Put the body of the graph attribute `branch` in the place of the node, whose condition is known.

    Of an If once; of a loop as often as it runs, each trip on what the one before it returns.
    """

    branch: str
    code: str = "GF303"
    trips: int | None = None
    """None for an If."""
    inexact: str | None = None
    """Why a runtime's kernels may round the results differently; None if all bits stay the same."""


@dataclass(frozen=True, slots=True)
class Numbers:
    """A new constant: its elements in row-major order."""

    elements: tuple[int | float | bool, ...]
    dims: tuple[int, ...]
    dtype: str
    """By numpy's name."""


@dataclass(frozen=True, slots=True)
class New:
    """A node to be made: an operator of the format, with one result.

    A New among the operands of another is made before it, and once however often it is read.
    """

    op: str
    operands: tuple[Source, ...]
    shape: Shape
    """Of the result."""
    dtype: str
    attributes: tuple[tuple[str, object], ...] = ()
    domain: str = ""
    version: int = 1
    """TFLite's version of the operator; in ONNX the model's operator set says it."""


Source: TypeAlias = int | Value | New | Numbers
"""What a new node reads: an operand of the planned node as it is by then, a visible value, or something new."""


@dataclass(frozen=True, slots=True)
class Replace:
    """Put a new node, and those that it reads, in the place of the node: it makes the first result, by the old name."""

    node: New
    code: str
    inexact: str | None = None
    """Why the numbers may differ, and by how much at most; None where every bit is the same."""
    others: tuple[tuple[int, New], ...] = ()
    """(result, the new node that makes it) of the results behind the first that are used (ONNX)."""


@dataclass(frozen=True, slots=True)
class Leave:
    """Not an edit: the operand stays as it is on purpose (`exempt`), or for a reason that is a finding (`left`)."""

    operand: int | None
    reason: str
    code: str
    status: Literal["exempt", "left"] = "exempt"
    blocks: bool = False
    """Whether no converter to the target makes anything right of the model as long as it is so."""


@dataclass(frozen=True, slots=True)
class Assume:
    """Not an edit: the operand stays as it is because of an assumption that the file and the report must state."""

    operand: int
    text: str
    code: str


FileEdit: TypeAlias = Upgrade | DropMetadata | StateShape
"""Edits of statements in the file, such as its metadata; the nodes of the view stay as they are."""
Edit: TypeAlias = (
    Lift | Stretch | Fold | Bypass | Restate | Canonicalize | FileEdit | Evaluate | Inline | Replace | Leave | Assume
)


class Refused(Exception):  # noqa: N818 -- it is no error: the answer of a format that can't carry an edit out
    """A format can't carry the edits of a node out; the text completes "left alone because"."""


def scalar(number: float, shape: Shape, dtype: str) -> Numbers:
    """A constant of one element, of the rank of what it meets: nothing is left to be lifted."""
    return Numbers((number,), (1,) * shape.rank, dtype)


def vector(numbers: Sequence[float], dtype: str = "int64") -> Numbers:
    """A constant vector of these elements."""
    return Numbers(tuple(numbers), (len(numbers),), dtype)


def reshape(node: Node, source: Source, sizes: tuple[int, ...], dtype: str) -> New:
    """A node of the planned node's format that returns the elements of `source` in these axes."""
    if node.domain == TFLITE:
        return New("RESHAPE", (source, vector(sizes, "int32")), Shape(sizes), dtype, (("new_shape", sizes),))
    return New("Reshape", (source, vector(sizes)), Shape(sizes), dtype)
