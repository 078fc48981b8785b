"""Sparse constants of a TFLite file, unpacked: what DENSIFY gives."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from graphfix.checker.files.constant_bytes import held

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from graphfix.checker.files.constant_bytes import Payload
    from graphfix.checker.files.tflite.file import Tensor

DENSE = 0
"""The format of a level that holds every coordinate; any other holds those that it lists."""


def unpacked(tensor: Tensor, width: int) -> Payload | None:
    """Give the elements of a sparse constant in row-major order, zeros in between; None for other constants.

    Source: SparsityParameters of the TFLite schema. The levels of a tree, in traversal order, name coordinates: of the
    axes, then of the blocks that axes are cut into. Raises ValueError and IndexError for levels that do not fit.
    """
    if len(tensor.odd) != 2 or tensor.odd[0] != "sparse" or tensor.payload is None or not width:  # noqa: PLR2004
        return None
    stated = _fields(tensor.odd[1])
    order, blocks = stated["traversalOrder"], stated["blockMap"] or ()
    levels = [_fields(each) for each in stated["dimMetadata"]]
    if order is None or sorted(order) != list(range(len(levels))) or len(levels) != len(tensor.stored) + len(blocks):
        return None
    found = _coordinates(levels)
    values = np.frombuffer(tensor.payload.read(0, tensor.payload.length), np.dtype((np.void, width)))
    if len(values) != len(found):
        return None
    by_axis = dict(zip(order, range(len(levels)), strict=True))
    index = [found[:, by_axis[axis]] for axis in range(len(tensor.stored))]
    for block, axis in enumerate(blocks):
        level = by_axis[len(tensor.stored) + block]
        index[axis] = index[axis] * levels[level]["denseSize"] + found[:, level]
    dense = np.zeros(prod(tensor.stored), np.dtype((np.void, width)))
    dense[np.ravel_multi_index(index, tensor.stored)] = values
    data = dense.tobytes()
    return held(data)


def _coordinates(levels: list[Mapping[str, Any]]) -> NDArray[np.int64]:
    """Walk the levels from the root: a row for each leaf, with its coordinate in every level."""
    rows = np.zeros((1, 0), np.int64)
    for level in levels:
        if level["format"] == DENSE:
            size = level["denseSize"]
            rows = np.repeat(rows, size, axis=0)
            here = np.tile(np.arange(size), len(rows) // size if size else 0)
        else:
            ends, here = _numbers(level["arraySegments"]), _numbers(level["arrayIndices"])
            if len(ends) != len(rows) + 1 or ends[0] or ends[-1] != len(here):
                raise ValueError("the segments of a sparse constant do not fit")
            rows = np.repeat(rows, np.diff(ends), axis=0)
        rows = np.column_stack([rows, here])
    return rows


def _fields(table: Any) -> Mapping[str, Any]:  # noqa: ANN401 - a table as `tflite_file` gives it
    return dict(table[1])


def _numbers(vector: Any) -> NDArray[np.int64]:  # noqa: ANN401 - one of the three vectors that the schema has
    return np.array(_fields(vector)["values"], np.int64)
