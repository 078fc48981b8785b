"""Operators that add or drop unit axes: within LiteRT's limits they are proved, beyond them not."""

from __future__ import annotations

import pytest

from models.builders.tflite.text import model
from tests.support.proved import unproved


def ones(count: int) -> str:
    return ",".join("1" * count)


@pytest.mark.parametrize(("axes", "is_proved"), [("{0}", True), ("{0,1}", False)])
def test_an_expand_dims_adds_one_axis(axes: str, *, is_proved: bool) -> None:
    count = axes.count(",") + 1
    before = f"y[{ones(count)},3] = EXPAND_DIMS(x[3], t:const:int32[{count}]{axes})"
    after = f"y[{ones(count)},3] = RESHAPE(x[3], t:const:int32[{count + 1}]{{{ones(count)},3}})"
    assert (unproved(model(before), model(after)) is None) == is_proved


@pytest.mark.parametrize(("units", "is_proved"), [(6, True), (7, False)], ids=["eight axes", "nine axes"])
def test_a_new_squeeze_takes_eight_axes(units: int, *, is_proved: bool) -> None:
    h = f"h[{ones(units)},2,3] = NEG(x[{ones(units)},2,3])\n"
    axes = ",".join(map(str, range(units)))
    before, after = f"{h}y[2,3] = RESHAPE(h, t:const:int32[2]{{2,3}})", f"{h}y[2,3] = SQUEEZE(h, squeeze_dims=[{axes}])"
    assert (unproved(model(before), model(after)) is None) == is_proved


@pytest.mark.parametrize(("units", "is_proved"), [(6, True), (7, False)], ids=["eight sizes", "nine sizes"])
def test_the_option_of_a_new_reshape_has_eight_sizes(units: int, *, is_proved: bool) -> None:
    shape = f"{ones(units)},2,3"
    before = f"y[{shape}] = RESHAPE(x[2,3], t:const:int32[{units + 2}]{{{shape}}})"
    after = f"y[{shape}] = RESHAPE(x[2,3], t:const:int32[{units + 2}]{{{shape}}}, new_shape=[{shape}])"
    assert (unproved(model(before), model(after)) is None) == is_proved
