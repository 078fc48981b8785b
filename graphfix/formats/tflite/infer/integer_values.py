"""What small integer tensors hold: the sizes that shape arithmetic passes along, as far as they can be followed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import TypeAlias

from graphfix.formats.tflite.file.records import ABSENT
from graphfix.formats.tflite.file.schema import BOOL
from graphfix.formats.tflite.infer import strided_slice
from graphfix.formats.tflite.infer.operands import Call
from graphfix.formats.tflite.infer.scope import FOLLOWED, LIMIT
from graphfix.shapes.shape import Dim, Incompatible, Shape, Size, broadcast
from graphfix.shapes.terms import ANY, Terms, maybe_negative

TRUTH = Dim((), 0, 1)
"""A bool of which nothing is known."""
Elements: TypeAlias = tuple[Size, ...]
Follow: TypeAlias = Callable[[Call], Elements | None]


def _shape(call: Call) -> Elements | None:
    return call.dims(0)


def _rank(call: Call) -> Elements | None:
    dims = call.dims(0)
    return None if dims is None else (len(dims),)


def _same(call: Call) -> Elements | None:
    return call.elements(0)


def _cast(call: Call) -> Elements | None:
    """The same number; of bool whether it is another than 0."""
    elements, result = call.elements(0), call.result()
    if elements is None or result is None or result.type != BOOL:
        return elements
    return tuple([int(size != 0) if isinstance(size, int) else 1 if size.lo > 0 else TRUTH for size in elements])


def _broadcast_args(call: Call) -> Elements | None:
    """Two shapes broadcast, by the rule that everything else here follows."""
    left, right = call.elements(0), call.elements(1)
    if left is None or right is None or any(map(maybe_negative, (*left, *right))):
        return None
    try:
        return broadcast(Shape(left), Shape(right)).axes
    except Incompatible:
        return None  # the run fails: nothing is said of it here


def _strided_slice(call: Call) -> Elements | None:
    """The elements whose index along every axis is taken, in their order."""
    elements, dims, length = call.elements(0), call.dims(0), call.length(1)
    if elements is None or dims is None or length is None:
        return None
    found = strided_slice.entries(call, len(dims), length)
    places = [0]
    for entry in found or ():
        size = dims[entry.axis] if entry.axis is not None else 1
        if not isinstance(size, int) or (taken := _taken(call, entry, size)) is None:
            return None
        places = [place * size + at for place in places for at in taken]
    return tuple([elements[place] for place in places]) if found is not None else None


def _taken(call: Call, entry: strided_slice.Entry, size: int) -> Sequence[int] | None:
    """Which indices of an axis an entry takes."""
    if entry.axis is None or entry.at is None:
        return range(size)
    cut = strided_slice.axis_slice(call, entry.at)
    begin, end, stride = (bound if isinstance(bound, int) else None for bound in (cut.begin, cut.end, cut.stride))
    if not stride or (begin is None and cut.begin is not None) or (end is None and cut.end is not None):
        return None
    if not entry.shrinks:
        return range(size)[begin:end:stride]
    at = begin or 0
    return range(size)[at : at + 1 or None] if -size <= at < size else None


def _slice(call: Call) -> Elements | None:
    elements, begin, size = call.elements(0), call.scalar(1), call.scalar(2)
    if elements is None or begin is None or size is None or begin < 0:
        return None
    return elements[begin : len(elements) if size == -1 else begin + size]


def _gather(call: Call) -> Elements | None:
    elements, indices = call.elements(0), call.ints(1)
    if elements is None or indices is None or len(call.dims(0) or ()) != 1 or call.number("batch_dims"):
        return None
    return tuple([elements[at] for at in indices]) if all(0 <= at < len(elements) for at in indices) else None


def _joined(call: Call) -> Elements | None:
    """PACK of scalars and CONCATENATION of vectors: one behind the other."""
    joined: list[Size] = []
    if call.number("fused_activation_function"):
        return None
    for index in range(call.count):
        elements = call.elements(index)
        if elements is None or len(call.dims(index) or ()) != (call.op == "CONCATENATION"):
            return None
        joined += elements
    return tuple(joined)


def _product(call: Call) -> Elements | None:
    elements, dims = call.elements(0), call.dims(0)
    if elements is None or dims is None or len(dims) != 1 or call.ints(1) not in ((0,), (-1,)):
        return None
    return (call.terms.mul(*elements) if elements else 1,)


def _segments(call: Call) -> Elements | None:
    """UNSORTED_SEGMENT_PROD of a vector: the product of those that have one number, 1 where there is none."""
    elements, ids, count = call.elements(0), call.ints(1), call.scalar(2)
    if elements is None or ids is None or count is None or len(elements) != len(ids) or not 0 <= count <= LIMIT:
        return None
    rows = [[size for size, row in zip(elements, ids, strict=True) if row == at] for at in range(count)]
    return tuple([call.terms.mul(*row) if row else 1 for row in rows])


def _negative(call: Call) -> Elements | None:
    elements = call.elements(0)
    return None if elements is None else tuple([call.terms.mul(size, -1) for size in elements])


def _range(call: Call) -> Elements | None:
    start, limit, step = (call.scalar(index) for index in range(3))
    if start is None or limit is None or not step:
        return None
    count = max(0, -(-(limit - start) // step))
    return tuple(range(start, limit, step)) if count <= LIMIT else None


def _fill(call: Call) -> Elements | None:
    sizes, value = call.ints(0), call.elements(1)
    if sizes is None or value is None or len(value) != 1 or min(sizes, default=0) < 0:
        return None
    return value * prod(sizes) if prod(sizes) <= LIMIT else None


def _pairs(call: Call) -> Elements | None:
    """Element by element; one element serves all."""
    left, right = call.elements(0), call.elements(1)
    if not left or not right or call.number("fused_activation_function"):
        return None
    count = max(len(left), len(right))
    ranks = {len(call.dims(0) or ()), len(call.dims(1) or ())}
    if {len(left), len(right)} - {1, count} or max(ranks) > 1:
        return None
    pairs = zip(left * (count // len(left)), right * (count // len(right)), strict=True)
    return tuple([_computed(call, *pair) for pair in pairs])


def _computed(call: Call, a: Size, b: Size) -> Size:
    terms = call.terms
    if call.op == "FLOOR_DIV":
        return ANY if b == 0 else a // b if isinstance(a, int) and isinstance(b, int) else terms.floordiv(a, b)
    if call.op == "FLOOR_MOD":
        return ANY if b == 0 else a % b if isinstance(a, int) and isinstance(b, int) else terms.mod(a, b)
    rules: dict[str, Callable[[Size, Size], Size]] = {
        "ADD": terms.add,
        "SUB": terms.sub,
        "MUL": terms.mul,
        "MAXIMUM": terms.maximum,
        "MINIMUM": terms.minimum,
    }
    return rules[call.op](a, b)


def _compared(call: Call) -> Elements | None:
    """Element by element: 1 or 0 where the sizes' ranges decide it; whether a size is 1 has a name of its own."""
    left, right = call.elements(0), call.elements(1)
    if not left or not right or max(len(call.dims(index) or ()) for index in (0, 1)) > 1:
        return None
    count = max(len(left), len(right))
    if {len(left), len(right)} - {1, count}:
        return None
    pairs = zip(left * (count // len(left)), right * (count // len(right)), strict=True)
    return tuple([_holds(call, *pair) for pair in pairs])


def _holds(call: Call, a: Size, b: Size) -> Size:
    low, high = call.terms.order(a, b)
    if call.op == "EQUAL":
        if low == high == 0:
            return 1
        return 0 if low > 0 or high < 0 else is_one(call.terms, a) if b == 1 else TRUTH
    if call.op.startswith("LESS"):
        low, high = -high, -low
    least = 0 if call.op.endswith("EQUAL") else 1
    return 1 if low >= least else 0 if high < least else TRUTH


def _both(call: Call) -> Elements | None:
    """LOGICAL_AND of scalars."""
    left, right = call.element(0), call.element(1)
    if left is None or right is None or call.dims(0) != () or call.dims(1) != ():
        return None
    return (0,) if 0 in (left, right) else (1,) if (left, right) == (1, 1) else (TRUTH,)


def is_one(terms: Terms, size: Size) -> Size:
    """Whether a size is 1, as an element of bool."""
    return terms.opaque("is 1", size, low=0, high=1)


def _select(call: Call) -> Elements | None:
    """SELECT_V2 of vectors: the second where the third is 1, else the third, is the broadcast of both."""
    parts = [call.elements(index) for index in range(3)]
    known = [part for part in parts if part is not None]
    if len(known) < len(parts) or len({len(part) for part in known}) != 1 or len(call.dims(0) or ()) != 1:
        return None
    return tuple([_chosen(call.terms, *column) for column in zip(*known, strict=True)])


def _chosen(terms: Terms, condition: Size, one: Size, two: Size) -> Size:
    if isinstance(condition, int):
        return one if condition else two
    if not condition.parts or condition != is_one(terms, two) or maybe_negative(one) or maybe_negative(two):
        return ANY
    try:
        (size,) = broadcast(Shape((one,)), Shape((two,))).dims
    except Incompatible:
        return ANY  # the run fails
    return size


def _split(call: Call) -> Elements | None:
    """SPLIT and SPLIT_V of a vector: all results behind each other are the operand, and `part` cuts them."""
    elements = call.elements(1 if call.op == "SPLIT" else 0)
    return elements if elements is not None and len(call.dims(1 if call.op == "SPLIT" else 0) or ()) == 1 else None


def _part(op: str, whole: Elements, lengths: list[int], index: int) -> Elements:
    """What result `index` of several holds, where the results have these lengths."""
    if op == "UNPACK":
        return whole[index : index + 1]
    start = sum(lengths[:index])
    return whole[start : start + lengths[index]]


IN_PARTS = frozenset({"SPLIT", "SPLIT_V", "UNPACK"})
"""Operators whose results are parts of what their rule returns."""
FOLLOW: dict[str, Follow] = {
    "SHAPE": _shape,
    "CAST": _cast,
    "RANK": _rank,
    "BROADCAST_ARGS": _broadcast_args,
    "STRIDED_SLICE": _strided_slice,
    "SLICE": _slice,
    "GATHER": _gather,
    "PACK": _joined,
    "CONCATENATION": _joined,
    "REDUCE_PROD": _product,
    "UNSORTED_SEGMENT_PROD": _segments,
    "NEG": _negative,
    "RANGE": _range,
    "FILL": _fill,
    "SPLIT": _split,
    "SPLIT_V": _split,
    "UNPACK": _split,
    **dict.fromkeys(("EQUAL", "LESS", "LESS_EQUAL", "GREATER", "GREATER_EQUAL"), _compared),
    "LOGICAL_AND": _both,
    "SELECT_V2": _select,
    **dict.fromkeys(("RESHAPE", "SQUEEZE", "EXPAND_DIMS", "BROADCAST_TO"), _same),
    **dict.fromkeys(("ADD", "SUB", "MUL", "FLOOR_DIV", "FLOOR_MOD", "MAXIMUM", "MINIMUM"), _pairs),
}
"""By operator, of results that are integers."""


def follow(call: Call) -> None:
    """Enter what the results of an operator hold, as far as it can be followed."""
    scope = call.scope
    outputs = [tensor for tensor in call.operator.outputs if tensor != ABSENT]
    if not outputs or scope.tensors[outputs[0]].type not in FOLLOWED:
        return
    elements = FOLLOW[call.op](call)
    if elements is None or len(elements) > LIMIT:
        return
    if call.op not in IN_PARTS:
        scope.enter(outputs[0], elements)
        return
    lengths = [_length(scope.shapes[tensor]) for tensor in outputs]
    for at, tensor in enumerate(outputs):
        scope.enter(tensor, _part(call.op, elements, lengths, at))


def _length(shape: Shape) -> int:
    (length,) = shape.axes if shape.axes is not None and len(shape.axes) == 1 else (1,)
    return length if isinstance(length, int) else LIMIT + 1
