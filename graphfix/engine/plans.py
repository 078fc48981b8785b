"""The plans of nodes that look alike to a rewrite that sees operands: a big model has few distinct ones."""

from __future__ import annotations

from collections.abc import Sequence

from graphfix.engine.open_sizes import CODE, Meeting, meetings
from graphfix.graph.broadcast import in_blocks
from graphfix.graph.edits import Edit, Stretch
from graphfix.graph.protocols import Applier
from graphfix.graph.view import Node
from graphfix.results import Site
from graphfix.results.records import dataclass, field
from graphfix.shapes.dim import Shape

TWO = 2
MOST = 1 << 14
"""Nodes of as many looks are known by the identity of their shapes."""


@dataclass(slots=True)
class Known:
    """A plan that holds for every node that looks the same: lifts and stretches only."""

    edits: Sequence[Edit]
    meetings: Sequence[Meeting]
    """The sizes of which it is not known whether they are equal."""
    applier: Applier | None = None
    """What carries it out on the graph that is edited now."""
    sites: Sequence[Site] = ()
    """What is said of its edits of the first node of that graph."""


@dataclass(slots=True)
class Plans:
    """The plans of one rewrite."""

    _known: dict[object, Known] = field(default_factory=dict)
    _same: dict[object, tuple[Known, Sequence[Shape | None]]] = field(default_factory=dict)
    """By the very objects that the operands have for shapes, which is asked much faster; they stay alive with it."""

    def begin(self) -> None:
        """Forget what is of one graph: another one comes, or the same one in another view."""
        for known in self._known.values():
            known.applier, known.sites = None, ()

    def find(self, node: Node) -> Known | None:
        """Return the plan of a node that looks the same."""
        row, operands = node.row, node.operands
        if row is not None and row.style == "matmul" and _reads_blocks(node):
            return None
        key: tuple[object, ...] = ()
        if len(operands) == TWO and row is not None and not node.attributes:
            a, b = operands
            if a is not None and b is not None:  # nearly always: in a third of the time
                key = id(row), id(a.shape), a.kind, a.dtype, a.stale, id(b.shape), b.kind, b.dtype, b.stale
        key = key or _quick_looks(node)
        same = self._same.get(key)
        if same is not None:
            return same[0]
        known = self._known.get(_looks(node))
        if known is not None and len(self._same) < MOST:
            self._same[key] = known, [None if value is None else value.shape for value in node.operands]
        return known

    def keep(self, node: Node, edits: Sequence[Edit]) -> None:
        """Remember the plan that was made for a node."""
        if _reads_blocks(node):
            return
        met = meetings(node) if any(edit.code == CODE for edit in edits if isinstance(edit, Stretch)) else ()
        self._known[_looks(node)] = Known(edits, met)


def _reads_blocks(node: Node) -> bool:
    """Return whether an operand is quantized in blocks: then a plan depends on the operand's producer, too."""
    return any(value is not None and in_blocks(value) for value in node.operands)


def _quick_looks(node: Node) -> tuple[object, ...]:
    """The same by identity of what is not freed."""
    what = id(node.row) if node.row is not None else (node.domain, node.op)
    looks = [value and (id(value.shape), value.kind, value.dtype, value.stale) for value in node.operands]
    return what, tuple(node.attributes.items()), *looks


def _looks(node: Node) -> tuple[object, ...]:
    """All that a plan may follow from."""
    what = id(node.row) if node.row is not None else (node.domain, node.op)
    operands = [value and (value.shape, value.kind, value.dtype, value.stale) for value in node.operands]
    return what, tuple(node.attributes.items()), *operands
