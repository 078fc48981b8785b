"""The plans of nodes that look alike to a rewrite that sees operands: a big model has few distinct ones."""

from __future__ import annotations

from collections.abc import Sequence

from graphfix.engine.open_sizes import CODE, Meeting, meetings
from graphfix.graph.edits import Edit, Stretch
from graphfix.graph.protocols import Carrier, Model
from graphfix.graph.view import Node
from graphfix.results import Site
from graphfix.results.records import dataclass, field
from graphfix.shapes.shape import Shape

MOST = 1 << 14
"""Nodes of as many looks are known by the identity of their shapes."""


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """A plan that holds for every node that looks the same: lifts and stretches only."""

    edits: Sequence[Edit]
    meetings: Sequence[Meeting]
    """The sizes of which it is not known whether they are equal."""
    sites: dict[str, Sequence[Site]] = field(default_factory=dict)
    """By path of the graph: what is said of the edits of the first node there."""


@dataclass(slots=True)
class Plans:
    """The plans of one rewrite."""

    _known: dict[object, Known] = field(default_factory=dict)
    _same: dict[object, tuple[Known, Sequence[Shape | None]]] = field(default_factory=dict)
    """By the very objects that the operands have for shapes, which is asked much faster; they stay alive with it."""
    _carriers: dict[Known, Carrier] = field(default_factory=dict)
    """What carries them out on the graph that is edited now."""

    def begin(self) -> None:
        """Look up anew what carries the plans out: another graph comes, or the same one in another view."""
        self._carriers.clear()

    def carrier(self, known: Known, model: Model) -> Carrier:
        """What carries a plan out on the nodes of the graph that look the same."""
        carrier = self._carriers.get(known)
        if carrier is None:
            carrier = self._carriers[known] = model.carrier(known.edits)
        return carrier

    def find(self, node: Node) -> Known | None:
        """Return the plan of a node that looks the same."""
        row = node.row  # rows are never freed, and hashing one takes long
        looks: list[object] = [id(row) if row is not None else (node.domain, node.op)]
        if node.attributes:
            looks.append(tuple(node.attributes.items()))
        for value in node.operands:
            if value is not None:
                looks += (id(value.shape), value.kind, value.dtype, value.stale)
            else:
                looks.append(None)
        key = tuple(looks)
        same = self._same.get(key)
        if same is not None:
            return same[0]
        known = self._known.get(_looks(node))
        if known is not None and len(self._same) < MOST:
            self._same[key] = known, [None if value is None else value.shape for value in node.operands]
        return known

    def keep(self, node: Node, edits: Sequence[Edit]) -> None:
        """Remember the plan that was made for a node."""
        met = meetings(node) if any(edit.code == CODE for edit in edits if isinstance(edit, Stretch)) else ()
        self._known[_looks(node)] = Known(edits, met)


def _looks(node: Node) -> tuple[object, ...]:
    """All that a plan may follow from."""
    what = id(node.row) if node.row is not None else (node.domain, node.op)
    operands = [value and (value.shape, value.kind, value.dtype, value.stale) for value in node.operands]
    return what, tuple(node.attributes.items()), *operands
