"""What a scope tells of a constant, and what a node of a function says once its call has given the attributes."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import AttributeProto, NodeProto, TensorProto, helper, numpy_helper

from graphfix.formats.onnx.infer.analysis import analyse
from graphfix.formats.onnx.infer.scope import GraphScope
from graphfix.shapes.dim import Shape
from tests.support.notation import model, parsed


def scope_of(**constants: np.ndarray[tuple[int, ...], np.dtype[np.generic]]) -> GraphScope:
    """A graph with these constants."""
    made = model("y[2] = Neg(x[2])")
    made.graph.initializer.extend(numpy_helper.from_array(array, name) for name, array in constants.items())
    return analyse(made, {}).main


FLOATS = {
    "a vector": (np.float32([1.5, -2.0]), (1.5, -2.0)),
    "a vector of no elements": (np.float32([]), ()),
    "the longest vector that is read": (np.ones(16, np.float32), (1.0,) * 16),
    "a longer one": (np.ones(17, np.float32), None),
    "a scalar": (np.float32(1.5), None),
    "a matrix": (np.float32([[1.5]]), None),
    "another type": (np.float64([1.5]), None),
}


@pytest.mark.parametrize(("array", "floats"), FLOATS.values(), ids=FLOATS)
def test_a_small_vector_of_floats_is_read(
    array: np.ndarray[tuple[int, ...], np.dtype[np.generic]], floats: tuple[float, ...] | None
) -> None:
    assert scope_of(k=np.asarray(array)).floats("k") == floats


def test_floats_of_another_file_or_of_the_run_are_not_read() -> None:
    made = model("y[2] = Neg(x[2])")
    tensor = made.graph.initializer.add(name="k", data_type=TensorProto.FLOAT, dims=[2])
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="w.bin")
    main = analyse(made, {}).main
    assert (main.floats("k"), main.floats("x"), main.floats("none"), main.floats("")) == (None, None, None, None)


def test_a_body_sees_the_constants_around_it() -> None:
    made = parsed("""main (bool c, float[2] x) => (float[2] y) <float[2] f = {1.5, 2.0}, int64[2] i = {3, -4}> {
        y = If (c) <then_branch = t () => (float[2] p) { p = Neg (x) },
                    else_branch = e () => (float[2] q) { q = Abs (x) }> }""")
    for body in analyse(made, {}).main.children.values():
        assert body.floats("f") == (1.5, 2.0)
        assert body.vector("i") == body.ints("i") == (3, -4)
        assert body.content("i") is None  # a shape has no size below 0
        assert body.dtype("f") == TensorProto.FLOAT
        assert body.dtype("none") == 0


def test_the_content_of_a_vector_is_a_shape_and_its_numbers_are_told_where_all_are_known() -> None:
    main = analyse(model("s:int64[2] = Shape(x[N,3])\nt:int64[2] = Identity(k:const:int64[2]{0,5})"), {}).main
    assert main.content("t") == Shape((0, 5))
    assert main.ints("t") == (0, 5)
    found = main.content("s")
    assert found is not None
    assert str(found) == "[N, 3]"
    assert main.ints("s") is None
    assert (main.content("x"), main.ints("x"), main.vector(""), main.content("")) == (None, None, None, None)


def named(name: str, value: object) -> AttributeProto:
    return helper.make_attribute(name, value)


def test_a_node_of_a_function_has_what_the_call_gives_under_the_names_of_its_own() -> None:
    main = scope_of()
    main.bindings = {"order": named("order", [2, 0, 1]), "open": None}
    plain = helper.make_node("Transpose", ["x"], ["y"], perm=[1, 0])
    assert main.resolved(plain) is plain
    given = NodeProto(op_type="Transpose", input=["x"], output=["y"])
    given.attribute.append(named("keep", 7))
    given.attribute.add(name="perm", ref_attr_name="order", type=AttributeProto.INTS)
    found = main.resolved(given)
    assert found is not None
    assert {each.name: helper.get_attribute_value(each) for each in found.attribute} == {"keep": 7, "perm": [2, 0, 1]}
    assert not any(each.ref_attr_name for each in found.attribute)
    assert given.attribute[1].ref_attr_name == "order"
    assert main.bindings["order"] == named("order", [2, 0, 1])
    for unknown in ("open", "missing"):
        given.attribute[1].ref_attr_name = unknown
        assert main.resolved(given) is None


def test_a_body_of_a_function_has_what_the_call_gives_too_and_a_graph_has_nothing() -> None:
    outer = scope_of()
    inner = GraphScope("body", outer.steps, None, outer)
    assert inner.bound("order") is None
    outer.bindings = {"order": named("order", 1)}
    assert inner.bound("order") == outer.bound("order") == named("order", 1)
    inner.bindings = {"order": named("order", 2)}
    assert inner.bound("order") == named("order", 2)
