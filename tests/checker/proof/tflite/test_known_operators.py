"""Operators of a second TFLite file beside those of the first: what is entered, and what is objected to."""

from __future__ import annotations

from dataclasses import replace

import pytest

from graphfix.checker.files.constant_bytes import stored_bytes
from graphfix.checker.files.tflite.records import Operator, Subgraph, Tensor
from graphfix.checker.proof.core.terms import ProofValue
from graphfix.checker.proof.tflite.closed_world.known_operators import Known, too_wide
from graphfix.checker.proof.tflite.closed_world.new_forms import MOST_RANK, NARROWEST, NEW, plain
from graphfix.checker.proof.tflite.reading.operands import Call
from tests.support.tflite.rule_calls import call

BYTES = stored_bytes(bytes(4))


def graph(*tensors: Tensor) -> Subgraph:
    return Subgraph(tensors, (), (), (), "main", frozenset())


def tensors(pattern: str, dtypes: str = "fff") -> list[Tensor]:
    """Return a tensor for each letter: `c` for a constant, `v` for another."""
    names = {"f": "float32", "b": "int8"}
    return [
        Tensor(f"x{at}", names[dtype], None, (), None, variable=False, payload=BYTES if letter == "c" else None)
        for at, (letter, dtype) in enumerate(zip(pattern, dtypes, strict=False))
    ]


KEPT: list[tuple[list[str], str, str, bool]] = [
    (["vv"], "vv", "ff", True),
    (["vv"], "cv", "ff", True),
    (["vv"], "cc", "ff", True),
    (["cv"], "cc", "ff", True),
    (["cv"], "vv", "ff", False),
    (["cv"], "vc", "ff", False),
    (["vc"], "cv", "ff", False),
    (["cvv", "vcv"], "cvc", "fff", True),
    (["vcv", "cvv"], "cvc", "fff", True),
    (["vcv", "cvv"], "vvc", "fff", False),
    (["vcv", "vvv"], "vvc", "fff", True),
    (["vv"], "vv", "fb", True),
    (["vv"], "cv", "fb", False),
    (["vv", "cv"], "cv", "fb", True),
    (["cv"], "cc", "bf", False),
    (["cv"], "cc", "bb", True),
    ([], "vv", "ff", True),
]


@pytest.mark.parametrize(("first", "second", "dtypes", "kept"), KEPT)
def test_constants_of_the_first_file_stay_constants(first: list[str], second: str, dtypes: str, kept: bool) -> None:
    given = call("ADD", ["float32[2]", "float32[2]"])
    core, other = (given.table.find_or_create_core(("term", name), name)[0] for name in ("ADD#1", "ADD#2"))
    known = Known([])
    operator = Operator("ADD", 1, tuple(range(len(second))), (0,), {}, (), ())
    for pattern in first:
        known.keeps(graph(*tensors(pattern, dtypes)), operator, core, first=True)
    assert known.objections == []
    known.keeps(graph(*tensors(second, dtypes)), operator, other, first=False)
    assert known.objections == []
    known.keeps(graph(*tensors(second, dtypes)), operator, core, first=False)
    assert known.objections == ([] if kept else ["ADD#1 of the second file reads other constants than in the first"])


def test_an_operand_that_is_not_given_is_no_constant() -> None:
    core, _ = call("ADD", []).table.find_or_create_core(("term",), "ADD#1")
    known = Known([])
    for inputs, first in (((0, -1), True), ((0, 1), False), ((-1, 0), False)):
        operator = Operator("ADD", 1, inputs, (0,), {}, (), ())
        known.keeps(graph(*tensors("cv")), operator, core, first=first)
    assert known.constant == {core: [2]}
    assert known.objections == ["ADD#1 of the second file reads other constants than in the first"]


def test_a_tensor_that_nothing_makes_is_one_of_the_first_file() -> None:
    known = Known([])
    made = tensors("v")[0]
    known.lacks(made, first=True)
    known.lacks(made, first=False)
    assert known.objections == []
    for other in (made._replace(name="z"), made._replace(dtype="int8"), made._replace(stored=(1,))):
        known.lacks(other, first=False)
    said = "nothing makes the tensor {!r} of the second file, which is read"
    assert known.objections == [said.format(name) for name in ("z", "x0", "x0")]


def ones(rank: int, last: object = 1) -> str:
    return f"float32[{','.join(['1'] * (rank - 1) + [str(last)])}]"


@pytest.mark.parametrize(
    ("op", "operands", "wide"),
    [
        ("ADD", [ones(MOST_RANK, 5), ones(1)], False),
        ("ADD", [ones(MOST_RANK + 1, 5), ones(1)], True),
        ("ADD", [ones(1), ones(MOST_RANK + 1, 5)], True),
        ("ADD", [ones(MOST_RANK + 1, 5), ones(MOST_RANK + 1, 5)], False),
        ("ADD", [ones(MOST_RANK + 1, 5), ones(MOST_RANK + 1, "N")], True),
        ("ADD", [ones(MOST_RANK + 1, 5), "float32[*]"], True),
        ("ADD", ["float32[*]", "float32[*]"], False),
        ("SELECT_V2", [ones(MOST_RANK + 1, 5), ones(MOST_RANK + 1, 5), ones(1)], True),
        ("PRELU", [ones(MOST_RANK + 1, 5), ones(1)], True),
        ("NEG", [ones(MOST_RANK + 1, 5)], False),
        ("BATCH_MATMUL", [ones(NARROWEST, 5), ones(NARROWEST)], False),
        ("BATCH_MATMUL", [ones(NARROWEST + 1), ones(NARROWEST + 1)], True),
        ("ADD", [], False),
        ("ADD", ["", ones(MOST_RANK + 1, 5)], False),
    ],
)
def test_over_how_many_axes_kernels_broadcast(op: str, operands: list[str], wide: bool) -> None:
    given = call(op, operands)
    assert too_wide(given) is wide
    known = Known([])
    core, _ = given.table.find_or_create_core(("term",), "t")
    known.maps(given, core, first=False)
    rank = max((text.count(",") + 1 for text in operands if "," in text), default=0)
    why = f"{op} of the second file broadcasts over {rank} axes; kernels do not"
    assert known.objections == ([why] if wide else [])
    again = Known([])
    again.maps(given, core, first=True)
    again.maps(given, core, first=False)
    assert again.objections == []


@pytest.mark.parametrize(
    ("stored", "dims", "sizes", "other"),
    [
        ((2, 3), (2, 3), (2, 3), False),
        ((2, 3), (None, 3), (2, 3), False),
        ((1, 3), (None, 3), (2, 3), False),
        ((1, 3), (1, 3), (2, 3), True),
        ((1, 3), (None, 4), (2, 3), True),
        ((2, 4), (2, None), (2, 3), False),
        ((3,), (3,), (2, 3), True),
        ((), None, (2, 3), True),
        ((), None, (), False),
        ((2, 3), (2, 3), None, False),
    ],
)
def test_a_stated_shape_is_the_results_or_one_of_the_first_file(
    stored: tuple[int, ...], dims: tuple[int | None, ...] | None, sizes: tuple[int, ...] | None, other: bool
) -> None:
    given = call("ADD", ["float32[2]"])
    given = replace(given, result=given.result._replace(stored=stored, dims=dims))
    core, _ = given.table.find_or_create_core(("term",), "t")
    view = ProofValue(core, None if sizes is None else tuple(range(len(sizes))), sizes)
    known = Known([])
    known.ranks(given, view, first=False)
    why = "the result of ADD of the second file has not the shape that is stated"
    assert known.objections == ([why] if other else [])
    again = Known([])
    again.ranks(given, view, first=True)
    again.ranks(given, view, first=False)
    assert again.objections == []
    if other:
        again.ranks(replace(given, result=given.result._replace(stored=(7, 7, 7))), view, first=False)
        assert again.objections == [why]


# --- operators that are no terms --------------------------------------------------------------------------------------

KEY = ((), (), (), (), (), (), ())


def made(op: str, operands: list[str], pattern: str, result: str = "int32") -> tuple[Call, Subgraph]:
    """Return a call, and the subgraph whose tensors it reads: `c` for a constant."""
    given = call(op, operands, result)
    inputs = [
        None if tensor is None else tensor._replace(payload=BYTES if letter == "c" else None)
        for tensor, letter in zip(given.inputs, pattern, strict=True)
    ]
    given = replace(given, operator=given.operator._replace(key=KEY), inputs=inputs)
    return given, graph(*[tensor or given.result for tensor in inputs])


def objects(
    first: tuple[Call, Subgraph],
    second: tuple[Call, Subgraph],
    *,
    count: int = 1,
    computed: bool = True,
    sizes: tuple[int, ...] | None = (),
) -> bool:
    """Return whether an operator of the second file is objected to, where the first has that one."""
    known = Known([])
    core, _ = second[0].table.find_or_create_core(("term",), "t")
    views = [ProofValue(core, None if sizes is None else (None,) * len(sizes), sizes)] * count
    for (given, where), is_first in ((first, True), (second, False)):
        known.reads(where, given.operator, [given] * count, views, first=is_first, computed=computed)
    why = f"{second[0].description} of the second file is none of the first, and may not be new"
    assert known.objections in ([], [why])
    return bool(known.objections)


def test_an_operator_is_one_of_the_first_file() -> None:
    given, where = one = made("SLICE", ["int32[4]", "int32{1}", "int32{2}"], "vcc")
    assert not objects(one, one)
    assert not objects(one, one, count=2)
    result = given.result
    for other in (
        replace(given, views=[*given.views[:2], given.views[1]]),
        replace(given, result=result._replace(dtype="int64")),
        replace(given, result=result._replace(stored=(3,))),
        replace(given, operator=given.operator._replace(version=2)),
        replace(given, operator=given.operator._replace(key=("SLICE", *KEY[1:]))),
        replace(given, inputs=[given.inputs[0], given.inputs[1], None]),
    ):
        assert objects(one, (other, where))
    stored = replace(given, result=result._replace(stored=(5,)))
    assert not objects((stored, where), (replace(given, result=result._replace(stored=(3,))), where), sizes=(5,))


@pytest.mark.parametrize(("op", "moves"), [("SLICE", True), ("GATHER", True), ("TOPK_V2", False)])
def test_what_moves_elements_may_read_more_constants(op: str, moves: bool) -> None:
    operands = ["int32[4]", "int32{1}", "int32{2}"]
    given, where = made(op, operands, "vcv")
    for pattern, fits in (("vcv", True), ("ccv", moves), ("ccc", moves), ("vvv", False), ("cvc", False)):
        _, other = made(op, operands, pattern)
        assert objects((given, where), (given, other)) is not fits


def test_what_is_spelled_like_one_of_the_first_file_may_read_other_values() -> None:
    for op, each in (("ADD", True), ("NEG", True), ("TOPK_V2", False)):
        given, where = one = made(op, ["int32[4]", "int32[4]"], "vv")
        other = (replace(given, views=given.views[::-1]), where)
        assert objects(one, other) is not each
        assert not objects(one, other, computed=False)
        assert objects(one, other, count=2, computed=False)
        assert objects(one, other, sizes=(4,), computed=False)
        assert objects(one, other, sizes=None) is not each
        core, _ = given.table.find_or_create_core(("unknown",), "u")
        unknown = (replace(given, views=[ProofValue(core, None, None), given.views[0]]), where)
        assert objects(one, unknown)
        assert not objects(one, unknown, computed=False)
    given, where = one = made("ADD", [ones(MOST_RANK + 1, 5), ones(1)], "vv")
    assert objects(one, (replace(given, views=given.views[::-1]), where))


def test_a_form_that_may_be_new_is() -> None:
    first = made("TOPK_V2", ["int32[4]", "int32=2"], "vc")
    given, where = made("EXPAND_DIMS", ["int32[4]", "int32=0"], "vc")
    assert not objects(first, (given, where))
    assert objects(first, (replace(given, operator=given.operator._replace(version=2)), where))
    assert objects(first, (given, where), sizes=(1, 4))
    assert objects(first, made("EXPAND_DIMS", ["int32[4]", "int32[1,1]"], "vv"))


@pytest.mark.parametrize(
    ("name", "version", "key", "is_plain"),
    [
        ("TILE", 1, {}, True),
        ("TILE", 2, {}, True),
        ("TILE", 0, {}, False),
        ("TILE", 3, {}, False),
        ("TILE", 1, {2: ("newer",)}, False),
        ("TILE", 1, {4: b"custom"}, False),
        ("TILE", 1, {5: (False, False)}, True),
        ("TILE", 1, {5: (False, True)}, False),
        ("TILE", 1, {6: (0,)}, False),
        ("RESHAPE", 1, {3: (("newShape", (2,)),)}, True),
        ("CONCATENATION", 1, {3: (("axis", 1), ("fusedActivationFunction", 0))}, True),
        ("CONCATENATION", 1, {3: (("axis", 1), ("fusedActivationFunction", 1))}, False),
        ("CONCATENATION", 1, {3: (("fusedActivationFunction", 1), ("axis", 0))}, False),
        ("GATHER", 1, {3: (("axis", 1),)}, False),
        ("TILE", 1, {1: 999}, False),
    ],
)
def test_a_new_form_has_the_options_of_its_kind_alone(
    name: str, version: int, key: dict[int, object], is_plain: bool
) -> None:
    operator = Operator(name, version, (), (), {}, (), tuple(key.get(at, ()) for at in range(7)))
    assert plain(operator, NEW[name]) is is_plain
