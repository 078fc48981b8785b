"""The few verbs that a rewrite may use, and the protocols of a rewrite and of a model that carries them out.

A verb names an operand of the planned node, never a value: other readers of the same value keep theirs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol, TypeAlias

from graphfix.graph.view import Graph, Node, Value
from graphfix.shapes.shape import Shape, Size

Broadcasts = Literal["keep", "two-sided", "explicit"]
Unknown = Literal["expand", "keep", "assume", "error"]
AxisOf: TypeAlias = tuple[int, int]
"""(operand, axis): the run-time size of that operand's axis."""


@dataclass(frozen=True, slots=True)
class Options:
    """What the user or the target asks of the rewrites."""

    broadcasts: Broadcasts = "explicit"
    unknown: Unknown = "expand"
    keep_fusions: bool = False
    apart: frozenset[tuple[str, str]] = frozenset()
    """(domain, operator) of the nodes whose ranks a rewrite of the target's own sees to."""

    @property
    def stretches_unknown(self) -> bool:
        """Whether a size that is not known is stretched by the run-time form."""
        return self.broadcasts != "keep" and self.unknown == "expand"


DEFAULT = Options()
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


@dataclass(frozen=True, slots=True)
class Fold:
    """Bypass the node: whoever reads its first result reads its operand 0."""

    code: str = "GF203"


@dataclass(frozen=True, slots=True)
class Spell:
    """The node is a stretch of its operand 0: write it as the format's own stretch to the static shape `to`."""

    to: Shape
    code: str = "GF202"


@dataclass(frozen=True, slots=True)
class Upgrade:
    """State the node at `version` of its operator set: drop the attributes that are gone there."""

    version: int
    drop: tuple[str, ...]
    code: str = "GF201"


@dataclass(frozen=True, slots=True)
class Evaluate:
    """Write what the node computes, which is known before the model runs, as a constant; the node goes."""

    code: str = "GF303"


@dataclass(frozen=True, slots=True)
class Inline:
    """Put the body of the graph attribute `branch` in the place of the node, whose condition is known."""

    branch: str
    code: str = "GF303"


@dataclass(frozen=True, slots=True)
class Made:
    """The result of an earlier new node of the same Replace, by its position there."""

    at: int


@dataclass(frozen=True, slots=True)
class Numbers:
    """A new constant: its elements in row-major order."""

    elements: tuple[int | float | bool, ...]
    dims: tuple[int, ...]
    dtype: str
    """By numpy's name."""


Source: TypeAlias = int | Value | Made | Numbers
"""What a new node reads: an operand of the planned node as it is by then, a visible value, or something new."""


@dataclass(frozen=True, slots=True)
class New:
    """A node to be made: an operator of the format, with one result."""

    op: str
    operands: tuple[Source, ...]
    shape: Shape
    """Of the result; the last node's is that of the result which it takes the place of."""
    dtype: str
    attributes: tuple[tuple[str, object], ...] = ()
    domain: str = ""
    version: int = 1
    """TFLite's version of the operator; in ONNX the model's operator set says it."""


@dataclass(frozen=True, slots=True)
class Replace:
    """Put a few new nodes in the place of the node: the last one makes its first result, under the old name."""

    nodes: tuple[New, ...]
    code: str
    inexact: str | None = None
    """Why the numbers may differ, and by how much at most; None where every bit is the same."""


@dataclass(frozen=True, slots=True)
class Leave:
    """Not an edit: the operand stays as it is on purpose (`exempt`), or for a reason that is a finding (`left`)."""

    operand: int | None
    reason: str
    code: str
    status: Literal["exempt", "left"] = "exempt"


@dataclass(frozen=True, slots=True)
class Assume:
    """Not an edit: the operand stays as it is because of an assumption that the file and the report must state."""

    operand: int
    text: str
    code: str


Edit: TypeAlias = Lift | Stretch | Fold | Spell | Upgrade | Evaluate | Inline | Replace | Leave | Assume


class Refused(Exception):  # noqa: N818 -- it is no error: the answer of a format that can't carry an edit out
    """A format can't carry the edits of a node out; the text completes "left alone because"."""


def with_axes(shape: Shape, axes: Sequence[int]) -> Shape:
    """The shape with unit axes at these positions of the result: [4] at (0, 1) -> [1,1,4]."""
    rest = iter(shape.dims)
    rank = shape.rank + len(axes)
    return Shape(tuple(1 if axis in axes else next(rest) for axis in range(rank)))


class Plan(Protocol):
    """A pure function from one node of the view to edits."""

    def __call__(self, node: Node, options: Options = ...) -> Iterator[Edit]:
        """Yield the edits. Raises Undecided where the view does not say enough, Incompatible where sizes clash."""


@dataclass(frozen=True, slots=True)
class Rewrite:
    """One named rewrite: its page is the docstring of its module."""

    name: str
    plan: Plan
    code: str
    """The finding code of a node that the plan is undecided about."""
    page: str
    operators: frozenset[tuple[str, str]] | None = None
    """(domain, operator) of the nodes that the plan is about; None for every operator with a row in the catalogue."""
    every: bool = False
    """The plan is about every node, whatever its operator."""
    local: bool = False
    """The plan follows from the operator and from what its operands look like: shape, kind and element type."""
    together: bool = False
    """All nodes of the model or none: the edits state something of the whole file."""
    tells: bool = False
    """What it does may tell more of the model: neighbours that do so run together until nothing is left to do."""


class Model(Protocol):
    """What the engine asks of a format."""

    @property
    def format(self) -> str:
        """`onnx` or `tflite`."""

    @property
    def graphs(self) -> Sequence[Graph]:
        """Every scope of the model; an outer scope before the bodies inside it."""

    @property
    def changed(self) -> bool:
        """Whether an edit or a binding changed anything."""

    expand_limit: int
    """Bytes that one materialized constant may take; above it, and in ONNX always, a stretch is a node."""

    @property
    def added(self) -> int:
        """Bytes of materialized constants that edits have added."""

    @property
    def inferring(self) -> float:
        """Seconds that the inference of shapes has taken."""

    @property
    def assumes(self) -> Sequence[str]:
        """The stored shapes and shared symbols that the view leans on, and what edits made fixed."""

    @property
    def stale(self) -> Sequence[tuple[str, str, str]]:
        """(graph, value, why) of every stored shape that the computed one contradicts."""

    def apply(self, node: Node, edits: Sequence[Edit]) -> Node:
        """Carry the edits of one node out, all or none, and return the node as it is now. Raises Refused."""

    def bind(self, dims: Mapping[str, Size], shapes: Mapping[str, Sequence[int | None]]) -> None:
        """Bind free dims before anything else. Raises GraphfixError for a name that the model does not have."""

    def example(self, value: Value) -> Sequence[int] | None:
        """The sizes that the file stores for an input beside the free ones, None where it stores none."""

    def note(self, key: str, text: str) -> None:
        """Record a line in the file's metadata (an assumption that a rewrite made)."""

    def refuse_output(self, path: Path) -> None:
        """Raise GraphfixError where writing to `path` would replace a file that the model itself needs."""

    def save(self, path: str | Path) -> Sequence[Path]:
        """Write the model; what no edit names comes out as it went in. Give the data files that were made beside it."""

    def tobytes(self) -> bytes:
        """The file as bytes, for models that fit into memory."""
