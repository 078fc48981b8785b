"""The inputs of an ONNX model as the proof reads them: declared, bound, equal and summed sizes, and what is set."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from onnx import TensorProto, ValueInfoProto, helper, numpy_helper

from graphfix.checker.files.binding_error import BindingError
from graphfix.checker.files.equal_sizes import NONE_EQUAL, EqualSizes
from graphfix.checker.files.pair import Pair
from graphfix.checker.proof.core.arithmetic import Arithmetic
from graphfix.checker.proof.core.polynomials import MOST_TERMS
from graphfix.checker.proof.core.result import UnprovedError
from graphfix.checker.proof.core.sizes import Algebra
from graphfix.checker.proof.onnx.reading.inputs import (
    FreeSizes,
    constant_inputs,
    constant_of,
    declared_dims,
    is_named,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from graphfix.checker.proof.core.sizes import Size

Dims = tuple[int | str | None, ...] | None
LONG = tuple(f"p{at}" for at in range(MOST_TERMS + 1))


def info(name: str, dims: Dims, kind: int = TensorProto.FLOAT) -> ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, dims)


def stated(**fields: Any) -> Pair:  # noqa: ANN401 -- the fields of Pair
    return Pair(Path("before.onnx"), Path("after.onnx"), **fields)


def free(inputs: Mapping[str, Dims], pair: Pair, equal: EqualSizes = NONE_EQUAL) -> dict[str, tuple[Size, ...] | None]:
    infos = [info(name, dims) for name, dims in inputs.items()]
    sizes = FreeSizes.of(Arithmetic(Algebra()), equal, pair, infos)
    return {each.name: sizes.shape(each) for each in infos}


def read(x: Dims, equal: EqualSizes = NONE_EQUAL, **fields: Any) -> list[str] | None:  # noqa: ANN401
    """Return the sizes of an input as text."""
    found = free({"x": x}, stated(**fields), equal)["x"]
    return None if found is None else list(map(repr, found))


SIZES: dict[str, tuple[Dims, EqualSizes, dict[str, Any], list[str] | None]] = {
    "numbers, 0 included": ((2, 0), NONE_EQUAL, {}, ["2", "0"]),
    "a size below 0": ((-1, 2), NONE_EQUAL, {}, ["x[0]", "2"]),
    "names": (("N", "M", "N"), NONE_EQUAL, {}, ["N", "M", "N"]),
    "no names": (("?", None, ""), NONE_EQUAL, {}, ["x[0]", "x[1]", "x[2]"]),
    "no rank": (None, NONE_EQUAL, {}, None),
    "a number": ((), NONE_EQUAL, {}, []),
    "a shape": (("N", 3), NONE_EQUAL, {"shapes": {"x": (2, 3)}}, ["2", "3"]),
    "a shape of no declared rank": (None, NONE_EQUAL, {"shapes": {"x": (2, 3)}}, ["2", "3"]),
    "a shape of another input": (("N", 3), NONE_EQUAL, {"shapes": {"z": (2, 3)}}, ["N", "3"]),
    "a name that is bound": (("N", "M"), NONE_EQUAL, {"bindings": {"N": 5}}, ["5", "M"]),
    "a place that is bound": (("N", None), NONE_EQUAL, {"bindings": {"x[0]": 5, "x[1]": 6}}, ["5", "6"]),
    "a name before its place": (("N",), NONE_EQUAL, {"bindings": {"x[0]": 5, "N": 6}}, ["6"]),
    "a number of an equal size": (("N",), EqualSizes(numbers={"N": 7}), {}, ["7"]),
    "an equal size": (("N", "M"), EqualSizes(names={"N": "M", "M": "M"}), {}, ["M", "M"]),
    "an equal size of no name": (("N", None), EqualSizes(names={"x[1]": "N"}), {}, ["N", "N"]),
    "a sum": (("N", "T"), EqualSizes(sums={"T": ("N", 2)}), {}, ["N", "N+2"]),
    "a sum of its equal": (("N", "L"), EqualSizes(names={"L": "T"}, sums={"T": ("N", 2)}), {}, ["N", "N+2"]),
    "a sum of more than is followed": (("T",), EqualSizes(sums={"T": LONG}), {}, ["T"]),
}


@pytest.mark.parametrize(("dims", "equal", "fields", "expected"), SIZES.values(), ids=SIZES)
def test_a_size_is_what_is_declared_or_stated_of_it(
    dims: Dims, equal: EqualSizes, fields: dict[str, Any], expected: list[str] | None
) -> None:
    assert read(dims, equal, **fields) == expected


def test_sizes_are_one_by_their_name_and_not_without_one() -> None:
    found = free({"x": ("N", "?", None, ""), "z": ("N", "?", None, "")}, stated())
    x, z = found["x"], found["z"]
    assert x is not None
    assert z is not None
    assert x[0] is z[0]
    assert len({x[0], *x[1:], *z[1:]}) == 7


def test_the_parts_of_a_sum_are_the_sizes_of_inputs() -> None:
    equal = EqualSizes(sums={"T": ("N", "z[1]", "out")})
    arithmetic = Arithmetic(Algebra())
    infos = [info("x", ("T",)), info("z", ("N", None))]
    sizes = FreeSizes.of(arithmetic, equal, stated(), infos)
    (total,), parts = sizes.shape(infos[0]) or (), sizes.shape(infos[1]) or ()
    other = arithmetic.algebra.symbol(("input", "out"), "out")
    assert total is arithmetic.add(*parts, other)


@pytest.mark.parametrize(("asked", "expected"), [("N", (2, 9)), ("x[0]", (2, 9)), ("x[1]", None)])
def test_a_range_is_one_of_the_symbol(asked: str, expected: tuple[int, int] | None) -> None:
    arithmetic, infos = Arithmetic(Algebra()), [info("x", ("N", 3))]
    (size, _) = FreeSizes.of(arithmetic, NONE_EQUAL, stated(ranges={asked: (2, 9)}), infos).shape(infos[0]) or ()
    assert arithmetic.algebra.ranges == ({} if expected is None else {size: expected})


def test_a_range_of_a_name_counts_before_that_of_its_place() -> None:
    arithmetic, infos = Arithmetic(Algebra()), [info("x", ("N",))]
    pair = stated(ranges={"x[0]": (1, 4), "N": (2, 9)})
    (size,) = FreeSizes.of(arithmetic, NONE_EQUAL, pair, infos).shape(infos[0]) or ()
    assert arithmetic.algebra.ranges == {size: (2, 9)}


@pytest.mark.parametrize("dims", [(2, 4), (3, "N"), (2, 3, 1), (2,)])
def test_a_shape_that_the_file_does_not_declare_is_not_taken(dims: Dims) -> None:
    with pytest.raises(UnprovedError, match=r"the input 'x' is declared with other sizes than \[2, 3\]"):
        read(dims, shapes={"x": [2, 3]})
    with pytest.raises(UnprovedError, match=r"the input 'x' is declared with other sizes than \[2, 3\]"):
        constant_of(info("x", dims), np.zeros((2, 3), np.float32))


def test_an_input_that_is_no_tensor_has_no_shape() -> None:
    sequence = helper.make_tensor_sequence_value_info("x", TensorProto.FLOAT, (2,))
    assert FreeSizes.of(Arithmetic(Algebra()), NONE_EQUAL, stated(), [sequence]).shape(sequence) is None


@pytest.mark.parametrize(("name", "named"), [("N", True), ("??", True), ("?", False), ("", False)])
def test_a_question_mark_is_no_name(name: str, named: bool) -> None:
    assert is_named(name) is named


def test_declared_sizes_are_numbers_of_0_or_more() -> None:
    assert declared_dims(info("x", (2, 0, "N", None, -1))) == [2, 0, None, None, None]
    assert declared_dims(info("x", ())) == []
    assert declared_dims(info("x", None)) is None


SET: dict[str, tuple[tuple[int | str, ...], dict[str, Any], tuple[int, ...], dict[str, int]]] = {
    "by its elements": (("N", 2), {}, (3, 2), {"N": 3}),
    "with a size that is bound": (("N", 2), {"bindings": {"N": 3}}, (3, 2), {}),
    "with one of two sizes that is bound": (("N", "M"), {"bindings": {"N": 3}}, (3, 2), {"M": 2}),
    "with a shape": (("N", "M"), {"shapes": {"x": (3, 2)}}, (3, 2), {"N": 3, "M": 2}),
}


@pytest.mark.parametrize(("dims", "fields", "shape", "sizes"), SET.values(), ids=SET)
def test_an_input_that_is_set_is_an_array_of_its_shape_and_gives_sizes(
    dims: tuple[int | str, ...], fields: dict[str, Any], shape: tuple[int, ...], sizes: dict[str, int]
) -> None:
    infos = [info("x", dims), info("z", ("N",))]
    values = tuple(map(float, range(6)))
    found, given = constant_inputs(infos, {"x": dims, "z": ("N",)}, stated(values={"x": values}, **fields))
    assert list(found) == ["x"]
    assert (found["x"].shape, found["x"].dtype, given) == (shape, np.float32, sizes)
    assert found["x"].ravel().tolist() == list(values)
    made = constant_of(infos[0], found["x"])
    assert made.name == "x"
    assert (numpy_helper.to_array(made) == found["x"]).all()


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "a name that no input has": ({"w": 1.0}, "there is no input 'w'"),
    "too many elements": ({"x": (1.0, 2.0, 3.0)}, r"3 elements do not fill \['N', 2\]"),
    "two sizes of one name": (
        {"x": (1.0, 2.0), "z": (1.0, 2.0)}, "it gives N as 2, another one as 1; let them agree"),
}  # fmt: skip


@pytest.mark.parametrize(("values", "message"), WRONG.values(), ids=WRONG)
def test_what_does_not_fit_is_said(values: dict[str, Any], message: str) -> None:
    infos = [info("x", ("N", 2)), info("z", ("N",))]
    with pytest.raises(BindingError, match=message):
        constant_inputs(infos, {"x": ("N", 2), "z": ("N",)}, stated(values=values))


def test_two_inputs_that_give_one_size_may_be_set() -> None:
    infos = [info("x", ("N", 2)), info("z", ("N",))]
    pair = stated(values={"x": (1.0, 2.0), "z": (1.0,)})
    found, sizes = constant_inputs(infos, {"x": ("N", 2), "z": ("N",)}, pair)
    assert ({name: array.shape for name, array in found.items()}, sizes) == ({"x": (1, 2), "z": (1,)}, {"N": 1})


def test_an_input_of_no_stated_type_is_not_set() -> None:
    infos = [info("x", (2,), TensorProto.UNDEFINED)]
    with pytest.raises(BindingError, match="the input holds another type"):
        constant_inputs(infos, {"x": (2,)}, stated(values={"x": (1.0, 2.0)}))
