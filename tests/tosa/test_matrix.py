"""Hand-made TFLite models, operators x shapes x types, through target `tosa`, the converter and the reference model.

What every row owes is asked of LiteRT's reference kernels on the model as it was.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pytest

import graphfix
from graphfix.runtimes import tosa
from graphfix.runtimes.session import RefusedError
from tests.support.runtimes.tosa_loop import fed, feeds_of, litert_reference, prepared, tflite, validated
from tests.support.tiers import in_turn, of_ci

if TYPE_CHECKING:
    from pathlib import Path


pytestmark = pytest.mark.tosa

PAIRS = {
    "row under rank 3": ("[2,3,4]", "[4]", "[2,3,4]"),
    "row first": ("[4]", "[2,3,4]", "[2,3,4]"),
    "scalar second": ("[2,3]", "[]", "[2,3]"),
    "scalar first": ("[]", "[2,3]", "[2,3]"),
    "units of equal rank": ("[2,3,4]", "[1,1,4]", "[2,3,4]"),
    "two-sided": ("[2,1,4]", "[1,3,4]", "[2,3,4]"),
    "two-sided of two ranks": ("[2,1,4]", "[3,1]", "[2,3,4]"),
    "alternating": ("[2,1,3,1]", "[5,1,4]", "[2,5,3,4]"),
    "rank 5": ("[1,2,1,3,4]", "[2,1,4]", "[1,2,2,3,4]"),
    "rank 6": ("[2,1,2,1,2,3]", "[2,1,3]", "[2,1,2,2,2,3]"),
    "equal": ("[2,3,4]", "[2,3,4]", "[2,3,4]"),
}
"""The shapes of both operands and of the result."""
ALIKE = {
    "float32": "ADD SUB MUL DIV MAXIMUM MINIMUM SQUARED_DIFFERENCE FLOOR_DIV",
    "int32": "ADD SUB MUL MAXIMUM MINIMUM SQUARED_DIFFERENCE FLOOR_DIV",
    "int8": "ADD SUB MUL MAXIMUM MINIMUM SQUARED_DIFFERENCE",
    "int16": "ADD SUB MUL",
    "bool": "LOGICAL_AND LOGICAL_OR",
}
"""Type -> the operators whose result has it too."""
COMPARING = "LESS LESS_EQUAL GREATER GREATER_EQUAL EQUAL NOT_EQUAL"
COMPARED = ("float32", "int32")


@dataclass(frozen=True)
class Row:
    """A model of one operator."""

    name: str
    text: str
    tolerance: float = 1e-5
    """How far a float may be off, as a part of the result's range."""


MENDED = (
    Row("PRELU, alpha [5]", "y[2,3,4,5] = PRELU(x[2,3,4,5], a:const[5])"),
    Row("PRELU, alpha []", "y[2,3,4,5] = PRELU(x[2,3,4,5], a:const[])"),
    Row("PRELU, alpha [1]", "y[2,3,4,5] = PRELU(x[2,3,4,5], a:const[1])"),
    Row("PRELU, alpha [1,1,1,5]", "y[2,3,4,5] = PRELU(x[2,3,4,5], a:const[1,1,1,5])"),
    Row("PRELU, int8, alpha [5]", "y:int8[2,3,4,5] = PRELU(x:int8[2,3,4,5], a:const:int8[5])"),
    Row("BATCH_MATMUL, a unit batch", "y[2,3,5] = BATCH_MATMUL(a[2,3,4], b[1,4,5])"),
    Row("BATCH_MATMUL, a constant of unit batch", "y[2,3,5] = BATCH_MATMUL(a[2,3,4], b:const[1,4,5])"),
    Row("BATCH_MATMUL, a unit batch first", "y[2,3,5] = BATCH_MATMUL(a[1,3,4], b[2,4,5])"),
    Row("BATCH_MATMUL, [6,2] and [1,2]", "y[6,2,3,5] = BATCH_MATMUL(a[6,2,3,4], b[1,2,4,5])"),
    Row("BATCH_MATMUL, [6,2] and [1,1]", "y[6,2,3,5] = BATCH_MATMUL(a[6,2,3,4], b[1,1,4,5])"),
    Row("BATCH_MATMUL, two-sided", "y[6,2,3,5] = BATCH_MATMUL(a[6,1,3,4], b[1,2,4,5])"),
    Row("BATCH_MATMUL, int8, a unit batch", "y:int8[2,3,5] = BATCH_MATMUL(a:int8[2,3,4], b:int8[1,4,5])"),
    Row("FLOOR_DIV, int32, row first", "y:int32[2,3,4] = FLOOR_DIV(a:int32[4], b:int32[2,3,4])"),
    Row("FLOOR_DIV, int32, scalar first", "y:int32[2,3,4] = FLOOR_DIV(a:int32[], b:int32[2,3,4])"),
    Row("FLOOR_DIV, int32, units first", "y:int32[2,3,4] = FLOOR_DIV(a:int32[2,1,4], b:int32[2,3,4])"),
    Row("FLOOR_DIV, int32, two-sided", "y:int32[2,3,4] = FLOOR_DIV(a:int32[2,1,4], b:int32[1,3,4])"),
    Row("FLOOR_MOD, int32", "y:int32[2,3] = FLOOR_MOD(a:int32[2,3], b:int32[2,3])"),
    Row("SELECT, a vector as condition", "y[2,3,4] = SELECT(c:bool[2], a[2,3,4], b[2,3,4])"),
    Row(
        "RFFT2D of rank 2",
        "f:complex64[4,5] = RFFT2D(x[4,8], n:const:int32[2]{4,8})\ny[4,5] = REAL(f)",
    ),
    Row(
        "RFFT2D of rank 4",
        "f:complex64[1,2,4,5] = RFFT2D(x[1,2,4,8], n:const:int32[2]{4,8})\ny[1,2,4,5] = IMAG(f)",
    ),
    Row(
        "RFFT2D, then CAST",
        "f:complex64[2,4,5] = RFFT2D(x[2,4,8], n:const:int32[2]{4,8})\n"
        "y[2,4,5] = CAST(f, in_data_type=COMPLEX64, out_data_type=FLOAT32)",
    ),
    Row("POW, exponent 2", "y[2,3] = POW(x[2,3], e:const[]{2.0})"),
    Row("a free batch", "y[N,3,4] = ADD(a[N,3,4], b[4])"),
    Row("a free row of rank 1", "y[N] = ADD(a[N], b:const[1])"),
    Row("a free batch and a constant matrix", "y[N,3,5] = BATCH_MATMUL(a[N,3,4], b:const[4,5])"),
)
"""What the converter can't read, or reads wrongly, before the target is applied."""

KEPT = (
    Row("PRELU, alpha [1,1,5]", "y[2,3,4,5] = PRELU(x[2,3,4,5], a:const[1,1,5])"),
    Row("PRELU, alpha [3,4,5]", "y[2,3,4,5] = PRELU(x[2,3,4,5], a:const[3,4,5])"),
    Row("PRELU, alpha given at run time", "y[2,3,4,5] = PRELU(x[2,3,4,5], a[1,1,5])"),
    Row("BATCH_MATMUL, a matrix second", "y[2,3,5] = BATCH_MATMUL(a[2,3,4], b[4,5])"),
    Row("BATCH_MATMUL, a matrix first", "y[2,3,5] = BATCH_MATMUL(a[3,4], b[2,4,5])"),
    Row("BATCH_MATMUL, a missing batch", "y[6,2,3,5] = BATCH_MATMUL(a[6,2,3,4], b[2,4,5])"),
    Row("BATCH_MATMUL, a matrix under rank 4", "y[6,2,3,5] = BATCH_MATMUL(a[6,2,3,4], b[4,5])"),
    Row("BATCH_MATMUL, equal batches", "y[2,3,5] = BATCH_MATMUL(a[2,3,4], b[2,4,5])"),
    Row("BATCH_MATMUL, transposed", "y[2,3,5] = BATCH_MATMUL(a[2,4,3], b[2,5,4], adj_x=True, adj_y=True)"),
    Row("BATCH_MATMUL, int8", "y:int8[2,3,5] = BATCH_MATMUL(a:int8[2,3,4], b:int8[4,5])"),
    Row("SELECT, a whole condition", "y[2,3,4] = SELECT(c:bool[2,3,4], a[2,3,4], b[2,3,4])"),
    Row("SELECT, a scalar condition", "y[2,3,4] = SELECT(c:bool[], a[2,3,4], b[2,3,4])"),
    Row("SELECT_V2, mixed ranks", "y[2,3,4] = SELECT_V2(c:bool[3,1], a[2,1,4], b[])"),
    Row("SELECT_V2, int8", "y:int8[2,3,4] = SELECT_V2(c:bool[4], a:int8[2,3,4], b:int8[1,1,4])"),
    Row("RFFT2D of rank 3", "f:complex64[2,4,5] = RFFT2D(x[2,4,8], n:const:int32[2]{4,8})\ny[2,4,5] = REAL(f)"),
    Row("BROADCAST_TO", "y[2,3] = BROADCAST_TO(a[3], s:const:int32[2]{2,3})"),
    Row("a constant second", "y[2,3,4] = MUL(a[2,3,4], b:const[3,1])"),
    Row("a fused activation", "y[2,3,4] = SUB(a[2,3,4], b[4], fused_activation_function=RELU)"),
    Row("equal ATAN2", "y[2,3,4] = ATAN2(a[2,3,4], b[2,3,4])", tolerance=1e-3),
)
"""What works before, and must not break."""

NAMED = (
    ("rank 7", "y[1,2,1,2,1,2,3] = ADD(a[1,2,1,2,1,2,3], b[3])", "GF301"),
    ("uint8", "y:uint8[2,3] = ADD(a:uint8[2,3], b:uint8[2,3])", "GF305"),
    ("int64", "y:int64[2,3] = ADD(a:int64[2,3], b:int64[3])", "GF305"),
    ("BROADCAST_TO of int64", "y:int64[2,3] = BROADCAST_TO(a:int64[3], s:const:int32[2]{2,3})", "GF305"),
    ("int8 compared", "y:bool[2,3] = LESS(a:int8[2,3], b:int8[3])", "GF305"),
    ("int16 compared", "y:bool[2,3] = EQUAL(a:int16[2,3], b:int16[3])", "GF305"),
    ("RIGHT_SHIFT", "y:int32[2,3] = RIGHT_SHIFT(a:int32[2,3], b:int32[2,3])", "GF305"),
    ("no elements", "y[0,3] = ADD(a[0,3], b[0,3])", "GF305"),
    ("FLOOR_MOD", "y[2,3,4] = FLOOR_MOD(a[2,3,4], b[2,3,4])", "GF305"),
    ("POW of any base", "y[2,3] = POW(a[2,3], b[2,3])", "GF305"),
)
"""What TOSA can't take, whatever the form."""


def combined(dtype: str, pair: str) -> str:
    """Every operator of a type on the same two operands, each with an output of its own."""
    a, b, y = PAIRS[pair]
    alike = [f"{op.lower()}:{dtype}{y} = {op}(a:{dtype}{a}, b:{dtype}{b})" for op in ALIKE[dtype].split()]
    compared = COMPARING.split() if dtype in COMPARED else []
    return "\n".join(alike + [f"{op.lower()}:bool{y} = {op}(a:{dtype}{a}, b:{dtype}{b})" for op in compared])


@pytest.mark.parametrize(("dtype", "pair"), in_turn(of_ci(ALIKE), PAIRS, share=2))
def test_elementwise_operators_convert_and_compute_the_same_for_every_spelling(
    dtype: str, pair: str, tmp_path: Path
) -> None:
    assert_the_same(tflite(tmp_path, combined(dtype, pair)), 1e-5)


@pytest.mark.ci
@pytest.mark.parametrize("row", MENDED, ids=lambda row: row.name)
def test_what_the_converter_can_not_read_is_mended(row: Row, tmp_path: Path) -> None:
    model = tflite(tmp_path, row.text)
    assert trouble(model, model, row.tolerance) is not None, (
        "it works as it is: this row belongs to those that are kept"
    )
    assert_the_same(model, row.tolerance)


@pytest.mark.ci
@pytest.mark.parametrize("row", KEPT, ids=lambda row: row.name)
def test_what_worked_before_works_after(row: Row, tmp_path: Path) -> None:
    assert_the_same(tflite(tmp_path, row.text), row.tolerance)


@pytest.mark.ci
@pytest.mark.parametrize("row", KEPT, ids=lambda row: row.name)
def test_what_is_listed_as_working_does(row: Row, tmp_path: Path) -> None:
    model = tflite(tmp_path, row.text)
    assert trouble(model, model, row.tolerance) is None


@pytest.mark.ci
@pytest.mark.parametrize(
    "shapes", [("[4]", "[2,3,4]"), ("[1,1,4]", "[2,3,4]"), ("[2,3,4]", "[]"), ("[2,1,4]", "[3,1]")]
)
def test_atan2_is_stretched_to_what_arctan2_says(shapes: tuple[str, str], tmp_path: Path) -> None:
    # LiteRT itself refuses or misreads an ATAN2 that broadcasts, so numpy is asked
    model = tflite(tmp_path, f"y[2,3,4] = ATAN2(a{shapes[0]}, b{shapes[1]})")
    fixed = prepared(model, check_result=False)
    inputs = feeds_of(model, seed=4)
    assert validated(fixed).errors == ()
    (got,) = tosa.run(fixed.with_suffix(".tosa"), list(inputs.values())).outputs
    assert np.abs(got - np.arctan2(inputs["a"], inputs["b"])).max() < 1e-3


@pytest.mark.ci
@pytest.mark.parametrize(("text", "code"), [pytest.param(*row[1:], id=row[0]) for row in NAMED])
def test_what_tosa_can_not_take_is_named_beforehand(text: str, code: str, tmp_path: Path) -> None:
    model = tflite(tmp_path, text)
    found = graphfix.check(model, target="tosa", bind_defaults=True).sites
    assert code in {site.code for site in found if site.status == "left"}
    assert trouble(model, prepared(model, check_result=False), 1e-5) is not None


# --- the loop -------------------------------------------------------------------------------------------------------


def assert_the_same(model: Path, tolerance: float) -> None:
    """Fix, verify bit by bit, convert, validate, run."""
    assert trouble(model, prepared(model), tolerance) is None


def trouble(original: Path, model: Path, tolerance: float) -> str | None:
    """Why `model` does not become TOSA that computes what LiteRT says of `original`, or None."""
    try:
        errors = validated(model).errors
    except RefusedError as error:
        return str(error)
    if errors:
        return errors[0]
    inputs = feeds_of(original, seed=3)
    wanted = litert_reference(original, inputs)
    try:
        answer = tosa.run(model.with_suffix(".tosa"), list(fed(model, inputs)))
    except RefusedError as error:
        return str(error)
    if answer.status != "valid":
        return answer.status
    wrong = [
        name for (name, want), got in zip(wanted.items(), answer.outputs, strict=True) if off(want, got, tolerance)
    ]
    return f"wrong: {', '.join(wrong)}" if wrong else None


def off(want: np.ndarray, got: np.ndarray, tolerance: float) -> bool:
    if want.shape != got.shape:
        return True
    if want.dtype.kind == "f":
        return not np.allclose(got, want, rtol=0, atol=tolerance * max(float(np.ptp(want)), 1e-3))
    # a rescaled int8 or int16 may be rounded the other way at a half
    slack = 1 if want.dtype.itemsize < 4 and want.dtype.kind == "i" else 0
    return int(np.abs(want.astype(np.int64) - got.astype(np.int64)).max()) > slack
