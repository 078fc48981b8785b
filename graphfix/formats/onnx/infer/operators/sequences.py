"""What sequences of tensors hold: the shape of each, where a node says how many there are.

Exporters write `torch.split` as SplitToSequence and one SequenceAt for each part. A sequence that a body or a function
is given, or returns, is not followed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from graphfix.formats.onnx.infer.call import NOTHING, Call, Results
from graphfix.formats.onnx.infer.operators.slicing import placed, replaced
from graphfix.shapes.shape import UNKNOWN, Shape, Size, same
from graphfix.shapes.terms import as_size

MOST = 64
"""Longer sequences are not followed."""
Held: TypeAlias = tuple[Shape, ...]


def follow(call: Call, result: str) -> None:
    """Note what the sequence holds that an operator of FOLLOW returns."""
    held = FOLLOW[call.op](call)
    if held is not None and len(held) <= MOST:
        call.scope.sequences[result] = held


def _held(call: Call, index: int) -> Held | None:
    name = call.inputs[index] if call.has(index) else ""
    at = call.scope.find(name) if name else None
    return at.sequences.get(name) if at is not None else None


def _constructed(call: Call) -> Held | None:
    shapes = [call.shape(index) for index in range(len(call.inputs))]
    return tuple([shape for shape in shapes if shape is not None])


def _split(call: Call) -> Held | None:
    """Parts of the sizes that operand 1 says; a scalar is the size of all but the last, without one it is 1."""
    dims, keeps = call.dims(0), call.flag("keepdims", 1)
    at = None if dims is None else placed((call.number("axis", 0),), len(dims))
    if dims is None or at is None or keeps is None or (call.has(1) and not keeps):
        return None
    sizes = _sizes(call, dims[at[0]])
    if sizes is None:
        return None
    if not keeps:
        return tuple([Shape((*dims[: at[0]], *dims[at[0] + 1 :])) for _ in sizes])
    return tuple([replaced(dims, at[0], size) for size in sizes])


def _sizes(call: Call, whole: Size) -> Sequence[int] | None:
    if not call.has(1):
        return [1] * whole if isinstance(whole, int) and whole <= MOST else None
    sizes = call.scope.ints(call.inputs[1])
    if sizes is None or min(sizes, default=0) < 0:
        return None
    if call.dims(1) != ():
        return sizes
    (size,) = sizes
    if not isinstance(whole, int) or not size or whole > MOST * size:
        return None
    return [size] * (whole // size) + [whole % size] * (whole % size > 0)


def _inserted(call: Call) -> Held | None:
    """Before the tensor at that place; a place of as many tensors as there are is behind the last, as without one."""
    held, shape = _held(call, 0), call.shape(1)
    if held is None or shape is None:
        return None
    behind = not call.has(2) or call.scalar(2) == len(held)
    at = len(held) if behind else _place(call, 2, len(held))
    return None if at is None else (*held[:at], shape, *held[at:])


def _erased(call: Call) -> Held | None:
    held = _held(call, 0)
    at = None if held is None else _place(call, 1, len(held)) if call.has(1) else len(held) - 1
    return None if held is None or at is None or at < 0 else (*held[:at], *held[at + 1 :])


def _place(call: Call, index: int, count: int) -> int | None:
    """A place in a sequence, counted from its end where it is below 0."""
    at = call.scalar(index)
    return at % count if isinstance(at, int) and -count <= at < count else None


FOLLOW: Mapping[str, Callable[[Call], Held | None]] = {
    "SequenceConstruct": _constructed,
    "SequenceEmpty": lambda _: (),
    "SequenceErase": _erased,
    "SequenceInsert": _inserted,
    "SplitToSequence": _split,
}


def taken(call: Call) -> Results:
    """SequenceAt: the tensor at that place."""
    held = _held(call, 0)
    at = None if held is None else _place(call, 1, len(held))
    return NOTHING if held is None or at is None else (held[at],)


def joined(call: Call) -> Results:
    """ConcatFromSequence: the sizes along the axis are added, or new_axis adds one; the others are equal."""
    held, new = _held(call, 0), call.flag("new_axis", 0)
    if not held or new is None or any(shape.axes is None for shape in held):
        return NOTHING
    every = [shape.dims for shape in held]
    rank = len(every[0])
    at = placed((call.number("axis", 0),), rank + new)
    if at is None or any(len(dims) != rank for dims in every):
        return NOTHING
    columns = list(zip(*every, strict=True))
    sizes = [column[0] if all(same(column[0], size) for size in column) else UNKNOWN for column in columns]
    if new:
        return (Shape((*sizes[: at[0]], len(held), *sizes[at[0] :])),)
    total = as_size(call.terms.add(*columns[at[0]]))
    alike = not any(size == UNKNOWN for axis, size in enumerate(sizes) if axis != at[0])
    return (replaced(tuple(sizes), at[0], total if alike else UNKNOWN),)
