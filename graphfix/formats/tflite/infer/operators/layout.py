"""Operators that rearrange, join, split or repeat axes.

Source: the Prepare functions of LiteRT's kernels, and measurements of LiteRT for sizes of 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from graphfix.formats.tflite.file.records import ABSENT
from graphfix.formats.tflite.file.schema import INT32
from graphfix.formats.tflite.infer.call import Call, Results
from graphfix.formats.tflite.infer.operators.definition import Definition, Elements
from graphfix.shapes.dim import UNKNOWN, UNRANKED, Dim, Incompatible, Shape, Size, never_one
from graphfix.shapes.terms import as_size, maybe_negative

NO_SIZE_IS_0 = "no size beside a -1 of a RESHAPE is 0, which the kernel passes over"
MOST_AXES = 64
"""The greatest rank of a tensor; a broken file may compute a greater one."""


def unknowns(rank: int) -> Shape:
    """Return [?, ?, ...] of that rank; an unranked shape if no tensor has that rank."""
    return Shape((UNKNOWN,) * rank) if rank <= MOST_AXES else UNRANKED


def same_elements(call: Call) -> Elements | None:
    """Return the elements of operand 0."""
    return call.elements(0)


def reshape(call: Call) -> Results:
    """Return the sizes that operand 1 or new_shape holds; 0 means 0, and one -1 is the size that is left."""
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
    if tensor != ABSENT and call.scope.tensors[tensor].type == INT32 and len(call.dims(1) or ()) == 1:
        return call.elements(1)
    sizes = call.option("new_shape")
    if not isinstance(sizes, tuple | list):
        return None
    return () if tuple(sizes) == (0,) else tuple(sizes)  # [0] is how old files write a scalar


def remaining(call: Call, source: Sequence[Size], others: Sequence[Size]) -> Size:
    """Return the one size of a result that is left open, from the sizes of the operand and the other sizes.

    LiteRT leaves sizes of 0 out of both products if both are 0. That no size is 0 is an assumption, which is noted.
    """
    if 0 in others:
        return UNKNOWN
    found = call.terms.missing_size(source, others)
    if isinstance(found, Dim) and not found.parts:
        return UNKNOWN  # its bounds are not used: they would need the assumption
    if not all(map(_positive, others)) and not all(map(_positive, source)):
        call.scope.assumes[NO_SIZE_IS_0] = None
    return found


def _positive(size: Size) -> bool:
    return size > 0 if isinstance(size, int) else size.lo > 0


def expand_dims(call: Call) -> Results:
    """Return the shape with a unit axis at the position of operand 1, counted on the result."""
    dims, axis = call.dims(0), call.scalar(1)
    if dims is None:
        return ()
    rank = len(dims) + 1
    if axis is None or not -rank <= axis < rank:
        return (unknowns(rank),)
    at = axis % rank
    return (Shape((*dims[:at], 1, *dims[at:])),)


def squeeze(call: Call) -> Results:
    """Return the shape without the named axes; without names, without each axis of size 1.

    The rank is unknown if axes are not named and a free size may be 1.
    """
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
    """Return the sizes in the order of operand 1."""
    dims, order = call.dims(0), call.ints(1)
    if dims is None:
        return ()
    if order is None or sorted(axis % len(dims) for axis in order if dims) != list(range(len(dims))):
        return (unknowns(len(dims)),)
    return (Shape(tuple([dims[axis % len(dims)] for axis in order])),)


def tile(call: Call) -> Results:
    """Return each size times the number in operand 1."""
    dims, times = call.dims(0), call.elements(1)
    if dims is None:
        return ()
    if times is None or len(times) != len(dims):
        return (unknowns(len(dims)),)
    return (Shape(tuple([as_size(call.terms.mul(*pair)) for pair in zip(dims, times, strict=True)])),)


def diagonal(call: Call) -> Results:
    """Return the shape of MATRIX_DIAG: the last axis twice."""
    dims = call.dims(0)
    return () if not dims else (Shape((*dims, dims[-1])),)


def concatenate(call: Call) -> Results:
    """Return the sum of the sizes along the axis; along any other axis all operands have one size."""
    every = [call.dims(index) for index in range(call.count)]
    known_dims = [dims for dims in every if dims is not None]
    if not known_dims:
        return ()
    rank, axis = len(known_dims[0]), call.number("axis")
    if any(len(dims) != rank for dims in known_dims) or not -rank <= axis < rank:
        return ()
    at = axis % rank
    total = call.terms.add(*[dims[at] for dims in known_dims]) if len(known_dims) == len(every) else UNKNOWN
    columns = enumerate(zip(*known_dims, strict=True))
    return (Shape(tuple([total if place == at else agreed(column) for place, column in columns])),)


def agreed(sizes: Sequence[Size]) -> Size:
    """Return one size from several descriptions of it: a number before a name. Raises Incompatible."""
    numbers = {size for size in sizes if isinstance(size, int)}
    if len(numbers) > 1:
        raise Incompatible(f"sizes that must be equal are {sorted(numbers)}")
    if numbers:
        return numbers.pop()
    return next((size for size in sizes if isinstance(size, Dim) and size.parts), UNKNOWN)


def pack(call: Call) -> Results:
    """Return the shape of the operands with a new axis."""
    known_dims = [dims for index in range(call.count) if (dims := call.dims(index)) is not None]
    if not known_dims or any(len(dims) != len(known_dims[0]) for dims in known_dims):
        return ()
    rank, axis = len(known_dims[0]) + 1, call.number("axis")
    if not -rank <= axis < rank:
        return ()
    sizes = [agreed(column) for column in zip(*known_dims, strict=True)]
    sizes.insert(axis % rank, call.count)
    return (Shape(tuple(sizes)),)


def joined_elements(call: Call) -> Elements | None:
    """Return the elements of all operands, of a PACK of scalars or a CONCATENATION of vectors."""
    joined: list[Size] = []
    if call.number("fused_activation_function"):
        return None
    for index in range(call.count):
        elements = call.elements(index)
        if elements is None or len(call.dims(index) or ()) != (call.op == "CONCATENATION"):
            return None
        joined += elements
    return tuple(joined)


def unpack(call: Call) -> Results:
    """Return the shape without the axis, once for each result."""
    dims, axis = call.dims(0), call.number("axis")
    if dims is None or not -len(dims) <= axis < len(dims):
        return ()
    at = axis % len(dims)
    return (Shape((*dims[:at], *dims[at + 1 :])),) * len(call.operator.outputs)


def split(call: Call) -> Results:
    """Return the shapes of equal parts of operand 1 along the axis that operand 0 holds."""
    dims, axis, parts = call.dims(1), call.scalar(0), len(call.operator.outputs)
    if dims is None or not parts:
        return ()
    if axis is None or not -len(dims) <= axis < len(dims):
        return (unknowns(len(dims)),) * parts
    at = axis % len(dims)
    part = call.terms.quotient(dims[at], parts)
    return (Shape((*dims[:at], part, *dims[at + 1 :])),) * parts


def split_v(call: Call) -> Results:
    """Return the shapes of parts of operand 0: sizes in operand 1, the axis in operand 2; a size of -1 is the rest."""
    dims, sizes, axis, parts = call.dims(0), call.elements(1), call.scalar(2), len(call.operator.outputs)
    if dims is None:
        return ()
    if sizes is None or len(sizes) != parts or axis is None or not -len(dims) <= axis < len(dims):
        return (unknowns(len(dims)),) * parts
    at = axis % len(dims)
    others = call.terms.add(*[size for size in sizes if size != -1])
    lengths = [call.terms.sub(dims[at], others) if size == -1 else size for size in sizes]
    return tuple([Shape((*dims[:at], as_size(length), *dims[at + 1 :])) for length in lengths])


def parts_elements(call: Call) -> Elements | None:
    """Return the elements of the vector that SPLIT, SPLIT_V or UNPACK cuts: those of all results, joined."""
    data = 1 if call.op == "SPLIT" else 0
    elements = call.elements(data)
    return elements if elements is not None and len(call.dims(data) or ()) == 1 else None


OPERATORS: Mapping[str, Definition] = {
    "RESHAPE": Definition(reshape, same_elements, shape_operands=(1,)),
    "EXPAND_DIMS": Definition(expand_dims, same_elements, shape_operands=(1,)),
    "SQUEEZE": Definition(squeeze, same_elements),
    "TRANSPOSE": Definition(transpose, shape_operands=(1,)),
    "TILE": Definition(tile, shape_operands=(1,)),
    "MATRIX_DIAG": Definition(diagonal),
    "CONCATENATION": Definition(concatenate, joined_elements),
    "PACK": Definition(pack, joined_elements),
    "UNPACK": Definition(unpack, parts_elements, splits=True),
    "SPLIT": Definition(split, parts_elements, shape_operands=(0,), splits=True),
    "SPLIT_V": Definition(split_v, parts_elements, shape_operands=(1, 2), splits=True),
}
