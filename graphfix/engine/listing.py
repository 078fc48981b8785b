"""What `show` prints: a line a node, `y[2,3] = Add(x[2,3], b[3])`, and the indexing maps of those that broadcast."""

from __future__ import annotations

from collections.abc import Iterator

from graphfix.graph.broadcast import Alignment, align
from graphfix.graph.protocols import Model
from graphfix.graph.view import Graph, Node
from graphfix.shapes.shape import Incompatible, Undecided, same

TRANSPOSED = (("adj_x", "transA"), ("adj_y", "transB"))
"""The attributes that swap the matrix axes of the left and the right operand of a matrix product."""


def lines(model: Model, *, maps: bool, broadcasts_only: bool) -> Iterator[str]:
    """A heading for each scope, a line for each node, indented lines for its maps."""
    for graph in model.graphs:
        body = list(_graph(graph, maps=maps, broadcasts_only=broadcasts_only))
        if body or not broadcasts_only:
            yield f"{graph.path}:"
            yield from body


def _graph(graph: Graph, *, maps: bool, broadcasts_only: bool) -> Iterator[str]:
    for value in graph.inputs if not broadcasts_only else ():
        yield f"  input {value} {value.dtype}"
    for node in graph.nodes:
        alignment, trouble = _aligned(node)
        implicit = trouble is not None or (
            alignment is not None and any(map(alignment.is_implicit, alignment.operands))
        )
        if broadcasts_only and not implicit:
            continue
        yield f"  {node}" + (f"    # {node.name}" if node.name else "")
        if maps and trouble is not None:
            yield f"      maps: not known: {trouble}"
        elif maps and alignment is not None:
            yield from _maps(node, alignment, product=node.row is not None and node.row.style == "matmul")
    for value in sorted(graph.outputs, key=lambda value: value.name) if not broadcasts_only else ():
        yield f"  output {value} {value.dtype}"


def _aligned(node: Node) -> tuple[Alignment | None, str | None]:
    try:
        return align(node), None
    except (Undecided, Incompatible) as why:
        return None, str(why)


def _maps(node: Node, alignment: Alignment, *, product: bool) -> Iterator[str]:
    """As Linalg writes them: `(d0, d1, d2) -> (0, d2)`; an axis that may be stretched at run time is marked `?`.

    A matrix product's batch axes are followed by those of its rows, its columns, and the sum.
    """
    rank = alignment.result.rank
    space = ", ".join(f"d{axis}" for axis in range(rank + 3 * product))
    for position, operand in enumerate(alignment.operands):
        offset = rank - operand.shape.rank
        stretched = alignment.stretches(operand)
        parts = []
        for axis, size in enumerate(operand.shape.dims):
            how = stretched[offset + axis]
            name = "0" if same(size, 1) and how == "yes" else f"d{offset + axis}"
            parts.append(f"{name}?" if how == "maybe" else name)
        if product:
            swapped = any(node.attributes.get(name) for name in TRANSPOSED[position])
            parts += _matrix_axes(position, operand.value.shape.rank, rank, swapped=swapped)
        yield f"      operand {operand.index}: ({space}) -> ({', '.join(parts)})"


def _matrix_axes(position: int, operand_rank: int, batch: int, *, swapped: bool) -> list[str]:
    """[M, K] on the left, [K, N] on the right, the other way round where swapped; a vector has K alone."""
    rows, columns, summed = (f"d{batch + axis}" for axis in range(3))
    if operand_rank == 1:
        return [summed]
    axes = [rows, summed] if position == 0 else [summed, columns]
    return axes[::-1] if swapped else axes
