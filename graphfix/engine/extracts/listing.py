"""Build the records that `show` prints: nodes, how their operands broadcast, and the indexing maps."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator

from graphfix.engine.extracts.selection import NodeSelection, selected
from graphfix.graph.broadcast import Alignment, BroadcastOperand, align
from graphfix.graph.protocols import Model
from graphfix.graph.view import Graph, Node, Scalar, Value
from graphfix.results.listing import AxisMark, ListedNode, ListedScope, ListedValue, Listing
from graphfix.shapes.axis import Certainty
from graphfix.shapes.dim import Incompatible, Undecided, same

TRANSPOSED = (("adj_x", "transA"), ("adj_y", "transB"))
"""The attributes that swap the matrix axes of the left and the right operand of a matrix product."""
ELEMENTS = 8
"""The most elements of a constant that are printed; of a larger constant no element is printed."""
TEXT = 40
"""The most characters that are printed of an element that is a text."""


def listing(model: Model, selection: NodeSelection) -> Listing:
    """Return the selected nodes, by graph. Raises GraphfixError if a selected node or graph does not exist."""
    wanted = selected(model.graphs, selection)
    counts: Counter[str] = Counter()
    scopes = [
        scope
        for graph in model.graphs
        if (scope := _scope(graph, wanted.get(id(graph)), selection, counts)) is not None
    ]
    operators = Counter(node.op for graph in model.graphs for node in graph.nodes)
    return Listing(
        scopes,
        operators.total(),
        None if selection.selects_all else sum(len(scope.nodes) for scope in scopes),
        dict(operators.most_common()),
        **{name: counts[name] for name in ("lifted", "stretched", "maybe", "unknown")},
    )


def _scope(
    graph: Graph, wanted: frozenset[int] | None, selection: NodeSelection, counts: Counter[str]
) -> ListedScope | None:
    """Return the listing of one graph; None if no node of it is selected.

    `wanted` are the indices of the selected nodes; None selects all nodes.
    """
    nodes = []
    for node in graph.nodes:
        alignment, trouble = _aligned(node)
        implicit = _count(alignment, trouble, counts)
        if (wanted is None or node.index in wanted) and (implicit or not selection.broadcasts_only):
            nodes.append(_node(node, alignment, trouble, maps=selection.maps))
    if selection.selects_all or (selection.only_scopes and wanted is None):
        outputs = sorted(graph.outputs, key=lambda value: value.name)
        return ListedScope(graph.path, nodes, [_value(value) for value in graph.inputs], [_value(v) for v in outputs])
    return ListedScope(graph.path, nodes) if nodes else None


def _count(alignment: Alignment | None, trouble: str | None, counts: Counter[str]) -> bool:
    """Add the lifted and stretched operands of one node to `counts`; return whether the node broadcasts implicitly.

    If the operands can't be aligned (`trouble` is the reason), the node counts as unknown, and the result is True.
    """
    if alignment is None:
        counts["unknown"] += trouble is not None
        return trouble is not None
    implicit = False
    for operand in alignment.operands:
        marks = _marks(alignment, operand)
        lifted = _lifted(alignment, operand) > 0
        counts["lifted"] += lifted
        counts["stretched"] += "stretched" in marks
        counts["maybe"] += "maybe" in marks
        implicit = implicit or lifted or any(mark != "plain" for mark in marks)
    return implicit


def _aligned(node: Node) -> tuple[Alignment | None, str | None]:
    try:
        return align(node), None
    except (Undecided, Incompatible) as why:
        return None, str(why)


def _node(node: Node, alignment: Alignment | None, trouble: str | None, *, maps: bool) -> ListedNode:
    taking_part = {operand.index: operand for operand in alignment.operands} if alignment is not None else {}
    operands = [
        None
        if value is None
        else _value(value, constant=value.producer is None)
        if alignment is None or at not in taking_part
        else _operand(alignment, taking_part[at])
        for at, value in enumerate(node.operands)
    ]
    results = [_value(value, constant=not node.operands) for value in node.results if value is not None]
    product = node.row is not None and node.row.style == "matmul"
    lines = [f"maps: not known: {trouble}"] if maps and trouble is not None else []
    if maps and alignment is not None:
        lines += _maps(node, alignment, product=product)
    return ListedNode(node.op, node.name, results, operands, trouble is not None, lines)


def _operand(alignment: Alignment, operand: BroadcastOperand) -> ListedValue:
    value = _value(operand.value, constant=operand.value.producer is None)
    marks = _marks(alignment, operand)
    return ListedValue(value.name, value.sizes, marks, _lifted(alignment, operand), value.elements, value.dtype)


def _value(value: Value, *, constant: bool = False) -> ListedValue:
    shape = value.shape
    sizes = tuple(map(str, shape.dims)) if shape.ranked else None if shape.valid else ("invalid",)
    return ListedValue(value.name, sizes, elements=_elements(value) if constant else None, dtype=value.dtype)


def _elements(value: Value) -> str | None:
    """Return the elements of a constant as text: `[1, 1, -1]`, or `0.5` for a scalar.

    Return None for a value that is not a constant, for many elements, and for elements that can't be read.
    """
    if value.kind != "constant" or not value.shape.static or math.prod(value.shape.numbers) > ELEMENTS:
        return None
    literal = value.literal
    if literal is None:
        return None
    texts = [_element(each, value.dtype) for each in literal]
    return f"[{', '.join(texts)}]" if value.shape.rank else texts[0]


def _element(element: Scalar, dtype: str) -> str:
    """Return an element as text; a float of 32 or fewer bits has 7 significant digits: `1e-05`."""
    if isinstance(element, str):
        return repr(element[:TEXT])
    return str(float(f"{element:.7g}")) if dtype in ("float32", "float16", "bfloat16") else str(element)


def _lifted(alignment: Alignment, operand: BroadcastOperand) -> int:
    return max(alignment.rank - operand.value.shape.rank, 0)


def _marks(alignment: Alignment, operand: BroadcastOperand) -> tuple[AxisMark, ...]:
    """Return for each axis of an operand whether it is stretched; an axis of a matrix is always "plain"."""
    offset = alignment.result.rank - operand.shape.rank
    stretched = alignment.stretches(operand)[offset:]
    pairs = zip(operand.shape.dims, stretched, strict=True)
    matrix: list[AxisMark] = ["plain"] * len(operand.matrix)
    return (*(_mark(one=same(size, 1), how=how) for size, how in pairs), *matrix)


def _mark(*, one: bool, how: Certainty) -> AxisMark:
    if how == "maybe":
        return "maybe"
    return "stretched" if one and how == "yes" else "plain"


def _maps(node: Node, alignment: Alignment, *, product: bool) -> Iterator[str]:
    """Yield a node's indexing maps in Linalg's notation, a line for each operand.

    Example: `operand 1: (d0, d1, d2) -> (0, d2)`. An axis that may be stretched at run time is marked `?`. A matrix
    product's batch axes are followed by the axes of the rows, of the columns, and of the sum.
    """
    rank = alignment.result.rank
    space = ", ".join(f"d{axis}" for axis in range(rank + 3 * product))
    for position, operand in enumerate(alignment.operands):
        offset = rank - operand.shape.rank
        marks = _marks(alignment, operand)[: operand.shape.rank]
        parts = [MAPPED[mark].format(offset + axis) for axis, mark in enumerate(marks)]
        if product:
            swapped = any(node.attributes.get(name) for name in TRANSPOSED[position])
            parts += _matrix_axes(position, operand.value.shape.rank, rank, swapped=swapped)
        yield f"operand {operand.index}: ({space}) -> ({', '.join(parts)})"


MAPPED = {"plain": "d{}", "stretched": "0", "maybe": "d{}?"}
"""The notation of an axis in a map."""


def _matrix_axes(position: int, operand_rank: int, batch: int, *, swapped: bool) -> list[str]:
    """Return the axes of a matrix in a map: [M, K] on the left, [K, N] on the right; reversed if `swapped`.

    A vector has the axis K alone. `position` is 0 for the left operand and 1 for the right one.
    """
    rows, columns, summed = (f"d{batch + axis}" for axis in range(3))
    if operand_rank == 1:
        return [summed]
    axes = [rows, summed] if position == 0 else [summed, columns]
    return axes[::-1] if swapped else axes
