"""What TFLite operators compute of constants beyond whole numbers: parts, choices, signs, and floats that are exact."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from graphfix.checker.proof.neutral import constant_folding
from graphfix.checker.proof.tflite.operators.shapes import entries

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from graphfix.checker.proof.neutral.constant_folding import Array
    from graphfix.checker.proof.tflite.reading.operands import Call

BOUNDS: Final = 3
"""Operands of a STRIDED_SLICE behind the first."""
SIGNED: Final = frozenset({"float32", "int32"})
ZEROS: Final = frozenset({"float32", "int32", "int64"})


def strided_slice(call: Call, arrays: Sequence[Array]) -> Array | None:
    """STRIDED_SLICE: elements that move; numpy's indices, whose masks say what is left out."""
    data, *bounds = arrays
    if len(bounds) != BOUNDS or any(each.ndim != 1 or each.dtype != np.int32 for each in bounds):
        return None
    begin, end, stride = (each.tolist() for each in bounds)
    places = entries(call, data.ndim, len(begin))
    if places is None or not len(begin) == len(end) == len(stride) or 0 in stride or call.integer("offset"):
        return None
    first, last, shrunk = (call.integer(f"{name}Mask") for name in ("begin", "end", "shrinkAxis"))
    index: list[slice | int | None] = []
    for axis, at in places:
        if axis is None or at is None:
            index.append(None if axis is None else slice(None))
        elif shrunk >> at & 1:
            if first >> at & 1 or stride[at] != 1:
                return None
            index.append(begin[at])
        else:
            index.append(slice(None if first >> at & 1 else begin[at], None if last >> at & 1 else end[at], stride[at]))
    return data[tuple(index)]


def select(call: Call, arrays: Sequence[Array]) -> Array | None:
    """SELECT_V2: elements that move; of single ones LiteRT makes the shape that the file states."""
    chosen, one, two = arrays
    if chosen.dtype != bool or one.dtype != two.dtype or not constant_folding.small(*arrays):
        return None
    found = np.where(chosen, one, two)
    return found if max(each.size for each in arrays) > 1 or found.shape == call.result.stored else None


def zeros_like(_: Call, arrays: Sequence[Array]) -> Array | None:
    """ZEROS_LIKE."""
    return np.zeros_like(arrays[0]) if arrays[0].dtype.name in ZEROS else None


def signed(rule: str) -> Callable[[Call, Sequence[Array]], Array | None]:
    """NEG and ABS: a sign, and nothing is rounded."""
    return lambda _, arrays: constant_folding.single(rule, arrays[0]) if arrays[0].dtype.name in SIGNED else None


def normal(*arrays: Array | None) -> bool:
    """Whether all are float32, and no number is so small that a kernel may flush it to zero."""
    least = np.finfo(np.float32).tiny
    return all(
        array is not None and array.dtype == np.float32 and bool(((array == 0) | (np.abs(array) >= least)).all())
        for array in arrays
    )
