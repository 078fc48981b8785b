"""What target tosa rewrites in TFLite models is proved, and the same with a fault in it is not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema

from graphfix.checker.proof import prove
from tests.support.by_runs import verify
from tests.support.faults.tflite import planted as tflite_faults
from tests.support.tflite.written import G, Op, T, tflite

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def ints(*numbers: int) -> np.ndarray:
    return np.array(numbers, np.int32)


def graph(inputs: Sequence[T], rest: Sequence[T], ops: Sequence[Op], shape: Sequence[int]) -> G:
    """A graph whose output is `y`, of float32."""
    return G([*inputs, *rest, T("y", shape)], ops, [tensor.name for tensor in inputs], ["y"])


@dataclass(frozen=True)
class Case:
    """One computation in two forms, and forms that compute another thing."""

    before: G
    after: G
    faults: tuple[G, ...]


# --- SELECT -------------------------------------------------------------------------------------------------------

PICKED = [T("c", [2], "bool"), T("a", [2, 3, 2]), T("b", [2, 3, 2])]


def chosen(lifted: Sequence[int], *operands: str) -> G:
    """SELECT_V2 by the condition with these sizes."""
    return graph(
        PICKED,
        [T("l", lifted, "bool"), T("s", dtype="int32", data=ints(*lifted))],
        [Op("RESHAPE", ["c", "s"], ["l"], {"newShape": list(lifted)}), Op("SELECT_V2", ["l", *operands], ["y"])],
        [2, 3, 2],
    )


SELECT = Case(
    graph(PICKED, [], [Op("SELECT", ["c", "a", "b"], ["y"])], [2, 3, 2]),
    chosen([2, 1, 1], "a", "b"),
    (chosen([1, 1, 2], "a", "b"), chosen([2], "a", "b"), chosen([2, 1, 1], "b", "a")),
)

# --- RFFT2D -------------------------------------------------------------------------------------------------------

SIGNAL = [T("x", [1, 3, 4, 8])]


def spectrum(flat: Sequence[int], part: str, *, reverse: bool = False) -> G:
    """RFFT2D at rank 3, and a part of its result, at rank 4 again."""
    sizes = [*flat[:-1], flat[-1] // 2 + 1]
    tensors = [
        T("s", dtype="int32", data=ints(*flat)),
        T("n", dtype="int32", data=ints(4, 8)),
        T("t", dtype="int32", data=ints(1, 3, 4, 5)),
        T("v", dtype="int32", data=ints(0)),
        T("f", flat),
        T("r", flat),
        T("z", sizes, "complex64"),
        T("p", sizes),
    ]
    read = "r" if reverse else "f"
    turned = [Op("REVERSE_V2", ["f", "v"], ["r"])] if reverse else []
    ops = [
        Op("RESHAPE", ["x", "s"], ["f"], {"newShape": list(flat)}),
        *turned,
        Op("RFFT2D", [read, "n"], ["z"]),
        Op(part, ["z"], ["p"]),
        Op("RESHAPE", ["p", "t"], ["y"], {"newShape": [1, 3, 4, 5]}),
    ]
    return graph(SIGNAL, [each for each in tensors if reverse or each.name not in ("v", "r")], ops, [1, 3, 4, 5])


TRANSFORM = Case(
    graph(
        SIGNAL,
        [T("n", dtype="int32", data=ints(4, 8)), T("z", [1, 3, 4, 5], "complex64")],
        [Op("RFFT2D", ["x", "n"], ["z"]), Op("CAST", ["z"], ["y"])],
        [1, 3, 4, 5],
    ),
    spectrum([3, 4, 8], "REAL"),
    (spectrum([3, 4, 8], "IMAG"), spectrum([3, 4, 8], "REAL", reverse=True)),
)

# --- shape arithmetic ---------------------------------------------------------------------------------------------

ROWS = [T("x", [2, 3, 4])]


def reshaped(*sizes: int) -> G:
    """One RESHAPE."""
    tensors = [T("s", dtype="int32", data=ints(*sizes))]
    return graph(ROWS, tensors, [Op("RESHAPE", ["x", "s"], ["y"], {"newShape": list(sizes)})], sizes)


COMPUTED = Case(
    graph(
        ROWS,
        [
            T("h", [3], "int32"),
            T("one", dtype="int32", data=ints(1)),
            T("three", dtype="int32", data=ints(3)),
            T("nought", dtype="int32", data=ints(0)),
            T("cut", [2], "int32"),
            T("many", [], "int32"),
            T("first", [], "int32"),
            T("s", [2], "int32"),
        ],
        [
            Op("SHAPE", ["x"], ["h"], {"outType": schema.TensorType.INT32}),
            Op("STRIDED_SLICE", ["h", "one", "three", "one"], ["cut"]),
            Op("REDUCE_PROD", ["cut", "nought"], ["many"]),
            Op("STRIDED_SLICE", ["h", "nought", "one", "one"], ["first"], {"shrinkAxisMask": 1}),
            Op("PACK", ["first", "many"], ["s"], {"valuesCount": 2}),
            Op("RESHAPE", ["x", "s"], ["y"], {"newShape": [2, 12]}),
        ],
        [2, 12],
    ),
    reshaped(2, 12),
    (reshaped(12, 2), reshaped(3, 8)),
)


def added(numbers: np.ndarray) -> G:
    """Add a constant to x."""
    return graph(ROWS, [T("k", data=numbers.astype(np.float32))], [Op("ADD", ["x", "k"], ["y"])], [2, 3, 4])


COUNTED = Case(
    graph(
        ROWS,
        [
            T("zero", dtype="int32", data=np.int32(0)),
            T("four", dtype="int32", data=np.int32(4)),
            T("two", dtype="int32", data=np.int32(2)),
            T("step", dtype="int32", data=np.int32(1)),
            T("at", dtype="int32", data=ints(3, 0, 1, 2)),
            T("r", [4], "int32"),
            T("m", [4], "int32"),
            T("g", [4], "int32"),
            T("d", [4], "int32"),
            T("k", [4]),
        ],
        [
            Op("RANGE", ["zero", "four", "step"], ["r"]),
            Op("MUL", ["r", "two"], ["m"]),
            Op("GATHER", ["m", "at"], ["g"]),
            Op("SUB", ["g", "step"], ["d"]),
            Op("CAST", ["d"], ["k"]),
            Op("ADD", ["x", "k"], ["y"]),
        ],
        [2, 3, 4],
    ),
    added(np.array([5, -1, 1, 3])),
    (added(np.array([-1, 1, 3, 5])), added(np.array([-5, 1, -1, -3])), added(np.array([5, -1, 1, 3.0000003]))),
)
CASES = {"SELECT": SELECT, "RFFT2D": TRANSFORM, "a shape": COMPUTED, "numbers": COUNTED}


def saved(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("name", CASES)
def test_one_computation_in_two_forms_is_proved(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    before, after = (saved(tmp_path / f"{i}.tflite", tflite(g)) for i, g in enumerate((case.before, case.after)))
    assert prove(before, after, tflite=True).reason is None
    assert verify(before, after, runs=1).status == "equal"


@pytest.mark.parametrize("name", CASES)
def test_the_same_with_a_fault_is_not(name: str, tmp_path: Path) -> None:
    before = saved(tmp_path / "before.tflite", tflite(CASES[name].before))
    for index, fault in enumerate(CASES[name].faults):
        after = saved(tmp_path / f"{index}.tflite", tflite(fault))
        assert not prove(before, after, tflite=True).proved, index
        assert any(verify(before, after, runs=1, seed=seed).status != "equal" for seed in range(4)), index


def test_a_power_by_two_is_no_product(tmp_path: Path) -> None:
    """XNNPACK gives the largest float for the power that is above it, and infinity for the product."""
    square = graph(ROWS, [T("two", data=np.float32(2))], [Op("POW", ["x", "two"], ["y"])], [2, 3, 4])
    before = saved(tmp_path / "before.tflite", tflite(square))
    after = saved(tmp_path / "after.tflite", tflite(graph(ROWS, [], [Op("MUL", ["x", "x"], ["y"])], [2, 3, 4])))
    assert not prove(before, after, tflite=True).proved


# --- sparse constants ---------------------------------------------------------------------------------------------

DENSE = np.arange(1, 25, dtype=np.float32).reshape(4, 6) * (np.indices((4, 6)).sum(0) % 3 == 0)
WEIGHTS = [T("x", [4, 6])]


def sparse() -> bytes:
    """DENSE by rows, whose columns are listed."""
    kept = DENSE[DENSE != 0]
    graph_ = graph(
        WEIGHTS,
        [T("w", data=kept), T("d", [4, 6])],
        [Op("DENSIFY", ["w"], ["d"]), Op("ADD", ["x", "d"], ["y"])],
        [4, 6],
    )
    model = tflite_faults.unpacked(tflite(graph_))
    tensor = model.subgraphs[0].tensors[1]
    tensor.shape = np.array([4, 6], np.int32)
    rows, columns = schema.DimensionMetadataT(), schema.DimensionMetadataT()
    rows.format, rows.denseSize = schema.DimensionType.DENSE, 4
    columns.format = schema.DimensionType.SPARSE_CSR
    columns.arraySegmentsType = columns.arrayIndicesType = schema.SparseIndexVector.Int32Vector
    columns.arraySegments, columns.arrayIndices = schema.Int32VectorT(), schema.Int32VectorT()
    columns.arraySegments.values = np.concatenate([[0], np.cumsum((DENSE != 0).sum(1))]).astype(np.int32)
    columns.arrayIndices.values = np.nonzero(DENSE)[1].astype(np.int32)
    tensor.sparsity = schema.SparsityParametersT()
    tensor.sparsity.traversalOrder, tensor.sparsity.dimMetadata = np.array([0, 1], np.int32), [rows, columns]
    return tflite_faults.packed(model)


def dense(numbers: np.ndarray) -> bytes:
    return tflite(graph(WEIGHTS, [T("d", data=numbers)], [Op("ADD", ["x", "d"], ["y"])], [4, 6]))


def test_a_sparse_constant_is_what_it_is_unpacked_to(tmp_path: Path) -> None:
    before = saved(tmp_path / "before.tflite", sparse())
    after = saved(tmp_path / "after.tflite", dense(DENSE))
    assert prove(before, after, tflite=True).reason is None
    assert verify(before, after, runs=1).status == "equal"


@pytest.mark.parametrize("change", ["moved", "another", "signed"])
def test_a_sparse_constant_is_nothing_else(change: str, tmp_path: Path) -> None:
    numbers = DENSE.copy()
    if change == "moved":
        numbers[0] = np.roll(numbers[0], 1)
    elif change == "another":
        numbers[3, 3] += 1
    else:
        numbers[0, 1] = -0.0
    before = saved(tmp_path / "before.tflite", sparse())
    after = saved(tmp_path / "after.tflite", dense(numbers))
    assert not prove(before, after, tflite=True).proved
