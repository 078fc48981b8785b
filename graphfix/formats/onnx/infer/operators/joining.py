"""Rules of the operators that join or repeat tensors along axes: Concat, Expand, Tile.

Source: the ONNX operator specification.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from graphfix.formats.onnx.infer.call import NOTHING, Call, Results, Rule
from graphfix.formats.onnx.infer.operators.integers import (
    LIMIT,
    Bounds,
    BoundsRule,
    Elements,
    Given,
    IntegerRule,
    Tensor,
    bounds_of_first,
    concatenated,
    operand,
    union,
)
from graphfix.formats.onnx.infer.sizes import normalized_axes, unknowns
from graphfix.graph.view import Node
from graphfix.shapes import shape as shapes
from graphfix.shapes.dim import UNKNOWN, Shape, Size, never_one
from graphfix.shapes.terms import as_size, maybe_negative

# --- Concat -----------------------------------------------------------------------------------------------------------


def concat(call: Call) -> Results:
    """Add the sizes along the axis; the other sizes are equal.

    Operands without elements are skipped, and may have other sizes.
    """
    every = [call.dims(index) for index in range(len(call.inputs))]
    first = next((dims for dims in every if dims is not None), None)
    if first is None:
        return NOTHING
    known_dims = [dims for dims in every if dims is not None]
    at = normalized_axes((call.number("axis", 1),), len(first))
    if at is None or any(len(dims) != len(first) for dims in known_dims):
        return NOTHING
    filled = next((dims for dims in known_dims if all(isinstance(size, int) and size > 0 for size in dims)), None)
    sizes = list(filled or [_common_size(column, len(every)) for column in zip(*known_dims, strict=True)])
    parts = [dims[at[0]] for dims in known_dims]
    # operands that differ elsewhere, one of which may have no elements, are not all counted
    alike = not any(size == UNKNOWN for axis, size in enumerate(sizes) if axis != at[0])
    counted = len(parts) == len(every) and (alike or all(isinstance(size, int) for size in parts))
    sizes[at[0]] = as_size(call.terms.add(*parts)) if counted else UNKNOWN
    return (Shape(tuple(sizes)),)


def _common_size(sizes: Sequence[Size], operands: int) -> Size:
    """Return the size of an axis if all operands are known to have the same, else unknown."""
    return sizes[0] if len(sizes) == operands and len(set(sizes)) == 1 else UNKNOWN


def _concatenated_elements(call: Call, _: str) -> Elements | None:
    axis, parts = call.number("axis", 1), []
    for index in range(len(call.inputs)):
        part, dims = operand(call, index), call.dims(index)
        if part is None:  # the elements of the other operands stay known
            if dims is None or len(dims) != 1 or not isinstance(dims[0], int) or dims[0] > LIMIT:
                return None
            part = Tensor([UNKNOWN] * dims[0], (dims[0],))
        parts.append(part)
    ranks = {len(part.shape) for part in parts}
    if len(ranks) != 1 or not -min(ranks) <= axis < min(ranks):
        return None
    filled = [part for part in parts if part.elements]
    if len({_other_sizes(part.shape, axis) for part in filled}) > 1:
        return None
    return concatenated(filled, axis) if filled else ()


def _other_sizes(shape: tuple[int, ...], axis: int) -> tuple[int, ...]:
    return tuple(size for at, size in enumerate(shape) if at != axis % len(shape))


def _union_of_operands(_: Node, given: Given, __: int) -> Bounds | None:
    return union(given)


# --- Expand and Tile --------------------------------------------------------------------------------------------------


def expand(call: Call) -> Results:
    """Broadcast multidirectionally with the target; if the target is computed, keep the sizes that are never 1."""
    dims, target = call.dims(0), call.content(1)
    shape = call.shape(0)
    if target is not None and shape is not None and not any(map(maybe_negative, target.axes or ())):
        return (shapes.broadcast(shape, target),)
    length = call.length(1)
    if dims is None or length is None:
        return NOTHING
    rank = max(len(dims), length)
    kept = [size if never_one(size) else UNKNOWN for size in dims]
    return (Shape((*[UNKNOWN] * (rank - len(dims)), *kept)),)


def _expanded_elements(call: Call, result: str) -> Elements | None:
    """Return the elements of an Expand, by the shape of its result."""
    elements, dims = operand(call, 0), call.scope.types[result].shape
    if elements is None or not dims.static or prod(dims.numbers) > LIMIT:
        return None
    return elements.stretched(dims.numbers)


def tile(call: Call) -> Results:
    """Multiply each size by its repeats; a size that is repeated once stays the same size."""
    dims, repeats = call.dims(0), call.elements(1)
    if dims is None:
        return NOTHING
    if repeats is None or len(repeats) != len(dims) or call.version < 6:  # noqa: PLR2004 -- one axis before
        return (unknowns(len(dims)),)
    if any(isinstance(times, int) and times < 0 for times in repeats):
        return (unknowns(len(dims)),)
    return (Shape(tuple(as_size(call.terms.mul(*pair)) for pair in zip(dims, repeats, strict=True))),)


def _tiled_elements(call: Call, _: str) -> Elements | None:
    elements, repeats = operand(call, 0), call.ints(1, "")
    if elements is None or repeats is None or len(repeats) != len(elements.shape) or min(repeats, default=0) < 0:
        return None
    if len(elements.elements) * prod(repeats) > LIMIT:
        return None
    if not elements.elements or 0 in repeats:
        return ()
    for axis, times in enumerate(repeats):
        elements = elements.take(axis, list(range(elements.shape[axis])) * times)
    return elements.elements


SHAPES: Mapping[str, Rule] = {"Concat": concat, "Expand": expand, "Tile": tile}
INTEGERS: Mapping[str, IntegerRule] = {
    "Concat": _concatenated_elements,
    "Expand": _expanded_elements,
    "Tile": _tiled_elements,
}
BOUNDS: Mapping[str, BoundsRule] = {"Concat": _union_of_operands, "Expand": bounds_of_first, "Tile": bounds_of_first}
