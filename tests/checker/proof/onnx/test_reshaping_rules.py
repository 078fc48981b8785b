"""The rules of operators that change axes, each on its own: what is a view, a matrix of sizes, or a constant."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from onnx import AttributeProto, helper

from graphfix.checker.proof.core.sizes import Algebra, Size
from graphfix.checker.proof.core.terms import ProofValue, TermTable, value_of
from graphfix.checker.proof.onnx.operators.reshaping import OPERATORS, enter_matrix, matrix_rows, sizes_of_length
from graphfix.checker.proof.onnx.reading.operands import Call

Array = np.ndarray[Any, Any]


def call(
    op: str, views: Sequence[ProofValue | None], table: TermTable, version: int = 17, **attributes: object
) -> Call:
    return Call(
        label=op, domain="", op=op, version=version, meaning_version=version, views=views, operand_names=[],
        result_names=["y"], attributes={name: stated(name, value) for name, value in attributes.items()},
        description=op, table=table,
    )  # fmt: skip


def stated(name: str, value: object) -> AttributeProto:
    """Return an attribute; a list without elements is one of integers."""
    if value == []:
        return AttributeProto(name=name, type=AttributeProto.INTS)
    return helper.make_attribute(name, value)


def value(table: TermTable, *sizes: int | str) -> ProofValue:
    """Return an input; a text is a symbol."""
    core, _ = table.find_or_create_core(("input", "x"), "x")
    core.sizes = terms(table, sizes)
    return value_of(core)


def terms(table: TermTable, sizes: Sequence[int | str]) -> tuple[Size, ...]:
    return tuple(table.algebra.symbol((size,), size) if isinstance(size, str) else size for size in sizes)


def seen(given: Call) -> str:
    """Print the axes and the sizes of the view that a call is; `none` where it is none."""
    view = known(OPERATORS[given.op].view)(given)
    return "none" if view is None else f"{view.axes} {view.sizes}"


def known(rule: Any) -> Any:  # noqa: ANN401 - any rule
    assert rule is not None
    return rule


# operator, version, sizes, axes as an attribute or an operand -> the view
AXES: list[tuple[str, int, tuple[int | str, ...], dict[str, object], str]] = [
    ("Flatten", 9, (3,), {"axis": 0}, "(None, 0) (1, 3)"),
    ("Flatten", 9, (3,), {}, "(0, None) (3, 1)"),
    ("Flatten", 9, (3,), {"axis": -1}, "none"),
    ("Flatten", 11, (3,), {"axis": -1}, "(None, 0) (1, 3)"),
    ("Unsqueeze", 9, (3,), {"axes": [0]}, "(None, 0) (1, 3)"),
    ("Unsqueeze", 9, (3,), {"axes": [-1]}, "none"),
    ("Unsqueeze", 11, (3,), {"axes": [-1]}, "(0, None) (3, 1)"),
    ("Unsqueeze", 9, (3,), {"axes": [1, 0]}, "(None, None, 0) (1, 1, 3)"),
    ("Unsqueeze", 9, (3,), {"axes": [0, -1]}, "none"),
    ("Unsqueeze", 11, (3,), {"axes": list[int]()}, "none"),
    ("Unsqueeze", 11, (3,), {}, "none"),
    ("Squeeze", 9, (1, 3, 1), {"axes": [0]}, "(1, None) (3, 1)"),
    ("Squeeze", 9, (1, 3, 1), {"axes": [-1]}, "none"),
    ("Squeeze", 11, (1, 3, 1), {"axes": [-1]}, "(None, 1) (1, 3)"),
    ("Squeeze", 11, (1, 3, 1), {"axes": [-1, 0]}, "(1,) (3,)"),
    ("Squeeze", 11, (1, 3, 1), {"axes": [3]}, "none"),
    ("Squeeze", 11, (1, 3, 1), {"axes": [0, -3]}, "none"),
    ("Squeeze", 11, (1, 3, 1), {}, "(1,) (3,)"),
    ("Squeeze", 11, (1, "N", 1), {}, "none"),
    ("Squeeze", 11, (1, 3, 1), {"axes": list[int]()}, "none"),
    ("Reshape", 1, (2, 1, 3), {"shape": [2, 3]}, "(0, 2) (2, 3)"),
    ("Reshape", 4, (2, 1, 3), {"shape": [0, -1]}, "(0, 2) (2, 3)"),
    ("Reshape", 4, (2, 1, 3), {}, "none"),
    ("Reshape", 5, (2, 1, 3), {"shape": [2, 3]}, "none"),
]


@pytest.mark.parametrize(("op", "version", "sizes", "attributes", "expected"), AXES)
def test_a_change_of_axes_is_a_view(
    op: str, version: int, sizes: tuple[int | str, ...], attributes: dict[str, object], expected: str
) -> None:
    table = TermTable(Algebra())
    given = call(op, [value(table, *sizes)], table, version, **attributes)
    assert seen(given) == expected
    given.views = [None]
    assert seen(given) == "none"


# operator, sizes, the numbers in operand 1 -> the view
NUMBERS: list[tuple[str, tuple[int | str, ...], tuple[int | str, ...], dict[str, object], str]] = [
    ("Squeeze", (1, 3), (0,), {}, "(1,) (3,)"),
    ("Squeeze", (1, 3), (), {}, "none"),
    ("Squeeze", (1, 3), ("N",), {}, "none"),
    ("Unsqueeze", (3,), (-1,), {}, "(0, None) (3, 1)"),
    ("Unsqueeze", (3,), ("N",), {}, "none"),
    ("Reshape", (2, 1, 3), (2, 3), {}, "(0, 2) (2, 3)"),
    ("Reshape", (2, 1, 3), (0, -1), {}, "(0, 2) (2, 3)"),
    ("Reshape", (2, 1, 3), (0, -1), {"allowzero": 1}, "none"),
    ("Reshape", (2, 1, 3), (2, 3), {"allowzero": 2}, "none"),
    ("Reshape", (2, 3), (3, 2), {}, "none"),
    ("Reshape", (2, 3), (6,), {}, "none"),
]


@pytest.mark.parametrize(("op", "sizes", "numbers", "attributes", "expected"), NUMBERS)
def test_a_change_of_axes_by_numbers_is_a_view(
    op: str, sizes: tuple[int | str, ...], numbers: tuple[int | str, ...], attributes: dict[str, object], expected: str
) -> None:
    table = TermTable(Algebra())
    operand = table.integers(terms(table, numbers), "int64")
    assert seen(call(op, [value(table, *sizes), operand], table, **attributes)) == expected


# the vector that is reshaped, the target -> what is known of the result
MATRICES: list[tuple[tuple[int | str, ...], str, tuple[int, ...], str]] = [
    (("N", 3, 4, 5), "int64", (2, 2), "[(N, 3), (4, 5)]"),
    (("N", 3, 4, 5), "int32", (2, 2), "[(N, 3), (4, 5)]"),
    (("N", 3, 4, 5), "int64", (-1, 2), "[(N, 3), (4, 5)]"),
    (("N", 3, 4, 5), "int64", (2, -1), "[(N, 3), (4, 5)]"),
    (("N", 3, 4, 5, 6, 7), "int64", (3, -1), "[(N, 3), (4, 5), (6, 7)]"),
    (("N", 3, 4, 5, 6, 7), "int64", (-1, 3), "[(N, 3, 4), (5, 6, 7)]"),
    (("N", 3, 4, 5), "bool", (2, 2), "no matrix"),
    (("N", 3, 4, 5), "int64", (-1, -1), "no matrix"),
    (("N", 3, 4, 5), "int64", (-2, 2), "no matrix"),
    (("N", 3, 4, 5), "int64", (2, -2), "no matrix"),
    (("N", 3, 4, 5), "int64", (0, 2), "no matrix"),
    (("N", 3, 4, 5), "int64", (-1, 3), "no matrix"),
    (("N", 3, 4, 5), "int64", (2, 1), "no matrix"),
    (("N", 3, 4, 5), "int64", (2, 3), "no matrix"),
    (("N", 3, 4, 5), "int64", (1, 4), "no matrix"),
    (("N", 3, 4, 5), "int64", (4, 1), "no matrix"),
    (("N", 3, 4, 5), "int64", (2, 2, 1), "no matrix"),
    ((2, 3, 4, 5), "int64", (2, 2), "no matrix"),
]


@pytest.mark.parametrize(("vector", "kind", "target", "expected"), MATRICES)
def test_sizes_that_are_reshaped_to_a_matrix(
    vector: tuple[int | str, ...], kind: str, target: tuple[int, ...], expected: str
) -> None:
    table = TermTable(Algebra())
    views = [table.integers(terms(table, vector), kind), table.integers(target, "int64")]
    found = matrix_rows(known(OPERATORS["Reshape"].view)(call("Reshape", views, table)))
    assert ("no matrix" if found is None else str(found)) == expected


def test_a_matrix_of_sizes_is_turned_and_read_as_a_vector() -> None:
    table = TermTable(Algebra())
    n, *_ = terms(table, ["N"])
    matrix = enter_matrix(table, [(n, 3, 4), (5, 6, 7)], "int32")
    turn, reshape = known(OPERATORS["Transpose"].view), known(OPERATORS["Reshape"].view)
    for attributes in ({}, {"perm": [1, 0]}):
        assert matrix_rows(turn(call("Transpose", [matrix], table, **attributes))) == [(n, 5), (3, 6), (4, 7)]
    assert turn(call("Transpose", [matrix], table, perm=[0, 1])) is None
    assert turn(call("Transpose", [value(table, 2, 3)], table)) is None
    for target, whole_vector in (((-1,), True), ((6,), True), ((3, 2), False), ((5,), False)):
        view = reshape(call("Reshape", [matrix, table.integers(target, "int64")], table))
        assert view == (table.integers((n, 3, 4, 5, 6, 7), "int32") if whole_vector else None)


def test_what_a_view_changes_is_no_matrix() -> None:
    table = TermTable(Algebra())
    n, *_ = terms(table, ["N"])
    matrix = known(enter_matrix(table, [(n, 3), (4, 5)], "int64"))
    assert matrix_rows(matrix) == [(n, 3), (4, 5)]
    assert matrix_rows(ProofValue(matrix.core, (1, 0), (2, 2))) is None
    assert matrix_rows(value(table, 2, 2)) is matrix_rows(None) is None
    assert enter_matrix(table, [(n, 3)], "int64") is enter_matrix(table, [(n,), (3,)], "int64") is None
    assert enter_matrix(table, [], "int64") is None


def test_a_vector_that_stays_a_vector_is_known() -> None:
    table = TermTable(Algebra())
    n, *_ = terms(table, ["N"])
    vector, reshape = table.integers((n, 3), "int64"), known(OPERATORS["Reshape"].view)
    scalar = table.integers((n,), "int64", scalar=True)
    for operand, target, expected in (
        (vector, (-1,), vector),
        (vector, (2,), vector),
        (scalar, (1,), table.integers((n,), "int64")),
        (scalar, (-1,), table.integers((n,), "int64")),
    ):
        assert reshape(call("Reshape", [operand, table.integers(target, "int64")], table)) == expected


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [((2,), 2), ((0,), 0), ((64,), 64), ((65,), None), (("N",), None), ((), None), ((1, 2), None), (None, None)],
)
def test_a_shape_vector_tells_a_rank(sizes: tuple[int | str, ...] | None, expected: int | None) -> None:
    given = None if sizes is None else terms(TermTable(Algebra()), sizes)
    assert sizes_of_length(given) == (None if expected is None else (None,) * expected)


ROWS = np.arange(6).reshape(2, 3)
FOLDED: list[tuple[str, list[Array | None], dict[str, object], tuple[int, ...] | None]] = [
    ("Reshape", [ROWS, np.array([3, 2])], {}, (3, 2)),
    ("Reshape", [ROWS, np.array([0, -1])], {}, (2, 3)),
    ("Reshape", [ROWS, np.array([-1])], {}, (6,)),
    ("Reshape", [ROWS, np.array([0, -1])], {"allowzero": 1}, None),
    ("Reshape", [ROWS[:0], np.array([0, 3])], {"allowzero": 1}, None),
    ("Reshape", [ROWS, np.array([3, 2])], {"allowzero": 1}, (3, 2)),
    ("Reshape", [ROWS, np.array([3, 2])], {"allowzero": 2}, None),
    ("Reshape", [ROWS, np.array([-1, -1])], {}, None),
    ("Reshape", [ROWS, np.array([-2, 3])], {}, None),
    ("Reshape", [ROWS, np.array([[3, 2]])], {}, None),
    ("Reshape", [ROWS, None], {}, None),
    ("Reshape", [None, np.array([3, 2])], {}, None),
    ("Reshape", [ROWS[:1, :1], np.array([], np.int64)], {}, ()),
    ("Transpose", [ROWS], {}, (3, 2)),
    ("Transpose", [ROWS], {"perm": [1, 0]}, (3, 2)),
    ("Transpose", [ROWS], {"perm": [0, 1]}, (2, 3)),
    ("Transpose", [ROWS], {"perm": [0, 0]}, None),
    ("Transpose", [ROWS], {"perm": [-1, 0]}, None),
    ("Transpose", [ROWS], {"perm": [0]}, None),
    ("Transpose", [None], {}, None),
]


@pytest.mark.parametrize(("op", "arrays", "attributes", "expected"), FOLDED)
def test_constants_whose_axes_change(
    op: str, arrays: list[Array | None], attributes: dict[str, object], expected: tuple[int, ...] | None
) -> None:
    found = known(OPERATORS[op].fold)(call(op, [], TermTable(Algebra()), **attributes), arrays)
    assert (None if found is None else found.shape) == expected


def sizes_of(op: str, sizes: tuple[int | str, ...] | None, **attributes: object) -> str:
    table = TermTable(Algebra())
    view = value(table, *(sizes or ()))
    if sizes is None:
        view.core.sizes = None
        view = value_of(view.core)
    return str(known(OPERATORS[op].sizes)(call(op, [view], table, **attributes)))


@pytest.mark.parametrize(
    ("op", "sizes", "block", "expected"),
    [
        ("DepthToSpace", ("N", 8, 3, "W"), 2, "(N, 2, 6, 2*W)"),
        ("DepthToSpace", ("N", 8, 3, "W"), 1, "(N, 8, 3, W)"),
        ("DepthToSpace", ("N", 8, 3, "W"), 0, "None"),
        ("DepthToSpace", ("N", 8, 3, "W"), -2, "None"),
        ("DepthToSpace", ("N", 8, 3, "W"), None, "None"),
        ("DepthToSpace", (8, 3, "W"), 2, "None"),
        ("DepthToSpace", None, 2, "None"),
        ("SpaceToDepth", ("N", "C", 6, 4), 2, "(N, 4*C, 3, 2)"),
        ("SpaceToDepth", ("N", "C", 6, 4), 1, "(N, C, 6, 4)"),
        ("SpaceToDepth", ("N", "C", 6, 5), 2, "(N, 4*C, 3, None)"),
        ("SpaceToDepth", ("N", "C", 6, 4), 0, "None"),
    ],
)
def test_blocks_of_a_plane(op: str, sizes: tuple[int | str, ...] | None, block: int | None, expected: str) -> None:
    attributes = {} if block is None else {"blocksize": block}
    assert sizes_of(op, sizes, **attributes) == expected


@pytest.mark.parametrize(
    ("op", "sizes", "attributes", "expected"),
    [
        ("Transpose", ("N", 3), {"perm": [1, 0]}, "(3, N)"),
        ("Transpose", ("N", 3), {}, "(3, N)"),
        ("Transpose", ("N", 3), {"perm": [0, 0]}, "None"),
        ("Transpose", ("N", 3), {"perm": [0]}, "None"),
        ("Transpose", None, {}, "None"),
        ("Squeeze", None, {"axes": [0]}, "None"),
        ("Squeeze", (1, "N"), {"axes": [0]}, "(N,)"),
        ("Squeeze", (1, "N"), {"axes": [2]}, "None"),
        ("Unsqueeze", None, {"axes": [0]}, "None"),
        ("Flatten", None, {}, "(None, None)"),
    ],
)
def test_sizes_of_changed_axes(
    op: str, sizes: tuple[int | str, ...] | None, attributes: dict[str, object], expected: str
) -> None:
    assert sizes_of(op, sizes, **attributes) == expected
