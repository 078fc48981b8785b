"""The rule of DENSIFY, which returns the elements of a sparse constant in row-major order."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from graphfix.checker.files.constant_bytes import stored_bytes
from graphfix.checker.files.tflite.records import WIDTHS
from graphfix.checker.proof.tflite.operators.entry import Rules

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from graphfix.checker.files.constant_bytes import Payload
    from graphfix.checker.files.tflite.records import Tensor
    from graphfix.checker.proof.core.terms import ProofValue
    from graphfix.checker.proof.neutral.constants import Constants
    from graphfix.checker.proof.tflite.reading.operands import Call

_DENSE: Final = 0
"""The format of a level that contains every coordinate. Levels of other formats list their coordinates."""
_MOST: Final = 1 << 26
"""The most elements of a sparse constant that is unpacked. A file of a few bytes may request any number."""


def _unpacked(constants: Constants, call: Call) -> ProofValue | None:
    """Return the dense constant that a DENSIFY computes from a sparse constant; None if the operand is not one."""
    tensor = call.inputs[0] if call.inputs else None
    width = WIDTHS.get(call.result.dtype, 0)
    if tensor is None or tensor.dtype != call.result.dtype or tensor.stored != call.result.stored:
        return None
    try:
        payload = _unpacked_payload(tensor, width)
    except (ValueError, IndexError, KeyError, TypeError):  # The levels do not fit each other or the shape.
        return None
    return None if payload is None else constants.view(tensor.dtype, tensor.stored, payload, width, call.description)


def _unpacked_payload(tensor: Tensor, width: int) -> Payload | None:
    """Return the elements of a sparse constant in row-major order, with zeros in between; None for other constants.

    Source: SparsityParameters of the TFLite schema. The levels of a tree, in traversal order, are coordinates: first of
    the axes, then of the blocks that axes are cut into. Raises ValueError for levels that do not fit.
    """
    if len(tensor.odd) != 2 or tensor.odd[0] != "sparse" or tensor.payload is None or not width:  # noqa: PLR2004
        return None
    sparsity = _fields_of(tensor.odd[1])
    order, blocks = sparsity["traversalOrder"], sparsity["blockMap"] or ()
    levels = [_fields_of(each) for each in sparsity["dimMetadata"]]
    if not _is_tree(order or (), levels, blocks, tensor.stored) or prod(tensor.stored) > _MOST:
        return None
    found = _coordinates(levels, prod(tensor.stored))
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
    return stored_bytes(data)


def _is_tree(
    order: Sequence[int], levels: Sequence[Mapping[str, Any]], blocks: Sequence[int], shape: Sequence[int]
) -> bool:
    """Return whether levels follow the schema: all axes, then the blocks, in the order of the axes that they cut.

    LiteRT reads other levels differently from what they state.
    """
    count, total = len(shape), len(shape) + len(blocks)
    ranges = [list(range(count)), list(range(count, total))]
    if len(levels) != total or [sorted(order[:count]), sorted(order[count:])] != ranges:
        return False
    if list(blocks) != sorted(set(blocks).intersection(range(count))):
        return False
    by_axis = dict(zip(order, levels, strict=True))
    cuts = {axis: by_axis[count + block] for block, axis in enumerate(blocks)}
    widths = [cuts[axis]["denseSize"] if axis in cuts else 1 for axis in range(count)]
    return all(level["format"] == _DENSE for level in cuts.values()) and all(
        by_axis[axis]["format"] != _DENSE or by_axis[axis]["denseSize"] * widths[axis] == shape[axis]
        for axis in range(count)
    )


def _coordinates(levels: list[Mapping[str, Any]], most: int) -> NDArray[np.int64]:
    """Return a row for each leaf of the tree, with the leaf's coordinate in every level.

    The levels are read from the root. Raises ValueError for more than `most` leaves.
    """
    rows = np.zeros((1, 0), np.int64)
    for level in levels:
        if level["format"] == _DENSE:
            size = level["denseSize"]
            if len(rows) * size > most:
                raise ValueError("the levels of a sparse constant hold more than its shape")
            rows = np.repeat(rows, size, axis=0)
            here = np.tile(np.arange(size), len(rows) // size if size else 0)
        else:
            ends, here = _vector_of(level["arraySegments"]), _vector_of(level["arrayIndices"])
            if len(ends) != len(rows) + 1 or ends[0] or ends[-1] != len(here):
                raise ValueError("the segments of a sparse constant do not fit")
            rows = np.repeat(rows, np.diff(ends), axis=0)
        rows = np.column_stack([rows, here])
    return rows


def _fields_of(table: Any) -> Mapping[str, Any]:  # noqa: ANN401 - a table as the reader of files returns it
    return dict(table[1])


def _vector_of(vector: Any) -> NDArray[np.int64]:  # noqa: ANN401 - one of the three vectors that the schema has
    return np.array(_fields_of(vector)["values"], np.int64)


OPERATORS: Final[Mapping[str, Rules]] = {"DENSIFY": Rules(built=_unpacked)}
