"""TFLite's half of the catalogue: every builtin operator is in a row or reviewed, elementwise rows asked of LiteRT.

Rows of matrix products, PRELU, SELECT and the look-alikes are asked in test_tflite_own.py.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import tflite
from ai_edge_litert import schema_py_generated

from graphfix import operators
from graphfix.operators import NOT_BROADCASTING
from graphfix.operators.row import TFLITE, Seen
from tests.operators import test_tflite_own
from tests.support.runtimes.litert_questions import KERNELS, NO_DELEGATE, Answer, Given, Question, ask

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tests.support.runtimes.litert_questions import Array

ROWS = {entry.op: entry for entry in operators.rows() if entry.domain == TFLITE}
REVIEWED = {op for domain, op in NOT_BROADCASTING if domain == TFLITE}
SCHEMAS = {"ai-edge-litert": schema_py_generated.BuiltinOperator, "tflite": tflite.BuiltinOperator}


# --- the schema -------------------------------------------------------------------------------------------------------


def unreviewed(names: Iterable[str]) -> list[str]:
    return sorted(name for name in names if name not in ROWS and name not in REVIEWED)


@pytest.mark.parametrize("schema", SCHEMAS.values(), ids=SCHEMAS)
def test_every_builtin_operator_is_in_a_row_or_reviewed(schema: type) -> None:
    names = [name for name in vars(schema) if not name.startswith("_")]
    assert len(names) > 200
    assert unreviewed(names) == []


def test_a_new_builtin_operator_is_noticed() -> None:
    assert unreviewed(["ADD", "RELU", "ADD_V2", "SELECT_V3"]) == ["ADD_V2", "SELECT_V3"]


def test_no_name_is_in_both_lists_and_none_is_unknown_to_the_schema() -> None:
    assert ROWS.keys() & REVIEWED == set()
    assert [
        name for name in sorted(ROWS.keys() | REVIEWED) if not hasattr(schema_py_generated.BuiltinOperator, name)
    ] == []


def test_a_row_holds_for_every_version_of_its_operator() -> None:
    for version in (1, 2, 8):
        assert operators.row(TFLITE, "ADD", version) is ROWS["ADD"]
    assert operators.row(TFLITE, "RELU", 1) is None
    assert operators.row("", "ADD", 1) is None


def test_every_row_says_what_was_measured_and_what_is_left_says_why() -> None:
    assert len(ROWS) == len([entry for entry in operators.rows() if entry.domain == TFLITE])
    for entry in ROWS.values():
        assert entry.evidence, entry.op
        assert (entry.left is not None) == (entry.style == "own"), entry.op
        assert (entry.unequal is not None) == (entry.style == "equal"), entry.op
        assert (entry.max_rank is not None) == (entry.style in {"multidirectional", "unidirectional", "matmul"}), (
            entry.op
        )


def test_every_broadcasting_row_is_asked() -> None:
    asked = set(ELEMENT_TYPES) | test_tflite_own.ASKED
    assert asked | test_tflite_own.NO_KERNEL | test_tflite_own.SPELLED_OUT == set(ROWS)


# --- elementwise rows, asked of LiteRT --------------------------------------------------------------------------------

QUANTIZED = {"int8": (0.5, -3), "uint8": (0.25, 128), "int16": (0.5, 0)}
ARITHMETIC = "float32 int32 q:int8 q:uint8 q:int16"
ORDERED = "float32 int32 int64 q:int8 q:uint8 q:int16"
BITS = "int8 uint8 int16 uint16 int32 uint32"
ELEMENT_TYPES = {
    "ADD": f"{ARITHMETIC} float16 int64",
    "SUB": f"{ARITHMETIC} int64",
    "MUL": f"{ARITHMETIC} float16 int64 complex64",
    "DIV": ARITHMETIC,
    "MAXIMUM": f"{ORDERED} float16",
    "MINIMUM": f"{ORDERED} float16",
    "POW": "float32 int32",
    "FLOOR_DIV": "float32 int8 int16 int32",
    "FLOOR_MOD": "float32 int8 int16 int32 int64",
    "SQUARED_DIFFERENCE": "float32 int32 q:int8",
    "LESS": f"{ORDERED} float16",
    "LESS_EQUAL": f"{ORDERED} float16",
    "GREATER": f"{ORDERED} float16",
    "GREATER_EQUAL": f"{ORDERED} float16",
    "EQUAL": f"{ORDERED} bool",
    "NOT_EQUAL": f"{ORDERED} bool",
    "LOGICAL_AND": "bool",
    "LOGICAL_OR": "bool",
    "SELECT_V2": f"{ORDERED} bool float16 complex64",
    "BITWISE_XOR": BITS,
    "RIGHT_SHIFT": BITS,
}
PREDICATES = {"LESS", "LESS_EQUAL", "GREATER", "GREATER_EQUAL", "EQUAL", "NOT_EQUAL"}
NUMPY: dict[str, Callable[..., Any]] = {
    "ADD": np.add,
    "SUB": np.subtract,
    "MUL": np.multiply,
    "DIV": lambda a, b: a / b if a.dtype.kind == "f" else np.trunc(a / b),
    "MAXIMUM": np.maximum,
    "MINIMUM": np.minimum,
    "POW": np.power,
    "FLOOR_DIV": np.floor_divide,
    "FLOOR_MOD": np.mod,
    "SQUARED_DIFFERENCE": lambda a, b: (a - b) ** 2,
    "LESS": np.less,
    "LESS_EQUAL": np.less_equal,
    "GREATER": np.greater,
    "GREATER_EQUAL": np.greater_equal,
    "EQUAL": np.equal,
    "NOT_EQUAL": np.not_equal,
    "LOGICAL_AND": np.logical_and,
    "LOGICAL_OR": np.logical_or,
    "SELECT_V2": np.where,
    "BITWISE_XOR": np.bitwise_xor,
    "RIGHT_SHIFT": np.right_shift,
}
SHAPES = {
    2: [((2, 3, 4), (4,)), ((), (3, 4)), ((2, 1, 4), (3, 1)), ((3, 1, 2, 1, 2), (2, 1, 3, 1)), ((0, 4), (1,))],
    3: [((4,), (3, 4), (2, 3, 4)), ((2, 1, 1), (3, 1), (4,)), ((), (2, 3), (3,))],
}
FORMS = ("implicit", "lifted", "stretched")
Key = tuple[str, str, int]


def elements(dtype: str, shape: tuple[int, ...], seed: int) -> Array:
    """Numbers that no operator of the table refuses: no zero to divide by, no negative exponent."""
    rng = np.random.default_rng(seed)
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    kind = np.dtype(dtype).kind
    if kind in "iu":
        return rng.integers(1, 6, shape).astype(dtype)
    return rng.choice([0.5, -1.25, 3.0, 7.125, 1e-20 if dtype == "float32" else 2.5, 100.1], shape).astype(dtype)


def given(op: str, spelled: str, shapes: tuple[tuple[int, ...], ...], seed: int) -> list[Given]:
    dtype = spelled.removeprefix("q:")
    scale, zero = QUANTIZED[dtype] if spelled.startswith("q:") else (None, 0)
    operands = [Given(elements(dtype, shape, seed + at), scale, zero) for at, shape in enumerate(shapes)]
    if op == "SELECT_V2":
        operands[0] = Given(elements("bool", shapes[0], seed))
    return operands


def formed(form: str, operands: list[Given], shape: tuple[int, ...]) -> tuple[Given, ...]:
    if form == "lifted":
        return tuple(
            operand.reshaped(*(1,) * (len(shape) - operand.data.ndim), *operand.data.shape) for operand in operands
        )
    return tuple(operand.stretched(*shape) for operand in operands) if form == "stretched" else tuple(operands)


def cases() -> list[Key]:
    return [
        (op, spelled, at)
        for op, types in ELEMENT_TYPES.items()
        for spelled in types.split()
        for at in range(len(SHAPES[3 if op == "SELECT_V2" else 2]))
    ]


def questions(key: Key) -> list[Question]:
    """Every form on every kernel set: XNNPACK refuses nothing here that the others take."""
    op, spelled, at = key
    shapes = SHAPES[3 if op == "SELECT_V2" else 2][at]
    operands = given(op, spelled, shapes, at)
    result = np.broadcast_shapes(*shapes)
    dtype = "bool" if op in PREDICATES else operands[-1].data.dtype.name
    scale = operands[-1].scale if dtype != "bool" else None
    zero = operands[-1].zero
    return [
        Question(op, formed(form, operands, result), result, dtype, scale, zero, kernels=kernels)
        for kernels in KERNELS
        for form in FORMS
    ]


@cache
def answers() -> dict[Key, list[Answer]]:
    """Ask everything at once: starting LiteRT takes longer than all of the questions."""
    every = [question for key in cases() for question in questions(key)]
    replies = iter(ask(every))
    return {key: [next(replies) for _ in questions(key)] for key in cases()}


@pytest.mark.alike(12)
@pytest.mark.parametrize(("op", "spelled"), sorted({key[:2] for key in cases()}))
def test_implicit_lifted_and_stretched_give_the_same_bits_on_every_kernel_set(op: str, spelled: str) -> None:
    for key in (key for key in cases() if key[:2] == (op, spelled)):
        for first in range(0, len(KERNELS) * len(FORMS), len(FORMS)):
            implicit, lifted, stretched = (answer.array for answer in answers()[key][first : first + len(FORMS)])
            shape = np.broadcast_shapes(*SHAPES[3 if op == "SELECT_V2" else 2][key[2]])
            assert implicit.shape == lifted.shape == stretched.shape == shape
            assert implicit.tobytes() == lifted.tobytes() == stretched.tobytes(), (key, KERNELS[first // len(FORMS)])


@pytest.mark.parametrize(("op", "spelled"), sorted({key[:2] for key in cases() if not key[1].startswith("q:")}))
def test_operands_meet_as_numpy_s_do(op: str, spelled: str) -> None:
    for key in (key for key in cases() if key[:2] == (op, spelled)):
        asked, answer = questions(key)[0], answers()[key][0]
        with np.errstate(over="ignore", invalid="ignore"):
            want = NUMPY[op](*(operand.data for operand in asked.operands))
        tolerance = 1e-2 if spelled == "float16" else 1e-5
        np.testing.assert_allclose(answer.array, want.astype(answer.array.dtype), rtol=tolerance)


# --- the limit of ranks -----------------------------------------------------------------------------------------------


def alternating(op: str, rank: int) -> Question:
    """No two neighbouring axes can be taken for one: [2,1,2,1 ..] under [1,2,1,2 ..]."""
    one, other = (tuple(2 if axis % 2 == odd else 1 for axis in range(rank)) for odd in (0, 1))
    spelled = "float32" if "float32" in ELEMENT_TYPES[op].split() else ELEMENT_TYPES[op].split()[0]
    operands = given(op, spelled, (one, other, one)[: 3 if op == "SELECT_V2" else 2], rank)
    dtype = "bool" if op in PREDICATES else operands[-1].data.dtype.name
    return Question(op, tuple(operands), (2,) * rank, dtype)


@cache
def ranks() -> dict[tuple[str, int], Answer]:
    keys = [(op, rank) for op in ELEMENT_TYPES for rank in (8, 9)]
    return dict(zip(keys, ask([alternating(*key) for key in keys]), strict=True))


@pytest.mark.needs_release("ai-edge-litert>=2.3")  # an older one does not check the rank; its result is undefined
@pytest.mark.parametrize("op", ELEMENT_TYPES)
def test_rank_8_runs_and_rank_9_is_more_than_the_kernel_takes(op: str) -> None:
    assert ROWS[op].max_rank == 8
    assert ranks()[op, 8].array.shape == (2,) * 8
    above = ranks()[op, 9]
    assert above.result is None
    assert above.error or above.signal in ("SIGABRT", "SIGSEGV")


@pytest.mark.parametrize("op", ["MAXIMUM", "MINIMUM"])
def test_xnnpack_may_choose_the_other_operand_where_one_is_nan(op: str) -> None:
    """Only a stretch changes it, and only there: the two kernel sets of LiteRT's own do not care."""
    one, other = (Given(np.float32(rows)) for rows in ([[np.nan], [1.0]], [[2.0, np.nan, 3.0]]))
    forms = ((one, other), (one.stretched(2, 3), other.stretched(2, 3)))
    replies = ask([Question(op, form, (2, 3), "float32", kernels=kernels) for kernels in KERNELS for form in forms])
    for implicit, stretched in (replies[0:2], replies[2:4]):
        assert implicit.array.tobytes() == stretched.array.tobytes()
    implicit, stretched = (answer.array for answer in replies[4:6])
    assert np.array_equal(implicit[1, [0, 2]], stretched[1, [0, 2]])
    assert implicit.tobytes() != stretched.tobytes()


BASES = {
    "float32": np.float32([0.1, -3.3, 1e30, -1e30, np.inf, np.nan, -0.0, 1e-45]),
    "int32": np.int32([3, -3, 46341, -46341, 2**31 - 1, -(2**31), 0, 1]),
}


@pytest.mark.parametrize("kernels", KERNELS)
@pytest.mark.parametrize("dtype", BASES)
def test_one_whole_exponent_is_multiplied_out_and_a_stretched_one_is_not(dtype: str, kernels: str) -> None:
    """So the exponent stays; to stretch the base, and to lift either, changes no bit."""
    base, one = Given(BASES[dtype]), Given(np.full((), 31, dtype))
    rows = base.reshaped(1, 8)
    forms = [(base, one), (base, one.reshaped(1)), (rows, one.reshaped(1, 1)), (base, one.stretched(8))]
    forms.append((rows.stretched(2, 8), one))
    plain, *lifted, stretched, above = ask(
        [Question("POW", form, form[0].data.shape, dtype, kernels=kernels) for form in forms]
    )
    assert all(answer.array.tobytes() == plain.array.tobytes() for answer in lifted)
    assert all(row.tobytes() == plain.array.tobytes() for row in above.array)
    assert plain.array.tobytes() != stretched.array.tobytes()
    exempt = ROWS["POW"].operands[1].keep_dims
    assert exempt is not None
    assert exempt.holds(Seen(0, one=True))


@pytest.mark.parametrize("dtype", BASES)
def test_a_power_of_one_element_by_one_goes_by_whether_the_shapes_are_the_same(dtype: str) -> None:
    base, exponent = Given(BASES[dtype][2:3]), Given(np.full(1, 3, dtype))
    forms = [(base, exponent), (base.reshaped(), exponent.reshaped()), (base, exponent.reshaped())]
    forms += [(base.reshaped(), exponent), (base, exponent.reshaped(1, 1))]
    shapes = [max((one.data.shape, two.data.shape), key=len) for one, two in forms]
    results = [
        answer.array.item()
        for answer in ask([Question("POW", form, shape, dtype) for form, shape in zip(forms, shapes, strict=True)])
    ]
    assert len(set(results[:2])) == len(set(results[2:])) == 1
    assert results[0] != results[2]
    assert all(operand.keep_rank is not None for operand in ROWS["POW"].operands)


def test_operands_of_equal_shape_have_no_limit() -> None:
    (reply,) = ask([Question("ADD", tuple(given("ADD", "float32", ((2,) * 10,) * 2, 0)), (2,) * 10, "float32")])
    assert reply.array.shape == (2,) * 10


def test_one_element_keeps_the_rank_that_select_v2_declares() -> None:
    """A lift does not change the result's declared rank, which is what LiteRT goes by here."""
    operands = (Given(np.array(True)), Given(np.float32([[5]])), Given(np.float32([7])))
    lifted = tuple(operand.reshaped(1, 1) for operand in operands)
    replies = ask(
        [
            Question("SELECT_V2", form, declared, "float32", kernels=NO_DELEGATE)
            for form in (operands, lifted)
            for declared in ((1, 1), (1, 1, 1))
        ]
    )
    assert [answer.array.shape for answer in replies] == [(1, 1), (1, 1, 1)] * 2
    assert {answer.array.item() for answer in replies} == {5.0}
