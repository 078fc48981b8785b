"""Rules of operators that reduce axes, or segments of rows."""

from __future__ import annotations

from collections.abc import Mapping

from graphfix.formats.tflite.infer.call import Call, Results
from graphfix.formats.tflite.infer.operators.definition import Definition, Elements
from graphfix.formats.tflite.infer.operators.layout import unknowns
from graphfix.formats.tflite.infer.scope import LIMIT
from graphfix.shapes.dim import UNKNOWN, UNRANKED, Shape
from graphfix.shapes.terms import as_size


def reduce(call: Call) -> Results:
    """Return the result's shape: the axes in operand 1 are dropped, or have size 1 if the option keep_dims is set."""
    dims, axes = call.dims(0), call.ints(1)
    if dims is None:
        return ()
    keeps = bool(call.option("keep_dims"))
    if axes is None or not all(-len(dims) <= axis < len(dims) for axis in axes):
        return (unknowns(len(dims)) if keeps else UNRANKED,)
    gone = {axis % len(dims) for axis in axes}
    kept = [1 if at in gone else size for at, size in enumerate(dims) if keeps or at not in gone]
    return (Shape(tuple(kept)),)


def product_elements(call: Call) -> Elements | None:
    """Return the product of a vector's elements; None if they are not known."""
    elements, dims = call.elements(0), call.dims(0)
    if elements is None or dims is None or len(dims) != 1 or call.ints(1) not in ((0,), (-1,)):
        return None
    return (call.terms.mul(*elements) if elements else 1,)


def arg_reduce(call: Call) -> Results:
    """Return the result's shape of ARG_MAX or ARG_MIN: without the axis that operand 1 contains."""
    dims, axis = call.dims(0), call.scalar(1)
    if not dims:
        return ()
    if axis is None or not -len(dims) <= axis < len(dims):
        return (unknowns(len(dims) - 1),)
    at = axis % len(dims)
    return (Shape((*dims[:at], *dims[at + 1 :])),)


def segments(call: Call) -> Results:
    """Return the result's shape [n, ..] of UNSORTED_SEGMENT_SUM, _PROD, _MAX and _MIN.

    Operand 2 contains n. The other axes are those of operand 0 behind the axes that operand 1, the segment ids, has.
    """
    dims, ids, count = call.dims(0), call.dims(1), call.element(2)
    if dims is None or ids is None or len(ids) > len(dims):
        return ()
    return (Shape((UNKNOWN if count is None else as_size(count), *dims[len(ids) :])),)


def segment_product_elements(call: Call) -> Elements | None:
    """Return the product of each segment of a vector, for UNSORTED_SEGMENT_PROD; an empty segment has product 1.

    Return None if elements are not known.
    """
    elements, ids, count = call.elements(0), call.ints(1), call.scalar(2)
    if elements is None or ids is None or count is None or len(elements) != len(ids) or not 0 <= count <= LIMIT:
        return None
    rows = [[size for size, row in zip(elements, ids, strict=True) if row == at] for at in range(count)]
    return tuple([call.terms.mul(*row) if row else 1 for row in rows])


def sorted_segments(call: Call) -> Results:
    """Return the result's shape of SEGMENT_SUM; the number of rows is the last segment id in operand 1, plus 1."""
    dims, ids = call.dims(0), call.ints(1)
    if not dims:
        return ()
    count = max(ids[-1], -1) + 1 if ids else UNKNOWN
    return (Shape((count, *dims[1:])),)


OPERATORS: Mapping[str, Definition] = {
    **dict.fromkeys(
        "MEAN SUM REDUCE_MAX REDUCE_MIN REDUCE_ANY REDUCE_ALL".split(), Definition(reduce, shape_operands=(1,))
    ),
    "REDUCE_PROD": Definition(reduce, product_elements, shape_operands=(1,)),
    **dict.fromkeys(("ARG_MAX", "ARG_MIN"), Definition(arg_reduce, shape_operands=(1,))),
    **dict.fromkeys(
        ("UNSORTED_SEGMENT_SUM", "UNSORTED_SEGMENT_MAX", "UNSORTED_SEGMENT_MIN"),
        Definition(segments, shape_operands=(2,)),
    ),
    "UNSORTED_SEGMENT_PROD": Definition(segments, segment_product_elements, shape_operands=(2,)),
    "SEGMENT_SUM": Definition(sorted_segments, shape_operands=(1,)),
}
