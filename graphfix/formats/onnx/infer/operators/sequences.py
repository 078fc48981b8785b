"""Rules of sequences of tensors: the shape of each tensor, where the number of tensors is known.

Exporters write `torch.split` as SplitToSequence and one SequenceAt for each part. Sequences that enter or leave a body
or a function are not followed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from graphfix.formats.onnx.infer.call import NOTHING, Call, Results, Rule
from graphfix.formats.onnx.infer.operators.elementwise import always
from graphfix.formats.onnx.infer.sizes import normalized_axes, with_size
from graphfix.shapes.dim import UNKNOWN, Shape, Size, same
from graphfix.shapes.terms import as_size

MOST = 64
"""Longer sequences are not followed."""
Tensors: TypeAlias = tuple[Shape, ...]
"""The shapes of the tensors in a sequence."""


def follow(call: Call, result: str) -> None:
    """Record the shapes in the sequence that an operator of FOLLOW returns."""
    tensors = FOLLOW[call.op](call)
    if tensors is not None and len(tensors) <= MOST:
        call.scope.sequences[result] = tensors


def _tensors(call: Call, index: int) -> Tensors | None:
    name = call.inputs[index] if call.has(index) else ""
    at = call.scope.find(name) if name else None
    return at.sequences.get(name) if at is not None else None


def _constructed(call: Call) -> Tensors | None:
    shapes = [call.shape(index) for index in range(len(call.inputs))]
    return tuple([shape for shape in shapes if shape is not None])


def _split(call: Call) -> Tensors | None:
    """Return parts of the sizes in operand 1; a scalar is the size of all parts but the last, 1 by default."""
    dims, keeps = call.dims(0), call.flag("keepdims", 1)
    at = None if dims is None else normalized_axes((call.number("axis", 0),), len(dims))
    if dims is None or at is None or keeps is None or (call.has(1) and not keeps):
        return None
    sizes = _sizes(call, dims[at[0]])
    if sizes is None:
        return None
    if not keeps:
        return tuple([Shape((*dims[: at[0]], *dims[at[0] + 1 :])) for _ in sizes])
    return tuple([with_size(dims, at[0], size) for size in sizes])


def _sizes(call: Call, total: Size) -> Sequence[int] | None:
    if not call.has(1):
        return [1] * total if isinstance(total, int) and total <= MOST else None
    sizes = call.scope.ints(call.inputs[1])
    if sizes is None or min(sizes, default=0) < 0:
        return None
    if call.dims(1) != ():
        return sizes
    (size,) = sizes
    if not isinstance(total, int) or not size or total > MOST * size:
        return None
    return [size] * (total // size) + [total % size] * (total % size > 0)


def _inserted(call: Call) -> Tensors | None:
    """Insert a tensor in front of a position; without a position, or at one past the last, append the tensor."""
    tensors, shape = _tensors(call, 0), call.shape(1)
    if tensors is None or shape is None:
        return None
    behind = not call.has(2) or call.scalar(2) == len(tensors)
    at = len(tensors) if behind else _position(call, 2, len(tensors))
    return None if at is None else (*tensors[:at], shape, *tensors[at:])


def _erased(call: Call) -> Tensors | None:
    tensors = _tensors(call, 0)
    at = None if tensors is None else _position(call, 1, len(tensors)) if call.has(1) else len(tensors) - 1
    return None if tensors is None or at is None or at < 0 else (*tensors[:at], *tensors[at + 1 :])


def _position(call: Call, index: int, count: int) -> int | None:
    """Return a position in a sequence; negative positions count from the end. None if it is unknown or outside."""
    at = call.scalar(index)
    return at % count if isinstance(at, int) and -count <= at < count else None


FOLLOW: Mapping[str, Callable[[Call], Tensors | None]] = {
    "SequenceConstruct": _constructed,
    "SequenceEmpty": lambda _: (),
    "SequenceErase": _erased,
    "SequenceInsert": _inserted,
    "SplitToSequence": _split,
}


def sequence_at(call: Call) -> Results:
    """SequenceAt: the tensor at this position."""
    tensors = _tensors(call, 0)
    at = None if tensors is None else _position(call, 1, len(tensors))
    return NOTHING if tensors is None or at is None else (tensors[at],)


def concat_from_sequence(call: Call) -> Results:
    """ConcatFromSequence: add the sizes along the axis, or stack along a new axis; the other sizes are equal."""
    tensors, new = _tensors(call, 0), call.flag("new_axis", 0)
    if not tensors or new is None or any(shape.axes is None for shape in tensors):
        return NOTHING
    every = [shape.dims for shape in tensors]
    rank = len(every[0])
    at = normalized_axes((call.number("axis", 0),), rank + new)
    if at is None or any(len(dims) != rank for dims in every):
        return NOTHING
    columns = list(zip(*every, strict=True))
    sizes = [column[0] if all(same(column[0], size) for size in column) else UNKNOWN for column in columns]
    if new:
        return (Shape((*sizes[: at[0]], len(tensors), *sizes[at[0] :])),)
    total = as_size(call.terms.add(*columns[at[0]]))
    alike = not any(size == UNKNOWN for axis, size in enumerate(sizes) if axis != at[0])
    return (with_size(tuple(sizes), at[0], total if alike else UNKNOWN),)


SHAPES: Mapping[str, Rule] = {
    "ConcatFromSequence": concat_from_sequence,
    "OptionalHasElement": always(0),
    "SequenceAt": sequence_at,
    "SequenceLength": always(0),
}
