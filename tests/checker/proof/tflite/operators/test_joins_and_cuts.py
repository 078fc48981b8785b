"""The rules of CONCATENATION, PACK, UNPACK, SLICE, STRIDED_SLICE and SPLIT: what they know of a result and what not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from graphfix.checker.files.tflite.records import Operator, Subgraph
from graphfix.checker.proof.neutral import constant_folding
from graphfix.checker.proof.neutral.constants import Constants
from graphfix.checker.proof.tflite.operators.joins import without_empty
from graphfix.checker.proof.tflite.operators.registry import OPERATORS, computed, viewed
from graphfix.checker.proof.tflite.operators.slices import split_part
from tests.support.tflite.rule_calls import call, integers, shown

Options = dict[str, object]
F, CUT = "float32[N,3,4]", ["int32{1}", "int32{3}", "int32{1}"]
SIZES: list[tuple[str, list[str], Options, str]] = [
    ("CONCATENATION", ["float32[2,N]", "float32[3,N]"], {}, "5,N"),
    ("CONCATENATION", ["float32[2,N]", "float32[2,3]"], {"axis": 1}, "2,N+3"),
    ("CONCATENATION", ["float32[2,N]", "float32[2,3]"], {"axis": -1}, "2,N+3"),
    ("CONCATENATION", ["float32[2,N]", "float32[*]"], {}, "?,N"),
    ("CONCATENATION", ["float32[2,N]", "float32[3]"], {}, "?,N"),
    ("CONCATENATION", ["float32[2,N]", ""], {}, "?,N"),
    ("CONCATENATION", ["float32[*]", "float32[2,N]"], {}, "*"),
    ("CONCATENATION", ["float32[]", "float32[2]"], {}, "*"),
    ("PACK", ["float32[N,3]", "float32[*]"], {}, "2,N,3"),
    ("PACK", ["float32[N,3]", "float32[N,3]", "float32[N,3]"], {"axis": 1}, "N,3,3"),
    ("PACK", ["float32[N,5]"], {"axis": 2}, "N,5,1"),
    ("PACK", ["float32[N,5]"], {"axis": -1}, "N,5,1"),
    ("PACK", ["float32[N,5]", "float32[N,5]"], {"axis": -3}, "2,N,5"),
    ("PACK", ["float32[]", "float32[]"], {}, "2"),
    ("PACK", ["float32[*]", "float32[N,3]"], {}, "*"),
    ("UNPACK", [F], {}, "3,4"),
    ("UNPACK", [F], {"axis": 2}, "N,3"),
    ("UNPACK", [F], {"axis": 3}, "*"),
    ("UNPACK", [F], {"axis": -1}, "N,3"),
    ("UNPACK", [F], {"axis": -3}, "3,4"),
    ("UNPACK", [F], {"axis": -4}, "*"),
    ("UNPACK", ["float32[]"], {}, "*"),
    ("UNPACK", ["float32[*]"], {}, "*"),
    ("SLICE", ["float32[N,5]", "int32{0,1}", "int32{2,-1}"], {}, "2,4"),
    ("SLICE", ["float32[N,5]", "int32{0,1}", "int32{-1,0}"], {}, "N,0"),
    ("SLICE", ["float32[N,5]", "int32{0,1}", "int32{N,M-1}"], {}, "N,?"),
    ("SLICE", ["float32[N,5]", "int32{0,1}", "int32{2,-2}"], {}, "2,?"),
    ("SLICE", ["float32[N,5]", "int32{0}", "int32{2,3}"], {}, "*"),
    ("SLICE", ["float32[N,5]", "int32{0,1}", "int32{2}"], {}, "*"),
    ("SLICE", ["float32[N]", "int32{0,1}", "int32{2,3}"], {}, "*"),
    ("SLICE", ["float32[*]", "int32{0,1}", "int32{2,3}"], {}, "*"),
    ("SLICE", ["float32[N,5]", "int32[2]", "int32{2,3}"], {}, "*"),
    ("SLICE", ["float32[N,5]", "int32{0,1}", "int32[2]"], {}, "*"),
    ("STRIDED_SLICE", ["float32[5,3,N]", *CUT], {}, "2,3,N"),
    ("STRIDED_SLICE", ["float32[5,3,N]", *CUT], {"offset": 1}, "*"),
    ("STRIDED_SLICE", ["float32[*]", *CUT], {}, "*"),
    ("STRIDED_SLICE", ["float32[5,N]", *CUT[:2], "int32{0}"], {}, "*"),
    ("STRIDED_SLICE", ["float32[5,N]", *CUT[:2], "int32{1,1}"], {}, "*"),
    ("STRIDED_SLICE", ["float32[5,N]", "int32{1,1}", *CUT[1:]], {}, "*"),
    ("STRIDED_SLICE", ["float32[5,N]", "int32[*]", "int32[*]", "int32[*]"], {}, "*"),
    ("STRIDED_SLICE", ["float32[5,N]", "int32[1]", *CUT[1:]], {}, "?,N"),
    ("STRIDED_SLICE", ["float32[5,N]", "int32[1]", *CUT[1:]], {"beginMask": 1}, "3,N"),
    ("STRIDED_SLICE", ["float32[5,N]", CUT[0], "int32[1]", CUT[2]], {}, "?,N"),
    ("STRIDED_SLICE", ["float32[5,N]", CUT[0], "int32[1]", CUT[2]], {"endMask": 1}, "4,N"),
    ("STRIDED_SLICE", ["float32[5,N]", *CUT[:2], "int32[1]"], {"beginMask": 1, "endMask": 1}, "?,N"),
    ("STRIDED_SLICE", ["float32[5,N]", "int32{0}", "int32{5}", "int32{2}"], {}, "3,N"),
    ("STRIDED_SLICE", ["float32[5,N]", "int32{0}", "int32{0}", "int32{-1}"], {"beginMask": 1}, "4,N"),
    ("STRIDED_SLICE", ["float32[5,N]", "int32{-2}", "int32{9}", "int32{1}"], {}, "2,N"),
    ("STRIDED_SLICE", ["float32[N,5]", "int32{0}", "int32{N}", "int32{1}"], {}, "N,5"),
    ("STRIDED_SLICE", ["float32[5,3,N]", *CUT], {"shrinkAxisMask": 1}, "3,N"),
    ("STRIDED_SLICE", ["float32[5,3,N]", *CUT], {"shrinkAxisMask": 2}, "2,3,N"),
    ("STRIDED_SLICE", ["float32[5,3,N]", *CUT], {"newAxisMask": 1}, "1,5,3,N"),
    ("STRIDED_SLICE", ["float32[N,3,5]", "int32{9,1}", "int32{9,3}", "int32{1,1}"], {"ellipsisMask": 1}, "N,3,2"),
    ("STRIDED_SLICE", ["float32[5,3,N]", "int32{1,9}", "int32{3,9}", "int32{1,1}"], {"ellipsisMask": 2}, "2,3,N"),
    ("STRIDED_SLICE", ["float32[5]", "int32{1,9}", "int32{3,9}", "int32{1,1}"], {"ellipsisMask": 2}, "*"),
    ("STRIDED_SLICE", ["float32[5,3,N]", "int32{1,9}", "int32{3,9}", "int32{1,1}"], {"ellipsisMask": 3}, "*"),
    ("STRIDED_SLICE", ["float32[5,3,N]", *CUT], {"ellipsisMask": 2}, "*"),
    ("STRIDED_SLICE", ["float32[]", *CUT], {}, "*"),
    ("STRIDED_SLICE", ["float32[5,3]", "int32{9,1}", "int32{9,3}", "int32{1,1}"],
     {"ellipsisMask": 1, "newAxisMask": 1}, "5,2"),
    ("SPLIT", ["int32=1", "float32[N,6]"], {"numSplits": 2}, "N,3"),
    ("SPLIT", ["int32{1}", "float32[N,6]"], {"numSplits": 1}, "N,6"),
    ("SPLIT", ["int32=-1", "float32[N,6]"], {"numSplits": 3}, "N,2"),
    ("SPLIT", ["int32=-2", "float32[6,N]"], {"numSplits": 3}, "2,N"),
    ("SPLIT", ["int32=-3", "float32[6,N]"], {"numSplits": 3}, "*"),
    ("SPLIT", ["int32=2", "float32[6,N]"], {"numSplits": 3}, "*"),
    ("SPLIT", ["int32=0", "float32[6,N]"], {"numSplits": 0}, "*"),
    ("SPLIT", ["int32=0", "float32[6,N]"], {"numSplits": -2}, "*"),
    ("SPLIT", ["int32{0,1}", "float32[6,N]"], {"numSplits": 3}, "*"),
    ("SPLIT", ["int32[]", "float32[6,N]"], {"numSplits": 3}, "*"),
    ("SPLIT", ["int32=0", "float32[*]"], {"numSplits": 3}, "*"),
]  # fmt: skip


@pytest.mark.parametrize(("op", "operands", "options", "expected"), SIZES)
def test_sizes_of_what_is_joined_or_cut(op: str, operands: list[str], options: Options, expected: str) -> None:
    rule = OPERATORS[op].sizes
    assert rule is not None
    assert shown(rule(call(op, operands, **options))) == expected


V, ONE = "int32{2,N,5}", ["int32{1}", "int32{3}", "int32{1}"]
TWO: Options = {"valuesCount": 2}
INTEGERS: list[tuple[str, list[str], Options, str]] = [
    ("CONCATENATION", [V, "int32{7}"], {}, "{2,N,5,7}"),
    ("CONCATENATION", [V, "int32{7}"], {"axis": -1}, "{2,N,5,7}"),
    ("CONCATENATION", [V, "int32{7}"], {"axis": 1}, "not known"),
    ("CONCATENATION", [V, "int32{7}"], {"fusedActivationFunction": 1}, "not known"),
    ("CONCATENATION", [V, "int32[1]"], {}, "not known"),
    ("CONCATENATION", [V, "int32=7"], {}, "not known"),
    ("CONCATENATION", [V, "int64{7}"], {}, "not known"),
    ("PACK", ["int32=N", "int32=7"], TWO, "{N,7}"),
    ("PACK", ["int32=N", "int32=7"], {**TWO, "axis": 1}, "not known"),
    ("PACK", ["int32=N", "int32=7"], {**TWO, "axis": -1}, "not known"),
    ("PACK", ["int32=N", "int32=7"], {"valuesCount": 3}, "not known"),
    ("PACK", ["int32=N", "int32{7}"], TWO, "not known"),
    ("PACK", ["int32{2}", "int32{7}"], TWO, "not known"),
    ("PACK", ["int32=N", ""], TWO, "not known"),
    ("PACK", ["int32=N", "int32[]"], TWO, "not known"),
    ("PACK", ["int32=N", "int64=7"], TWO, "not known"),
    ("SLICE", [V, "int32{1}", "int32{2}"], {}, "{N,5}"),
    ("SLICE", [V, "int32{1}", "int32{1}"], {}, "{N}"),
    ("SLICE", [V, "int32{0}", "int32{-1}"], {}, "{2,N,5}"),
    ("SLICE", [V, "int32{3}", "int32{-1}"], {}, "{}"),
    ("SLICE", [V, "int32{1}", "int32{3}"], {}, "not known"),
    ("SLICE", [V, "int32{-1}", "int32{1}"], {}, "not known"),
    ("SLICE", [V, "int32{1}", "int32{-2}"], {}, "not known"),
    ("SLICE", [V, "int32{1,1}", "int32{1}"], {}, "not known"),
    ("SLICE", [V, "int32{1}", "int32{1,1}"], {}, "not known"),
    ("SLICE", [V, "int32=1", "int32{1}"], {}, "not known"),
    ("SLICE", [V, "int32{1}", "int32=1"], {}, "not known"),
    ("SLICE", [V, "int32{1}", "int64{1}"], {}, "not known"),
    ("SLICE", [V, "int64{1}", "int64{1}"], {}, "{N}"),
    ("SLICE", [V, "int32{M}", "int32{1}"], {}, "not known"),
    ("SLICE", [V, "int32{1}", "int32{M}"], {}, "not known"),
    ("SLICE", ["int32[3]", "int32{1}", "int32{1}"], {}, "not known"),
    ("STRIDED_SLICE", [V, *ONE], {}, "{N,5}"),
    ("STRIDED_SLICE", [V, "int32{0}", "int32{3}", "int32{2}"], {}, "{2,5}"),
    ("STRIDED_SLICE", [V, "int32{-1}", "int32{9}", "int32{1}"], {}, "{5}"),
    ("STRIDED_SLICE", [V, "int32{1}", "int32{-1}", "int32{1}"], {}, "{N}"),
    ("STRIDED_SLICE", [V, "int32{2}", "int32{0}", "int32{-1}"], {}, "not known"),
    ("STRIDED_SLICE", [V, "int32{2}", "int32{0}", "int32{0}"], {}, "not known"),
    ("STRIDED_SLICE", [V, *ONE], {"beginMask": 1}, "{2,N,5}"),
    ("STRIDED_SLICE", [V, "int32{1}", "int32{2}", "int32{1}"], {"endMask": 1}, "{N,5}"),
    ("STRIDED_SLICE", [V, *ONE], {"shrinkAxisMask": 1}, "=N"),
    ("STRIDED_SLICE", [V, "int32{-3}", "int32{9}", "int32{1}"], {"shrinkAxisMask": 1}, "=2"),
    ("STRIDED_SLICE", [V, "int32{-4}", "int32{9}", "int32{1}"], {"shrinkAxisMask": 1}, "not known"),
    ("STRIDED_SLICE", [V, "int32{2}", "int32{9}", "int32{1}"], {"shrinkAxisMask": 1}, "=5"),
    ("STRIDED_SLICE", [V, "int32{3}", "int32{9}", "int32{1}"], {"shrinkAxisMask": 1}, "not known"),
    ("STRIDED_SLICE", [V, "int32{2}", "int32{9}", "int32{1}"], {"shrinkAxisMask": 1, "beginMask": 1}, "=2"),
    ("STRIDED_SLICE", [V, *ONE], {"ellipsisMask": 1}, "not known"),
    ("STRIDED_SLICE", [V, *ONE], {"newAxisMask": 1}, "not known"),
    ("STRIDED_SLICE", [V, *ONE], {"offset": 1}, "not known"),
    ("STRIDED_SLICE", [V, *ONE], {"beginMask": 2}, "not known"),
    ("STRIDED_SLICE", [V, *ONE], {"endMask": 2}, "not known"),
    ("STRIDED_SLICE", [V, *ONE], {"shrinkAxisMask": 2}, "not known"),
    ("STRIDED_SLICE", [V, "int32=1", *ONE[1:]], {}, "not known"),
    ("STRIDED_SLICE", [V, ONE[0], "int32=3", ONE[2]], {}, "not known"),
    ("STRIDED_SLICE", [V, *ONE[:2], "int32=1"], {}, "not known"),
    ("STRIDED_SLICE", [V, "int64{1}", *ONE[1:]], {}, "not known"),
    ("STRIDED_SLICE", [V, *ONE[:2], "int64{1}"], {}, "not known"),
    ("STRIDED_SLICE", [V, "int32{M}", *ONE[1:]], {}, "not known"),
    ("STRIDED_SLICE", [V, ONE[0], "int32{M}", ONE[2]], {}, "not known"),
    ("STRIDED_SLICE", [V, *ONE[:2], "int32{M}"], {}, "not known"),
    ("STRIDED_SLICE", [V, "int32{1,1}", "int32{3,3}", "int32{1,1}"], {}, "not known"),
    ("STRIDED_SLICE", [V, *ONE[:2]], {}, "not known"),
    ("STRIDED_SLICE", ["int32=N", *ONE], {}, "not known"),
]


@pytest.mark.parametrize(("op", "operands", "options", "expected"), INTEGERS)
def test_integers_of_what_is_joined_or_cut(op: str, operands: list[str], options: Options, expected: str) -> None:
    assert integers(viewed(call(op, operands, **options))) == expected


W = "int32{2,N,5,7}"
PARTS: list[tuple[str, list[str], int, list[str]]] = [
    ("SPLIT", ["int32=0", W], 2, ["{2,N}", "{5,7}"]),
    ("SPLIT", ["int32=-1", W], 4, ["{2}", "{N}", "{5}", "{7}"]),
    ("SPLIT", ["int32{0}", W], 1, ["{2,N,5,7}"]),
    ("SPLIT", ["int32=0", W], 3, ["not known"] * 3),
    ("SPLIT", ["int32=1", W], 2, ["not known"] * 2),
    ("SPLIT", ["int32[]", W], 2, ["not known"] * 2),
    ("SPLIT", ["int32=0", "int32[4]"], 2, ["not known"] * 2),
    ("SPLIT", ["int32=0", "int64{2,N,5,7}"], 2, ["not known"] * 2),
    ("SPLIT", ["int32=0", ""], 2, ["not known"] * 2),
    ("SPLIT", ["int32=0"], 2, ["not known"] * 2),
    ("SPLIT_V", [W, "int32{1,3}", "int32=0"], 2, ["{2}", "{N,5,7}"]),
    ("SPLIT_V", [W, "int32{1,-1}", "int32=-1"], 2, ["{2}", "{N,5,7}"]),
    ("SPLIT_V", [W, "int32{-1,4}", "int32=0"], 2, ["{}", "{2,N,5,7}"]),
    ("SPLIT_V", [W, "int32{0,4}", "int32=0"], 2, ["{}", "{2,N,5,7}"]),
    ("SPLIT_V", [W, "int32{-1,5}", "int32=0"], 2, ["not known"] * 2),
    ("SPLIT_V", [W, "int32{1,2}", "int32=0"], 2, ["not known"] * 2),
    ("SPLIT_V", [W, "int32{6,-2}", "int32=0"], 2, ["not known"] * 2),
    ("SPLIT_V", [W, "int32{1,3}", "int32=0"], 3, ["not known"] * 3),
    ("SPLIT_V", [W, "int32{1,3}", "int32=1"], 2, ["not known"] * 2),
    ("SPLIT_V", [W, "int32[2]", "int32=0"], 2, ["not known"] * 2),
]


@pytest.mark.parametrize(("op", "operands", "count", "expected"), PARTS)
def test_parts_of_known_integers(op: str, operands: list[str], count: int, expected: list[str]) -> None:
    given = call(op, operands, numSplits=count)
    assert [integers(split_part(given, count, place)) for place in range(count)] == expected
    other = call(op, operands, numSplits=count + 1)
    assert [split_part(other, count, place) for place in range(count)] == [None] * count


I32 = np.int32
TABLE = np.float32([[1, 2, 3], [4, 5, 6]])
FOLDED: list[tuple[str, list[object], Options, object]] = [
    ("PACK", [np.float32([1, 2]), np.float32([3, 4])], TWO, [[1, 2], [3, 4]]),
    ("PACK", [np.float32([1, 2]), np.float32([3, 4])], {**TWO, "axis": 1}, [[1, 3], [2, 4]]),
    ("PACK", [np.float32([1, 2]), np.float32([3, 4])], {"valuesCount": 3}, None),
    ("CONCATENATION", [TABLE, TABLE[:1]], {}, [[1, 2, 3], [4, 5, 6], [1, 2, 3]]),
    ("CONCATENATION", [TABLE, TABLE[:, :1]], {"axis": 1}, [[1, 2, 3, 1], [4, 5, 6, 4]]),
    ("SLICE", [TABLE, I32([0, 1]), I32([-1, 2])], {}, [[2, 3], [5, 6]]),
    ("SLICE", [TABLE, I32([1, 0]), I32([1, 1])], {}, [[4]]),
    ("SLICE", [TABLE, I32([1, 2]), I32([1, 2])], {}, None),
    ("SLICE", [TABLE, I32([3, 0]), I32([-1, -1])], {}, None),
    ("SLICE", [TABLE, I32([0, -2]), I32([1, 1])], {}, None),
    ("SLICE", [TABLE, I32([0, 1]), I32([1, -2])], {}, None),
    ("SLICE", [TABLE, I32([0]), I32([1])], {}, None),
    ("SLICE", [TABLE, I32([0, 1]), I32([1])], {}, None),
    ("SLICE", [TABLE, I32([0, 1]), np.int64([1, 1])], {}, None),
    ("STRIDED_SLICE", [TABLE, I32([0, 2]), I32([2, 0]), I32([1, -1])], {}, [[3, 2], [6, 5]]),
    ("STRIDED_SLICE", [TABLE, I32([1]), I32([2]), I32([1])], {}, [[4, 5, 6]]),
    ("STRIDED_SLICE", [TABLE, I32([1]), I32([1]), I32([1])], {"beginMask": 1}, [[1, 2, 3]]),
    ("STRIDED_SLICE", [TABLE, I32([1]), I32([1]), I32([1])], {"endMask": 1}, [[4, 5, 6]]),
    ("STRIDED_SLICE", [TABLE, I32([0, 1]), I32([0, 2]), I32([1, 1])], {"endMask": 1}, [[2], [5]]),
    ("STRIDED_SLICE", [TABLE, I32([1]), I32([2]), I32([1])], {"shrinkAxisMask": 1}, [4, 5, 6]),
    ("STRIDED_SLICE", [TABLE, I32([1]), I32([2]), I32([1])], {"shrinkAxisMask": 1, "beginMask": 1}, None),
    ("STRIDED_SLICE", [TABLE, I32([1]), I32([2]), I32([2])], {"shrinkAxisMask": 1}, None),
    ("STRIDED_SLICE", [TABLE, I32([1]), I32([2]), I32([1])], {"newAxisMask": 1}, [[[1, 2, 3], [4, 5, 6]]]),
    ("STRIDED_SLICE", [TABLE, I32([9, 1]), I32([9, 2]), I32([1, 1])], {"ellipsisMask": 1}, [[2], [5]]),
    ("STRIDED_SLICE", [TABLE, I32([1]), I32([2]), I32([0])], {}, None),
    ("STRIDED_SLICE", [TABLE, I32([1]), I32([2]), I32([1])], {"offset": 1}, None),
    ("STRIDED_SLICE", [TABLE, I32([1]), I32([2, 2]), I32([1])], {}, None),
    ("STRIDED_SLICE", [TABLE, I32([1]), I32([2]), I32([1, 1])], {}, None),
    ("STRIDED_SLICE", [TABLE, I32([[1]]), I32([[2]]), I32([[1]])], {}, None),
    ("STRIDED_SLICE", [TABLE, I32([1]), np.int64([2]), I32([1])], {}, None),
    ("STRIDED_SLICE", [TABLE, I32([1]), I32([2])], {}, None),
    ("STRIDED_SLICE", [TABLE, I32([1, 1, 1]), I32([2, 2, 2]), I32([1, 1, 1])], {}, None),
]


@pytest.mark.parametrize(("op", "arrays", "options", "expected"), FOLDED)
def test_constants_are_joined_and_cut(op: str, arrays: list[object], options: Options, expected: object) -> None:
    constant = [np.asarray(each) for each in arrays]
    given = call(op, [f"{each.dtype.name}[]" for each in constant], "float32", **options)
    constants = Constants(given.table)
    found = computed(
        constants, replace(given, views=[constant_folding.as_constant(constants, each, "c") for each in constant])
    )
    array = constant_folding.constant_array(found)
    assert (None if array is None else array.tolist()) == expected


# --- operands without elements ----------------------------------------------------------------------------------------

EMPTY: list[tuple[list[str], Options, list[int]]] = [
    (["float32[2,3]", "float32[0,3]"], {}, [0]),
    (["float32[0,3]", "float32[2,3]", "float32[0,3]", "float32[4,3]"], {}, [1, 3]),
    (["float32[2,0]", "float32[2,3]"], {"axis": 1}, [1]),
    (["float32[2,0]", "float32[2,3]"], {"axis": -1}, [1]),
    (["float32[2,0]", "float32[4,0]"], {}, [0, 1]),
    (["float32[0,3]", "float32[0,3]"], {}, [0, 1]),
    (["float32[0,4]", "float32[2,3]"], {}, [0, 1]),
    (["int32[0,3]", "float32[2,3]"], {}, [0, 1]),
    (["float32[0,3]", "float32[N,3]"], {}, [1]),
    (["float32[0,3]", ""], {}, [0, 1]),
    (["float32[0,3]", "float32[2,3]"], {"axis": "0"}, [0, 1]),
    (["float32[0,3]", "float32[2,3]"], {"axis": 2}, [0, 1]),
    (["float32[0,3]", "float32[2,3]"], {"axis": -3}, [0, 1]),
]


def joined(op: str, operands: list[str], options: Options) -> tuple[Operator, int]:
    """The operator without its empty operands, and how many values it reads."""
    given = call(op, operands, **options)
    tensors = tuple(given.result if each is None else each for each in given.inputs)
    graph = Subgraph(tensors, (given.operator,), (), (), "main", frozenset())
    operator, views = without_empty(graph, given.operator, given.views)
    return operator, len(views)


@pytest.mark.parametrize(("operands", "options", "kept"), EMPTY)
def test_operands_without_elements_are_not_joined(operands: list[str], options: Options, kept: list[int]) -> None:
    operator, count = joined("CONCATENATION", operands, options)
    assert count == len(kept)
    assert list(operator.inputs) == [at if operands[at] else -1 for at in kept]
    assert joined("PACK", operands, options)[1] == len(operands)
