"""What a rule of TFLite's operators is told of an operand, and which integers a result may be."""

from __future__ import annotations

from dataclasses import replace

import pytest

from graphfix.checker.proof.core.terms import MOST_ELEMENTS
from graphfix.checker.proof.tflite.reading.operands import Call
from tests.support.tflite.rule_calls import QUANTIZED, call, integers, shown, sizes_of

GIVEN = ["float32[N,3]", "", "float32[*]", "int32{N,3}", "int32=N", "int64{2,3}", "int32{N-1,3}"]


def test_what_is_known_of_operands() -> None:
    given = call("ADD", GIVEN)
    places = range(len(GIVEN) + 1)
    assert [given.operand(at) is None for at in places] == [at in (1, 7) for at in places]
    assert [shown(given.sizes(at)) for at in places] == ["N,3", "*", "*", "2", "", "2", "2", "*"]
    assert [shown(given.content(at)) for at in places] == ["*", "*", "*", "N,3", "N", "2,3", "N-1,3", "*"]
    assert [shown(given.vector(at)) for at in places] == ["*", "*", "*", "N,3", "*", "2,3", "N-1,3", "*"]
    assert [shown(given.target(at)) for at in places] == ["*", "*", "*", "N,3", "*", "2,3", "*", "*"]
    assert [given.known_integers(at) for at in places] == [None] * 5 + [(2, 3), None, None]


def test_a_negative_number_in_a_target_is_told() -> None:
    assert call("RESHAPE", ["int32{-1,3}"]).target(0) == (-1, 3)


def test_integers_of_another_type_than_the_tensor_or_of_a_quantized_one_are_not_told() -> None:
    given = call("ADD", ["int32{2,3}"])
    (tensor,) = given.inputs
    assert tensor is not None
    assert given.content(0) == (2, 3)
    assert replace(given, inputs=[tensor._replace(dtype="int64")]).content(0) is None
    assert replace(given, inputs=[tensor._replace(quantization=QUANTIZED)]).content(0) is None
    assert replace(given, inputs=[]).content(0) is None
    assert replace(given, inputs=[None]).content(0) is None


def test_options_that_are_no_integers_are_0() -> None:
    given = call("ADD", [], axis=3, name="text", keep=True)
    assert [given.integer(name) for name in ("axis", "name", "keep", "none")] == [3, 0, 1, 0]
    assert [given.option(name) for name in ("axis", "name", "none")] == [3, "text", None]


LIMITS = {"int32": 2**31, "int64": 2**63}


@pytest.mark.parametrize("dtype", LIMITS)
def test_integers_have_to_fit_the_type_of_the_result(dtype: str) -> None:
    given, limit = call("ADD", [], dtype), LIMITS[dtype]
    for number, fits in ((limit - 1, True), (limit, False), (-limit, True), (-limit - 1, False)):
        for numbers in ((number,), (0, number)):
            assert (given.result_integers(numbers) is not None) == fits


@pytest.mark.parametrize("dtype", ["float32", "int16", "bool"])
def test_no_result_of_another_type_is_known_integers(dtype: str) -> None:
    assert call("ADD", [], dtype).result_integers((1, 2)) is None


def test_as_many_integers_are_known_as_shapes_have() -> None:
    given = call("ADD", [])
    assert given.result_integers(tuple(range(MOST_ELEMENTS))) is not None
    assert given.result_integers(tuple(range(MOST_ELEMENTS + 1))) is None
    quantized = replace(given, result=given.result._replace(quantization=QUANTIZED))
    assert quantized.result_integers((1, 2)) is None


@pytest.mark.parametrize(
    ("dtype", "sizes", "assumed"),
    [("int32", "N,3", True), ("int32", "2,3", False), ("int32", "3,N", True), ("int64", "N,3", False)],
)
def test_sizes_in_int32_are_assumed_to_fit(dtype: str, sizes: str, assumed: bool) -> None:
    given: Call = call("SHAPE", [], dtype)
    assert integers(given.result_sizes(sizes_of(given.table, sizes))) == f"{{{sizes}}}"
    assert list(given.table.assumptions) == (["sizes are below 2**31"] if assumed else [])
    assert integers(given.result_sizes(sizes_of(given.table, "N"), scalar=True)) == "=N"
