"""Cache the plans of nodes that look alike, for rewrites that depend on operands only.

A large model has many nodes and few that look different, so most plans are found here.
"""

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
"""The most entries of the cache that is keyed by object identity."""


@dataclass(slots=True)
class Known:
    """A cached plan: only lifts and stretches, valid for every node that looks the same."""

    edits: Sequence[Edit]
    meetings: Sequence[Meeting]
    """The sizes on axes where a stretch is undecided (see `open_sizes`)."""
    applier: Applier | None = None
    """The function that carries the edits out on the present graph; None until a node needs it."""
    sites: Sequence[Site] = ()
    """The sites of these edits for the first node of the present graph."""


@dataclass(slots=True)
class Plans:
    """The cached plans of one rewrite."""

    _known: dict[object, Known] = field(default_factory=dict)
    _same: dict[object, tuple[Known, Sequence[Shape | None]]] = field(default_factory=dict)
    """A faster cache: the key contains the identities of the operands' shapes.

    The shapes are stored so that they stay alive.
    """

    def begin(self) -> None:
        """Drop what is valid for one graph only.

        Called before another graph, or the same graph in a new view, is planned.
        """
        for plan in self._known.values():
            plan.applier, plan.sites = None, ()

    def find(self, node: Node) -> Known | None:
        """Return the cached plan for a node that looks the same as an earlier one; None if there is none."""
        row, operands = node.row, node.operands
        if row is not None and row.style == "matmul" and _reads_blocks(node):
            return None
        key: tuple[object, ...] = ()
        if len(operands) == TWO and row is not None and not node.attributes:
            a, b = operands
            if a is not None and b is not None:  # This shortcut covers nearly all nodes and takes a third of the time.
                key = id(row), id(a.shape), a.kind, a.dtype, a.stale, id(b.shape), b.kind, b.dtype, b.stale
        key = key or _quick_looks(node)
        same = self._same.get(key)
        if same is not None:
            return same[0]
        plan = self._known.get(_looks(node))
        if plan is not None and len(self._same) < MOST:
            self._same[key] = plan, [None if value is None else value.shape for value in node.operands]
        return plan

    def keep(self, node: Node, edits: Sequence[Edit]) -> None:
        """Cache the edits that were planned for a node, unless one of its operands is quantized in blocks."""
        if _reads_blocks(node):
            return
        met = meetings(node) if any(edit.code == CODE for edit in edits if isinstance(edit, Stretch)) else ()
        self._known[_looks(node)] = Known(edits, met)


def _reads_blocks(node: Node) -> bool:
    """Return whether an operand is quantized in blocks. A plan then also depends on the operand's producer."""
    return any(value is not None and in_blocks(value) for value in node.operands)


def _quick_looks(node: Node) -> tuple[object, ...]:
    """Return a key like that of `_looks`, but with the identities of shapes, which are faster to compare.

    The identities are safe because the cache keeps these objects alive.
    """
    what = id(node.row) if node.row is not None else (node.domain, node.op)
    looks = [value and (id(value.shape), value.kind, value.dtype, value.stale) for value in node.operands]
    return what, tuple(node.attributes.items()), *looks


def _looks(node: Node) -> tuple[object, ...]:
    """Return a key of all properties of a node on which a plan may depend: operator, attributes, and operands."""
    what = id(node.row) if node.row is not None else (node.domain, node.op)
    operands = [value and (value.shape, value.kind, value.dtype, value.stale) for value in node.operands]
    return what, tuple(node.attributes.items()), *operands
