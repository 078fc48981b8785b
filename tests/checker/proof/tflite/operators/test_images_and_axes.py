"""The rules of windows, blocks, axes, arithmetic of sizes and selections: what they know of a result and what not."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeAlias

import numpy as np
import pytest

from graphfix.checker.proof.core.result import NO_SIZE_BESIDE_IS_0
from graphfix.checker.proof.core.terms import ProofValue
from graphfix.checker.proof.neutral import broadcast, constant_folding
from graphfix.checker.proof.neutral.constants import Constants
from graphfix.checker.proof.tflite.operators.registry import OPERATORS, unmoved, viewed
from graphfix.checker.proof.tflite.reading.operands import Call
from tests.support.tflite.rule_calls import call, integers, shown, size_of

Options: TypeAlias = dict[str, object]
Rows: TypeAlias = "list[list[int]] | np.ndarray"


def sizes(given: Call) -> str:
    """Print the sizes that an operator's rule knows."""
    rule = OPERATORS[given.operator.name].sizes
    assert rule is not None
    return shown(rule(given))


# --- windows ----------------------------------------------------------------------------------------------------------

STRIDES: Options = {"strideH": 2, "strideW": 3}
VALID: Options = {**STRIDES, "padding": 1, "dilationHFactor": 2, "dilationWFactor": 1}
POOL: Options = {**STRIDES, "filterHeight": 3, "filterWidth": 5}
X, W = "float32[N,7,20,2]", "float32[6,3,5,2]"
WINDOWS: list[tuple[str, list[str], Options, str]] = [
    ("CONV_2D", [X, W], STRIDES, "N,4,7,6"),
    ("CONV_2D", [X, W], VALID, "N,2,6,6"),
    ("CONV_2D", ["float32[N,5,20,2]", W], VALID, "N,1,6,6"),
    ("CONV_2D", ["float32[N,4,20,2]", W], VALID, "N,?,?,6"),
    ("CONV_2D", ["float32[N,7,4,2]", W], VALID, "N,?,?,6"),
    ("CONV_2D", ["float32[N,0,20,2]", W], STRIDES, "N,?,?,6"),
    ("CONV_2D", ["float32[N,1,1,2]", W], STRIDES, "N,1,1,6"),
    ("CONV_2D", ["float32[N,H,20,2]", W], STRIDES, "N,-floor((H)/2)+H,7,6"),
    ("CONV_2D", ["float32[N,7,H,2]", W], {"strideH": 1, "strideW": 1}, "N,7,H,6"),
    ("CONV_2D", ["float32[N,H,20,2]", W], VALID, "N,?,6,6"),
    ("CONV_2D", ["float32[N,H,20,2]", "float32[6,1,5,2]"], VALID, "N,-floor((H)/2)+H,6,6"),
    ("CONV_2D", [X, "float32[6,K,5,2]"], VALID, "N,?,6,6"),
    ("CONV_2D", ["float32[N,H,20,2]", "float32[6,K,5,2]"], STRIDES, "N,?,7,6"),
    ("CONV_2D", [X, W], {"strideW": 3}, "N,?,7,6"),
    ("CONV_2D", ["float32[N,H,20,2]", W], {"strideW": 3}, "N,?,7,6"),
    ("CONV_2D", [X, W], {"strideH": -1, "strideW": 3}, "N,?,7,6"),
    ("CONV_2D", ["float32[7,20,2]", W], STRIDES, "*"),
    ("CONV_2D", ["float32[*]", W], STRIDES, "*"),
    ("CONV_2D", [X, "float32[6,3,5]"], STRIDES, "*"),
    ("CONV_2D", [X, "float32[*]"], STRIDES, "*"),
    ("DEPTHWISE_CONV_2D", [X, "float32[1,3,5,8]"], VALID, "N,2,6,8"),
    ("AVERAGE_POOL_2D", [X], POOL, "N,4,7,2"),
    ("MAX_POOL_2D", [X], {**POOL, "padding": 1}, "N,3,6,2"),
    ("MAX_POOL_2D", ["float32[N,7,20,C]"], {**POOL, "padding": 1}, "N,3,6,C"),
    ("MAX_POOL_2D", ["float32[N,2,20,C]"], {**POOL, "padding": 1}, "N,?,?,C"),
    ("MAX_POOL_2D", ["float32[*]"], POOL, "*"),
    ("MAX_POOL_2D", ["float32[]"], POOL, "*"),
    ("MAX_POOL_2D", ["float32[7,20,2]"], POOL, "*"),
    ("RESIZE_BILINEAR", [X, "int32{8,H}"], {}, "N,8,H,2"),
    ("RESIZE_NEAREST_NEIGHBOR", [X, "int32{8,9,7}"], {}, "N,?,?,2"),
    ("RESIZE_BILINEAR", [X, "int32[2]"], {}, "N,?,?,2"),
    ("RESIZE_BILINEAR", [X, "int32{8,H-1}"], {}, "N,?,?,2"),
    ("RESIZE_BILINEAR", ["float32[7,20,2]", "int32{8,9}"], {}, "*"),
    ("RESIZE_BILINEAR", ["float32[*]", "int32{8,9}"], {}, "*"),
    ("DEPTH_TO_SPACE", ["float32[N,2,M,18]"], {"blockSize": 3}, "N,6,3*M,2"),
    ("DEPTH_TO_SPACE", ["float32[N,2,M,19]"], {"blockSize": 3}, "N,6,3*M,?"),
    ("DEPTH_TO_SPACE", ["float32[N,2,M,19]"], {"blockSize": 1}, "N,2,M,19"),
    ("DEPTH_TO_SPACE", ["float32[N,2,M,19]"], {}, "*"),
    ("DEPTH_TO_SPACE", ["float32[N,2,M]"], {"blockSize": 3}, "*"),
    ("DEPTH_TO_SPACE", ["float32[*]"], {"blockSize": 3}, "*"),
    ("SPACE_TO_DEPTH", ["float32[N,6,12,M]"], {"blockSize": 3}, "N,2,4,9*M"),
    ("SPACE_TO_DEPTH", ["float32[N,7,12,2]"], {"blockSize": 3}, "N,?,4,18"),
    ("TRANSPOSE_CONV", ["int32{N,7,8,2}", W, X], STRIDES, "N,7,8,2"),
    ("TRANSPOSE_CONV", ["int32[4]", W, X], STRIDES, "*"),
]  # fmt: skip


@pytest.mark.parametrize(("op", "operands", "options", "expected"), WINDOWS)
def test_sizes_of_windows_and_blocks(op: str, operands: list[str], options: Options, expected: str) -> None:
    assert sizes(call(op, operands, **options)) == expected


AROUND: list[tuple[str, list[str], Rows, str]] = [
    ("PAD", ["float32[N,5]"], [[1, 2], [0, 3]], "N+3,8"),
    ("PADV2", ["float32[N,5]"], np.int64([[1, 2], [0, 3]]), "N+3,8"),
    ("MIRROR_PAD", ["float32[N,5]"], [[0, 0], [1, 0]], "N,6"),
    ("PAD", ["float32[N,5]"], np.int16([[1, 2], [0, 3]]), "*"),
    ("PAD", ["float32[N,5]"], np.float32([[1, 2], [0, 3]]), "*"),
    ("PAD", ["float32[N,5]"], np.int32([1, 2]), "*"),
    ("PAD", ["float32[N,5]"], [[1, 2, 3], [0, 3, 4]], "*"),
    ("PAD", ["float32[N,5]"], np.int32([[[1, 2]], [[0, 3]]]), "*"),
    ("PAD", ["float32[N,5]"], [[1, 2]], "*"),
    ("PAD", ["float32[N,5]"], [[1, 2], [0, 3], [0, 0]], "*"),
    ("PAD", ["float32[*]"], [[1, 2], [0, 3]], "*"),
    ("SPACE_TO_BATCH_ND", ["float32[N,6,8,3]", "int32{2,4}"], [[1, 1], [0, 4]], "8*N,4,3,3"),
    ("SPACE_TO_BATCH_ND", ["float32[N,M,8]", "int32{1,2}"], [[1, 2], [0, 0]], "2*N,M+3,4"),
    ("SPACE_TO_BATCH_ND", ["float32[N,6,8,3]", "int32{1,0}"], [[1, 1], [0, 4]], "0,8,?,3"),
    ("SPACE_TO_BATCH_ND", ["float32[N,6,8,3]", "int32{2,4}"], [[1, 1]], "*"),
    ("SPACE_TO_BATCH_ND", ["float32[N,6]", "int32{2,4}"], [[1, 1], [0, 4]], "*"),
    ("SPACE_TO_BATCH_ND", ["float32[N,6,8]", "int32{2,4}"], [[1, 1], [0, 4]], "8*N,4,3"),
    ("SPACE_TO_BATCH_ND", ["float32[N,6,8]", "int32[2]"], [[1, 1], [0, 4]], "*"),
    ("SPACE_TO_BATCH_ND", ["float32[N,6,8]", "int32{}"], np.zeros((0, 2), np.int32), "*"),
    ("SPACE_TO_BATCH_ND", ["float32[*]", "int32{2,4}"], [[1, 1], [0, 4]], "*"),
    ("SPACE_TO_BATCH_ND", ["float32[N,6,8]", "int32{2,4}"], np.float32([[1, 1], [0, 4]]), "*"),
    ("BATCH_TO_SPACE_ND", ["float32[16,4,5,3]", "int32{2,4}"], [[1, 0], [2, 3]], "2,7,15,3"),
    ("BATCH_TO_SPACE_ND", ["float32[17,4,N]", "int32{2,4}"], [[1, 0], [0, 0]], "?,7,4*N"),
    ("BATCH_TO_SPACE_ND", ["float32[16,4]", "int32{2,4}"], [[1, 0], [2, 3]], "*"),
    ("BATCH_TO_SPACE_ND", ["float32[16,4,5,3]", "int32{2,4}"], [[1, 0]], "*"),
    ("BATCH_TO_SPACE_ND", ["float32[16,4,5,3]", "int32[2]"], [[1, 0], [2, 3]], "*"),
    ("BATCH_TO_SPACE_ND", ["float32[16,4,5]", "int32{}"], np.zeros((0, 2), np.int32), "*"),
    ("BATCH_TO_SPACE_ND", ["float32[*]", "int32{2,4}"], [[1, 0], [2, 3]], "*"),
    ("BATCH_TO_SPACE_ND", ["float32[16,4,5]", "int32{2,4}"], np.float32([[1, 0], [2, 3]]), "*"),
]


@pytest.mark.parametrize(("op", "operands", "rows", "expected"), AROUND)
def test_sizes_with_rows_of_paddings_or_crops(op: str, operands: list[str], rows: Rows, expected: str) -> None:
    given = call(op, [*operands, "int32[2,2]"])
    assert sizes(given) == "*"
    array = np.asarray(rows, None if isinstance(rows, np.ndarray) else np.int32)
    constant = constant_folding.as_constant(Constants(given.table), array, "c")
    assert sizes(replace(given, views=[*given.views[:-1], constant])) == expected


@pytest.mark.parametrize(
    ("data", "weights", "stated", "options", "expected"),
    [
        ("float32[N,7,3]", "float32[5,3]", (None, 7, 5), {}, "N,7,5"),
        ("float32[N,7,3]", "float32[5,3]", (None, 5), {}, "?,5"),
        ("float32[N,7,3]", "float32[5,6]", (None, 7, 5), {}, "?,?,5"),
        ("float32[N,7,3]", "float32[5,6]", (None, 7, 5), {"keepNumDims": True}, "N,7,5"),
        ("float32[N,7,3]", "float32[5,3]", (None, 5), {"keepNumDims": True}, "?,5"),
        ("float32[3]", "float32[5,3]", (5,), {}, "5"),
        ("float32[N,3]", "float32[5,3]", (), {}, "*"),
        ("float32[N,3]", "float32[5,3]", None, {}, "*"),
        ("float32[N,3]", "float32[5,3,1]", (None, 5), {}, "*"),
        ("float32[N,3]", "float32[5]", (None, 5), {}, "*"),
        ("float32[N,3]", "float32[*]", (None, 5), {}, "*"),
        ("float32[]", "float32[5,3]", (None, 5), {}, "*"),
        ("float32[*]", "float32[5,3]", (None, 5), {}, "*"),
    ],
)
def test_sizes_of_a_fully_connected_layer(
    data: str, weights: str, stated: tuple[int | None, ...] | None, options: Options, expected: str
) -> None:
    given = call("FULLY_CONNECTED", [data, weights], **options)
    assert sizes(replace(given, result=given.result._replace(dims=stated))) == expected


# --- axes -------------------------------------------------------------------------------------------------------------

RESHAPED: list[tuple[list[str], Options, str, bool]] = [
    (["float32[N,6]", "int32{3,-1}"], {}, "3,2*N", True),
    (["float32[N,6]", "int32{-1,4}"], {}, "floor((N)/2)+N,4", True),
    (["float32[2,6]", "int32{4,-1}"], {}, "4,3", False),
    (["float32[2,6]", "int32{5,-1}"], {}, "5,?", False),
    (["float32[0,6]", "int32{N,-1}"], {}, "N,0", True),
    (["float32[2,6]", "int32{N,-1}"], {}, "N,?", False),
    (["float32[2,6]", "int32{-1,-1}"], {}, "?,?", False),
    (["float32[2,6]", "int32{0,-1}"], {}, "0,?", False),
    (["float32[2,6]", "int32{3,4}"], {}, "3,4", False),
    (["float32[2,6]", "int32{N-1,4}"], {}, "*", False),
    (["float32[]", "int32{1,-1}"], {}, "1,?", False),
    (["float32[*]", "int32{3,-1}"], {}, "3,?", False),
    (["float32[2,6]", "int64{3,4}"], {"newShape": (3, 4)}, "*", False),
    (["float32[2,6]", ""], {"newShape": (3, 4)}, "*", False),
    (["float32[2,6]", "int32[2]"], {"newShape": (3, 4)}, "*", False),
    (["float32[2,6]"], {"newShape": (3, -1)}, "3,4", False),
    (["float32[1]"], {"newShape": (0,)}, "*", False),
    (["float32[1]"], {"newShape": (1,)}, "1", False),
    (["float32[1]"], {"newShape": None}, "*", False),
    (["float32[1]"], {}, "*", False),
]


@pytest.mark.parametrize(("operands", "options", "expected", "assumes"), RESHAPED)
def test_sizes_of_a_reshape(operands: list[str], options: Options, expected: str, assumes: bool) -> None:
    given = call("RESHAPE", operands, **options)
    assert sizes(given) == expected
    assert list(given.table.assumptions) == ([NO_SIZE_BESIDE_IS_0] if assumes else [])


@pytest.mark.parametrize(
    ("operands", "expected"),
    [
        (["float32[N,3,5]", "int32{2,0,1}"], "5,N,3"),
        (["float32[N,3,5]", "int32{0,1}"], "*"),
        (["float32[N,3,5]", "int32{0,0,1}"], "*"),
        (["float32[N,3,5]", "int32{1,2,3}"], "*"),
        (["float32[N,3,5]", "int32[3]"], "*"),
        (["float32[*]", "int32{0}"], "*"),
        (["float32[]", "int32{}"], ""),
    ],
)
def test_sizes_of_a_transpose(operands: list[str], expected: str) -> None:
    assert sizes(call("TRANSPOSE", operands)) == expected


def seen(given: Call, view: ProofValue | None) -> tuple[str, tuple[int | None, ...] | None] | None:
    """Return the sizes of a view of operand 0, and which axis of it each is."""
    if view is None:
        return None
    data = given.views[0]
    assert data is not None
    assert view.core is data.core
    return shown(view.sizes), view.axes


VIEWS: list[tuple[str, list[str], Options, tuple[str, tuple[int | None, ...]] | None]] = [
    ("EXPAND_DIMS", ["float32[N,3]", "int32{1}"], {}, ("N,1,3", (0, None, 1))),
    ("EXPAND_DIMS", ["float32[N,3]", "int32=2"], {}, ("N,3,1", (0, 1, None))),
    ("EXPAND_DIMS", ["float32[N,3]", "int32=-3"], {}, ("1,N,3", (None, 0, 1))),
    ("EXPAND_DIMS", ["float32[N,3]", "int32=-4"], {}, None),
    ("EXPAND_DIMS", ["float32[N,3]", "int32=3"], {}, None),
    ("EXPAND_DIMS", ["float32[N,3]", "int32{0,1}"], {}, None),
    ("EXPAND_DIMS", ["float32[N,3]", "int32{}"], {}, None),
    ("EXPAND_DIMS", ["float32[N,3]", "int32[1]"], {}, None),
    ("EXPAND_DIMS", ["float32[*]", "int32=0"], {}, None),
    ("SQUEEZE", ["float32[1,N,1,3]"], {"squeezeDims": (0,)}, ("N,1,3", (1, None, 3))),
    ("SQUEEZE", ["float32[1,N,1,3]"], {"squeezeDims": (-2,)}, ("1,N,3", (None, 1, 3))),
    ("SQUEEZE", ["float32[1,N,1,3]"], {"squeezeDims": (2, 0)}, ("N,3", (1, 3))),
    ("SQUEEZE", ["float32[1,N,1,3]"], {"squeezeDims": (1,)}, None),
    ("SQUEEZE", ["float32[1,N,1,3]"], {"squeezeDims": (3,)}, None),
    ("SQUEEZE", ["float32[1,N,1,3]"], {"squeezeDims": (4,)}, None),
    ("SQUEEZE", ["float32[1,N,1,3]"], {}, None),
    ("SQUEEZE", ["float32[1,N,1,3]"], {"squeezeDims": ()}, None),
    ("SQUEEZE", ["float32[1,N+2,1,3]"], {}, ("N+2,3", (1, 3))),
    ("SQUEEZE", ["float32[1,2,1,3]"], {"squeezeDims": ()}, ("2,3", (1, 3))),
    ("SQUEEZE", ["float32[*]"], {}, None),
    ("SQUEEZE", ["float32[*]"], {"squeezeDims": (0,)}, None),
    ("RESHAPE", ["float32[1,3,N]", "int32{3,1,N}"], {}, ("3,1,N", (1, None, 2))),
    ("RESHAPE", ["float32[1,3,4]", "int32{3,4}"], {}, ("3,4", (1, 2))),
    ("RESHAPE", ["float32[1,3,4]"], {"newShape": (3, 1, 4)}, ("3,1,4", (1, None, 2))),
    ("RESHAPE", ["float32[1,3,4]", "int32{4,3}"], {}, None),
    ("RESHAPE", ["float32[3,4]", "int32{0,4}"], {}, None),
    ("RESHAPE", ["float32[3,4]", "int32[2]"], {}, None),
]


@pytest.mark.parametrize(("op", "operands", "options", "expected"), VIEWS)
def test_an_operand_seen_with_other_axes(
    op: str, operands: list[str], options: Options, expected: tuple[str, tuple[int | None, ...]] | None
) -> None:
    given = call(op, operands, "float32", **options)
    assert seen(given, viewed(given)) == expected
    assert viewed(call(op, operands, "int32", **options)) is None


COPIED: list[tuple[list[str], tuple[str, tuple[int | None, ...]] | None]] = [
    (["float32[1,3,1,5]", "int32{0,2,1,3}"], ("1,1,3,5", (None, None, 1, 3))),
    (["float32[1,3,1,N]", "int32{2,1,3,0}"], ("1,3,N,1", (None, 1, 3, None))),
    (["float32[1,3,1,5]", "int32{0,3,1,2}"], None),
    (["float32[1,N]", "int32{1,0}"], ("N,1", (1, None))),
    (["float32[M,N]", "int32{1,0}"], None),
    (["float32[1,3]", "int32{0,0}"], None),
    (["float32[1,3]", "int32{0}"], None),
    (["float32[1,3]", "int32[2]"], None),
    (["float32[*]", "int32{1,0}"], None),
    (["bool[1,3]", "int32{1,0}"], None),
    (["string[1,3]", "int32{1,0}"], None),
    (["int4[1,3]", "int32{1,0}"], None),
]


@pytest.mark.parametrize(("operands", "expected"), COPIED)
def test_a_transpose_that_moves_no_element_is_a_copy(
    operands: list[str], expected: tuple[str, tuple[int | None, ...]] | None
) -> None:
    given = call("TRANSPOSE", operands, operands[0].partition("[")[0])
    assert seen(given, unmoved(given)) == expected
    assert unmoved(replace(given, result=given.result._replace(dtype="int8"))) is None
    assert unmoved(call("SOFTMAX", operands[:1], "float32")) is None


def test_known_integers_are_reshaped_to_a_vector_alone() -> None:
    found = {
        text: integers(viewed(call("RESHAPE", ["int32{2,N,5}", f"int32{{{text}}}"])))
        for text in ("-1", "3", "4", "1,3", "N")
    }
    assert found == {"-1": "{2,N,5}", "3": "{2,N,5}", "4": "not known", "1,3": "not known", "N": "not known"}


# --- arithmetic of sizes ----------------------------------------------------------------------------------------------

V = "int32{N,7}"
COMPUTED: list[tuple[str, list[str], Options, str]] = [
    ("ADD", [V, "int32{3}"], {}, "{N+3,10}"),
    ("ADD", ["int32=N", "int32=3"], {}, "=N+3"),
    ("SUB", [V, "int32{1,9}"], {}, "{N-1,-2}"),
    ("SUB", ["int32{1,9}", V], {}, "{-N+1,2}"),
    ("MUL", [V, "int32{3,2}"], {}, "{3*N,14}"),
    ("FLOOR_DIV", [V, "int32{1,2}"], {}, "{N,3}"),
    ("DIV", [V, "int32{1,2}"], {}, "{N,3}"),
    ("FLOOR_MOD", [V, "int32{1,4}"], {}, "{0,3}"),
    ("MAXIMUM", ["int32{N+3,7}", "int32{2,9}"], {}, "{N+3,9}"),
    ("MINIMUM", ["int32{N+3,7}", "int32{2,9}"], {}, "{2,7}"),
    ("ADD", [V, "int32{3}"], {"fusedActivationFunction": 1}, "not known"),
    ("ADD", [V, "int32[2]"], {}, "not known"),
    ("ADD", [V, ""], {}, "not known"),
    ("ADD", [V, "int64{3}"], {}, "not known"),
    ("ADD", [V, "int32{1,2,3}"], {}, "not known"),
    ("ADD", [V], {}, "not known"),
    ("ADD", [V, V, V], {}, "not known"),
]


@pytest.mark.parametrize(("op", "operands", "options", "expected"), COMPUTED)
def test_arithmetic_of_sizes(op: str, operands: list[str], options: Options, expected: str) -> None:
    assert integers(viewed(call(op, operands, **options))) == expected


COMPARED: list[tuple[str, list[str], str]] = [
    ("LESS", ["int32{N,2,3}", "int32{0,3,3}"], "{0,1,0}"),
    ("LESS_EQUAL", ["int32{0,4,3}", "int32{N,3,3}"], "{1,0,1}"),
    ("GREATER", ["int32{N+1,2,3}", "int32{0,3,3}"], "{1,0,0}"),
    ("GREATER_EQUAL", ["int32{N,2,3}", "int32{0,3,3}"], "{1,0,1}"),
    ("EQUAL", ["int32{N+1,2,3}", "int32{0,3,3}"], "{0,0,1}"),
    ("EQUAL", ["int32{N,2}", "int32{1}"], "{(N is 1),0}"),
    ("EQUAL", ["int32=N", "int32=1"], "=(N is 1)"),
    ("EQUAL", ["int32=N", "int32{1}"], "{(N is 1)}"),
    ("EQUAL", ["int32{1}", "int32{N}"], "not known"),
    ("EQUAL", ["int32{N}", "int32{2}"], "not known"),
    ("EQUAL", ["int32{N-1}", "int32{1}"], "not known"),
    ("LESS", ["int32{N}", "int32{1}"], "not known"),
    ("LESS", ["int32{N}", "int32[1]"], "not known"),
    ("LESS", ["int32{2}"], "not known"),
    ("LESS", ["int32{2}", "int32{3}", "int32{4}"], "not known"),
]


@pytest.mark.parametrize(("op", "operands", "expected"), COMPARED)
def test_comparisons_of_sizes(op: str, operands: list[str], expected: str) -> None:
    assert integers(viewed(call(op, operands, "bool"))) == expected
    assert integers(viewed(call(op, operands, "int32"))) == "not known"


CHOSEN: list[tuple[list[str], tuple[int, ...], str]] = [
    (["bool{1,0}", "int32{N,2}", "int32{3,4}"], (2,), "{N,4}"),
    (["bool{1,0}", "int32=N", "int32{3,4}"], (), "{N,4}"),
    (["bool=0", "int32=N", "int32{3,4}"], (2,), "{3,4}"),
    (["bool{0,1}", "int32=N", "int32=3"], (2,), "{3,N}"),
    (["bool=1", "int32=N", "int32=3"], (), "=N"),
    (["bool=1", "int32=N", "int32=3"], (1,), "not known"),
    (["bool{0}", "int32{N}", "int32=3"], (1,), "{3}"),
    (["bool{0}", "int32{N}", "int32=3"], (), "not known"),
    (["bool{1,0}", "int32{1,2,3}", "int32{3}"], (2,), "not known"),
    (["bool{1,0,1}", "int32{1,2,3}", "int32{3,4}"], (3,), "not known"),
    (["bool{1,0}", "int32[2]", "int32{3,4}"], (2,), "not known"),
    (["bool{1,0}", "int32{3,4}", "int32[2]"], (2,), "not known"),
    (["bool{1,0}", "int32{3,4}", ""], (2,), "not known"),
    (["bool{1,0}", "int32{3,4}"], (2,), "not known"),
    (["bool[2]", "int32{N,2}", "int32{3,4}"], (2,), "not known"),
    (["int32{1,0}", "int32{N,2}", "int32{3,4}"], (2,), "not known"),
]


@pytest.mark.parametrize(("operands", "stored", "expected"), CHOSEN)
def test_a_selection_of_sizes(operands: list[str], stored: tuple[int, ...], expected: str) -> None:
    given = call("SELECT_V2", operands)
    assert integers(viewed(replace(given, result=given.result._replace(stored=stored)))) == expected


@pytest.mark.parametrize(
    ("asked", "one", "two", "expected"),
    [
        ("N", "M", "N", "{bc{M,N}}"),
        ("M", "M", "N", "not known"),
        ("N", "M-1", "N", "not known"),
        ("N", "5", "N", "{bc{5,N}}"),
    ],
)
def test_another_size_in_the_place_of_1_is_the_broadcast_of_both(asked: str, one: str, two: str, expected: str) -> None:
    given = call("SELECT_V2", ["bool{0}", f"int32{{{one}}}", f"int32{{{two}}}"])
    table = given.table
    condition = table.algebra.symbol(("is 1", size_of(table, asked)), f"({asked} is 1)")
    views = [table.integers((condition,), "bool"), *given.views[1:]]
    assert integers(viewed(replace(given, views=views, result=given.result._replace(stored=(1,))))) == expected


# --- operands that are read by maps -----------------------------------------------------------------------------------


def mapped(given: Call) -> ProofValue | None:
    """Return the term of an operator that reads its operands by maps."""
    rules = OPERATORS[given.operator.name].mapped
    assert rules is not None
    views = [view for view in given.views if view is not None]
    assert rules[0] == len(views)
    return rules[1](given, ("key",), views)


@pytest.mark.parametrize(
    ("condition", "one", "two", "axes"),
    [
        ("[N,3]", "[N,3]", "[N,3]", (0, 1)),
        ("[]", "[N,3]", "[N,3]", (None, None)),
        ("[N]", "[N,3]", "[N,3]", (0, None)),
        ("[N]", "[N,3,4]", "[N,3,4]", (0, None, None)),
        ("[N]", "[N]", "[N]", (0,)),
        ("[3]", "[N,3]", "[N,3]", None),
        ("[1]", "[3]", "[3]", None),
        ("[1,3]", "[N,3]", "[N,3]", None),
        ("[N,3]", "[N,3,4]", "[N,3,4]", None),
        ("[N]", "[N,3]", "[N,1]", None),
        ("[*]", "[N,3]", "[N,3]", None),
        ("[N]", "[*]", "[*]", None),
    ],
)
def test_the_condition_of_a_select_follows_the_first_axis(
    condition: str, one: str, two: str, axes: tuple[int | None, ...] | None
) -> None:
    given = call("SELECT", [f"bool{condition}", f"float32{one}", f"float32{two}"], "float32")
    found = mapped(given)
    if axes is None:
        assert found is None
        return
    chooser, *values = [view for view in given.views if view is not None]
    sizes_ = values[0].sizes
    assert sizes_ is not None
    uses = [(chooser.core, axes), *((value.core, value.axes or ()) for value in values)]
    assert found == broadcast.aligned(given.table, ("key",), uses, sizes_, "SELECT")
    assert found is not None
    assert found.sizes == sizes_


@pytest.mark.parametrize(
    ("data", "lengths", "expected"),
    [
        ("[N,8,9]", "{8,9}", ("N,8,5", (0, 1, 2))),
        ("[N,8,9]", "{6,4}", ("N,6,3", (0, 1, 2))),
        ("[1,N,1,8,9]", "{8,9}", ("1,N,1,8,5", (None, 0, None, 1, 2))),
        ("[N,1,9]", "{1,9}", ("N,1,5", (0, None, 2))),
        ("[1,8,9]", "{8,9}", ("1,8,5", (None, 0, 1))),
        ("[8,9]", "{8,9}", None),
        ("[N,8,9]", "{8}", None),
        ("[N,8,9]", "{8,9,9}", None),
        ("[N,8,9]", "[2]", None),
        ("[*]", "{8,9}", None),
    ],
)
def test_a_transform_of_planes_leaves_unit_axes_in_front(
    data: str, lengths: str, expected: tuple[str, tuple[int | None, ...]] | None
) -> None:
    found = mapped(call("RFFT2D", [f"float32{data}", f"int32{lengths}"], "complex64"))
    assert (None if found is None else (shown(found.sizes), found.axes)) == expected
