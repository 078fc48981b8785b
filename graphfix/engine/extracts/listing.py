"""What `show` prints: a record for each node, how its operands broadcast, and the indexing maps."""

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
"""Of a constant with more elements none is shown."""
TEXT = 40
"""Of an element that is a text only so many letters are shown."""


def listing(model: Model, selection: NodeSelection) -> Listing:
    """The nodes that were asked for, by scope. Raises GraphfixError for a node or a scope that is not there."""
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
        None if selection.whole else sum(len(scope.nodes) for scope in scopes),
        dict(operators.most_common()),
        **{name: counts[name] for name in ("lifted", "stretched", "maybe", "unknown")},
    )


def _scope(
    graph: Graph, wanted: frozenset[int] | None, selection: NodeSelection, counts: Counter[str]
) -> ListedScope | None:
    """One scope, None where nothing of it was asked for; `wanted` are the places of nodes, None: all."""
    nodes = []
    for node in graph.nodes:
        alignment, trouble = _aligned(node)
        implicit = _count(alignment, trouble, counts)
        if (wanted is None or node.index in wanted) and (implicit or not selection.broadcasts_only):
            nodes.append(_node(node, alignment, trouble, maps=selection.maps))
    if selection.whole or (selection.only_scopes and wanted is None):
        outputs = sorted(graph.outputs, key=lambda value: value.name)
        return ListedScope(graph.path, nodes, [_value(value) for value in graph.inputs], [_value(v) for v in outputs])
    return ListedScope(graph.path, nodes) if nodes else None


def _count(alignment: Alignment | None, trouble: str | None, counts: Counter[str]) -> bool:
    """Count what an operator lifts and stretches; return whether it broadcasts implicitly, as far as that is known."""
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
    """`[1, 1, -1]`, `0.5` for a scalar; None where there are many, or none that can be read."""
    if value.kind != "constant" or not value.shape.static or math.prod(value.shape.numbers) > ELEMENTS:
        return None
    literal = value.literal
    if literal is None:
        return None
    texts = [_element(each, value.dtype) for each in literal]
    return f"[{', '.join(texts)}]" if value.shape.rank else texts[0]


def _element(element: Scalar, dtype: str) -> str:
    """`1e-05` for the number of 32 bits that is nearest to it."""
    if isinstance(element, str):
        return repr(element[:TEXT])
    return str(float(f"{element:.7g}")) if dtype in ("float32", "float16", "bfloat16") else str(element)


def _lifted(alignment: Alignment, operand: BroadcastOperand) -> int:
    return max(alignment.rank - operand.value.shape.rank, 0)


def _marks(alignment: Alignment, operand: BroadcastOperand) -> tuple[AxisMark, ...]:
    """What happens along each axis of the operand; nothing happens along the axes of a matrix."""
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
    """As Linalg writes them: `(d0, d1, d2) -> (0, d2)`; an axis that may be stretched at run time is marked `?`.

    A matrix product's batch axes are followed by those of its rows, its columns, and the sum.
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
"""How a map writes an axis."""


def _matrix_axes(position: int, operand_rank: int, batch: int, *, swapped: bool) -> list[str]:
    """[M, K] on the left, [K, N] on the right, the other way round where swapped; a vector has K alone."""
    rows, columns, summed = (f"d{batch + axis}" for axis in range(3))
    if operand_rank == 1:
        return [summed]
    axes = [rows, summed] if position == 0 else [summed, columns]
    return axes[::-1] if swapped else axes
