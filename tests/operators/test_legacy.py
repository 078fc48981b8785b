"""The catalogue's rows of operator sets 1 to 6, asked of onnx.reference, as onnxruntime has no kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx
import pytest

from graphfix.operators import row
from graphfix.operators.row import Row
from tests.support.runtimes.one_node import Array, Key, NoKernel, numbers, reference, run

if TYPE_CHECKING:
    from collections.abc import Callable

PAIRS: dict[str, tuple[Callable[[Array, Array], Array], str]] = {
    "Add": (np.add, "float32 int64"),
    "Sub": (np.subtract, "float32 int64"),
    "Mul": (np.multiply, "float32 int64"),
    "Div": (np.divide, "float32 float64"),
    "And": (np.logical_and, "bool"),
    "Or": (np.logical_or, "bool"),
    "Xor": (np.logical_xor, "bool"),
    "Equal": (np.equal, "int32 int64"),
    "Greater": (np.greater, "float32 float64"),
    "Less": (np.less, "float32 float64"),
}
SUFFIXES: tuple[tuple[tuple[int, ...], dict[str, int]], ...] = (
    ((4,), {}),
    ((3, 4), {}),
    ((1,), {}),
    ((1, 1), {"axis": 0}),
    ((4,), {"axis": -1}),
    ((3, 4), {"axis": 1}),
)
"""Shapes of B under [2,3,4] that align at the end: onnx.reference evaluates no other alignment."""
DOCUMENTED = "shape(A) = (2, 3, 4, 5), shape(B) = (3, 4), with axis=1"
"""What the schemas' own text says of the alignment that the reference does not evaluate."""

ARITHMETIC = {"Add", "Sub", "Mul", "Div", "Pow"}
"""The others refer to the same attribute without an example."""

ASKED: set[Key] = {("", op, 1) for op in (*PAIRS, "Gemm", "PRelu")}
"""The rows that this file asks of onnx.reference; Pow's attributes it refuses."""


def row_of(op: str, version: int) -> Row:
    found = row("", op, version)
    assert found is not None
    assert (found.style, found.until) == ("legacy", 6)
    return found


@pytest.mark.parametrize("op", PAIRS)
def test_operand_1_is_broadcast_onto_operand_0_where_the_attribute_says_so(op: str) -> None:
    function, kinds = PAIRS[op]
    for version in (1, 6):
        entry = row_of(op, version)
        assert (entry.onto, [operand.index for operand in entry.operands]) == (0, [1])
        for kind in kinds.split():
            for shape, axis in SUFFIXES:
                a, b = numbers(kind, 2, 3, 4), numbers(kind, *shape, seed=1)
                (result,) = reference(op, a, b, opset=version, broadcast=1, **axis)
                np.testing.assert_array_equal(result, function(a, b), err_msg=f"{version} {kind} {shape}")


@pytest.mark.parametrize("op", [*PAIRS, "Pow"])
def test_the_specification_aligns_operand_1_at_the_attribute_axis(op: str) -> None:
    row_of(op, 1)
    schema = onnx.defs.get_schema(op, 6, "")
    assert {"axis", "broadcast"} <= set(schema.attributes)
    text = " ".join(schema.doc.split())
    assert "right-hand-side argument will be broadcasted to match the shape of left-hand-side argument" in text
    assert (DOCUMENTED in text) == (op in ARITHMETIC)


@pytest.mark.parametrize("shape", [(), (1,), (5,), (1, 5), (3, 1), (3, 5)])
def test_gemm_broadcasts_c_onto_the_product(shape: tuple[int, ...]) -> None:
    a, b, c = numbers("float32", 3, 4), numbers("float32", 4, 5), numbers("float32", *shape)
    (result,) = reference("Gemm", a, b, c, opset=6, broadcast=1)
    np.testing.assert_array_equal(result, a @ b + c)
    entry = row_of("Gemm", 6)
    assert (entry.product, entry.max_rank, [operand.index for operand in entry.operands]) == ((0, 1), 2, [2])


@pytest.mark.parametrize("version", [1, 6])
@pytest.mark.parametrize("channels", [1, 3])
def test_a_slope_of_several_elements_follows_the_channel_axis(version: int, channels: int) -> None:
    x, slope = numbers("float32", 2, 3, 4), numbers("float32", channels)
    entry = row_of("PRelu", version)
    assert entry.channel_axis == 1
    sizes = [1] * x.ndim
    sizes[entry.channel_axis] = channels
    (result,) = reference("PRelu", x, slope, opset=version)
    np.testing.assert_array_equal(result, np.where(x < 0, x * slope.reshape(sizes), x))


@pytest.mark.parametrize("op", [*PAIRS, "Pow", "PRelu"])
@pytest.mark.parametrize("version", [1, 6])
def test_onnxruntime_has_no_kernel_that_could_be_asked(op: str, version: int) -> None:
    kind = PAIRS[op][1].split()[0] if op in PAIRS else "float32"
    attributes = {} if op == "PRelu" else {"broadcast": 1}
    with pytest.raises(NoKernel):
        run(op, numbers(kind, 2, 3), numbers(kind, 3), opset=version, **attributes)


def test_version_7_ends_the_legacy_rows() -> None:
    for op in (*PAIRS, "Pow", "PRelu", "Gemm"):
        modern = row("", op, 7)
        assert modern is not None
        assert modern.style in {"multidirectional", "unidirectional", "gemm"}
        assert modern.since == row_of(op, 6).until + 1  # type: ignore[operator]  # row_of says that until is 6
