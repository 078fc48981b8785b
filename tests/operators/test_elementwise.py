"""The catalogue's element-wise rows, asked of onnxruntime: implicit, lifted and stretched operands agree."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import onnx
import pytest

from graphfix.operators import row
from graphfix.operators.row import Row, Seen
from tests.support.runtimes.one_node import (
    MICROSOFT,
    NEWEST,
    Array,
    Key,
    Refused,
    lifted,
    name_of,
    numbers,
    run,
    same_bits,
    stretched,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

PAIRS = (
    ((2, 3, 4), (4,)),
    ((4,), (2, 3, 4)),
    ((2, 1, 4), (3, 1)),
    ((2, 3, 4), ()),
    ((1,), (2, 3, 4)),
    ((0, 3), (1,)),
    ((1,), ()),
)
TRIPLES = (((2, 1, 1), (3, 1), (4,)), ((4,), (2, 3, 4), ()), ((), (1,), (2, 3, 4)), ((2, 1), (0, 1, 3), (3,)))
ONTO_FIRST = (((2, 3, 4), (4,)), ((2, 3, 4), (3, 1)), ((2, 3, 4), ()), ((2, 3, 4), (1,)), ((0, 3), (3,)))


def as_is(operands: Sequence[Array]) -> list[Array | None]:
    return list(operands)


@dataclass(frozen=True)
class Question:
    """What to ask of a row: numpy's answer, and each type with the first version that has a kernel for it."""

    numpy: Callable[..., Array]
    types: str
    shapes: Sequence[Sequence[tuple[int, ...]]] = PAIRS
    constants: tuple[int, ...] = ()
    attributes: dict[str, dict[str, object]] = field(default_factory=dict)
    """By type."""
    place: Callable[[Sequence[Array]], list[Array | None]] = as_is
    """From the operands that take part to all operands of the node."""
    first: str | None = None
    """The type of operand 0 where it is another than the rest's."""
    tolerance: float = 0.0


ONE = np.array(1, dtype=np.float32)


def zero(operand: Array) -> Array:
    return np.array(0, dtype=operand.dtype)


def pair_with_scales(operands: Sequence[Array]) -> list[Array | None]:
    a, b = operands
    return [a, ONE, zero(a), b, ONE, zero(b), ONE, zero(a)]


def where_with_scales(operands: Sequence[Array]) -> list[Array | None]:
    condition, x, y = operands
    return [condition, x, ONE, zero(x), y, ONE, zero(y), ONE, zero(x)]


def mean(*operands: Array) -> Array:
    return np.asarray(sum(operands) / np.asarray(len(operands), dtype=operands[0].dtype))


def n_ary(function: Callable[[Array, Array], Array]) -> Callable[..., Array]:
    return lambda first, *others: first if not others else function(first, n_ary(function)(*others))


def prelu(x: Array, slope: Array) -> Array:
    return np.asarray(np.where(x < 0, x * slope, x))


def quotient(a: Array, b: Array) -> Array:
    return np.asarray(a / b if np.issubdtype(a.dtype, np.floating) else a // b)


def power(x: Array, exponent: Array) -> Array:
    return np.asarray(np.power(x, exponent))


FMOD = {"float32": {"fmod": 1}, "float64": {"fmod": 1}}
LEFT: dict[str, dict[str, object]] = {kind: {"direction": "LEFT"} for kind in ("uint8", "uint32", "uint64")}
QUESTIONS: dict[Key, Question] = {
    ("", "Add", 7): Question(np.add, "float32 float64 int32 int64 uint8:14"),
    ("", "Sub", 7): Question(np.subtract, "float32 float64 int32 int64 int8:14"),
    ("", "Mul", 7): Question(np.multiply, "float32 float64 int32 int64 int16:14"),
    ("", "Div", 7): Question(quotient, "float32 float64 int32 int64", tolerance=1e-7),
    ("", "Pow", 7): Question(power, "float32 float64 int32:12 int64:12", tolerance=1e-5),
    ("", "And", 7): Question(np.logical_and, "bool"),
    ("", "Or", 7): Question(np.logical_or, "bool"),
    ("", "Xor", 7): Question(np.logical_xor, "bool"),
    ("", "Equal", 7): Question(np.equal, "bool int32 int64 float32:11 object:19"),
    ("", "Greater", 7): Question(np.greater, "float32 float64 int32:9 int64:9"),
    ("", "Less", 7): Question(np.less, "float32 float64 int32:9 int64:9"),
    ("", "GreaterOrEqual", 12): Question(np.greater_equal, "float32 int64"),
    ("", "LessOrEqual", 12): Question(np.less_equal, "float32 int64"),
    ("", "Mod", 10): Question(np.fmod, "float32 float64 int32 uint8", attributes=FMOD),
    ("", "BitShift", 11): Question(np.left_shift, "uint8 uint32 uint64", attributes=LEFT),
    ("", "BitwiseAnd", 18): Question(np.bitwise_and, "uint8 int64"),
    ("", "BitwiseOr", 18): Question(np.bitwise_or, "uint8 int64"),
    ("", "BitwiseXor", 18): Question(np.bitwise_xor, "uint8 int64"),
    ("", "StringConcat", 20): Question(np.add, "object"),
    ("", "Where", 9): Question(np.where, "float32 int64 uint8 object", TRIPLES, first="bool"),
    ("", "Max", 8): Question(n_ary(np.maximum), "float32 float64 int32:12 int64:12", TRIPLES),
    ("", "Min", 8): Question(n_ary(np.minimum), "float32 float64 int32:12 int64:12", TRIPLES),
    ("", "Sum", 8): Question(n_ary(np.add), "float32 float64", TRIPLES),
    ("", "Mean", 8): Question(mean, "float32", TRIPLES, tolerance=1e-6),
    ("", "PRelu", 7): Question(prelu, "float32 float16", ONTO_FIRST),
    (MICROSOFT, "QLinearAdd", 1): Question(np.add, "uint8 int8", constants=(1, 2, 4, 5, 6, 7), place=pair_with_scales),
    (MICROSOFT, "QLinearMul", 1): Question(
        np.multiply, "uint8 int8", constants=(1, 2, 4, 5, 6, 7), place=pair_with_scales
    ),
    (MICROSOFT, "QLinearWhere", 1): Question(
        np.where, "uint8 int8", TRIPLES, (2, 3, 5, 6, 7, 8), place=where_with_scales, first="bool"
    ),
}


def versions(entry: Row) -> list[int]:
    """List the row's versions that onnxruntime loads: the first, each with a new schema, the newest."""
    if entry.domain:
        return [1]
    changes = {
        schema.since_version
        for schema in onnx.defs.get_all_schemas_with_history()
        if (schema.domain, schema.name) == (entry.domain, entry.op)
    }
    return sorted({entry.since, NEWEST} | {version for version in changes if entry.since <= version <= NEWEST})


def typed(question: Question, version: int) -> Iterator[str]:
    for word in question.types.split():
        kind, _, since = word.partition(":")
        if int(since or 0) <= version:
            yield kind


@pytest.mark.alike(2)
@pytest.mark.parametrize("key", QUESTIONS, ids=name_of)
def test_implicit_lifted_and_stretched_operands_agree_with_numpy_and_with_each_other(key: Key) -> None:
    question = QUESTIONS[key]
    entry = row(*key)
    assert entry is not None
    asked = 0
    for version in versions(entry):
        for kind in typed(question, version):
            for shapes in question.shapes:
                ask(entry, question, version, kind, shapes)
                asked += 1
    assert asked >= len(question.shapes), "a row that is asked nothing proves nothing"


def assert_answer(result: Array, expected: Array, tolerance: float, where: str) -> None:
    if tolerance:
        np.testing.assert_allclose(result, expected, rtol=tolerance, err_msg=where)
    else:
        np.testing.assert_array_equal(result, expected, err_msg=where)


def ask(entry: Row, question: Question, version: int, kind: str, shapes: Sequence[tuple[int, ...]]) -> None:
    kinds = [question.first or kind, *[kind] * (len(shapes) - 1)]
    parts = [numbers(kind, *shape, seed=seed) for seed, (kind, shape) in enumerate(zip(kinds, shapes, strict=True))]
    result_shape = np.broadcast_shapes(*shapes)
    if entry.op == "Pow":
        parts[0] = np.abs(parts[0]) + np.array(1, dtype=kind)  # a negative base has no real power

    def answer(operands: Sequence[Array]) -> list[Array]:
        return run(
            entry.op,
            *question.place(operands),
            domain=entry.domain,
            opset=version,
            constants=question.constants,
            **question.attributes.get(kind, {}),
        )

    where = f"{entry.op}-{version} {kind} {shapes}"
    implicit = answer(parts)
    expected = question.numpy(*parts)
    assert implicit[0].shape == result_shape == expected.shape, where
    assert_answer(implicit[0], expected, question.tolerance, where)
    taking_part = entry.taking_part(len(question.place(parts)))
    assert len(taking_part) == len(parts) - (entry.onto is not None)
    for position, operand in enumerate(taking_part, start=len(parts) - len(taking_part)):
        part = parts[position]
        others = [*parts]
        others[position] = lifted(part, len(result_shape))
        assert operand.keep_rank is None or operand.keep_rank.holds(seen(part)) is None
        assert same_bits(answer(others), implicit), f"{where}: operand {operand.index} lifted"
        if operand.keep_dims is None or operand.keep_dims.holds(seen(part)) is None:
            others[position] = stretched(part, result_shape)
            assert same_bits(answer(others), implicit), f"{where}: operand {operand.index} stretched"


def seen(operand: Array) -> Seen:
    return Seen(operand.ndim, one=operand.size == 1)


def test_a_single_operand_of_a_variadic_row_is_passed_through() -> None:
    for op in ("Max", "Min", "Sum", "Mean"):
        x = numbers("float32", 2, 3)
        assert same_bits(run(op, x, opset=13), [x])


def test_variadic_operators_refuse_different_shapes_before_version_8() -> None:
    for op in ("Max", "Min", "Sum", "Mean"):
        assert row("", op, 7) is None
        equal = run(op, numbers("float32", 2, 3), numbers("float32", 2, 3), opset=6)
        assert equal[0].shape == (2, 3)
        with pytest.raises(Refused):
            run(op, numbers("float32", 2, 3), numbers("float32", 3), opset=6)


@pytest.mark.parametrize("shape", [(), (1,), (1, 1, 1)])
@pytest.mark.parametrize("exponent", [2.0, 3.0])
def test_an_exponent_of_one_element_is_not_stretched_for_it_changes_bits(
    exponent: float, shape: tuple[int, ...]
) -> None:
    entry = row("", "Pow", 13)
    assert entry is not None
    exempt = entry.operands[1].keep_dims
    assert exempt is not None
    x = np.random.default_rng(0).random((64, 64, 64), dtype=np.float32) * 3
    power_of = np.full(shape, exponent, dtype=np.float32)
    assert exempt.holds(seen(power_of))
    assert exempt.holds(seen(np.full((64, 1, 64), exponent))) is None
    scalar = run("Pow", x, power_of, opset=13)
    assert same_bits(run("Pow", x, lifted(power_of, 3), opset=13), scalar)
    general = run("Pow", x, stretched(power_of, x.shape), opset=13)
    np.testing.assert_allclose(general[0], scalar[0], rtol=1e-6)
    if exponent == 3.0:  # a correctly rounded x**2 is x*x: only the cube shows in the bits
        assert not same_bits(general, scalar)


@pytest.mark.parametrize(("base", "exponent", "changes"), [
    ((64, 1), (), True),
    ((64, 1), (1,), True),
    ((64, 1, 1), (1, 1), True),
    ((64, 2, 1), (1, 1), False),
    ((1, 64), (), False),
    ((1, 1), (), False),
])  # fmt: skip
def test_a_lifted_exponent_of_one_element_changes_bits_behind_axes_of_one(
    base: tuple[int, ...], exponent: tuple[int, ...], changes: bool
) -> None:
    x, cube = np.full(base, 2**40 + 1, np.int64), np.full(exponent, 3, np.int64)
    implicit = run("Pow", x, cube, opset=13)
    assert same_bits(run("Pow", x, lifted(cube, len(base)), opset=13), implicit) != changes
    entry = row("", "Pow", 13)
    assert entry is not None
    assert entry.operands[1].keep_rank is not None
    assert entry.operands[1].keep_rank.holds(Seen(0, under_ones=True))


@pytest.mark.parametrize("op", ["QLinearAdd", "QLinearMul"])
def test_scales_of_rank_1_are_refused_so_they_are_no_operands_of_the_row(op: str) -> None:
    entry = row(MICROSOFT, op, 1)
    assert entry is not None
    assert [operand.index for operand in entry.operands] == [0, 3]
    operands = pair_with_scales([numbers("uint8", 2, 3), numbers("uint8", 3)])
    operands[1] = ONE.reshape(1)
    with pytest.raises(Refused):
        run(op, *operands, domain=MICROSOFT, constants=(1, 2, 4, 5, 6, 7))


def test_onnxruntime_stretches_the_input_of_prelu_although_the_specification_does_not() -> None:
    x, slope = numbers("float32", 1), numbers("float32", 3)
    assert run("PRelu", x, slope, opset=16)[0].shape == (3,)
    entry = row("", "PRelu", 16)
    assert entry is not None
    assert entry.onto == 0
    assert [operand.index for operand in entry.operands] == [1]
