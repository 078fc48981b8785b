"""Compute the bounds of integer values before the model runs, from constants, sizes and rules of operators.

    i:int64[1,8] = Slice(c:const[1,512]{0..511}, ...)      0..511
    k:int64[2,1] = ArgMax(x[2,7])                          0..6
    t:int64[1,8] = Add(i, Cast(b:bool[1,8]))               0..512

A result that may exceed the range of its element type wraps around, so its bounds are those of the type.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import MappingProxyType

from graphfix.formats.onnx.infer.operators.integers import TYPES, Bounds
from graphfix.formats.onnx.infer.operators.registry import BOUNDS
from graphfix.graph.view import Value
from graphfix.results.records import dataclass, field

INDEXING = MappingProxyType({"Gather": 0, "GatherElements": 0})
"""Operators whose operand 1 contains indices into an axis of operand 0, with the default of the attribute `axis`.

Runtimes refuse an index that is out of range.
"""


@dataclass(slots=True, eq=False, repr=False)
class IntegerBounds:
    """The bounds of the integer values of one view. Each is computed once, when it is first requested."""

    constant: Callable[[Value], Bounds | None]
    """Returns the smallest and the largest element of an integer constant; None if they can't be read."""
    _known: dict[Value, Bounds | None] = field(default_factory=dict)

    def of(self, value: Value) -> Bounds | None:
        """Return the bounds (smallest, largest) of a value's elements; None if its type is not an integer type.

        If nothing else is known, the bounds are those of the element type.
        """
        pending = [value]
        while pending:
            top = pending[-1]
            if top not in self._known:
                missing = [each for each in _reads(top) if each not in self._known]
                if missing:
                    pending += missing
                    continue
                self._known[top] = self._bounds(top)
            pending.pop()
        return self._known[value]

    def _bounds(self, value: Value) -> Bounds | None:
        """Return the bounds of a value; None if its type is not an integer type.

        The bounds of the operands on which it depends must be computed already.
        """
        type_range = TYPES.get(value.dtype)
        if type_range is None:
            return None
        found = self.constant(value) if value.kind == "constant" else self._computed(value)
        if found is None or found[0] < type_range[0] or found[1] > type_range[1]:
            found = type_range
        indexed = _indexed(value)
        if indexed is not None:
            found = max(found[0], indexed[0]), min(found[1], indexed[1])
        return found

    def _computed(self, value: Value) -> Bounds | None:
        """Return the bounds of a node's result by the rule of its operator; None if the operator has no rule."""
        node = value.producer
        rule = BOUNDS.get(node.op) if node is not None and not node.domain else None
        if node is None or rule is None:
            return None
        given = [None if each is None else self._known.get(each) for each in node.operands]
        return rule(node, given, node.results.index(value))


def _reads(value: Value) -> Sequence[Value]:
    """Return the operands whose bounds are needed for the bounds of a value."""
    node = value.producer if value.dtype in TYPES and value.kind == "result" else None
    if node is None or node.domain or node.op not in BOUNDS:
        return ()
    return [each for each in node.operands if each is not None]


def _indexed(value: Value) -> Bounds | None:
    """Return the bounds of a value that nodes of the main graph read as indices; None if there is no such node.

    An int64 index into an axis of size n is in -n..n-1, because runtimes refuse other indices.
    """
    if value.dtype != "int64" or value.graph.path != "main":
        return None
    found: Bounds | None = None
    for node, at in value.reads:
        if node.op not in INDEXING or node.domain or at != 1 or node.graph is not value.graph:
            continue
        data, axis = node.operand(0), node.attributes.get("axis", INDEXING[node.op])
        axes = data.shape.axes
        if axes is None or not isinstance(axis, int) or not -len(axes) <= axis < len(axes) or data.stale is not None:
            continue
        size = axes[axis]
        if isinstance(size, int):
            found = (-size, size - 1) if found is None else (max(found[0], -size), min(found[1], size - 1))
    return found
