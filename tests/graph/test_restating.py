"""Constants in fewer elements: which ones are restated, and which are left because another node reads them too."""

from __future__ import annotations

import pytest

from graphfix.graph.shrink_constants import _partly, _smaller
from graphfix.shapes.dim import Shape
from tests.support.onnx import fixing

SHARED = "d[2,2] = DequantizeLinear(q:const:int8[2,2]{5,6,5,6}, s:const[]{0.5}, z:const:int8[]{0})"
ADD = "y[2,2] = Add(x[2,2], d)"


def test_a_constant_that_is_dequantized_for_one_node_is_restated() -> None:
    assert fixing.fixed(f"{SHARED}\n{ADD}", target="compact").view == [
        "d[2] = DequantizeLinear(q_restated[2], s[], z[])",
        "y[2,2] = Add(x[2,2], d[2])",
    ]


@pytest.mark.parametrize("other", ["w[2,2] = Neg(d)", "w[2] = ReduceSum(d, a:const{1}, keepdims=0)"])
def test_a_constant_that_is_dequantized_for_others_too_stays(other: str) -> None:
    """It would be dequantized twice."""
    assert not fixing.fixed(f"{SHARED}\n{ADD}\n{other}", target="compact").outcome.changed


def test_a_constant_that_others_read_as_it_is_stays_for_them() -> None:
    text = "y[2,2] = Add(x[2,2], c:const[2,2]{5.0,6.0,5.0,6.0})\nw[2,2] = Neg(c)"
    assert fixing.fixed(text, target="compact").view == ["y[2,2] = Add(x[2,2], c_restated[2])", "w[2,2] = Neg(c[2,2])"]


@pytest.mark.parametrize(
    "text",
    [
        "y[2,2] = Add(x[2,2], c:const[2,2]{5.0,6.0,7.0,8.0})",
        "y[2,2] = MatMul(x[2,2], c:const[2,2]{5.0,6.0,5.0,6.0})",
        "y[*] = Add(x[*], c:const[2,2]{5.0,6.0,5.0,6.0})",
        "y[*] = Max(x[*], b[2], c:const[2,2]{5.0,6.0,5.0,6.0})",
        "y[*] = Max(x[*], c:const[2,2]{5.0,6.0,5.0,6.0}, c)",
    ],
    ids=[
        "no axis repeats",
        "a matrix of a product",
        "nothing says that the result has two axes",
        "the others have fewer axes",
        "it is read twice, and nothing else has two axes",
    ],
)
def test_a_constant_stays(text: str) -> None:
    assert not fixing.fixed(text, target="compact").outcome.changed


@pytest.mark.parametrize("rank", ["2,2", "2,2,2"])
def test_one_operand_beside_a_constant_says_that_a_result_of_unknown_rank_has_its_axes(rank: str) -> None:
    text = f"y[*] = Max(x[*], b[{rank}], c:const[2,2]{{5.0,6.0,5.0,6.0}})"
    assert fixing.fixed(text, target="compact").view == [f"y[*] = Max(x[*], b[{rank}], c_restated[2])"]


def test_the_smallest_shapes_come_first_then_those_with_one_axis_uncut_or_one_axis_cut() -> None:
    shape, least = Shape((2, 3, 4)), Shape((1, 1, 1))
    assert list(_partly(shape, least)) == [(2, 1, 1), (1, 3, 1), (1, 1, 4), (1, 3, 4), (2, 1, 4), (2, 3, 1)]
    assert list(_partly(shape, Shape((2, 1, 4)))) == []
    assert list(_partly(shape, Shape((1, 3, 1)))) == [(2, 3, 1), (1, 3, 4), (1, 3, 4), (2, 3, 1)]
    assert [shape.dims for shape in _smaller(Shape((2, 3)), Shape((1, 3)), 3)] == [
        (3,),
        (1, 3),
        (1, 1, 3),
        (2, 3),
        (1, 2, 3),
    ]


def test_a_shape_with_one_axis_uncut_comes_before_one_with_one_axis_cut() -> None:
    found = [shape.dims for shape in _smaller(Shape((2, 3, 4)), Shape((1, 1, 1)), 3)]
    assert list(dict.fromkeys(found)) == [
        (), (1,), (1, 1), (1, 1, 1),
        (2, 1, 1), (3, 1), (1, 3, 1), (4,), (1, 4), (1, 1, 4),
        (3, 4), (1, 3, 4), (2, 1, 4), (2, 3, 1), (2, 3, 4),
    ]  # fmt: skip
