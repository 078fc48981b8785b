"""Shape rules of the operators that move, cut or regroup elements. Source: the ONNX operator specification."""

from __future__ import annotations

from math import prod

from graphfix.formats.onnx.infer.operands import NOTHING, Call, Results
from graphfix.shapes import shape as shapes
from graphfix.shapes.shape import UNKNOWN, Shape, Size, same, with_axes

AXES_AT = 3
"""The operand of Slice that names its axes."""


def unknowns(rank: int) -> Shape:
    """[?, ?, ...] of that rank."""
    return Shape((UNKNOWN,) * rank)


def unsqueeze(call: Call) -> Results:
    """Unit axes at the positions of the result that `axes` names."""
    dims, axes = call.dims(0), call.ints(1, "axes")
    if dims is None or axes is None:
        length = call.length(1)
        return NOTHING if dims is None or length is None else (unknowns(len(dims) + length),)
    rank = len(dims) + len(axes)
    places = {axis % rank for axis in axes if -rank <= axis < rank}
    if len(places) < len(axes):
        return NOTHING  # an axis twice, or one that is not there: the runtime's error
    return (with_axes(Shape(dims), sorted(places)),)


def squeeze(call: Call) -> Results:
    """The named axes go."""
    dims, axes = call.dims(0), call.ints(1, "axes")
    if dims is None or axes is None or not all(-len(dims) <= axis < len(dims) for axis in axes):
        return NOTHING
    gone = {axis % len(dims) for axis in axes}
    return (Shape(tuple(size for axis, size in enumerate(dims) if axis not in gone)),)


def transpose(call: Call) -> Results:
    """Axes permuted; reversed without `perm`."""
    dims, perm = call.dims(0), call.attributes.get("perm")
    if dims is None:
        return NOTHING
    order = perm if isinstance(perm, tuple) else tuple(reversed(range(len(dims))))
    return (Shape(tuple(dims[axis] for axis in order)),) if sorted(order) == list(range(len(dims))) else NOTHING


def reshape(call: Call) -> Results:
    """The target's sizes: 0 copies (unless allowzero), one -1 takes what is left; else only the rank is known."""
    given = call.attributes.get("shape")
    target = given if isinstance(given, tuple) else call.elements(1)
    if target is None:
        length = call.length(1)
        return NOTHING if length is None else (unknowns(length),)
    source = call.dims(0)
    copies = not call.number("allowzero", 0)
    sizes = [_copied(source, axis) if size == 0 and copies else size for axis, size in enumerate(target)]
    if -1 in sizes:
        sizes[sizes.index(-1)] = _rest(source, [size for size in sizes if size != -1])
    return NOTHING if any(isinstance(size, int) and size < 0 for size in sizes) else (Shape(tuple(sizes)),)


def _copied(source: tuple[Size, ...] | None, axis: int) -> Size:
    return source[axis] if source is not None and axis < len(source) else UNKNOWN


def _rest(source: tuple[Size, ...] | None, others: list[Size]) -> Size:
    """The size of the -1 axis: named sizes on both sides cancel, the rest must be numbers that divide."""
    if source is None:
        return UNKNOWN
    remaining = list(source)
    divisor: list[int] = []
    for size in others:
        match = next((at for at, have in enumerate(remaining) if same(have, size)), None)
        if match is not None:
            remaining.pop(match)
        elif isinstance(size, int):
            divisor.append(size)
        else:
            return UNKNOWN
    named = [size for size in remaining if not isinstance(size, int)]
    whole, by = prod(size for size in remaining if isinstance(size, int)), prod(divisor)
    if by == 0 or whole % by:
        return UNKNOWN
    if not named:
        return whole // by
    return named[0] if len(named) == 1 and whole == by else UNKNOWN


def slices(call: Call) -> Results:
    """Axes that are not sliced keep their size; older operator sets name the axes in an attribute."""
    dims, axes = call.dims(0), call.ints(3, "axes")
    starts = call.length(1)
    if dims is None:
        return NOTHING
    if axes is None:
        named = len(call.inputs) > AXES_AT and bool(call.inputs[AXES_AT])
        axes = tuple(range(starts)) if starts is not None and not named else tuple(range(len(dims)))
    cut = {axis % len(dims) for axis in axes} if dims else set()
    return (Shape(tuple(UNKNOWN if axis in cut else size for axis, size in enumerate(dims))),)


def gather(call: Call) -> Results:
    """data[:axis] + indices + data[axis+1:]."""
    data, indices = call.dims(0), call.dims(1)
    if data is None or indices is None:
        return NOTHING
    axis = call.number("axis", 0) % max(len(data), 1)
    return (Shape((*data[:axis], *indices, *data[axis + 1 :])),)


def tile(call: Call) -> Results:
    """Each size times its repeats; a size that is repeated once stays what it is."""
    dims, repeats = call.dims(0), call.elements(1)
    if dims is None or repeats is None or len(repeats) != len(dims):
        return NOTHING if dims is None else (unknowns(len(dims)),)
    return (Shape(tuple(shapes.mul(size, times) for size, times in zip(dims, repeats, strict=True))),)


def concat(call: Call) -> Results:
    """All operands have the rank of the result."""
    dims = next((dims for index in range(len(call.inputs)) if (dims := call.dims(index)) is not None), None)
    return NOTHING if dims is None else (unknowns(len(dims)),)
