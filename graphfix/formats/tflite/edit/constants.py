"""The bytes of a constant that is stretched."""

from __future__ import annotations

from collections.abc import Sequence

from graphfix.formats.tflite.file.records import Tensor
from graphfix.formats.tflite.file.schema import TENSOR_TYPES

BYTE = 8


def item_bytes(record: Tensor) -> int:
    """Bytes of one element; 0 for types of less than a byte, and for those without a size."""
    return (TENSOR_TYPES[record.type][1] or 0) // BYTE


def repeated(data: bytes, shape: Sequence[int], to: Sequence[int], item: int) -> bytes:
    """Repeat the size-1 axes of row-major elements of `item` bytes: [2,1] to [2,3] gives each element three times.

    `shape` and `to` have one rank; `data` has an element for each index of `shape`.
    """
    # numpy would take a third of the memory and of the time of a run, to be imported for this alone.
    if 0 in to:
        return b""
    run = item
    for have, want in zip(reversed(shape), reversed(to), strict=True):
        if have != want:
            data = b"".join([data[start : start + run] * want for start in range(0, len(data), run)])
        run *= want
    return data
