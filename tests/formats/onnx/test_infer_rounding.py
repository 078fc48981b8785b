"""Products of a size and a scale as float32 rounds them, truth values of what is known in part, and parts of a size."""

from __future__ import annotations

import pytest

from graphfix.formats.onnx.infer.operators.elementwise import _truth
from graphfix.formats.onnx.infer.operators.windows import times
from graphfix.shapes.dim import UNKNOWN, Dim, Size, symbol
from graphfix.shapes.terms import Terms
from tests.support.onnx.node_results import results

N = symbol("n", 0, None)


@pytest.mark.parametrize(
    ("scale", "at_5"),
    [(1.0, 5), (2.0, 10), (0.5, 2), (1.5, 7), (0.25, 1), (3.0, 15)],
)
def test_a_size_times_a_power_of_2_is_rounded_down(scale: float, at_5: int) -> None:
    terms = Terms()
    assert terms.number(times(terms, N, scale), {N.parts: 5}) == at_5


def test_a_size_times_another_scale_has_a_name_that_is_never_below_0() -> None:
    terms = Terms()
    scale = 0.30000001192092896
    found = times(terms, N, scale)
    assert isinstance(found, Dim)
    assert found.lo == 0
    assert found == times(terms, N, scale)
    assert found not in (times(terms, N, 0.699999988079071), times(terms, symbol("m", 0, None), scale))
    assert terms.number(found, {N.parts: 5}) is None


@pytest.mark.parametrize("scale", [0.0, -1.0, 16777216.0])
def test_a_scale_that_float32_does_not_count_by_gives_no_size(scale: float) -> None:
    assert times(Terms(), N, scale) == UNKNOWN
    assert times(Terms(), 1, scale) == UNKNOWN


KNOWN: dict[str, tuple[Size, bool | None]] = {
    "0": (0, False),
    "1": (1, True),
    "less than 0": (-1, True),
    "a size": (N, None),
    "a size that is at least 1": (symbol("n", 1, None), True),
    "a number below 0": (Dim((), -5, -1), True),
    "a number up to 0": (Dim((), -5, 0), None),
    "0 by its bounds": (Dim((), 0, 0), False),
    "nothing": (UNKNOWN, None),
}


@pytest.mark.parametrize(("element", "truth"), KNOWN.values(), ids=KNOWN)
def test_an_element_is_true_where_it_is_never_0(element: Size, *, truth: bool | None) -> None:
    assert _truth(element) is truth


CAST = """s:int64[3] = Shape(x[N,2,0])
b:bool[3] = Cast(s, to=9)
r:int64[3] = Cast(b, to=7)
t:int64[*] = Gather(r, i:const{PLACES})
y = Expand(z[1,1], t)"""


@pytest.mark.parametrize(("places", "found"), [("1,2", "1,0"), ("2,1", "0,1"), ("1,1", "1,1"), ("0,1", "?,?")])
def test_truth_values_of_sizes_are_known_one_by_one(places: str, found: str) -> None:
    assert results(CAST.replace("PLACES", places)) == f"float32[{found}]"
