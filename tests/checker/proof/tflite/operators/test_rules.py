"""Each rule of an operator on its own: the sizes and integers that it returns, and what makes it return none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
import pytest

from graphfix.checker.proof.core.terms import MOST_ELEMENTS, ProofValue, value_of
from graphfix.checker.proof.neutral import constant_folding
from graphfix.checker.proof.neutral.constants import Constants
from graphfix.checker.proof.tflite.operators import repeating
from graphfix.checker.proof.tflite.operators.registry import OPERATORS, computed, viewed
from graphfix.checker.proof.tflite.operators.shape_values import EXACT_IN_FLOAT32
from graphfix.checker.proof.tflite.reading.operands import Call
from tests.support.tflite.rule_calls import QUANTIZED, call, integers, shown, size_of

T = TypeVar("T")
Options = dict[str, object]


def known(value: T | None) -> T:
    assert value is not None
    return value


SIZES: list[tuple[str, list[str], Options, str]] = [
    ("MEAN", ["float32[N,3,4]", "int32{1}"], {}, "N,4"),
    ("MEAN", ["float32[N,3,4]", "int32{1}"], {"keepDims": True}, "N,1,4"),
    ("MEAN", ["float32[N,3,4]", "int32{-1}"], {}, "N,3"),
    ("MEAN", ["float32[N,3,4]", "int32{-3}"], {}, "3,4"),
    ("MEAN", ["float32[N,3,4]", "int32{-1,0}"], {}, "3"),
    ("MEAN", ["float32[N,3,4]", "int32=2"], {}, "N,3"),
    ("MEAN", ["float32[*]", "int32{1}"], {}, "*"),
    ("MEAN", ["float32[N,3,4]", "int32[1]"], {}, "*"),
    ("MEAN", ["float32[N,3,4]", "int32{N}"], {}, "*"),
    ("UNSORTED_SEGMENT_SUM", ["float32[7,3]", "int32[7]", "int32=N"], {}, "N,3"),
    ("UNSORTED_SEGMENT_SUM", ["float32[7,3]", "int32[7]", "int32=N-1"], {}, "?,3"),
    ("UNSORTED_SEGMENT_SUM", ["float32[7,3]", "int32[7]", "int32=0"], {}, "0,3"),
    ("UNSORTED_SEGMENT_SUM", ["float32[7,3]", "int32[7]", "int32=-1"], {}, "?,3"),
    ("UNSORTED_SEGMENT_SUM", ["float32[7,3]", "int32[7,3]", "int32=5"], {}, "5"),
    ("UNSORTED_SEGMENT_SUM", ["float32[7]", "int32[7,3]", "int32=5"], {}, "*"),
    ("UNSORTED_SEGMENT_SUM", ["float32[7,3]", "int32[7]", "int32{5,6}"], {}, "*"),
    ("UNSORTED_SEGMENT_SUM", ["float32[7,3]", "int32[7]", "int32[]"], {}, "*"),
    ("UNSORTED_SEGMENT_SUM", ["float32[*]", "int32[7]", "int32=5"], {}, "*"),
    ("UNSORTED_SEGMENT_SUM", ["float32[7,3]", "int32[*]", "int32=5"], {}, "*"),
    ("GATHER", ["float32[5,N,7]", "int32[2,M]"], {"axis": 1}, "5,2,M,7"),
    ("GATHER", ["float32[5,N,7]", "int32[2]"], {"axis": 2}, "5,N,2"),
    ("GATHER", ["float32[5,N,7]", "int32[2]"], {"axis": 3}, "*"),
    ("GATHER", ["float32[5,N,7]", "int32[2]"], {"axis": -3}, "2,N,7"),
    ("GATHER", ["float32[5,N,7]", "int32[2]"], {"axis": -4}, "*"),
    ("GATHER", ["float32[5,N,7]", "int32[2]"], {"axis": -1}, "5,N,2"),
    ("GATHER", ["float32[5,N,7]", "int32[5,2]"], {"axis": 1, "batchDims": 1}, "5,2,7"),
    ("GATHER", ["float32[5,N,7]", "int32[5]"], {"axis": 1, "batchDims": 1}, "5,7"),
    ("GATHER", ["float32[5,N,7]", "int32[5]"], {"axis": 1, "batchDims": 2}, "*"),
    ("GATHER", ["float32[5,N,7]", "int32[5]"], {"axis": 1, "batchDims": -1}, "*"),
    ("GATHER", ["float32[]", "int32[2]"], {}, "*"),
    ("GATHER", ["float32[*]", "int32[2]"], {}, "*"),
    ("GATHER", ["float32[5]", "int32[*]"], {}, "*"),
    ("GATHER_ND", ["float32[5,6,7]", "int32[N,2]"], {}, "N,7"),
    ("GATHER_ND", ["float32[5,6,7]", "int32[4,N]"], {}, "*"),
    ("GATHER_ND", ["float32[5,6,7]", "int32[4,1]"], {}, "4,6,7"),
    ("GATHER_ND", ["float32[5,6,7]", "int32[4,0]"], {}, "*"),
    ("GATHER_ND", ["float32[5,6,7]", "int32[4,3]"], {}, "4"),
    ("GATHER_ND", ["float32[5,6,7]", "int32[4,4]"], {}, "*"),
    ("GATHER_ND", ["float32[*]", "int32[4,1]"], {}, "*"),
    ("GATHER_ND", ["float32[5]", "int32[*]"], {}, "*"),
    ("GATHER_ND", ["float32[5]", "int32[]"], {}, "*"),
    ("EMBEDDING_LOOKUP", ["int32[N]", "float32[5,M,7]"], {}, "N,M,7"),
    ("EMBEDDING_LOOKUP", ["int32[N,2]", "float32[5,6]"], {}, "*"),
    ("EMBEDDING_LOOKUP", ["int32[*]", "float32[5,6]"], {}, "*"),
    ("EMBEDDING_LOOKUP", ["int32[4]", "float32[*]"], {}, "*"),
    ("EMBEDDING_LOOKUP", ["int32[4]", "float32[]"], {}, "*"),
    ("ONE_HOT", ["int32[2,N]", "int32=4"], {"axis": -1}, "2,N,4"),
    ("ONE_HOT", ["int32[2,N]", "int32=4"], {"axis": 0}, "4,2,N"),
    ("ONE_HOT", ["int32[2,N]", "int32=M"], {"axis": 1}, "2,M,N"),
    ("ONE_HOT", ["int32[2,N]", "int32=4"], {"axis": 2}, "2,N,4"),
    ("ONE_HOT", ["int32[2,N]", "int32=4"], {"axis": 3}, "*"),
    ("ONE_HOT", ["int32[2,N]", "int32=4"], {"axis": -2}, "*"),
    ("ONE_HOT", ["int32[2,N]", "int32{4,5}"], {"axis": 0}, "*"),
    ("ONE_HOT", ["int32[2,N]", "int32[]"], {"axis": 0}, "*"),
    ("ONE_HOT", ["int32[*]", "int32=4"], {"axis": 0}, "*"),
    ("TOPK_V2", ["float32[4,N]", "int32=2"], {}, "4,2"),
    ("TOPK_V2", ["float32[4,N]", "int32{2,3}"], {}, "*"),
    ("TOPK_V2", ["float32[4,N]", "int32[]"], {}, "*"),
    ("TOPK_V2", ["float32[]", "int32=2"], {}, "*"),
    ("TOPK_V2", ["float32[*]", "int32=2"], {}, "*"),
    ("ARG_MAX", ["float32[4,N,5]", "int32=1"], {}, "4,5"),
    ("ARG_MAX", ["float32[4,N,5]", "int32=-1"], {}, "4,N"),
    ("ARG_MAX", ["float32[4,N,5]", "int32=-3"], {}, "N,5"),
    ("ARG_MAX", ["float32[4,N,5]", "int32=-4"], {}, "*"),
    ("ARG_MAX", ["float32[4,N,5]", "int32=2"], {}, "4,N"),
    ("ARG_MAX", ["float32[4,N,5]", "int32=3"], {}, "*"),
    ("ARG_MAX", ["float32[4,N,5]", "int32{0,1}"], {}, "*"),
    ("ARG_MAX", ["float32[4,N,5]", "int32[]"], {}, "*"),
    ("ARG_MAX", ["float32[]", "int32=0"], {}, "*"),
    ("ARG_MIN", ["float32[*]", "int32=0"], {}, "*"),
    ("MATRIX_DIAG", ["float32[2,N]"], {}, "2,N,N"),
    ("MATRIX_DIAG", ["float32[]"], {}, "*"),
    ("MATRIX_DIAG", ["float32[*]"], {}, "*"),
    ("SCATTER_ND", ["int32[4,1]", "float32[4,N]", "int32{9,N}"], {}, "9,N"),
    ("SCATTER_ND", ["int32[4,1]", "float32[4,N]", "int32{9,-1}"], {}, "*"),
    ("RANGE", ["int32=0", "int32=N", "int32=1"], {}, "N"),
    ("RANGE", ["int32=1", "int32=8", "int32=3"], {}, "3"),
    ("RANGE", ["int32=0", "int32=8", "int32=N"], {}, "*"),
    ("RANGE", ["int32=0", "int32[]", "int32=1"], {}, "*"),
    ("RANGE", ["int32=0", "int32=8"], {}, "*"),
    ("TILE", ["float32[2,N]", "int32{3,4}"], {}, "6,4*N"),
    ("TILE", ["float32[2,N]", "int32{3}"], {}, "*"),
    ("TILE", ["float32[2,N]", "int32[2]"], {}, "*"),
    ("TILE", ["float32[2,N]", "int32{3,M-1}"], {}, "*"),
    ("TILE", ["float32[*]", "int32{3}"], {}, "*"),
    ("FILL", ["int32{2,N}", "float32[]"], {}, "2,N"),
    ("FILL", ["int32{2,0}", "float32[]"], {}, "2,0"),
    ("FILL", ["int32{2,-1}", "float32[]"], {}, "*"),
    ("FILL", ["int32{2,N-1}", "float32[]"], {}, "*"),
    ("FILL", ["int32=2", "float32[]"], {}, "*"),
    ("BROADCAST_TO", ["float32[3]", "int32{N,3}"], {}, "N,3"),
    ("BROADCAST_TO", ["float32[3]", "int32{-1,3}"], {}, "*"),
]
KEEPING = (
    "SOFTMAX", "LOG_SOFTMAX", "L2_NORMALIZATION", "LOCAL_RESPONSE_NORMALIZATION", "CUMSUM", "REVERSE_V2",
    "REVERSE_SEQUENCE",
)  # fmt: skip
SIZES += [(op, ["float32[N,3]"], {}, "N,3") for op in KEEPING]


@pytest.mark.parametrize(("op", "operands", "options", "expected"), SIZES)
def test_sizes_of_a_result(op: str, operands: list[str], options: Options, expected: str) -> None:
    given = call(op, operands, **options)
    rule = OPERATORS[op].sizes
    assert rule is not None
    assert shown(rule(given)) == expected


INT32, INT64 = 2, 4
"""Types, by their numbers in a file."""
THREE = ["int32{2,N,5}", "int32{0,1,0}", "int32=2"]
MOST = ",".join(["1"] * MOST_ELEMENTS)
MANY = f"int32{{{','.join(f'N+{at}' for at in range(1, 65))}}}"
"""Terms whose product is not followed."""
INTEGERS: list[tuple[str, list[str], Options, str]] = [
    ("REDUCE_PROD", ["int32{N,3}", "int32{0}"], {}, "=3*N"),
    ("REDUCE_PROD", ["int32{N,3}", "int32{0}"], {"keepDims": True}, "{3*N}"),
    ("REDUCE_PROD", ["int32{N,3}", "int32=-1"], {}, "=3*N"),
    ("REDUCE_PROD", ["int32{N,3}", "int32{1}"], {}, "not known"),
    ("REDUCE_PROD", ["int32{N,3}", "int32{}"], {}, "not known"),
    ("REDUCE_PROD", ["int32{N,3}", "int32{0,-1}"], {}, "not known"),
    ("REDUCE_PROD", ["int32{N,3}", "int32[1]"], {}, "not known"),
    ("REDUCE_PROD", ["int32=N", "int32{0}"], {}, "not known"),
    ("REDUCE_PROD", ["int32{N,N,N}", "int32{0}"], {}, "=N*N*N"),
    ("REDUCE_PROD", [MANY, "int32{0}"], {}, "not known"),
    ("UNSORTED_SEGMENT_PROD", THREE, {}, "{10,N}"),
    ("UNSORTED_SEGMENT_PROD", [*THREE[:2], "int32{3}"], {}, "{10,N,1}"),
    ("UNSORTED_SEGMENT_PROD", [*THREE[:2], "int32=1"], {}, "not known"),
    ("UNSORTED_SEGMENT_PROD", [*THREE[:2], "int32=0"], {}, "not known"),
    ("UNSORTED_SEGMENT_PROD", [*THREE[:2], "int32{2,2}"], {}, "not known"),
    ("UNSORTED_SEGMENT_PROD", [*THREE[:2], "int32=N"], {}, "not known"),
    ("UNSORTED_SEGMENT_PROD", [*THREE[:2], "int64=2"], {}, "not known"),
    ("UNSORTED_SEGMENT_PROD", [*THREE[:2], f"int32={MOST_ELEMENTS + 1}"], {}, "not known"),
    ("UNSORTED_SEGMENT_PROD", [THREE[0], "int32[3]", THREE[2]], {}, "not known"),
    ("UNSORTED_SEGMENT_PROD", [THREE[0], "int32{0,1}", THREE[2]], {}, "not known"),
    ("UNSORTED_SEGMENT_PROD", [THREE[0], "int32{0,-1,0}", THREE[2]], {}, "not known"),
    ("UNSORTED_SEGMENT_PROD", [THREE[0], "int64{0,1,0}", THREE[2]], {}, "not known"),
    ("UNSORTED_SEGMENT_PROD", ["int32[3]", *THREE[1:]], {}, "not known"),
    ("UNSORTED_SEGMENT_PROD", [*THREE, "int32=1"], {}, "not known"),
    ("UNSORTED_SEGMENT_PROD", THREE[:2], {}, "not known"),
    ("UNSORTED_SEGMENT_PROD", [*THREE[:2], ""], {}, "not known"),
    ("UNSORTED_SEGMENT_PROD", ["int32{2,N}", "int32{0,0}", "int32=1"], {}, "{2*N}"),
    ("UNSORTED_SEGMENT_PROD", ["int32{}", "int32{}", "int32=0"], {}, "not known"),
    ("UNSORTED_SEGMENT_PROD", [MANY, f"int32{{{','.join(['0'] * 64)}}}", "int32=1"], {}, "not known"),
    ("SHAPE", ["float32[N,3]"], {"outType": INT32}, "{N,3}"),
    ("SHAPE", ["float32[N,3]"], {"outType": INT64}, "not known"),
    ("SHAPE", ["float32[N,3]"], {}, "not known"),
    ("SHAPE", ["float32[*]"], {"outType": INT32}, "not known"),
    ("RANK", ["float32[N,3]"], {}, "=2"),
    ("RANK", ["float32[*]"], {}, "not known"),
    ("CAST", ["int64{N,3}"], {}, "{N,3}"),
    ("CAST", ["int64=N"], {}, "=N"),
    ("CAST", ["int64[2]"], {}, "not known"),
    ("RANGE", ["int32=N", "int32=N+3", "int32=1"], {}, "{N,N+1,N+2}"),
    ("RANGE", ["int32=N+4", "int32=N", "int32=-3"], {}, "{N+4,N+1}"),
    ("RANGE", ["int32=N", "int32=N+64", "int32=1"], {}, f"{{N,{','.join(f'N+{at}' for at in range(1, 64))}}}"),
    ("RANGE", ["int32=N", "int32=N+65", "int32=1"], {}, "not known"),
    ("RANGE", ["int32=N", "int32=N", "int32=1"], {}, "not known"),
    ("RANGE", ["int32=0", "int32=N", "int32=1"], {}, "not known"),
    ("RANGE", ["int32=N", "int32=N+3", "int32=M"], {}, "not known"),
    ("RANGE", ["int32=N", "int32=N+3", "int32[]"], {}, "not known"),
    ("RANGE", ["int32=N", "int32{1,2}", "int32=1"], {}, "not known"),
    ("RANGE", ["int32=N", "int64=N+3", "int32=1"], {}, "not known"),
    ("RANGE", ["int32=N", "int32=N+3", ""], {}, "not known"),
    ("RANGE", ["int32=N", "int32=N+3"], {}, "not known"),
    ("RANGE", ["int32=N", "int32=N+3", "int32=1", "int32=1"], {}, "not known"),
    ("GATHER", ["int32{2,N,5}", "int32{2,0}"], {}, "{5,2}"),
    ("GATHER", ["int32{2,N,5}", "int32=1"], {}, "=N"),
    ("GATHER", ["int32{2,N,5}", "int32{3}"], {}, "not known"),
    ("GATHER", ["int32{2,N,5}", "int32{-1}"], {}, "not known"),
    ("GATHER", ["int32{2,N,5}", "int32{0,3}"], {}, "not known"),
    ("GATHER", ["int32{2,N,5}", "int32{0}"], {"axis": 1}, "not known"),
    ("GATHER", ["int32{2,N,5}", "int32{0}"], {"batchDims": 1}, "not known"),
    ("GATHER", ["int32=N", "int32{0}"], {}, "not known"),
    ("GATHER", ["int32{2,N,5}", "int32[1]"], {}, "not known"),
    ("GATHER", ["int32[3]", "int32{0}"], {}, "not known"),
    ("BROADCAST_ARGS", ["int32{N,1}", "int32{4}"], {}, "{N,4}"),
    ("BROADCAST_ARGS", ["int32{N-1,1}", "int32{4}"], {}, "not known"),
    ("BROADCAST_ARGS", ["int32{4}", "int32{N-1,1}"], {}, "not known"),
    ("BROADCAST_ARGS", ["int32=4", "int32{4}"], {}, "not known"),
]  # fmt: skip


@pytest.mark.parametrize(("op", "operands", "options", "expected"), INTEGERS)
def test_integers_of_a_result(op: str, operands: list[str], options: Options, expected: str) -> None:
    assert integers(viewed(call(op, operands, **options))) == expected


def test_products_of_segments_are_of_the_elements_type() -> None:
    given = call("UNSORTED_SEGMENT_PROD", ["int64{2,N,5}", *THREE[1:]], "int64")
    assert integers(viewed(given)) == "{10,N}"


def test_more_segments_than_are_read_are_not_followed() -> None:
    rows = f"int32{{{MOST}}}"
    for count, known in ((MOST_ELEMENTS, True), (MOST_ELEMENTS + 1, False)):
        found = viewed(call("UNSORTED_SEGMENT_PROD", [rows, rows, f"int32={count}"]))
        assert (integers(found) != "not known") == known


# --- small constants --------------------------------------------------------------------------------------------------

Array = np.ndarray[Any, Any]
I32 = np.int32
FOLDED: list[tuple[str, list[Array], str, Options, object]] = [
    ("SUM", [np.int64([[1, 2], [3, 4]]), I32([1])], "int64", {}, [3, 7]),
    ("REDUCE_MAX", [np.float32([[1, 2], [3, 4]]), I32(0)], "float32", {"keepDims": True}, [[3, 4]]),
    ("REDUCE_MIN", [np.float32([[1, 2], [3, 4]]), I32(0)], "float32", {}, [1, 2]),
    ("REDUCE_PROD", [np.int32([[1, 2], [3, 4]]), I32([0, 1])], "int32", {}, 24),
    ("SUM", [np.int32([[1, 2], [3, 4]]), I32([[1]])], "int32", {}, None),
    ("SUM", [np.int16([[1, 2], [3, 4]]), I32([1])], "int16", {}, None),
    ("SUM", [np.int64([[1, 2], [3, 4]]), np.int64([1])], "int64", {}, None),
    ("SUM", [np.int32([[1, 2], [3, 4]]), I32([1])], "int64", {}, None),
    ("GATHER", [np.float32([[1, 2, 3], [4, 5, 6]]), I32([2, 0])], "float32", {"axis": 1}, [[3, 1], [6, 4]]),
    ("GATHER", [np.float32([1, 2]), I32([-1])], "float32", {}, None),
    ("GATHER", [np.float32([1, 2]), I32([2])], "float32", {}, None),
    ("GATHER", [np.float32([[1, 2]]), I32([[0]])], "float32", {"axis": 1, "batchDims": 1}, None),
    ("GATHER", [np.int64([[3, 4]]), np.int64([0])], "int64", {"axis": 1}, None),
    ("RANGE", [I32(1), I32(7), I32(2)], "int32", {}, [1, 3, 5]),
    ("RANGE", [I32(7), I32(1), I32(-2)], "int32", {}, [7, 5, 3]),
    ("RANGE", [I32(1), I32(7), I32(-2)], "int32", {}, None),
    ("RANGE", [I32(7), I32(1), I32(2)], "int32", {}, None),
    ("RANGE", [I32([1]), I32(7), I32(2)], "int32", {}, None),
    ("RANGE", [I32(1), I32([7]), I32(2)], "int32", {}, None),
    ("RANGE", [I32(1), I32(7), np.int64(2)], "int32", {}, None),
    ("CAST", [np.float32([1.5, -2.5])], "int32", {"inDataType": 0, "outDataType": INT32}, [1, -2]),
    ("CAST", [np.float32([1.5, -2.5])], "int32", {"inDataType": 99, "outDataType": INT32}, None),
    ("CAST", [np.float32([1.5, -2.5])], "int32", {"inDataType": 0, "outDataType": -1}, None),
    ("ADD", [np.int32([1, 2]), I32([3, 4])], "int32", {}, [4, 6]),
    ("ADD", [np.int32([1, 2]), I32([3, 4])], "int32", {"fusedActivationFunction": 1}, None),
]  # fmt: skip


def of_constants(op: str, arrays: Sequence[Array], result: str, **options: object) -> tuple[Constants, Call]:
    """Return a call whose operands are constants."""
    given = call(op, [f"{array.dtype.name}[]" for array in arrays], result, **options)
    constants = Constants(given.table)
    return constants, replace(given, views=[constant_folding.as_constant(constants, array, "c") for array in arrays])


@pytest.mark.parametrize(("op", "arrays", "result", "options", "expected"), FOLDED)
def test_what_is_computed_of_constants(
    op: str, arrays: list[Array], result: str, options: Options, expected: object
) -> None:
    found = computed(*of_constants(op, arrays, result, **options))
    if expected is None:
        assert found is None
        return
    array = constant_folding.constant_array(found)
    assert array is not None
    assert (array.dtype.name, array.tolist()) == (result, expected)


@pytest.mark.parametrize(
    ("rows", "axis", "count", "computes"),
    [(2, 1, constant_folding.MOST // 2, True), (2, 1, constant_folding.MOST // 2 + 1, False), (2, 0, 9, True)],
)
def test_no_more_elements_are_gathered_than_constants_have(rows: int, axis: int, count: int, computes: bool) -> None:
    data = np.arange(3 * rows, dtype=np.int32).reshape(rows, 3)
    found = computed(*of_constants("GATHER", [data, np.arange(count, dtype=np.int32) % 2], "int32", axis=axis))
    assert (found is not None) == computes
    assert found is None or found.sizes == ((rows, count) if axis else (count, 3))


@pytest.mark.parametrize("step", [2, -2])
def test_a_range_from_a_number_to_itself_holds_none(step: int) -> None:
    found = computed(*of_constants("RANGE", [I32(7), I32(7), I32(step)], "int32"))
    assert known(found).sizes == (0,)


@pytest.mark.parametrize("index", [0, 1, 2], ids=["the data", "the axes", "the result"])
def test_nothing_is_computed_of_quantized_tensors(index: int) -> None:
    constants, given = of_constants("SUM", [np.int32([1, 2]), np.int32([0])], "int32")
    assert computed(constants, given) is not None
    tensors = [*given.inputs, given.result]
    tensors[index] = known(tensors[index])._replace(quantization=QUANTIZED)
    assert computed(constants, replace(given, inputs=tensors[:2], result=known(tensors[2]))) is None


WHOLE: list[tuple[float, str]] = [
    (8, "8"), (8.5, "*"), (float(2**24 - 1), str(2**24 - 1)), (float(2**24), "*"), (-float(2**24), "*"), (-3, "0"),
]  # fmt: skip


@pytest.mark.parametrize(("limit", "expected"), WHOLE)
def test_a_range_of_floats_counts_to_whole_numbers_that_float32_holds(limit: float, expected: str) -> None:
    _, given = of_constants("RANGE", [np.asarray(end, np.float32) for end in (0, limit, 1)], "float32")
    rule = OPERATORS["RANGE"].sizes
    assert rule is not None
    assert shown(rule(given)) == expected
    assert EXACT_IN_FLOAT32 not in given.table.assumptions


@pytest.mark.parametrize(
    ("operands", "expected", "assumes"),
    [
        (["float32=0", "float32=N", "float32=1"], "N", True),
        (["float32=0", "float32=8", "float32=1"], "8", False),
        (["int32=0", "int32=N", "int32=1"], "N", False),
        (["float32=0", "float32=N"], "*", False),
        (["float32=0", "float32=N", ""], "*", False),
        (["float32=0", "float64=N", "float32=1"], "*", False),
        (["float32=0", "float32{N}", "float32=1"], "*", False),
    ],
)
def test_a_range_of_floats_to_a_size_assumes_that_it_is_no_large_one(
    operands: list[str], expected: str, assumes: bool
) -> None:
    given = call("RANGE", operands, operands[0].partition("=")[0])
    assert shown(known(OPERATORS["RANGE"].sizes)(given)) == expected
    assert list(given.table.assumptions) == ([EXACT_IN_FLOAT32] if assumes else [])


# --- repeated elements ------------------------------------------------------------------------------------------------

FILLED: list[tuple[list[str], str]] = [
    (["int32{2,N}", "float32[]"], "2,N"),
    (["int32{1}", "float32[]"], "1"),
    (["int32{2,0}", "float32[]"], "*"),
    (["int32{2,-1}", "float32[]"], "*"),
    (["int32=2", "float32[]"], "*"),
    (["int32[2]", "float32[]"], "*"),
    (["int32{2,N}", "float32[1]"], "*"),
    (["int32{2,N}", "float64[]"], "*"),
    (["int32{2,N}", ""], "*"),
    (["int32{2,N}", "float32[]", "float32[]"], "*"),
    (["int32{2,N}"], "*"),
]


@pytest.mark.parametrize(("operands", "expected"), FILLED)
def test_a_fill_is_its_one_element_everywhere(operands: list[str], expected: str) -> None:
    given = call("FILL", operands, "float32")
    found = computed(Constants(given.table), given)
    assert shown(None if found is None else found.sizes) == expected
    if found is not None and found.sizes is not None:
        assert found == ProofValue(known(given.views[1]).core, (None,) * len(found.sizes), found.sizes)


@pytest.mark.parametrize(
    ("op", "operands"), [("FILL", ["int32{N-1}", "float32[]"]), ("TILE", ["float32[1]", "int32{N-1}"])]
)
def test_what_repeats_a_value_fails_where_a_number_is_negative(op: str, operands: list[str]) -> None:
    """In the second file such a number must be asked for by the first one too."""
    given = call(op, operands, "float32")
    given.table.close()
    assert (computed(Constants(given.table), given) or viewed(given)) is not None
    assert given.table.arithmetic.newly_needed is size_of(given.table, "N-1")


STRETCHED: list[tuple[str, list[str], Options, tuple[int | None, ...] | None, str]] = [
    ("BROADCAST_TO", ["float32[1,N]", "int32{4,2,N}"], {}, None, "4,2,N"),
    ("BROADCAST_TO", ["float32[3]", "int32{N-1}"], {}, None, "*"),
    ("BROADCAST_TO", ["float32[3]", "int32[2]"], {}, None, "*"),
    ("TILE", ["float32[1,N]", "int32{4,1}"], {}, None, "4,N"),
    ("TILE", ["float32[1,N]", "int32[2]"], {}, None, "*"),
    ("STABLEHLO_BROADCAST_IN_DIM", ["float32[3,1]"], {"broadcastDimensions": (2, 1)}, (4, 5, 3), "4,5,3"),
    ("STABLEHLO_BROADCAST_IN_DIM", ["float32[3,1]"], {"broadcastDimensions": (0, 2)}, (3, 4, 5), "3,4,5"),
    ("STABLEHLO_BROADCAST_IN_DIM", ["float32[3,1]"], {"broadcastDimensions": (0, 0)}, (3, 4), "*"),
    ("STABLEHLO_BROADCAST_IN_DIM", ["float32[3,1]"], {"broadcastDimensions": (0,)}, (3, 4), "*"),
    ("STABLEHLO_BROADCAST_IN_DIM", ["float32[3,1]"], {"broadcastDimensions": (0, 2)}, (3, 4), "*"),
    ("STABLEHLO_BROADCAST_IN_DIM", ["float32[3,1]"], {"broadcastDimensions": (-1, 0)}, (4, 3), "*"),
    ("STABLEHLO_BROADCAST_IN_DIM", ["float32[3,1]"], {"broadcastDimensions": (0, 1)}, (3, None), "*"),
    ("STABLEHLO_BROADCAST_IN_DIM", ["float32[3,1]"], {"broadcastDimensions": (0, 1)}, None, "*"),
    ("STABLEHLO_BROADCAST_IN_DIM", ["float32[3,1]"], {}, (3, 4), "*"),
    ("STABLEHLO_BROADCAST_IN_DIM", ["float32[*]"], {"broadcastDimensions": (0, 1)}, (3, 4), "*"),
]


@pytest.mark.parametrize(("op", "operands", "options", "dims", "expected"), STRETCHED)
def test_a_value_that_is_repeated_is_a_view(
    op: str, operands: list[str], options: Options, dims: tuple[int | None, ...] | None, expected: str
) -> None:
    given = call(op, operands, "float32", **options)
    found = viewed(replace(given, result=given.result._replace(dims=dims)))
    assert shown(None if found is None else found.sizes) == expected
    assert found is None or found.core is known(given.views[0]).core


def test_a_value_that_may_not_fit_its_target_is_another_value_of_the_targets_sizes() -> None:
    given = call("BROADCAST_TO", ["float32[N]", "int32{M}"], "float32")
    found = known(viewed(given))
    assert shown(found.sizes) == "M"
    assert found.core.key[:2] == ("stretch", known(given.views[0]).core)


def test_elements_of_less_than_a_byte_are_not_seen_stretched() -> None:
    assert viewed(call("BROADCAST_TO", ["int8[1]", "int32{3}"], "int8")) is not None
    assert viewed(call("BROADCAST_TO", ["int4[1]", "int32{3}"], "int4")) is None


RANKED: list[tuple[str, list[str], str]] = [
    ("BROADCAST_TO", ["float32[3]", "int32[3]"], "1,1,3"),
    ("BROADCAST_TO", ["float32[3]", "int32[2]"], "1,3"),
    ("BROADCAST_TO", ["float32[3]", "int32[1]"], "3"),
    ("BROADCAST_TO", ["float32[2,3]", "int32[1]"], "2,3"),
    ("BROADCAST_TO", ["float32[3]", "int32[N]"], "3"),
    ("BROADCAST_TO", ["float32[3]", "int32[*]"], "3"),
    ("BROADCAST_TO", ["float32[3]", "int32[3,1]"], "3"),
    ("BROADCAST_TO", ["float32[3]", ""], "3"),
    ("BROADCAST_TO", ["float32[3]", "int32[3]", "int32[3]"], "3"),
    ("BROADCAST_TO", ["float32[*]", "int32[3]"], "*"),
    ("TILE", ["float32[3]", "int32[3]"], "3"),
]


@pytest.mark.parametrize(("op", "operands", "expected"), RANKED)
def test_a_stretched_operand_is_lifted_to_the_rank_of_its_target(op: str, operands: list[str], expected: str) -> None:
    given = call(op, operands, "float32")
    first, *others = repeating.ranked(given.operator, given.views)
    assert shown(known(first).sizes) == expected
    assert others == [*given.views[1:]]
    assert known(first).core is known(given.views[0]).core
    assert value_of(known(first).core) == given.views[0]
