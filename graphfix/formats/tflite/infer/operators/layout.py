"""Rules of operators that rearrange, join, split or repeat axes.

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
"""The greatest rank of a tensor; a broken file may compute a greater rank."""


def unknowns(rank: int) -> Shape:
    """Return a shape of that rank with unknown sizes; a shape of unknown rank if no tensor can have that rank."""
    return Shape((UNKNOWN,) * rank) if rank <= MOST_AXES else UNRANKED


def same_elements(call: Call) -> Elements | None:
    """Return the elements of operand 0."""
    return call.elements(0)


def reshape(call: Call) -> Results:
    """Return the result's shape of RESHAPE: the sizes in operand 1 or in the option `new_shape`.

    A 0 means size 0. One -1 is the size that remains.
    """
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
    """Return the target sizes of a RESHAPE, where -1 is possible; None if they are not known."""
    tensor = call.tensor(1)  # LiteRT reads a shape operand only if it is int32.
    if tensor != ABSENT and call.scope.tensors[tensor].type == INT32 and len(call.dims(1) or ()) == 1:
        return call.elements(1)
    sizes = call.option("new_shape")
    if not isinstance(sizes, tuple | list):
        return None
    return () if tuple(sizes) == (0,) else tuple(sizes)  # Old files write [0] for a scalar.


def remaining(call: Call, source: Sequence[Size], others: Sequence[Size]) -> Size:
    """Return the one open size of a result, from the sizes of the operand (`source`) and the result's other sizes.

    LiteRT ignores sizes of 0 in both products if both products are 0. If a size may be 0, the assumption that none is 0
    is noted.
    """
    if 0 in others:
        return UNKNOWN
    found = call.terms.missing_size(source, others)
    if isinstance(found, Dim) and not found.parts:
        return UNKNOWN  # The size's bounds are not used, because they would need the assumption.
    if not all(map(_positive, others)) and not all(map(_positive, source)):
        call.scope.assumes[NO_SIZE_IS_0] = None
    return found


def _positive(size: Size) -> bool:
    """Return whether a size is surely greater than 0."""
    return size > 0 if isinstance(size, int) else size.lo > 0


def expand_dims(call: Call) -> Results:
    """Return the result's shape of EXPAND_DIMS: operand 1 contains the position of the new unit axis in the result."""
    dims, axis = call.dims(0), call.scalar(1)
    if dims is None:
        return ()
    rank = len(dims) + 1
    if axis is None or not -rank <= axis < rank:
        return (unknowns(rank),)
    at = axis % rank
    return (Shape((*dims[:at], 1, *dims[at:])),)


def squeeze(call: Call) -> Results:
    """Return the result's shape of SQUEEZE: without the listed axes, or without all axes of size 1 if none are listed.

    The rank is unknown if no axes are listed and a free size may be 1.
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
    """Return the result's shape of TRANSPOSE: the sizes in the order that operand 1 contains."""
    dims, order = call.dims(0), call.ints(1)
    if dims is None:
        return ()
    if order is None or sorted(axis % len(dims) for axis in order if dims) != list(range(len(dims))):
        return (unknowns(len(dims)),)
    return (Shape(tuple([dims[axis % len(dims)] for axis in order])),)


def tile(call: Call) -> Results:
    """Return the result's shape of TILE: each size times the number for its axis in operand 1."""
    dims, times = call.dims(0), call.elements(1)
    if dims is None:
        return ()
    if times is None or len(times) != len(dims):
        return (unknowns(len(dims)),)
    return (Shape(tuple([as_size(call.terms.mul(*pair)) for pair in zip(dims, times, strict=True)])),)


def diagonal(call: Call) -> Results:
    """Return the result's shape of MATRIX_DIAG: the last size is repeated, [2,3] -> [2,3,3]."""
    dims = call.dims(0)
    return () if not dims else (Shape((*dims, dims[-1])),)


def concatenate(call: Call) -> Results:
    """Return the result's shape of CONCATENATION: the sum of sizes along the axis; other sizes must be equal."""
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
    """Return one size from several descriptions of the same size: a number, else a symbol, else UNKNOWN.

    Raises Incompatible if two numbers differ.
    """
    numbers = {size for size in sizes if isinstance(size, int)}
    if len(numbers) > 1:
        raise Incompatible(f"sizes that must be equal are {sorted(numbers)}")
    if numbers:
        return numbers.pop()
    return next((size for size in sizes if isinstance(size, Dim) and size.parts), UNKNOWN)


def pack(call: Call) -> Results:
    """Return the result's shape of PACK: the shape of the operands, with a new axis for the number of operands."""
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
    """Return the elements of a PACK of scalars or a CONCATENATION of vectors; None if an operand is not known."""
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
    """Return the shape of each result of UNPACK: the operand's shape without the axis."""
    dims, axis = call.dims(0), call.number("axis")
    if dims is None or not -len(dims) <= axis < len(dims):
        return ()
    at = axis % len(dims)
    return (Shape((*dims[:at], *dims[at + 1 :])),) * len(call.operator.outputs)


def split(call: Call) -> Results:
    """Return the shapes of SPLIT's results: equal parts of operand 1 along the axis that operand 0 contains."""
    dims, axis, parts = call.dims(1), call.scalar(0), len(call.operator.outputs)
    if dims is None or not parts:
        return ()
    if axis is None or not -len(dims) <= axis < len(dims):
        return (unknowns(len(dims)),) * parts
    at = axis % len(dims)
    part = call.terms.quotient(dims[at], parts)
    return (Shape((*dims[:at], part, *dims[at + 1 :])),) * parts


def split_v(call: Call) -> Results:
    """Return the shapes of SPLIT_V's results, which are parts of operand 0.

    Operand 1 contains the sizes along the axis in operand 2; a size of -1 is the rest.
    """
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
    """Return the elements of all results of SPLIT, SPLIT_V or UNPACK, joined: the elements of the vector that is cut.

    Return None if they are not known.
    """
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
