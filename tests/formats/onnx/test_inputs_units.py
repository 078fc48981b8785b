"""Single steps of binding and setting inputs: which axes a number goes to, and which shapes values give."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, ValueInfoProto, helper, numpy_helper

from graphfix.formats.onnx.inputs.binding import _bind_places
from graphfix.formats.onnx.inputs.set_inputs import shapes_of
from graphfix.results import GraphfixError, InputValue


def declared(name: str, dims: list[int | str | None] | None) -> ValueInfoProto:
    return helper.make_tensor_value_info(name, TensorProto.INT64, dims)


BOUND: dict[str, tuple[list[int | str | None] | None, list[object], list[int | str]]] = {
    "an axis": ([None, None], ["x[1]"], [0, 7]),
    "the first axis": ([None, None], ["x[0]"], [7, 0]),
    "both": ([None, None], ["x[0]", "x[1]"], [7, 7]),
    "a size that is there": ([3, None], ["x[0]"], [3, 0]),
    "a size with a name": (["N", None], ["x[0]", "x[1]"], ["N", 7]),
    "an axis that is not there": ([None], ["x[1]"], [0]),
    "another input": ([None], ["z[0]"], [0]),
    "a name": ([None], ["N"], [0]),
    "a number among the labels": ([None], [7, "x[0]"], [7]),
    "a scalar": ([], ["x[0]"], []),
    "an unknown rank": (None, ["x[0]"], []),
}


@pytest.mark.parametrize(("dims", "labels", "after"), BOUND.values(), ids=BOUND)
def test_a_number_goes_to_the_axes_that_have_no_size(
    dims: list[int | str | None] | None, labels: list[object], after: list[int | str]
) -> None:
    value = declared("x", dims)
    _bind_places({"x": value}, labels, 7)
    assert [dim.dim_param or dim.dim_value for dim in value.type.tensor_type.shape.dim] == after


def container(**inputs: list[int | str | None] | None) -> Any:  # noqa: ANN401 -- a fake
    graph = helper.make_graph([], "g", [declared(name, dims) for name, dims in inputs.items()], [])
    graph.initializer.append(numpy_helper.from_array(np.int64([1, 2]), "held"))
    return SimpleNamespace(proto=SimpleNamespace(graph=graph, ir_version=8), path=None)


GIVEN: dict[str, tuple[dict[str, list[int | str | None] | None], dict[str, InputValue], dict[str, list[int]] | str]] = {
    "a free size": ({"x": ["N", 2]}, {"x": (1, 2, 3, 4)}, {"x": [2, 2]}),
    "no free size": ({"x": [2]}, {"x": (1, 2)}, {}),
    "an unknown rank": ({"x": None}, {"x": (1, 2)}, {"x": [2]}),
    "a scalar": ({"x": []}, {"x": 1}, {}),
    "one name with one size": ({"x": ["N"], "z": ["N"]}, {"x": (1, 2), "z": (3, 4)}, {"x": [2], "z": [2]}),
    "one name with two sizes": (
        {"x": ["N"], "z": ["N"]},
        {"x": (1, 2), "z": (3,)},
        "the model: --set z: it gives N as 1, another one as 2; let them agree",
    ),
    "two sizes without names": ({"x": [None], "z": [None]}, {"x": (1, 2), "z": (3,)}, {"x": [2], "z": [1]}),
    "an unknown input": ({"x": [2], "z": [1]}, {"w": 1}, "the model: --set w: there is no input 'w'; inputs: x, z"),
    "no inputs": ({}, {"w": 1}, "the model: --set w: there is no input 'w'; inputs: none"),
}


@pytest.mark.parametrize(("inputs", "values", "found"), GIVEN.values(), ids=GIVEN)
def test_values_give_their_shapes_where_sizes_are_free_and_agree(
    inputs: dict[str, list[int | str | None] | None],
    values: dict[str, InputValue],
    found: dict[str, list[int]] | str,
) -> None:
    if isinstance(found, dict):
        assert shapes_of(container(**inputs), values) == found
        return
    with pytest.raises(GraphfixError) as caught:
        shapes_of(container(**inputs), values)
    assert str(caught.value) == found


def test_a_name_of_two_sizes_is_no_fault_of_inputs_with_a_default() -> None:
    held = container(x=["N"], held=["N"])
    assert shapes_of(held, {"x": (1, 2, 3), "held": (1, 2)}) == {"x": [3]}
