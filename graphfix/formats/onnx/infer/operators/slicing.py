"""Rules of the operators that cut or pad axes: Slice, Split, Pad. Source: the ONNX operator specification."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from graphfix.formats.onnx.infer.call import NOTHING, Call, Results, Rule
from graphfix.formats.onnx.infer.operators.integers import (
    Bounds,
    BoundsRule,
    Elements,
    Given,
    IntegerRule,
    bounds_of_first,
    operand,
    union,
)
from graphfix.formats.onnx.infer.sizes import normalized_axes, unknowns, with_size
from graphfix.graph.view import Node
from graphfix.shapes.dim import UNKNOWN, Shape, Size
from graphfix.shapes.terms import GREATEST, Terms, as_size, bounds

FARTHEST = -(2**63)
"""Not a bound of slices backwards: onnxruntime adds the size to it."""
AXES_AT = 3
"""The operand of Slice and of Pad that lists the axes."""
OPERANDS_SINCE = 10
"""The version from which Slice has its bounds as operands; Pad has its pads as an operand one version later."""
SliceBounds: TypeAlias = tuple[Size, ...]

# --- Slice ------------------------------------------------------------------------------------------------------------


def slices(call: Call) -> Results:
    """Slice: axes that are not sliced keep their size. Older operator sets have the bounds in attributes."""
    dims = call.dims(0)
    if dims is None:
        return NOTHING
    starts, ends, axes, steps = slice_bounds(call)
    count = next((len(bounds) for bounds in (starts, ends) if bounds is not None), call.length(1))
    if axes is None and (count is None or call.has(AXES_AT)):
        return (unknowns(len(dims)),)
    axes = tuple(range(count or 0)) if axes is None else axes
    cut = normalized_axes(axes, len(dims))
    if cut is None:
        return (unknowns(len(dims)),)
    sizes = list(dims)
    bounds_lists = (starts or (), ends or (), steps if steps is not None else (1,) * len(cut))
    are_complete = all(len(bounds) == len(cut) for bounds in bounds_lists)
    for at, axis in enumerate(cut):
        sizes[axis] = (
            _sliced_size(call.terms, dims[axis], *[bounds[at] for bounds in bounds_lists]) if are_complete else UNKNOWN
        )
    return (Shape(tuple(sizes)),)


def slice_bounds(
    call: Call,
) -> tuple[SliceBounds | None, SliceBounds | None, tuple[int, ...] | None, SliceBounds | None]:
    """Return starts, ends, axes and steps; None for those that are absent or not known."""
    if call.version < OPERANDS_SINCE:
        return call.list("starts"), call.list("ends"), call.list("axes"), None
    steps = call.elements(4) if not call.has(4) or call.elements(4) is not None else ()
    return call.elements(1), call.elements(2), call.ints(AXES_AT, ""), steps


def _sliced_size(terms: Terms, size: Size, start: Size, end: Size, step: Size) -> Size:
    """Return the number of elements of an axis in a slice.

    Bounds below 0 count from the end of the axis. Bounds outside the axis are clamped.
    """
    if isinstance(size, int) and isinstance(start, int) and isinstance(end, int) and isinstance(step, int):
        found = sliced_positions(size, start, end, step)
        return UNKNOWN if found is None else len(found)
    if not isinstance(step, int) or step < 1:
        is_reversal = step == -1 and start == -1 and isinstance(end, int) and FARTHEST < end <= -GREATEST
        return size if is_reversal else terms.opaque("slice", size, start, end, step, low=0)
    first, last = _clamped_bound(terms, start, size), _clamped_bound(terms, end, size)
    if first is None or last is None:
        return terms.opaque("slice", size, start, end, step, low=0)
    return as_size(terms.maximum(terms.ceildiv(terms.sub(last, first), step), 0))


def _clamped_bound(terms: Terms, bound: Size, size: Size) -> Size | None:
    """Return a bound as a position from 0 to the size; None if the sign of the bound is not known."""
    low, high = bounds(bound)
    if low >= GREATEST:
        return size
    if low >= 0:
        return terms.minimum(bound, size)
    if high >= 0:
        return None
    return 0 if high <= -GREATEST else terms.maximum(terms.add(bound, size), 0)


def sliced_positions(size: int, start: int, end: int, step: int) -> range | None:
    """Return the positions of an axis that are in a slice; None if runtimes may differ.

    Backwards, a start before the first element is the first one (Python would take none). onnxruntime takes the
    greatest number as an end for the first element.
    """
    if not step or (step < 0 and (not size or end > size)):
        return None
    start, end = (bound + size if bound < 0 else bound for bound in (start, end))
    if step > 0:
        return range(min(max(start, 0), size), min(max(end, 0), size), step)
    return range(min(max(start, 0), size - 1), min(max(end, -1), size - 1), step)


def _sliced_elements(call: Call, _: str) -> Elements | None:
    elements, (starts, ends, axes, steps) = operand(call, 0), slice_bounds(call)
    if elements is None or starts is None or ends is None:
        return None
    axes = tuple(range(len(starts))) if axes is None and not call.has(AXES_AT) else axes
    steps = (1,) * len(starts) if steps is None else steps
    if axes is None or not len(starts) == len(ends) == len(axes) == len(steps):
        return None
    for axis, *limits in zip(axes, starts, ends, steps, strict=True):
        numbers = [limit for limit in limits if isinstance(limit, int)]
        are_known = len(numbers) == len(limits) and -len(elements.shape) <= axis < len(elements.shape)
        taken = sliced_positions(elements.shape[axis], *numbers) if are_known else None
        if taken is None:
            return None
        elements = elements.take(axis, taken)
    return elements.elements


# --- Split ------------------------------------------------------------------------------------------------------------


def split(call: Call) -> Results:
    """Return parts of the sizes in `split`, else of equal size; from opset 18 on the last part may be smaller."""
    dims = call.dims(0)
    if dims is None:
        return NOTHING
    at = normalized_axes((call.number("axis", 0),), len(dims))
    if at is None:
        return NOTHING
    return tuple([with_size(dims, at[0], size) for size in _part_sizes(call, dims[at[0]])])


def _part_sizes(call: Call, total: Size) -> Sequence[Size]:
    """Return the size of each part of an axis of this size."""
    count = call.results
    unknown = [UNKNOWN] * count
    if call.has(1) or call.list("split") is not None:
        sizes = call.ints(1, "split")
        both = call.has(1) and ("split" in call.attributes or "num_outputs" in call.attributes)
        fits = sizes is not None and len(sizes) == count and not both and min(sizes, default=0) >= 0
        return sizes if fits and sizes is not None else unknown
    if call.number("num_outputs", count) != count:
        return unknown
    if not isinstance(total, int):
        terms, size = call.terms, call.terms.ceildiv(total, count)
        exact = terms.quotient(total, count)
        if exact != UNKNOWN or "num_outputs" not in call.attributes:  # else it has to divide, or the model fails
            return [terms.floordiv(total, count) if exact == UNKNOWN else exact] * count
        return [*[size] * (count - 1), as_size(terms.sub(total, terms.mul(size, count - 1)))]
    if total % count == 0:
        return [total // count] * count
    size = -(-total // count)
    rest = total - size * (count - 1)
    return [*[size] * (count - 1), rest] if "num_outputs" in call.attributes and rest >= 0 else unknown


# --- Pad --------------------------------------------------------------------------------------------------------------


def pad(call: Call) -> Results:
    """Add to each size the pads before and behind it."""
    dims = call.dims(0)
    if dims is None:
        return NOTHING
    pads = call.elements(1) if call.version > OPERANDS_SINCE else call.list("pads" if call.version > 1 else "paddings")
    axes = call.ints(AXES_AT, "") if call.has(AXES_AT) else tuple(range(len(dims)))
    at = None if axes is None else normalized_axes(axes, len(dims))
    if pads is None or at is None or len(pads) != 2 * len(at):
        return (unknowns(len(dims)),)
    sizes = list(dims)
    for axis, before, behind in zip(at, pads, pads[len(at) :], strict=False):
        sizes[axis] = as_size(call.terms.add(dims[axis], before, behind))
    return (Shape(tuple(sizes)),)


def _padded_bounds(node: Node, given: Given, _: int) -> Bounds | None:
    """Return the bounds of the operand and, in mode `constant`, of the constant, which is 0 where it is absent."""
    if node.attributes.get("mode", "constant") != "constant":
        return given[0]
    absent = len(node.operands) <= 2 or node.operands[2] is None  # noqa: PLR2004 -- data, pads, the constant
    return union([given[0], (0, 0) if absent else given[2]])


SHAPES: Mapping[str, Rule] = {"Pad": pad, "Slice": slices, "Split": split}
INTEGERS: Mapping[str, IntegerRule] = {"Slice": _sliced_elements}
BOUNDS: Mapping[str, BoundsRule] = {"Pad": _padded_bounds, "Slice": bounds_of_first, "Split": bounds_of_first}
