"""Remove nodes and axes that an operator's own broadcasting makes redundant: the inverse of explicit broadcasts.

    Add(x[2,3,4], Expand(b[4], [2,3,4]))    ->  Add(x, b[4])
    Add(x[2,3,4], Reshape(b[4], [1,1,4]))   ->  Add(x, b[4])
    Add(a[N,4], Expand(b[1,4], Shape(a)))   ->  Add(a, b[1,4])
    Mul(y[2,4], Mul(x[4], ones[2,4]))       ->  Mul(y, x[4])
    Add(x[2,3,4], c[1,1,4]) constant        ->  Add(x, c[4])
    ADD(x[2,3,4], TILE(b[1,1,4], [2,3,1]))  ->  ADD(x, b[1,1,4])             TFLite

A node is removed if every reader broadcasts and has the same result without the node, for all sizes. These nodes can be
removed:

- an Expand, Tile, BROADCAST_TO, TILE or STABLEHLO_BROADCAST_IN_DIM
- a Reshape, Squeeze or Unsqueeze that only changes leading unit axes
- a product with ones (a constant, or a ConstantOfShape)
- a sum of integers with zeros, or of floats with -0.0 (x + 0.0 differs from x if x is -0.0, so that sum stays)

A stretch without a reader is removed too, unless it may fail because of its requested size. If an Expand reads a lift,
the lift is redundant, because the Expand aligns its operand itself. Nodes that only computed shapes for removed nodes
are removed, too. Constants lose leading unit axes, and axes along which all elements are equal get size 1. A constant
keeps the rank of the result if another operand would otherwise have to be lifted to it, because a constant's axes cost
nothing.

If one reader needs a node, all readers still read it. If two operands of a node are stretched and one of them must be,
the operand that is computed first stays. An operand that can't be made explicit with equal bits is not made implicit
either: a stretched exponent, a constant of a matrix product. With `--keep-fusions` (target `onnxruntime`), an operand
also stays if a fusion of onnxruntime compares its shape. No attribute, input or output of a graph changes. The report
lists each remaining stretch or product with ones, with the reason; it does not list remaining lifts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from graphfix.graph.compacting import Compaction, every_node
from graphfix.graph.edits import Bypass, Edit, Fold
from graphfix.graph.liveness import served_nothing_else
from graphfix.graph.redundant_nodes import does_nothing, is_lift, passed_operand
from graphfix.graph.view import Graph, Node
from graphfix.shapes.dim import Incompatible

CODE = "GF203"


def plan_model(graphs: Sequence[Graph]) -> Iterator[tuple[Node, Iterable[Edit]]]:
    """Yield the edits by which each node reads the operands behind redundant nodes. Unread nodes are removed then.

    There are three kinds of edits: the removal of nodes that do nothing, the replacement of redundant operands, and
    smaller constants with reasons. Only the first kind that applies is returned, because its edits change the later
    plans.
    """
    nodes = [*every_node(graphs)]
    idle = [(node, at) for node in nodes if (at := passed_operand(node)) is not None and does_nothing(node, at)]
    if idle:
        # Other redundant nodes are found after these nodes are removed.
        return ((node, [Fold(CODE, at)]) for node, at in idle)
    compaction = Compaction(nodes, served_nothing_else(graphs))
    plans = [(node, _plan(compaction, node)) for node in nodes if compaction.freed(node)]
    if any(isinstance(edit, Bypass) for _, edits in plans for edit in edits):
        # The remaining edits are planned after these are applied.
        return ((node, edits) for node, edits in plans if edits)
    plans = [(node, _plan(compaction, node)) for node in nodes]
    whys = ((node, compaction.alignment(node)) for node in nodes if node.row is not None and node.graph.path == "main")
    # A body may never run, so its shapes may be impossible.
    clashing = ((node, _clash(why)) for node, why in whys if isinstance(why, Incompatible))
    return chain(((node, edits) for node, edits in plans if edits), clashing)


def _plan(compaction: Compaction, node: Node) -> Sequence[Edit]:
    """Return the node's edits; without edits, the reason why the stretch that the node is must stay, if it is one."""
    edits, at = [*compaction.edits(node)], passed_operand(node)
    if not edits and at is not None and not any(map(is_lift, filter(None, node.results))):
        leave = compaction.needed(node, at, CODE)
        return [leave] if leave is not None else []
    return edits


def _clash(why: Incompatible) -> Iterator[Edit]:
    """Raise the error of operands that do not broadcast, as the plans of other rewrites do."""
    raise why
    yield
