"""Take away what an operator's own broadcasting makes redundant: the inverse of explicit broadcasts.

    Add(x[2,3,4], Expand(b[4], [2,3,4]))    ->  Add(x, b[4])
    Add(x[2,3,4], Reshape(b[4], [1,1,4]))   ->  Add(x, b[4])
    Add(a[N,4], Expand(b[1,4], Shape(a)))   ->  Add(a, b[1,4])
    Mul(y[2,4], Mul(x[4], ones[2,4]))       ->  Mul(y, x[4])
    Add(x[2,3,4], c[1,1,4]) constant        ->  Add(x, c[4])
    ADD(x[2,3,4], TILE(b[1,1,4], [2,3,1]))  ->  ADD(x, b[1,1,4])             TFLite

A node goes where every reader broadcasts anyway and has the result that it had, for all sizes: an Expand, a Tile, a
BROADCAST_TO, a TILE, a STABLEHLO_BROADCAST_IN_DIM, a Reshape, Squeeze or Unsqueeze that changes unit axes in front
only, a product with ones (a constant, or a ConstantOfShape), and a sum with zeros of whole numbers, or with -0.0. (x +
0.0 is another number where x is -0.0, and stays.) A stretch that nobody reads goes as well, unless it may fail by the
size that it asks for. An Expand that reads a lift aligns its operand itself. What computed shapes for them alone goes
too. Constants lose the unit axes in front and the axes along which nothing changes; where another operand's lift would
otherwise be needed for the rank of the result, a constant has that rank, which costs nothing.

Where one reader needs a node, all read it still. Where two operands of a node are stretched and one of them has to be,
the one that is computed first stays. An operand that can't be made explicit with the same bits is not made implicit
either: a stretched exponent, a matrix product's constant. With `--keep-fusions` (target `onnxruntime`) what a fusion of
onnxruntime matches by its shape stays too. No attribute, input or output of a graph changes. A stretch or a product
with ones that stays is listed with its reason; a lift is not.
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
    """Let each node read what its operands pass on; what nobody reads then goes."""
    nodes = [*every_node(graphs)]
    idle = [(node, at) for node in nodes if (at := passed_operand(node)) is not None and does_nothing(node, at)]
    if idle:
        return ((node, [Fold(CODE, at)]) for node, at in idle)  # the others are seen when these are gone
    compaction = Compaction(nodes, served_nothing_else(graphs))
    plans = [(node, _plan(compaction, node)) for node in nodes if compaction.freed(node)]
    if any(isinstance(edit, Bypass) for _, edits in plans for edit in edits):
        return ((node, edits) for node, edits in plans if edits)  # what else there is to do is planned behind these
    plans = [(node, _plan(compaction, node)) for node in nodes]
    whys = ((node, compaction.alignment(node)) for node in nodes if node.row is not None and node.graph.path == "main")
    clashing = ((node, _clash(why)) for node, why in whys if isinstance(why, Incompatible))  # a body may never run
    return chain(((node, edits) for node, edits in plans if edits), clashing)


def _plan(compaction: Compaction, node: Node) -> Sequence[Edit]:
    edits, at = [*compaction.edits(node)], passed_operand(node)
    if not edits and at is not None and not any(map(is_lift, filter(None, node.results))):
        leave = compaction.needed(node, at, CODE)
        return [leave] if leave is not None else []
    return edits


def _clash(why: Incompatible) -> Iterator[Edit]:
    """Raise it, as every plan does of operands that do not broadcast."""
    raise why
    yield
