"""DENSIFY: which element a sparse constant has at which place, and which levels are not read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from graphfix.checker.files.constant_bytes import stored_bytes
from graphfix.checker.proof.neutral import constant_folding
from graphfix.checker.proof.neutral.constants import Constants
from graphfix.checker.proof.tflite.operators.registry import computed
from tests.support.tflite.rule_calls import call

Level = tuple[str, tuple[tuple[str, Any], ...]]


def dense(size: int) -> Level:
    return "DimensionMetadata", (("format", 0), ("denseSize", size), ("arraySegments", None), ("arrayIndices", None))


def listed(segments: Sequence[int], indices: Sequence[int]) -> Level:
    vectors = [("Int32Vector", (("values", tuple(numbers)),)) for numbers in (segments, indices)]
    return "DimensionMetadata", (
        ("format", 1),
        ("denseSize", 0),
        ("arraySegments", vectors[0]),
        ("arrayIndices", vectors[1]),
    )


def unpacked(
    stored: tuple[int, ...],
    order: tuple[int, ...] | None,
    levels: Sequence[Level],
    blocks: tuple[int, ...] | None = None,
    values: Sequence[float] | None = (1, 2, 3),
    **fields: Any,  # noqa: ANN401 - fields of the operand and of the result
) -> object:
    """Return the elements that a DENSIFY of float32 is known to have, None if they are not known."""
    given = call("DENSIFY", ["float32[2,3]"], "float32")
    table = (("traversalOrder", order), ("blockMap", blocks), ("dimMetadata", tuple(levels)))
    payload = None if values is None else stored_bytes(np.float32(values).tobytes())
    tensor = given.result._replace(stored=stored, payload=payload, odd=("sparse", ("SparsityParameters", table)))
    result = given.result._replace(stored=stored)
    for name, value in fields.items():
        of, _, field = name.partition("_")
        if of == "result":
            result = result._replace(**{field: value})
        else:
            tensor = tensor._replace(**{field: value})
    found = computed(Constants(given.table), replace(given, inputs=[tensor], result=result))
    array = constant_folding.constant_array(found)
    return None if array is None else array.tolist()


ROWS = [dense(2), listed((0, 1, 3), (2, 0, 1))]
KNOWN: dict[str, tuple[object, ...]] = {
    "rows, of which each lists its columns": ((2, 3), (0, 1), ROWS, (), (1, 2, 3)),
    "no map of blocks": ((2, 3), (0, 1), ROWS, None, (1, 2, 3)),
    "columns, of which each lists its rows": ((3, 2), (1, 0), ROWS, (), (1, 2, 3)),
    "rows that are listed": ((5, 3), (0, 1), [listed((0, 2), (1, 4)), dense(3)], (), (1, 2, 3, 4, 5, 6)),
    "all places": ((2, 3), (0, 1), [dense(2), dense(3)], (), (1, 2, 3, 4, 5, 6)),
    "blocks of columns": ((2, 4), (0, 1, 2), [dense(2), listed((0, 1, 2), (1, 0)), dense(2)], (1,), (1, 2, 3, 4)),
    "blocks of rows": ((4, 2), (0, 1, 2), [dense(2), listed((0, 1, 2), (1, 0)), dense(2)], (0,), (1, 2, 3, 4)),
    "a row without elements": ((2, 3), (0, 1), [dense(2), listed((0, 0, 2), (0, 2))], (), (1, 2)),
}
EXPECTED: dict[str, object] = {
    "rows, of which each lists its columns": [[0, 0, 1], [2, 3, 0]],
    "no map of blocks": [[0, 0, 1], [2, 3, 0]],
    "columns, of which each lists its rows": [[0, 2], [0, 3], [1, 0]],
    "rows that are listed": [[0, 0, 0], [1, 2, 3], [0, 0, 0], [0, 0, 0], [4, 5, 6]],
    "all places": [[1, 2, 3], [4, 5, 6]],
    "blocks of columns": [[0, 0, 1, 2], [3, 4, 0, 0]],
    "blocks of rows": [[0, 1], [0, 2], [3, 0], [4, 0]],
    "a row without elements": [[0, 0, 0], [1, 0, 2]],
}


@pytest.mark.parametrize("name", KNOWN)
def test_an_element_stands_where_the_levels_say(name: str) -> None:
    arguments: Any = KNOWN[name]
    assert unpacked(*arguments) == EXPECTED[name]


NOT_READ: dict[str, tuple[Any, ...]] = {
    "fewer elements than places": ((2, 3), (0, 1), ROWS, (), (1, 2)),
    "more elements than places": ((2, 3), (0, 1), ROWS, (), (1, 2, 3, 4)),
    "no elements": ((2, 3), (0, 1), ROWS, (), None),
    "no order": ((2, 3), None, ROWS),
    "an axis twice": ((2, 3), (0, 0), ROWS),
    "an order of one": ((2, 3), (0,), ROWS),
    "a level too few": ((2, 3), (0, 1), ROWS[:1]),
    "a level too many": ((2, 3), (0, 1), [*ROWS, dense(1)]),
    "fewer rows than the shape": ((3, 3), (0, 1), ROWS),
    "more rows than the shape": ((1, 3), (0, 1), ROWS),
    "a column behind the last": ((2, 3), (0, 1), [dense(2), listed((0, 1, 3), (2, 0, 3))]),
    "a column before the first": ((2, 3), (0, 1), [dense(2), listed((0, 1, 3), (2, 0, -1))]),
    "segments that end early": ((2, 3), (0, 1), [dense(2), listed((0, 1, 2), (2, 0, 1))]),
    "segments that begin late": ((2, 3), (0, 1), [dense(2), listed((1, 2, 3), (2, 0, 1))]),
    "segments for one row": ((2, 3), (0, 1), [dense(2), listed((0, 3), (2, 0, 1))]),
    "segments that go back": ((2, 3), (0, 1), [dense(2), listed((0, 4, 3), (2, 0, 1))]),
    "more places than the shape": ((2, 1), (0, 1), [dense(2), listed((0, 1, 3), (0, 0, 0)), dense(9)], (1,)),
    "a block of no axis": ((2, 4), (0, 1, 2), [dense(2), listed((0, 1, 2), (1, 0)), dense(2)], (2,), (1, 2, 3, 4)),
    "a block without a level": ((2, 3), (0, 1), ROWS, (1,)),
    "blocks before the axes": ((2, 4), (2, 0, 1), [dense(2), dense(2), dense(2)], (1,), (1,) * 8),
    "a block that is listed": ((1, 2), (0, 1, 2), [dense(1), dense(2), listed((0, 1, 2), (0, 0))], (1,), (1, 2)),
    "blocks that do not fill an axis": (
        (2, 5), (0, 1, 2), [dense(2), dense(2), dense(2)], (1,), (1,) * 8),
}  # fmt: skip


@pytest.mark.parametrize("arguments", NOT_READ.values(), ids=NOT_READ)
def test_levels_that_do_not_fit_are_not_read(arguments: tuple[Any, ...]) -> None:
    assert unpacked(*arguments) is None


@pytest.mark.parametrize(
    "fields",
    [
        {"result_dtype": "int32"},
        {"result_stored": (3, 2)},
        {"of_odd": ()},
        {"of_odd": ("external", 1)},
        {"of_odd": ("sparse",)},
        {"of_dtype": "string", "result_dtype": "string"},
        {"of_dtype": "int64", "result_dtype": "int64"},
    ],
    ids=str,
)
def test_another_constant_or_result_is_not_unpacked(fields: dict[str, Any]) -> None:
    assert unpacked((2, 3), (0, 1), ROWS) is not None
    assert unpacked((2, 3), (0, 1), ROWS, **fields) is None


def test_a_densify_of_nothing_is_not_unpacked() -> None:
    given = call("DENSIFY", [], "float32")
    assert computed(Constants(given.table), given) is None
