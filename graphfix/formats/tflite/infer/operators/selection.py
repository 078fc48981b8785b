"""Rules of operators that select elements: SLICE, GATHER, TOPK_V2, WHERE and similar; not STRIDED_SLICE.

STRIDED_SLICE has a separate module.
"""

from __future__ import annotations

from collections.abc import Mapping

from graphfix.formats.tflite.infer.call import Call, Results
from graphfix.formats.tflite.infer.operators.definition import Definition, Elements
from graphfix.formats.tflite.infer.operators.layout import unknowns
from graphfix.shapes.dim import UNKNOWN, Shape, Size
from graphfix.shapes.terms import Terms, as_size, maybe_negative


def slices(call: Call) -> Results:
    """Return the result's shape of SLICE: the sizes in operand 2. A size of -1 is the rest, from operand 1 on."""
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
    """Return the number of elements of an axis from `begin` on."""
    return size if begin == 0 else as_size(terms.sub(size, begin))


def slice_elements(call: Call) -> Elements | None:
    """Return the elements of a SLICE of a vector; None if they are not known."""
    elements, begin, size = call.elements(0), call.scalar(1), call.scalar(2)
    if elements is None or begin is None or size is None or begin < 0:
        return None
    return elements[begin : len(elements) if size == -1 else begin + size]


def gather(call: Call) -> Results:
    """Return the result's shape of GATHER: data[:axis] + indices[batch_dims:] + data[axis+1:].

    `data` and `indices` are the shapes of operands 0 and 1.
    """
    data, indices = call.dims(0), call.dims(1)
    if data is None or indices is None:
        return ()
    axis, batch = call.number("axis"), call.number("batch_dims")
    if not -len(data) <= axis < len(data) or not -len(indices) <= batch <= len(indices):
        return ()
    at = axis % len(data)
    return (Shape((*data[:at], *indices[batch % len(indices) if batch < 0 else batch :], *data[at + 1 :])),)


def gather_elements(call: Call) -> Elements | None:
    """Return the gathered elements of a vector; None if they are not known, or if an index is out of range."""
    elements, indices = call.elements(0), call.ints(1)
    if elements is None or indices is None or len(call.dims(0) or ()) != 1 or call.number("batch_dims"):
        return None
    return tuple([elements[at] for at in indices]) if all(0 <= at < len(elements) for at in indices) else None


def gather_nd(call: Call) -> Results:
    """Return the result's shape of GATHER_ND: indices[:-1] + data[indices[-1]:].

    `data` and `indices` are the shapes of operands 0 and 1.
    """
    data, indices = call.dims(0), call.dims(1)
    if data is None or not indices or not isinstance(indices[-1], int):
        return ()
    return (Shape((*indices[:-1], *data[indices[-1] :])),)


def lookup(call: Call) -> Results:
    """Return the result's shape of EMBEDDING_LOOKUP: operand 0 selects rows of operand 1."""
    ids, table = call.dims(0), call.dims(1)
    return () if not ids or not table else (Shape((ids[0], *table[1:])),)


def one_hot(call: Call) -> Results:
    """Return the result's shape of ONE_HOT: the shape of the indices, with a new axis whose size operand 1 contains.

    The option `axis` is the position of the new axis; -1 is the last.
    """
    dims, depth, axis = call.dims(0), call.element(1), call.number("axis", -1)
    if dims is None or not -1 <= axis <= len(dims):
        return ()
    at = len(dims) if axis == -1 else axis
    size = UNKNOWN if depth is None else as_size(depth)
    return (Shape((*dims[:at], size, *dims[at:])),)


def top_k(call: Call) -> Results:
    """Return the shapes of TOPK_V2's values and indices: the last size is the number that operand 1 contains."""
    dims, count = call.dims(0), call.element(1)
    if not dims:
        return ()
    last = UNKNOWN if count is None else as_size(count)
    return (Shape((*dims[:-1], last)),) * 2


def where(call: Call) -> Results:
    """Return the result's shape of WHERE: [?, rank], one row of indices for each true element."""
    dims = call.dims(0)
    return () if dims is None else (Shape((UNKNOWN, len(dims))),)


def unique(call: Call) -> Results:
    """Return the shapes of UNIQUE's results: the distinct elements, and for each element its index among these."""
    return (unknowns(1), call.shape(0))


OPERATORS: Mapping[str, Definition] = {
    "SLICE": Definition(slices, slice_elements, shape_operands=(1, 2)),
    "GATHER": Definition(gather, gather_elements),
    "GATHER_ND": Definition(gather_nd),
    "EMBEDDING_LOOKUP": Definition(lookup),
    "ONE_HOT": Definition(one_hot, shape_operands=(1,)),
    "TOPK_V2": Definition(top_k, shape_operands=(1,)),
    "WHERE": Definition(where, has_data_dependent_shape=True),
    "UNIQUE": Definition(unique, has_data_dependent_shape=True),
}
