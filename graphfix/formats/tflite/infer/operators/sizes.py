"""Rules of operators that return sizes, or have operands with the result's sizes: SHAPE, RANGE, FILL and similar."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from graphfix.formats.tflite.file.schema import FLOAT32
from graphfix.formats.tflite.infer.call import Call, Results, Rule
from graphfix.formats.tflite.infer.operators.definition import Definition, Elements
from graphfix.formats.tflite.infer.operators.layout import same_elements, unknowns
from graphfix.formats.tflite.infer.scope import LIMIT
from graphfix.shapes.dim import UNKNOWN, Incompatible, Shape
from graphfix.shapes.shape import broadcast
from graphfix.shapes.terms import as_size, maybe_negative

EXACT_IN_FLOAT32 = "no size that a RANGE counts to in float32 is above 2 ** 24, where not every whole number is one"


def shape_of(call: Call) -> Results:
    """Return the result's shape of SHAPE: [rank of the operand]."""
    dims = call.dims(0)
    return (unknowns(1) if dims is None else Shape((len(dims),)),)


def shape_elements(call: Call) -> Elements | None:
    """Return the elements of SHAPE's result, which are the sizes of the operand."""
    return call.dims(0)


def scalar(_: Call) -> Results:
    """Return the shape of a scalar."""
    return (Shape(()),)


def rank_elements(call: Call) -> Elements | None:
    """Return the element of RANK's result, which is the rank of the operand."""
    dims = call.dims(0)
    return None if dims is None else (len(dims),)


def broadcast_args(call: Call) -> Results:
    """Return the result's shape of BROADCAST_ARGS: a vector as long as the longer of both operands."""
    lengths = [call.length(index) for index in (0, 1)]
    known_lengths = [length for length in lengths if length is not None]
    return (Shape((max(known_lengths),)) if len(known_lengths) == len(lengths) else unknowns(1),)


def broadcast_args_elements(call: Call) -> Elements | None:
    """Return the elements of BROADCAST_ARGS's result: the broadcast of the shapes that both operands contain.

    Return None if elements are not known, or if the shapes do not broadcast.
    """
    left, right = call.elements(0), call.elements(1)
    if left is None or right is None or any(map(maybe_negative, (*left, *right))):
        return None
    try:
        return broadcast(Shape(left), Shape(right)).axes
    except Incompatible:
        return None  # The run fails, so its results are not known.


def range_of(call: Call) -> Results:
    """Return the result's shape of RANGE: the count of elements from operand 0 to operand 1 in steps of operand 2."""
    start, limit, step = (call.element(index) for index in range(3))
    if isinstance(start, int) and isinstance(limit, int) and isinstance(step, int) and step:
        return (Shape((as_size(max(0, -(-(limit - start) // step))),)),)
    if start is None or limit is None or not isinstance(step, int) or not step:
        return (unknowns(1),)
    result = call.result()
    if result is not None and result.type == FLOAT32:
        call.scope.assumes[EXACT_IN_FLOAT32] = None
    way = call.terms.sub(limit, start) if step > 0 else call.terms.sub(start, limit)
    # LiteRT refuses a limit that steps in this direction can't reach.
    return (Shape((as_size(call.terms.ceildiv(way, abs(step))),)),)


def range_elements(call: Call) -> Elements | None:
    """Return the elements of a RANGE whose operands are numbers; otherwise None."""
    start, limit, step = (call.scalar(index) for index in range(3))
    if start is None or limit is None or not step:
        return None
    count = max(0, -(-(limit - start) // step))
    return tuple(range(start, limit, step)) if count <= LIMIT else None


def shape_held_by(index: int) -> Rule:
    """Return a shape rule for operators whose operand `index` contains the sizes of the result."""

    def rule(call: Call) -> Results:
        elements = call.elements(index)
        if elements is not None:
            return (Shape(tuple(map(as_size, elements))),)
        length = call.length(index)
        return () if length is None else (Shape((UNKNOWN,) * length),)

    return rule


def fill_elements(call: Call) -> Elements | None:
    """Return the elements of FILL's result: the value of operand 1, repeated; None if they are not known."""
    sizes, value = call.ints(0), call.elements(1)
    if sizes is None or value is None or len(value) != 1 or min(sizes, default=0) < 0:
        return None
    return value * prod(sizes) if prod(sizes) <= LIMIT else None


OPERATORS: Mapping[str, Definition] = {
    "SHAPE": Definition(shape_of, shape_elements, contents="sizes"),
    "RANK": Definition(scalar, rank_elements, contents="sizes"),
    "BROADCAST_ARGS": Definition(broadcast_args, broadcast_args_elements),
    "RANGE": Definition(range_of, range_elements, shape_operands=(0, 1, 2)),
    "FILL": Definition(shape_held_by(0), fill_elements, shape_operands=(0,)),
    "BROADCAST_TO": Definition(shape_held_by(1), same_elements, shape_operands=(1,)),
    "SPARSE_TO_DENSE": Definition(shape_held_by(1), shape_operands=(1,)),
    "SCATTER_ND": Definition(shape_held_by(2), shape_operands=(2,)),
    **dict.fromkeys(
        ("RANDOM_UNIFORM", "RANDOM_STANDARD_NORMAL"),
        Definition(shape_held_by(0), shape_operands=(0,), contents="random"),
    ),
}
