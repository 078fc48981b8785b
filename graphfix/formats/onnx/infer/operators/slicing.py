"""Shape rules of the operators that cut, pad, join and select along axes. Source: the ONNX operator specification."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from graphfix.formats.onnx.infer.call import NOTHING, Call, Results
from graphfix.formats.onnx.infer.operators.reshaping import unknowns
from graphfix.results.onnx_messages import TensorProto
from graphfix.shapes.shape import UNKNOWN, Shape, Size
from graphfix.shapes.terms import GREATEST, Terms, as_size, bounds

FARTHEST = -(2**63)
"""Not a bound of slices backwards: onnxruntime adds the size to it."""
AXES_AT = 3
"""The operand of Slice and of Pad that names the axes."""
Bounds: TypeAlias = tuple[Size, ...]
OPERANDS_SINCE = 10
"""The version from which Slice has its bounds as operands; Pad has them one later."""


def placed(axes: Sequence[int], rank: int) -> list[int] | None:
    """Axes counted from the front; None where one is not there, or twice."""
    found = [axis + rank if axis < 0 else axis for axis in axes]
    return found if len(set(found)) == len(found) and all(0 <= axis < rank for axis in found) else None


def replaced(dims: tuple[Size, ...], axis: int, size: Size) -> Shape:
    """The shape with one other size."""
    return Shape((*dims[:axis], size, *dims[axis + 1 :]))


def slices(call: Call) -> Results:
    """Axes that are not sliced keep their size; older operator sets have the bounds in attributes."""
    dims = call.dims(0)
    if dims is None:
        return NOTHING
    starts, ends, axes, steps = slice_bounds(call)
    count = next((len(bounds) for bounds in (starts, ends) if bounds is not None), call.length(1))
    if axes is None and (count is None or call.has(AXES_AT)):
        return (unknowns(len(dims)),)
    axes = tuple(range(count or 0)) if axes is None else axes
    cut = placed(axes, len(dims))
    if cut is None:
        return (unknowns(len(dims)),)
    sizes = list(dims)
    known = (starts or (), ends or (), steps if steps is not None else (1,) * len(cut))
    whole = all(len(bounds) == len(cut) for bounds in known)
    for at, axis in enumerate(cut):
        sizes[axis] = _sliced(call.terms, dims[axis], *[bounds[at] for bounds in known]) if whole else UNKNOWN
    return (Shape(tuple(sizes)),)


def slice_bounds(call: Call) -> tuple[Bounds | None, Bounds | None, tuple[int, ...] | None, Bounds | None]:
    """Starts, ends, axes and steps; None where they are absent or not known at all."""
    if call.version < OPERANDS_SINCE:
        return call.list("starts"), call.list("ends"), call.list("axes"), None
    steps = call.elements(4) if not call.has(4) or call.elements(4) is not None else ()
    return call.elements(1), call.elements(2), call.ints(3, ""), steps


def _sliced(terms: Terms, size: Size, start: Size, end: Size, step: Size) -> Size:
    """How many elements of an axis a slice takes; bounds below 0 count from its end, and are cut off at both ends."""
    if isinstance(size, int) and isinstance(start, int) and isinstance(end, int) and isinstance(step, int):
        found = cut(size, start, end, step)
        return UNKNOWN if found is None else len(found)
    if not isinstance(step, int) or step < 1:
        whole = step == -1 and start == -1 and isinstance(end, int) and FARTHEST < end <= -GREATEST
        return size if whole else terms.opaque("slice", size, start, end, step, low=0)
    first, last = _bound(terms, start, size), _bound(terms, end, size)
    if first is None or last is None:
        return terms.opaque("slice", size, start, end, step, low=0)
    return as_size(terms.maximum(terms.ceildiv(terms.sub(last, first), step), 0))


def _bound(terms: Terms, bound: Size, size: Size) -> Size | None:
    """A bound as a place from 0 to the size; None where its sign is not known."""
    low, high = bounds(bound)
    if low >= GREATEST:
        return size
    if low >= 0:
        return terms.minimum(bound, size)
    if high >= 0:
        return None
    return 0 if high <= -GREATEST else terms.maximum(terms.add(bound, size), 0)


def cut(size: int, start: int, end: int, step: int) -> range | None:
    """Which elements of an axis a slice takes; None where runtimes may differ.

    Backwards, a start before the first element is the first one (Python would take none), and onnxruntime takes the
    greatest number as an end for the first element.
    """
    if not step or (step < 0 and (not size or end > size)):
        return None
    start, end = (bound + size if bound < 0 else bound for bound in (start, end))
    if step > 0:
        return range(min(max(start, 0), size), min(max(end, 0), size), step)
    return range(min(max(start, 0), size - 1), min(max(end, -1), size - 1), step)


def pad(call: Call) -> Results:
    """Each size, what is before it and what is behind it."""
    dims = call.dims(0)
    if dims is None:
        return NOTHING
    pads = call.elements(1) if call.version > OPERANDS_SINCE else call.list("pads" if call.version > 1 else "paddings")
    axes = call.ints(AXES_AT, "") if call.has(AXES_AT) else tuple(range(len(dims)))
    at = None if axes is None else placed(axes, len(dims))
    if pads is None or at is None or len(pads) != 2 * len(at):
        return (unknowns(len(dims)),)
    sizes = list(dims)
    for axis, before, behind in zip(at, pads, pads[len(at) :], strict=False):
        sizes[axis] = as_size(call.terms.add(dims[axis], before, behind))
    return (Shape(tuple(sizes)),)


def concat(call: Call) -> Results:
    """The sizes along the axis are added; all others are equal but of an operand without elements, which is skipped."""
    every = [call.dims(index) for index in range(len(call.inputs))]
    first = next((dims for dims in every if dims is not None), None)
    if first is None:
        return NOTHING
    known = [dims for dims in every if dims is not None]
    at = placed((call.number("axis", 1),), len(first))
    if at is None or any(len(dims) != len(first) for dims in known):
        return NOTHING
    filled = next((dims for dims in known if all(isinstance(size, int) and size > 0 for size in dims)), None)
    sizes = list(filled or [_common(column, len(every)) for column in zip(*known, strict=True)])
    parts = [dims[at[0]] for dims in known]
    # operands that differ elsewhere, one of which may have no elements, are not all counted
    alike = not any(size == UNKNOWN for axis, size in enumerate(sizes) if axis != at[0])
    counted = len(parts) == len(every) and (alike or all(isinstance(size, int) for size in parts))
    sizes[at[0]] = as_size(call.terms.add(*parts)) if counted else UNKNOWN
    return (Shape(tuple(sizes)),)


def _common(sizes: Sequence[Size], operands: int) -> Size:
    """The size of an axis of which all operands have the same."""
    return sizes[0] if len(sizes) == operands and len(set(sizes)) == 1 else UNKNOWN


def split(call: Call) -> Results:
    """Parts of the sizes that `split` says, else of equal size; from opset 18 on the last may be smaller."""
    dims = call.dims(0)
    if dims is None:
        return NOTHING
    at = placed((call.number("axis", 0),), len(dims))
    if at is None:
        return NOTHING
    return tuple([replaced(dims, at[0], size) for size in _parts(call, dims[at[0]])])


def _parts(call: Call, whole: Size) -> Sequence[Size]:
    count = call.results
    unknown = [UNKNOWN] * count
    if call.has(1) or call.list("split") is not None:
        sizes = call.ints(1, "split")
        both = call.has(1) and ("split" in call.attributes or "num_outputs" in call.attributes)
        fits = sizes is not None and len(sizes) == count and not both and min(sizes, default=0) >= 0
        return sizes if fits and sizes is not None else unknown
    if call.number("num_outputs", count) != count:
        return unknown
    if not isinstance(whole, int):
        terms, size = call.terms, call.terms.ceildiv(whole, count)
        exact = terms.quotient(whole, count)
        if exact != UNKNOWN or "num_outputs" not in call.attributes:  # else it has to divide, or the model fails
            return [terms.floordiv(whole, count) if exact == UNKNOWN else exact] * count
        return [*[size] * (count - 1), as_size(terms.sub(whole, terms.mul(size, count - 1)))]
    if whole % count == 0:
        return [whole // count] * count
    size = -(-whole // count)
    rest = whole - size * (count - 1)
    return [*[size] * (count - 1), rest] if "num_outputs" in call.attributes and rest >= 0 else unknown


def top_k(call: Call) -> Results:
    """Values and indices: k elements of the axis."""
    dims = call.dims(0)
    if dims is None:
        return NOTHING
    at = placed((call.number("axis", -1),), len(dims))
    k = call.number("k", -1) if call.version < OPERANDS_SINCE else call.scalar(1)
    if at is None:
        return (unknowns(len(dims)),) * 2
    return (replaced(dims, at[0], UNKNOWN if k is None else as_size(k)),) * 2


def one_hot(call: Call) -> Results:
    """The indices' shape with a new axis of the given depth."""
    dims = call.dims(0)
    if dims is None:
        return NOTHING
    at = placed((call.number("axis", -1),), len(dims) + 1)
    depth = call.scalar(1)
    if at is None:
        return (unknowns(len(dims) + 1),)
    size = UNKNOWN if depth is None else as_size(depth)
    return (Shape((*dims[: at[0]], size, *dims[at[0] :])),)


def compress(call: Call) -> Results:
    """Some of the axis; without one some of all elements."""
    if "axis" not in call.attributes:
        return (unknowns(1),)
    dims = call.dims(0)
    at = placed((call.number("axis", 0),), len(dims)) if dims is not None else None
    return NOTHING if dims is None or at is None else (replaced(dims, at[0], UNKNOWN),)


def unique(call: Call) -> Results:
    """Slices of the axis, else elements; and three vectors."""
    (found,) = compress(call) or (None,)
    return (found, unknowns(1), unknowns(1), unknowns(1))


def non_zero(call: Call) -> Results:
    """[rank,?]."""
    dims = call.dims(0)
    return (Shape((len(dims), UNKNOWN)),) if dims else (unknowns(2),)


def integer_range(call: Call) -> Results:
    """How many steps there are from start to limit: of whole numbers, in float32 one by one. A step may be left out."""
    start, limit, step = call.scalar(0), call.scalar(1), call.scalar(2) if call.has(2) else 1
    if start is None or limit is None or not isinstance(step, int) or not step:
        return (unknowns(1),)
    most = EXACT if all(map(call.whole, _bounds(call))) else FLOAT_EXACT if _floats(call) and abs(step) == 1 else 0
    if any(isinstance(bound, int) and abs(bound) > most for bound in (start, limit, step)):
        return (unknowns(1),)
    if most == FLOAT_EXACT and not (isinstance(start, int) and isinstance(limit, int)):
        call.scope.assumes[COUNTED_BY_FLOATS] = None
    terms = call.terms
    room = terms.sub(limit, start) if step > 0 else terms.sub(start, limit)
    return (Shape((as_size(terms.maximum(terms.ceildiv(room, abs(step)), 0)),)),)


def _floats(call: Call) -> bool:
    return all(call.dtype(index) == TensorProto.FLOAT for index in _bounds(call))


def _bounds(call: Call) -> range:
    return range(3 if call.has(2) else 2)


EXACT = 2**52
"""The largest bound of a Range of whole numbers whose length is exact in all versions of onnxruntime.

Some versions compute the length in float64: `runtime_facts.RANGE_DIVIDED_IN_FLOAT64`.
"""
FLOAT_EXACT = 2**23
"""Up to here float32 has the difference of any two whole numbers."""
COUNTED_BY_FLOATS = "sizes that a Range of float32 counts to or from are below 2**23"
