"""Shape rules of the operators that rearrange, cut, join or repeat axes.

Source: the Prepare functions of LiteRT's kernels, and what LiteRT was measured to compute for sizes of 0.
"""

from __future__ import annotations

from collections.abc import Sequence

from graphfix.formats.tflite.file.records import ABSENT
from graphfix.formats.tflite.file.schema import INT32
from graphfix.formats.tflite.infer.operands import Call, Results
from graphfix.shapes.shape import UNKNOWN, UNRANKED, Dim, Incompatible, Shape, Size, never_one, same
from graphfix.shapes.terms import Terms, as_size, maybe_negative

NO_SIZE_IS_0 = "no size beside a -1 of a RESHAPE is 0, which the kernel passes over"
MOST_AXES = 64
"""No tensor has more; what a broken file computes for a rank is not made a shape of."""


def unknowns(rank: int) -> Shape:
    """[?, ?, ...] of that rank; unranked for a rank that no tensor has."""
    return Shape((UNKNOWN,) * rank) if rank <= MOST_AXES else UNRANKED


def reshape(call: Call) -> Results:
    """The sizes that operand 1 or new_shape holds, 0 means 0; one -1 takes what is left."""
    target = _target(call)
    if target is None:
        length = call.length(1)
        return () if length is None else (unknowns(length),)
    source = call.dims(0)
    sizes = [UNKNOWN if maybe_negative(size) else size for size in target]
    missing = [at for at, size in enumerate(sizes) if not isinstance(size, int) and not size.parts]
    if source is not None and len(missing) == 1:
        at = missing[0]
        sizes[at] = remaining(call, source, [*sizes[:at], *sizes[at + 1 :]])
    return (Shape(tuple(sizes)),)


def _target(call: Call) -> tuple[Size, ...] | None:
    tensor = call.tensor(1)  # LiteRT reads a shape operand of int32 alone
    if tensor != ABSENT and call.scope.record(tensor).type == INT32 and len(call.dims(1) or ()) == 1:
        return call.elements(1)
    sizes = call.option("new_shape")
    if not isinstance(sizes, tuple | list):
        return None
    return () if tuple(sizes) == (0,) else tuple(sizes)  # [0] is how old files write a scalar


def remaining(call: Call, source: Sequence[Size], others: Sequence[Size]) -> Size:
    """The one size that is left open: names on both sides cancel, and the rest must divide.

    LiteRT leaves sizes of 0 out of both products where both are 0: that none of them is, is an assumption.
    """
    terms, left, divisor = call.terms, list(source), list[Size]()
    for size in others:
        match = next((at for at, have in enumerate(left) if have != 1 and same(have, size)), None)
        if match is None:
            divisor.append(size)
        else:
            left.pop(match)
    whole, by = terms.mul(*left) if left else 1, terms.mul(*divisor) if divisor else 1
    if by == 0 or 0 in others:
        return UNKNOWN
    exact = terms.quotient(whole, by)
    found = as_size(terms.floordiv(whole, by) if exact == UNKNOWN and _named(whole) and isinstance(by, int) else exact)
    if found != UNKNOWN and not all(map(_positive, others)) and not all(map(_positive, source)):
        call.scope.assumes[NO_SIZE_IS_0] = None
    return found


def _named(size: Size) -> bool:
    return isinstance(size, Dim) and bool(size.parts)


def _positive(size: Size) -> bool:
    return size > 0 if isinstance(size, int) else size.lo > 0


def expand_dims(call: Call) -> Results:
    """A unit axis at the position of operand 1, counted on the result."""
    dims, axis = call.dims(0), call.scalar(1)
    if dims is None:
        return ()
    rank = len(dims) + 1
    if axis is None or not -rank <= axis < rank:
        return (unknowns(rank),)
    at = axis % rank
    return (Shape((*dims[:at], 1, *dims[at:])),)


def squeeze(call: Call) -> Results:
    """The named axes go; without names every axis of size 1, which a free size may be or not."""
    dims, axes = call.dims(0), call.option("squeeze_dims")
    if dims is None:
        return ()
    if not isinstance(axes, tuple | list) or not axes:
        decided = all(isinstance(size, int) or never_one(size) for size in dims)
        return (Shape(tuple([size for size in dims if size != 1])) if decided else UNRANKED,)
    if not all(-len(dims) <= axis < len(dims) for axis in axes):
        return ()
    gone = {axis % len(dims) for axis in axes}
    return (Shape(tuple([size for axis, size in enumerate(dims) if axis not in gone])),)


def transpose(call: Call) -> Results:
    """Axes in the order of operand 1."""
    dims, order = call.dims(0), call.ints(1)
    if dims is None:
        return ()
    if order is None or sorted(axis % len(dims) for axis in order if dims) != list(range(len(dims))):
        return (unknowns(len(dims)),)
    return (Shape(tuple([dims[axis % len(dims)] for axis in order])),)


def concatenate(call: Call) -> Results:
    """Sizes along the axis add up; along the others all operands have one size."""
    every = [call.dims(index) for index in range(call.count)]
    known = [dims for dims in every if dims is not None]
    if not known:
        return ()
    rank, axis = len(known[0]), call.number("axis")
    if any(len(dims) != rank for dims in known) or not -rank <= axis < rank:
        return ()
    at = axis % rank
    total = call.terms.add(*[dims[at] for dims in known]) if len(known) == len(every) else UNKNOWN
    columns = enumerate(zip(*known, strict=True))
    return (Shape(tuple([total if place == at else agreed(column) for place, column in columns])),)


def agreed(sizes: Sequence[Size]) -> Size:
    """One size of which there are several descriptions: a number, else a name. Raises Incompatible."""
    known = {size for size in sizes if isinstance(size, int)}
    if len(known) > 1:
        raise Incompatible(f"sizes that must be equal are {sorted(known)}")
    if known:
        return known.pop()
    return next((size for size in sizes if isinstance(size, Dim) and size.parts), UNKNOWN)


def pack(call: Call) -> Results:
    """Operands of one shape on a new axis."""
    known = [dims for index in range(call.count) if (dims := call.dims(index)) is not None]
    if not known or any(len(dims) != len(known[0]) for dims in known):
        return ()
    rank, axis = len(known[0]) + 1, call.number("axis")
    if not -rank <= axis < rank:
        return ()
    sizes = [agreed(column) for column in zip(*known, strict=True)]
    sizes.insert(axis % rank, call.count)
    return (Shape(tuple(sizes)),)


def unpack(call: Call) -> Results:
    """Each index of an axis is a result."""
    dims, axis = call.dims(0), call.number("axis")
    if dims is None or not -len(dims) <= axis < len(dims):
        return ()
    at = axis % len(dims)
    return (Shape((*dims[:at], *dims[at + 1 :])),) * len(call.operator.outputs)


def split(call: Call) -> Results:
    """Operand 1 in equal parts along the axis that operand 0 names."""
    dims, axis, parts = call.dims(1), call.scalar(0), len(call.operator.outputs)
    if dims is None or not parts:
        return ()
    if axis is None or not -len(dims) <= axis < len(dims):
        return (unknowns(len(dims)),) * parts
    at = axis % len(dims)
    part = call.terms.quotient(dims[at], parts)
    return (Shape((*dims[:at], part, *dims[at + 1 :])),) * parts


def split_v(call: Call) -> Results:
    """SPLIT_V: operand 0 in parts of the sizes that operand 1 holds, along the axis of operand 2; -1 is the rest."""
    dims, sizes, axis, parts = call.dims(0), call.elements(1), call.scalar(2), len(call.operator.outputs)
    if dims is None:
        return ()
    if sizes is None or len(sizes) != parts or axis is None or not -len(dims) <= axis < len(dims):
        return (unknowns(len(dims)),) * parts
    at = axis % len(dims)
    others = call.terms.add(*[size for size in sizes if size != -1])
    lengths = [call.terms.sub(dims[at], others) if size == -1 else size for size in sizes]
    return tuple([Shape((*dims[:at], as_size(length), *dims[at + 1 :])) for length in lengths])


def gather(call: Call) -> Results:
    """data[:axis] + indices[batch_dims:] + data[axis+1:]."""
    data, indices = call.dims(0), call.dims(1)
    if data is None or indices is None:
        return ()
    axis, batch = call.number("axis"), call.number("batch_dims")
    if not -len(data) <= axis < len(data) or not -len(indices) <= batch <= len(indices):
        return ()
    at = axis % len(data)
    return (Shape((*data[:at], *indices[batch % len(indices) if batch < 0 else batch :], *data[at + 1 :])),)


def gather_nd(call: Call) -> Results:
    """indices[:-1] + data[indices[-1]:]."""
    data, indices = call.dims(0), call.dims(1)
    if data is None or not indices or not isinstance(indices[-1], int):
        return ()
    return (Shape((*indices[:-1], *data[indices[-1] :])),)


def lookup(call: Call) -> Results:
    """EMBEDDING_LOOKUP: operand 0 picks rows of operand 1."""
    ids, table = call.dims(0), call.dims(1)
    return () if not ids or not table else (Shape((ids[0], *table[1:])),)


def one_hot(call: Call) -> Results:
    """The shape of the indices, and the depth of operand 1 on a new axis; -1 is the last."""
    dims, depth, axis = call.dims(0), call.element(1), call.number("axis", -1)
    if dims is None or not -1 <= axis <= len(dims):
        return ()
    at = len(dims) if axis == -1 else axis
    size = UNKNOWN if depth is None else as_size(depth)
    return (Shape((*dims[:at], size, *dims[at:])),)


def tile(call: Call) -> Results:
    """Each size times the number in operand 1."""
    dims, times = call.dims(0), call.elements(1)
    if dims is None:
        return ()
    if times is None or len(times) != len(dims):
        return (unknowns(len(dims)),)
    return (Shape(tuple([as_size(call.terms.mul(*pair)) for pair in zip(dims, times, strict=True)])),)


def slices(call: Call) -> Results:
    """SLICE: from begin, as many as size holds; -1 is all that are left."""
    dims, begins, sizes = call.dims(0), call.elements(1), call.elements(2)
    if dims is None:
        return ()
    if sizes is None or len(sizes) != len(dims):
        return (unknowns(len(dims)),)
    starts = begins if begins is not None and len(begins) == len(dims) else (UNKNOWN,) * len(dims)
    cut = [
        _left(call.terms, size, begin) if count == -1 else UNKNOWN if maybe_negative(count) else count
        for size, begin, count in zip(dims, starts, sizes, strict=True)
    ]
    return (Shape(tuple(cut)),)


def _left(terms: Terms, size: Size, begin: Size) -> Size:
    return size if begin == 0 else as_size(terms.sub(size, begin))
