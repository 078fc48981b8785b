"""TFLite's stretches that are no views, and constants that nothing reads: what is proved of them, and what is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from models.builders.tflite.text import model
from tests.support.proving import prove

ONTO = "y[2,1] = BROADCAST_TO({x}, t:const:int32[2]{{2,1}})"
GIVEN = "y[?,?] = BROADCAST_TO({x}, t:int32[2])"
IN_DIM = "y[2,1] = STABLEHLO_BROADCAST_IN_DIM(x[N], broadcast_dimensions=[{axis}])"
LIFT = "l[{dims}] = EXPAND_DIMS(x[N], a:const:int32[]{{{axis}}})"


def proved(before: str, after: str, folder: Path) -> bool:
    paths = folder / "before.tflite", folder / "after.tflite"
    for path, text in zip(paths, (before, after), strict=True):
        path.write_bytes(model(text))
    return prove(*paths, tflite=True).proved


@pytest.mark.parametrize("stretch", [ONTO, GIVEN])
def test_a_lift_before_a_stretch_that_may_not_fit_is_proved_where_it_is_in_front(stretch: str, tmp_path: Path) -> None:
    # x[N] onto [2,1]: only N = 1 fits
    before = stretch.format(x="x[N]")
    front = f"{LIFT.format(dims='1,?', axis=0)}\n{stretch.format(x='l')}"
    behind = f"{LIFT.format(dims='?,1', axis=1)}\n{stretch.format(x='l')}"
    assert proved(before, front, tmp_path)
    assert not proved(before, behind, tmp_path)


@pytest.mark.parametrize("axis", [0, 1])
def test_axes_that_are_named_are_the_stretch_behind_a_lift_of_the_others(axis: int, tmp_path: Path) -> None:
    dims = ("?,1", "1,?")
    right, wrong = (f"{LIFT.format(dims=dims[at], axis=1 - at)}\n{ONTO.format(x='l')}" for at in (axis, 1 - axis))
    assert proved(IN_DIM.format(axis=axis), right, tmp_path)
    assert not proved(IN_DIM.format(axis=axis), wrong, tmp_path)


def test_a_stretch_to_another_shape_is_not_proved(tmp_path: Path) -> None:
    other = "y[3,1] = BROADCAST_TO(x[N], t:const:int32[2]{3,1})"
    loose = "y[?,1] = BROADCAST_TO(x[N], t:const:int32[2]{2,1})"
    assert proved(loose, ONTO.format(x="x[N]"), tmp_path)
    assert not proved(loose, other, tmp_path)


@pytest.mark.parametrize(("size", "same"), [(0, True), (2, False)])
def test_what_a_constant_holds_counts_only_where_there_is_an_element(size: int, same: bool, tmp_path: Path) -> None:
    one, two = (f"y[{size},3] = MUL(x[{size},1], c:const[3]{{1.0,2.0,{last}}})" for last in (3.0, 4.0))
    assert proved(one, one.replace("c:const[3]", "d:const[3]"), tmp_path)
    assert proved(one, two, tmp_path) == same


def test_a_constant_of_another_type_or_shape_is_another_where_there_is_no_element(tmp_path: Path) -> None:
    chosen = "y:bool[0] = LESS(x[0], c:const[1]{1.0})"
    assert not proved(chosen, "y:bool[0] = LESS(x[0], x)", tmp_path)
    assert not proved("y[0,?] = MUL(x[0,N], c:const[1]{1.0})", "y[0,?] = MUL(x[0,N], c:const[3])", tmp_path)
