"""Rules of STRIDED_SLICE: the axis of each position in its masks, the resulting sizes, and the elements of integers.

Source: the masks as TensorFlow defines them (begin, end, ellipsis, new axis, shrink axis), and LiteRT's `offset`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from graphfix.formats.tflite.infer.call import Call, Results
from graphfix.formats.tflite.infer.operators.definition import Definition, Elements
from graphfix.results.records import dataclass
from graphfix.shapes.dim import UNKNOWN, Shape, Size, same
from graphfix.shapes.terms import Terms, as_size, bounds


@dataclass(frozen=True, slots=True)
class Entry:
    """One axis of a slice: `axis` is an axis of the input, or None for a new axis."""

    axis: int | None
    at: int | None
    """The position in begin, end and strides; None if no position is about this axis, which is then kept in full."""
    shrinks: bool = False


def entries(call: Call, rank: int, length: int) -> list[Entry] | None:
    """Return an entry for each axis that is read or new, in order; None if the masks do not fit the rank.

    `length` is the number of positions in begin, end and strides.
    """
    ellipsis, new, shrink = (call.number(f"{name}_mask") for name in ("ellipsis", "new_axis", "shrink_axis"))
    made = sum(new >> at & 1 for at in range(length) if not ellipsis >> at & 1)
    has_ellipsis = bool(ellipsis & (1 << length) - 1)
    consumed = length - made - has_ellipsis
    if consumed + has_ellipsis > rank or (ellipsis & (ellipsis - 1)):
        return None  # If an ellipsis represents zero axes, LiteRT lets it represent one axis.
    found: list[Entry] = []
    axis = 0
    for at in range(length):
        if ellipsis >> at & 1:
            found += [Entry(whole, None) for whole in range(axis, axis + rank - consumed)]
            axis += rank - consumed
        elif new >> at & 1:
            found.append(Entry(None, at))
        else:
            found.append(Entry(axis, at, bool(shrink >> at & 1)))
            axis += 1
    return found + [Entry(whole, None) for whole in range(axis, rank)]


@dataclass(frozen=True, slots=True)
class AxisSlice:
    """The begin, end and stride of one axis; begin or end is None if its mask is set."""

    begin: Size | None
    end: Size | None
    stride: Size


def axis_slice(call: Call, at: int) -> AxisSlice:
    """Return the begin, end and stride at one position, from the operands and the masks."""
    begin, end, stride = (_element(call, index, at) for index in (1, 2, 3))
    if call.number("offset") and not call.number("end_mask") >> at & 1:
        end = call.terms.add(begin, end)
    return AxisSlice(
        None if call.number("begin_mask") >> at & 1 else begin,
        None if call.number("end_mask") >> at & 1 else end,
        stride,
    )


def _element(call: Call, index: int, at: int) -> Size:
    """Return the element of operand `index` at one position; UNKNOWN if it is not known."""
    elements = call.elements(index)
    return elements[at] if elements is not None and at < len(elements) else UNKNOWN


def strided_slice(call: Call) -> Results:
    """Return the result's shape of STRIDED_SLICE."""
    dims = call.dims(0)
    length = next((length for index in (1, 2, 3) if (length := call.length(index)) is not None), None)
    if dims is None or length is None:
        return ()
    found = entries(call, len(dims), length)
    return () if found is None else (Shape(tuple(_sizes(call, dims, found))),)


def _sizes(call: Call, dims: tuple[Size, ...], found: list[Entry]) -> Iterator[Size]:
    """Yield the size of each axis of the result."""
    for entry in found:
        if entry.axis is None:
            yield 1
        elif entry.at is None:
            yield dims[entry.axis]
        elif not entry.shrinks:
            yield kept(call.terms, dims[entry.axis], axis_slice(call, entry.at))


def kept(terms: Terms, size: Size, cut: AxisSlice) -> Size:
    """Return the number of indices that a slice selects from an axis of this size; a symbol if it is not a number."""
    begin, end, stride = cut.begin, cut.end, cut.stride
    if isinstance(size, int) and isinstance(stride, int) and _is_number(begin) and _is_number(end) and stride:
        # Python's slices clamp as the operator does; a masked bound is None for both.
        first = begin if isinstance(begin, int) else None
        last = end if isinstance(end, int) else None
        return len(range(size)[first:last:stride])
    if stride != 1:
        return _whole_or_named(terms, size, cut)
    if begin is None or begin == 0:
        return _up_to(terms, size, end)
    if end is None and isinstance(begin, int):
        return _from(terms, size, begin)
    return _whole_or_named(terms, size, cut)


def _is_number(bound: Size | None) -> bool:
    """Return whether a bound is masked (None) or a number."""
    return bound is None or isinstance(bound, int)


def _up_to(terms: Terms, size: Size, end: Size | None) -> Size:
    """Return the size of the slice [:end] of an axis."""
    if end is None or same(end, size):
        return size
    if isinstance(end, int) and end < 0:
        return as_size(terms.maximum(terms.add(size, end), 0))
    return as_size(terms.minimum(size, end)) if bounds(end)[0] >= 0 else UNKNOWN


def _from(terms: Terms, size: Size, begin: int) -> Size:
    """Return the size of the slice [begin:] of an axis."""
    if begin < 0:
        return as_size(terms.minimum(size, -begin))
    return as_size(terms.maximum(terms.sub(size, begin), 0))


def _whole_or_named(terms: Terms, size: Size, cut: AxisSlice) -> Size:
    """Return the size of any other slice: a symbol, which equal slices of equal sizes share.

    The slice [::-1] has the size of the axis.
    """
    if cut.stride == -1 and cut.begin is None and cut.end is None:
        return size
    begin, end, stride = cut.begin, cut.end, cut.stride
    kind = f"strided {begin is None} {end is None}"
    return terms.opaque(kind, size, *[bound for bound in (begin, end, stride) if bound is not None], low=0)


def strided_slice_elements(call: Call) -> Elements | None:
    """Return the elements that the slice selects, in row-major order; None if they are not known."""
    elements, dims, length = call.elements(0), call.dims(0), call.length(1)
    if elements is None or dims is None or length is None:
        return None
    found = entries(call, len(dims), length)
    places = [0]
    for entry in found or ():
        size = dims[entry.axis] if entry.axis is not None else 1
        if not isinstance(size, int) or (taken := _taken(call, entry, size)) is None:
            return None
        places = [place * size + at for place in places for at in taken]
    return tuple([elements[place] for place in places]) if found is not None else None


def _taken(call: Call, entry: Entry, size: int) -> Sequence[int] | None:
    """Return the indices that the slice selects of one axis; None if they are not known or out of range."""
    if entry.axis is None or entry.at is None:
        return range(size)
    cut = axis_slice(call, entry.at)
    begin, end, stride = (bound if isinstance(bound, int) else None for bound in (cut.begin, cut.end, cut.stride))
    if not stride or (begin is None and cut.begin is not None) or (end is None and cut.end is not None):
        return None
    if not entry.shrinks:
        return range(size)[begin:end:stride]
    at = begin or 0
    return range(size)[at : at + 1 or None] if -size <= at < size else None


OPERATORS: Mapping[str, Definition] = {
    "STRIDED_SLICE": Definition(strided_slice, strided_slice_elements, shape_operands=(1, 2, 3)),
}
