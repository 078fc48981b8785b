"""What target tosa rewrites in TFLite models is proved, and the same with a fault in it is not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema

from models.builders.grammar import constant
from models.builders.tflite.text import model as tflite
from tests.support.by_runs import verify
from tests.support.faults.tflite import planted as tflite_faults
from tests.support.proving import prove

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True)
class Case:
    """One computation in two forms, and forms that compute another thing."""

    before: str
    after: str
    faults: tuple[str, ...]


# --- SELECT -------------------------------------------------------------------------------------------------------

PICKED = "subgraph main(c:bool[2], a[2,3,2], b[2,3,2]):"


def chosen(sizes: str, operands: str) -> str:
    """SELECT_V2 by the condition with these sizes."""
    return f"""{PICKED}
    l:bool[{sizes}] = RESHAPE(c, s:const:int32{{{sizes}}}, new_shape=[{sizes}])
    y[2,3,2] = SELECT_V2(l, {operands})
    """


SELECT = Case(
    f"{PICKED}\ny[2,3,2] = SELECT(c, a, b)",
    chosen("2,1,1", "a, b"),
    (chosen("1,1,2", "a, b"), chosen("2", "a, b"), chosen("2,1,1", "b, a")),
)

# --- RFFT2D -------------------------------------------------------------------------------------------------------


def spectrum(part: str, *, reverse: bool = False) -> str:
    """RFFT2D at rank 3, and a part of its result, at rank 4 again."""
    turned, read = ("r[3,4,8] = REVERSE_V2(f, v:const:int32{0})", "r") if reverse else ("", "f")
    return f"""
    f[3,4,8] = RESHAPE(x[1,3,4,8], s:const:int32{{3,4,8}}, new_shape=[3,4,8])
    {turned}
    z:complex64[3,4,5] = RFFT2D({read}, n:const:int32{{4,8}})
    p[3,4,5] = {part}(z)
    y[1,3,4,5] = RESHAPE(p, t:const:int32{{1,3,4,5}}, new_shape=[1,3,4,5])
    """


TRANSFORM = Case(
    "z:complex64[1,3,4,5] = RFFT2D(x[1,3,4,8], n:const:int32{4,8})\ny[1,3,4,5] = CAST(z)",
    spectrum("REAL"),
    (spectrum("IMAG"), spectrum("REAL", reverse=True)),
)

# --- shape arithmetic ---------------------------------------------------------------------------------------------


def reshaped(sizes: str) -> str:
    """One RESHAPE."""
    return f"y[{sizes}] = RESHAPE(x[2,3,4], s:const:int32{{{sizes}}}, new_shape=[{sizes}])"


COMPUTED = Case(
    """
    h:int32[3] = SHAPE(x[2,3,4], out_type=INT32)
    cut:int32[2] = STRIDED_SLICE(h, one:const:int32{1}, three:const:int32{3}, one)
    many:int32[] = REDUCE_PROD(cut, nought:const:int32{0})
    first:int32[] = STRIDED_SLICE(h, nought, one, one, shrink_axis_mask=1)
    s:int32[2] = PACK(first, many, values_count=2)
    y[2,12] = RESHAPE(x, s, new_shape=[2,12])
    """,
    reshaped("2,12"),
    (reshaped("12,2"), reshaped("3,8")),
)


def added(numbers: str) -> str:
    """Add a constant to x."""
    return f"y[2,3,4] = ADD(x[2,3,4], k:const:float32{{{numbers}}})"


COUNTED = Case(
    """
    r:int32[4] = RANGE(zero:const:int32[]{0}, four:const:int32[]{4}, step:const:int32[]{1})
    m:int32[4] = MUL(r, two:const:int32[]{2})
    g:int32[4] = GATHER(m, at:const:int32{3,0,1,2})
    d:int32[4] = SUB(g, step)
    k[4] = CAST(d)
    y[2,3,4] = ADD(x[2,3,4], k)
    """,
    added("5,-1,1,3"),
    (added("-1,1,3,5"), added("-5,1,-1,-3"), added("5,-1,1,3.0000003")),
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


@pytest.mark.parametrize("name", CASES)
def test_the_same_with_a_fault_is_not(name: str, tmp_path: Path) -> None:
    before = saved(tmp_path / "before.tflite", tflite(CASES[name].before))
    for index, fault in enumerate(CASES[name].faults):
        after = saved(tmp_path / f"{index}.tflite", tflite(fault))
        assert not prove(before, after, tflite=True).proved, index


@pytest.mark.ci
@pytest.mark.parametrize("name", CASES)
def test_runs_say_what_the_proof_says(name: str, tmp_path: Path) -> None:
    before = saved(tmp_path / "before.tflite", tflite(CASES[name].before))
    after = saved(tmp_path / "after.tflite", tflite(CASES[name].after))
    assert verify(before, after, runs=1).status == "equal"
    for index, fault in enumerate(CASES[name].faults):
        after.write_bytes(tflite(fault))
        assert any(verify(before, after, runs=1, seed=seed).status != "equal" for seed in range(4)), index


def test_a_power_by_two_is_no_product(tmp_path: Path) -> None:
    """XNNPACK gives the largest float for the power that is above it, and infinity for the product."""
    before = saved(tmp_path / "before.tflite", tflite("y[2,3,4] = POW(x[2,3,4], two:const[]{2.0})"))
    after = saved(tmp_path / "after.tflite", tflite("y[2,3,4] = MUL(x[2,3,4], x)"))
    assert not prove(before, after, tflite=True).proved


# --- sparse constants ---------------------------------------------------------------------------------------------

DENSE = np.arange(1, 25, dtype=np.float32).reshape(4, 6) * (np.indices((4, 6)).sum(0) % 3 == 0)


def sparse() -> bytes:
    """DENSE by rows, whose columns are listed."""
    kept = DENSE[DENSE != 0]
    model = tflite_faults.unpacked(tflite(f"d[4,6] = DENSIFY({constant('w', kept)})\ny[4,6] = ADD(x[4,6], d)"))
    tensor = model.subgraphs[0].tensors[0]
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
    return tflite(f"y[4,6] = ADD(x[4,6], {constant('d', numbers)})")


def test_a_sparse_constant_is_what_it_is_unpacked_to(tmp_path: Path) -> None:
    before = saved(tmp_path / "before.tflite", sparse())
    after = saved(tmp_path / "after.tflite", dense(DENSE))
    assert prove(before, after, tflite=True).reason is None
    assert verify(before, after, runs=1).status == "equal"


def test_a_sparse_constant_that_nobody_reads_may_stay(tmp_path: Path) -> None:
    """It has fewer bytes than its shape needs, which is no fault of it."""
    before = saved(tmp_path / "before.tflite", sparse())
    model = tflite_faults.unpacked(sparse())
    (graph,) = model.subgraphs
    del graph.operators[0]
    unpacked = next(each for each in graph.tensors if each.name == b"d")
    unpacked.buffer = len(model.buffers)
    model.buffers.append(schema.BufferT())
    model.buffers[-1].data = np.frombuffer(DENSE.tobytes(), np.uint8)
    after = saved(tmp_path / "after.tflite", tflite_faults.packed(model))
    assert prove(before, after, tflite=True).reason is None


def level(size: int = 0, columns: tuple[list[int], list[int]] | None = None) -> schema.DimensionMetadataT:
    """A level that is dense, or lists its coordinates."""
    made = schema.DimensionMetadataT()
    made.format, made.denseSize = schema.DimensionType.DENSE, size
    if columns is not None:
        made.format = schema.DimensionType.SPARSE_CSR
        made.arraySegmentsType = made.arrayIndicesType = schema.SparseIndexVector.Int32Vector
        made.arraySegments, made.arrayIndices = schema.Int32VectorT(), schema.Int32VectorT()
        made.arraySegments.values, made.arrayIndices.values = map(np.int32, columns)
    return made


EIGHT = np.arange(1, 9, dtype=np.float32).reshape(2, 2, 2)
LISTED = level(columns=([0, 1, 2], [1, 0]))
ROWS, COLUMNS = EIGHT, EIGHT.transpose(0, 2, 1)
BLOCKS = {
    "in the order of the axes": ((0, 1, 2, 3), (0, 1), (level(2), LISTED, level(2), level(2)), ROWS, True),
    "traversed by columns": ((0, 1, 3, 2), (0, 1), (level(2), LISTED, level(2), level(2)), COLUMNS, True),
    "of the axes in another order": ((0, 1, 2, 3), (1, 0), (level(2), LISTED, level(2), level(2)), COLUMNS, False),
    "in front of the axes": (
        (2, 3, 0, 1),
        (0, 1),
        (level(2), level(2), level(2), level(columns=(list(range(9)), [1, 0] * 4))),
        EIGHT.transpose(2, 0, 1),
        False,
    ),
    "of more than a file holds": (
        (0, 1, 2, 3),
        (0, 1),
        (level(2_000_000_000), LISTED, level(2), level(2)),
        ROWS,
        False,
    ),
}
"""How the blocks to the right and left are said to lie: the traversal, the axes, the levels; the blocks; if it is so.

Of what is false LiteRT makes other constants than the levels say, or none.
"""


@pytest.mark.parametrize("how", BLOCKS)
def test_blocks_are_unpacked_as_the_schema_has_them_or_not_at_all(how: str, tmp_path: Path) -> None:
    order, axes, levels, (first, second), taken = BLOCKS[how]
    model = tflite_faults.unpacked(
        tflite(f"d[4,4] = DENSIFY({constant('w', EIGHT.reshape(8))})\ny[4,4] = ADD(x[4,4], d)")
    )
    tensor = model.subgraphs[0].tensors[0]
    tensor.shape, tensor.sparsity = np.array([4, 4], np.int32), schema.SparsityParametersT()
    tensor.sparsity.traversalOrder, tensor.sparsity.blockMap = np.int32(order), np.int32(axes)
    tensor.sparsity.dimMetadata = list(levels)
    before = saved(tmp_path / "before.tflite", tflite_faults.packed(model))
    dense = np.zeros((4, 4), np.float32)
    dense[0:2, 2:4], dense[2:4, 0:2] = first, second
    after = saved(tmp_path / "after.tflite", tflite(f"y[4,4] = ADD(x[4,4], {constant('d', dense)})"))
    assert prove(before, after, tflite=True).proved is taken
    if taken:
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
