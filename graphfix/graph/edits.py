"""The edits that a rewrite may plan.

An edit refers to an operand of the planned node, never to a value, so other readers of the same value do not change.
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
"""(operand, axis): the size of this axis of the node's operand, read during the run."""


EXPAND_LIMIT = 1 << 20
"""The most bytes of one materialized constant, unless the user chooses another limit."""


@dataclass(frozen=True, slots=True)
class Lift:
    """Insert unit axes into operand `operand`, at positions `axes` of the lifted shape: [4] at (0, 1) -> [1,1,4]."""

    operand: int
    axes: tuple[int, ...]
    code: str = "GF101"


@dataclass(frozen=True, slots=True)
class Stretch:
    """Repeat the size-1 axes of an operand by an explicit node; its rank stays the same, unless a rank is unknown.

    The target is the broadcast of the operand with every entry of `by`. An entry is another operand of the node, whose
    shape is read during the run, or a full shape, axis by axis, as numbers and axes of operands.
    """

    operand: int
    by: tuple[int | tuple[int | AxisOf, ...], ...]
    to: Shape
    """The shape of the operand after the stretch."""
    code: str = "GF102"
    axes: tuple[Certainty, ...] = ()
    """Whether each axis of the result repeats the operand: "yes", "no" or "maybe"; () if the rank is unknown."""


@dataclass(frozen=True, slots=True)
class Fold:
    """Bypass the node: all readers of its first result read its operand `operand` instead."""

    code: str = "GF203"
    operand: int = 0


@dataclass(frozen=True, slots=True)
class Bypass:
    """Make the planned node read `source` as operand `operand`: a value that the operand's producer passes on."""

    operand: int
    source: Value
    code: str = "GF203"


@dataclass(frozen=True, slots=True)
class Restate:
    """Make the planned node read a constant in the shape `to`, which is right-aligned with the constant's shape.

    Unit axes in front are added or dropped, and axes along which the elements repeat are cut to size 1.
    """

    operand: int
    to: Shape
    code: str = "GF203"


@dataclass(frozen=True, slots=True)
class Canonicalize:
    """Rewrite a node that stretches its operand 0 as the format's usual stretch to the static shape `to`."""

    to: Shape
    code: str = "GF202"


@dataclass(frozen=True, slots=True)
class Upgrade:
    """Declare the whole model at `version` of its operator set; this is done once, even if several nodes require it."""

    version: int
    code: str


@dataclass(frozen=True, slots=True)
class DropMetadata:
    """Remove the metadata entry `name` from the file (TFLite)."""

    name: str
    why: str
    """A clause for the report: how a tool reacts to the entry."""
    code: str


@dataclass(frozen=True, slots=True)
class StateShape:
    """Write the shape of a value into the file, if the file states none or a wrong one.

    Unknown sizes become free sizes. Nothing is written for a value of unknown rank.
    """

    value: Value
    why: str
    """A clause for the report: the shape that the file states."""
    code: str


@dataclass(frozen=True, slots=True)
class Evaluate:
    """Replace the node by a constant, because its result is known before the model runs."""

    code: str


@dataclass(frozen=True, slots=True)
class Inline:
    """Replace an If or a loop by a body, because its condition is known before the run.

    `branch` is the graph attribute that contains the body. The body of an If is copied once. The body of a loop is
    copied once for each trip, which reads the results of the previous trip.
    """

    branch: str
    code: str = "GF303"
    trips: int | None = None
    """The number of times that a loop runs its body; None for an If."""
    inexact: str | None = None
    """The reason why a runtime's kernels may round the results differently; None if all bits stay the same."""


@dataclass(frozen=True, slots=True)
class Numbers:
    """A new constant with these elements in row-major order."""

    elements: tuple[int | float | bool, ...]
    dims: tuple[int, ...]
    dtype: str
    """The element type, by numpy's name."""


@dataclass(frozen=True, slots=True)
class New:
    """A new node: an operator of the format, with one result.

    A New among its operands is made before it, and only once even if several nodes read it.
    """

    op: str
    operands: tuple[Source, ...]
    shape: Shape
    """The shape of the result."""
    dtype: str
    attributes: tuple[tuple[str, object], ...] = ()
    domain: str = ""
    version: int = 1
    """The version of a TFLite operator; an ONNX operator has the version of the model's operator set."""


Source: TypeAlias = int | Value | New | Numbers
"""An operand of a new node: an operand of the planned node by its number, a visible value, a new node or constant."""


@dataclass(frozen=True, slots=True)
class Replace:
    """Replace the node by a new node and all new nodes that it reads; the first result keeps its name."""

    node: New
    code: str
    inexact: str | None = None
    """The reason why numbers may differ, and by how much at most; None if every bit stays the same."""
    others: tuple[tuple[int, New], ...] = ()
    """(index of a result, new node that computes it) for each used result behind the first (ONNX)."""


@dataclass(frozen=True, slots=True)
class Leave:
    """Not an edit: the operand stays as it is, on purpose (`exempt`) or for a reason that is a finding (`left`)."""

    operand: int | None
    reason: str
    code: str
    status: Literal["exempt", "left"] = "exempt"
    blocks: bool = False
    """Whether this operand makes every converter to the target fail, or convert the model wrongly."""


@dataclass(frozen=True, slots=True)
class Assume:
    """Not an edit: the operand stays as it is because of an assumption, which the file and the report must state."""

    operand: int
    text: str
    code: str


FileEdit: TypeAlias = Upgrade | DropMetadata | StateShape
"""Edits of statements in the file, such as metadata; the nodes of the view stay as they are."""
Edit: TypeAlias = (
    Lift | Stretch | Fold | Bypass | Restate | Canonicalize | FileEdit | Evaluate | Inline | Replace | Leave | Assume
)


class Refused(Exception):  # noqa: N818 -- it is no error: the answer of a format that can't carry an edit out
    """A format can't carry out the edits of a node; the message completes "left alone because"."""


def scalar(number: float, shape: Shape, dtype: str) -> Numbers:
    """Return a constant of one element with the rank of `shape`, so that it does not need to be lifted."""
    return Numbers((number,), (1,) * shape.rank, dtype)


def vector(numbers: Sequence[float], dtype: str = "int64") -> Numbers:
    """Return a constant vector of these elements."""
    return Numbers(tuple(numbers), (len(numbers),), dtype)


def reshape(node: Node, source: Source, sizes: tuple[int, ...], dtype: str) -> New:
    """Return a new node that reshapes `source` to these sizes, as an operator of the planned node's format."""
    if node.domain == TFLITE:
        return New("RESHAPE", (source, vector(sizes, "int32")), Shape(sizes), dtype, (("new_shape", sizes),))
    return New("Reshape", (source, vector(sizes)), Shape(sizes), dtype)
