"""A Slice with negative steps is proved equal to a Gather of the same elements, and to nothing else."""

from __future__ import annotations

import pytest

from tests.support.notation import model
from tests.support.proved import unproved


def sliced(shape: str, bounds: str, result: str, count: int = 1) -> str:
    names = zip(("s", "e", "a", "t"), bounds.split(), strict=True)
    return f"y[{result}] = Slice(x[{shape}], {', '.join(f'{n}:const:int64[{count}]{{{each}}}' for n, each in names)})"


def gathered(shape: str, places: str, axis: int, result: str) -> str:
    count = places.count(",") + 1
    return f"y[{result}] = Gather(x[{shape}], p:const:int64[{count}]{{{places}}}, axis={axis})"


def proved(before: str, after: str) -> bool:
    one, two = (model(each).SerializeToString() for each in (before, after))
    return unproved(one, two) is None


BOTH = "y[2,3] = Gather(v, q:const:int64[3]{2,1,0}, axis=1)"
"""The second axis of a value `v`, from its end."""
PAIRS = {
    "all of an axis": (sliced("2,5", "-1 -100 1 -1", "2,5"), gathered("2,5", "4,3,2,1,0", 1, "2,5")),
    "a part": (sliced("2,5", "3 0 1 -1", "2,3"), gathered("2,5", "3,2,1", 1, "2,3")),
    "every second": (sliced("5", "4 -6 0 -2", "3"), gathered("5", "4,2,0", 0, "3")),
    "a start behind the end": (sliced("5", "9 1 0 -1", "3"), gathered("5", "4,3,2", 0, "3")),
    "another free axis": (sliced("N,3", "-1 -9 -1 -1", "N,3"), gathered("N,3", "2,1,0", 1, "N,3")),
    "two axes": (
        sliced("2,3", "-1,-1 -9,-9 0,1 -1,-1", "2,3", 2),
        gathered("2,3", "1,0", 0, "2,3").replace("y[", "v[", 1) + f"\n{BOTH}",
    ),
    "one axis forwards": (
        sliced("4,3", "1,-1 3,-9 0,1 1,-1", "2,3", 2),
        sliced("4,3", "1 3 0 1", "2,3").replace("y[", "v[", 1) + f"\n{BOTH}",
    ),
}


@pytest.mark.parametrize(("before", "after"), PAIRS.values(), ids=PAIRS)
def test_the_gather_of_the_same_elements_is_proved(before: str, after: str) -> None:
    assert proved(before, after)
    assert proved(after, before)


WRONG = {
    "one place off": gathered("2,5", "4,3,2,1,1", 1, "2,5"),
    "forwards": gathered("2,5", "0,1,2,3,4", 1, "2,5"),
    "another axis": gathered("5,5", "4,3,2,1,0", 0, "5,5"),
}


@pytest.mark.parametrize("after", WRONG.values(), ids=WRONG)
def test_a_gather_of_other_elements_is_not_proved(after: str) -> None:
    shape = "5,5" if "[5,5]" in after else "2,5"
    assert not proved(sliced(shape, "-1 -100 1 -1", shape), after)


UNKNOWN = {
    "a free size": (sliced("2,N", "-1 -9 1 -1", "2,?"), gathered("2,N", "4,3,2,1,0", 1, "2,5")),
    "in front of the axis, where runtimes differ": (
        sliced("2,5", "-7 -9 1 -1", "2,?"),
        gathered("2,5", "0", 1, "2,1"),
    ),
    "to the largest number": (
        sliced("2,5", "-1 9223372036854775807 1 -1", "2,?"),
        gathered("2,5", "4,3,2,1,0", 1, "2,5"),
    ),
    "a step of 0, which runtimes refuse": (
        sliced("2,5", "0,-1 2,-9 0,1 0,-1", "2,5", 2),
        gathered("2,5", "4,3,2,1,0", 1, "2,5"),
    ),
    "a start of the run": (
        "y[2,?] = Slice(x[2,5], s:int64[1], e:const:int64[1]{-9}, a:const:int64[1]{1}, t:const:int64[1]{-1})",
        "y[2,5] = Gather(x[2,5], p:const:int64[5]{4,3,2,1,0}, axis=1)\nz[1] = Identity(s:int64[1])",
    ),
}


@pytest.mark.parametrize(("before", "after"), UNKNOWN.values(), ids=UNKNOWN)
def test_what_is_not_known_is_no_gather(before: str, after: str) -> None:
    assert not proved(before, after)
