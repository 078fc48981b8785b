"""What onnx's reference evaluator is told of the operator sets 1 to 8, which it would compute otherwise."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest

from graphfix.runtimes.onnx import reference_evaluator
from graphfix.runtimes.session import RefusedError

Array = np.ndarray[Any, Any]


def model(nodes: str, opset: int, inputs: str = "float[2,3] x", outputs: str = "float[2,3] y") -> onnx.ModelProto:
    return onnx.parser.parse_model(
        f'<ir_version: 8, opset_import: ["" : {opset}]> g ({inputs}) => ({outputs}) {{ {nodes} }}'
    )


def computed(made: onnx.ModelProto, **feeds: Array) -> Array:
    (found,) = reference_evaluator.load(made).run(feeds)
    return np.asarray(found)


A, B, C = np.float32([[1, 2, 3], [4, 5, 6]]), np.float32([[1, -1], [0, 2], [3, 1]]), np.float32([[10, 20], [30, 40]])


@pytest.mark.parametrize("opset", [6, 7])
@pytest.mark.parametrize(
    ("attributes", "a", "b", "expected"),
    [
        ("broadcast = 1", A, B, A @ B + C),
        ("broadcast = 1, transA = 1", A.T, B, A @ B + C),
        ("broadcast = 1, transB = 1", A, B.T, A @ B + C),
        ("broadcast = 1, alpha = 2.0", A, B, 2 * (A @ B) + C),
        ("broadcast = 1, beta = 0.5", A, B, A @ B + C / 2),
    ],
    ids=["plain", "transA", "transB", "alpha", "beta"],
)
def test_a_gemm_has_the_meaning_of_its_attributes(
    opset: int, attributes: str, a: Array, b: Array, expected: Array
) -> None:
    shapes = f"float[{a.shape[0]},{a.shape[1]}] a, float[{b.shape[0]},{b.shape[1]}] b, float[2,2] c"
    attributes = attributes if opset == 6 else attributes.removeprefix("broadcast = 1").removeprefix(", ")
    node = f"y = Gemm<{attributes}>(a, b, c)" if attributes else "y = Gemm(a, b, c)"
    found = computed(model(node, opset, shapes, "float[2,2] y"), a=a, b=b, c=C)
    assert found.tolist() == expected.tolist()
    assert found.dtype == np.float32


@pytest.mark.parametrize(("slope", "expected"), [([0.5], [[-1, -0.5], [3, -1]]), ([0.5, 10.0], [[-1, -10], [3, -20]])])
def test_the_slopes_of_a_prelu_are_those_of_its_channels(slope: list[float], expected: list[list[float]]) -> None:
    x = np.float32([[-2, -1], [3, -2]])
    inputs = f"float[2,2] x, float[{len(slope)}] s"
    made = model("y = PRelu(x, s)", 6, inputs, "float[2,2] y")
    assert computed(made, x=x, s=np.float32(slope)).tolist() == expected
    image = model("y = PRelu(x, s)", 6, inputs.replace("2,2", "2,2,1,1"), "float[2,2,1,1] y")
    assert computed(image, x=x.reshape(2, 2, 1, 1), s=np.float32(slope)).ravel().tolist() == np.ravel(expected).tolist()


def test_a_prelu_of_a_scalar_is_one() -> None:
    made = model("y = PRelu(x, s)", 6, "float[] x, float[] s", "float[] y")
    found = computed(made, x=np.array(-2, np.float32), s=np.array(0.5, np.float32))
    assert (found.shape, found.tolist()) == ((), -1)


@pytest.mark.parametrize(
    ("shape", "axis", "expected"),
    [
        ((3, 4), 1, (3, 4, 1)),
        ((3, 4), -3, (3, 4, 1)),
        ((2, 3), 0, (2, 3, 1, 1)),
        ((5,), 3, (5,)),
        ((4, 5), None, (4, 5)),
        ((), 1, ()),
    ],
)
def test_an_operand_is_put_at_an_axis_of_the_other(
    shape: tuple[int, ...], axis: int | None, expected: tuple[int, ...]
) -> None:
    assert reference_evaluator.at_axis(np.ones((2, 3, 4, 5)), np.ones(shape), axis).shape == expected


@pytest.mark.parametrize(
    ("node", "b", "expected"),
    [
        ("y = Sub<broadcast = 1, axis = 0>(x, b)", [1, 2], [[0, 1, 2], [2, 3, 4]]),
        ("y = Sub<broadcast = 1>(x, b)", [1, 2, 3], [[0, 0, 0], [3, 3, 3]]),
        ("y = Div(x, b)", [[2, 2, 2], [2, 2, 2]], [[0.5, 1, 1.5], [2, 2.5, 3]]),
        ("y = Pow<broadcast = 1>(x, b)", [2, 1, 0], [[1, 2, 1], [16, 5, 1]]),
    ],
)
def test_an_operator_of_the_old_sets_broadcasts_where_it_says_so(
    node: str, b: list[float], expected: list[list[float]]
) -> None:
    values = np.float32(b)
    inputs = f"float[2,3] x, float[{','.join(map(str, values.shape))}] b"
    assert computed(model(node, 6, inputs), x=A, b=values).tolist() == expected


def test_a_comparison_of_the_old_sets_is_boolean() -> None:
    made = model("y = Less<broadcast = 1>(x, b)", 6, "float[2,3] x, float[3] b", "bool[2,3] y")
    found = computed(made, x=A, b=np.float32([2, 2, 9]))
    assert (found.dtype, found.tolist()) == (np.bool_, [[True, False, True], [False, False, True]])


def test_shapes_that_differ_without_a_broadcast_are_refused() -> None:
    session = reference_evaluator.load(model("y = Add(x, b)", 6, "float[2,3] x, float[3] b"))
    with pytest.raises(RefusedError, match=r"^onnx\.reference: Add: \(2, 3\) and \(3,\) differ without broadcast=1$"):
        session.run({"x": A, "b": A[0]})


def declared(made: onnx.ModelProto) -> dict[str, float]:
    """The attributes of the first node, once the evaluator has been told them."""
    reference_evaluator.load(made)
    return {each.name: round(onnx.helper.get_attribute_value(each), 5) for each in made.graph.node[0].attribute}


SELU = {"alpha": 1.6732, "gamma": 1.0507}


@pytest.mark.parametrize(
    ("node", "opset", "expected"),
    [
        ("y = Selu(x)", 1, SELU),
        ("y = Selu(x)", 5, SELU),
        ("y = Selu(x)", 6, {}),
        ("y = Selu<alpha = 2.0>(x)", 5, {**SELU, "alpha": 2.0}),
        ("y = Relu(x)", 5, {}),
    ],
)
def test_the_defaults_of_a_set_are_stated(node: str, opset: int, expected: dict[str, float]) -> None:
    assert declared(model(node, opset)) == expected


@pytest.mark.parametrize(("opset", "stated"), [(6, True), (7, False)])
def test_padding_counts_in_no_mean_before_set_7(opset: int, stated: bool) -> None:
    made = model("y = AveragePool<kernel_shape = [1]>(x)", opset, "float[1,1,3] x", "float[1,1,3] y")
    reference_evaluator.load(made)
    assert ("count_include_pad" in {each.name for each in made.graph.node[0].attribute}) == stated


@pytest.mark.parametrize(
    ("outputs", "opset", "stated"),
    [("y", 6, False), ("y", 7, True), ("y", 8, True), ("y", 9, False), ("y, m", 7, False)],
)
def test_a_normalization_of_sets_7_and_8_trains_only_where_its_statistics_are_read(
    outputs: str, opset: int, stated: bool
) -> None:
    made = model(f"{outputs} = BatchNormalization(x, s, s, s, s)", 9, "float[1,2] x, float[2] s")
    reference_evaluator._declare_defaults(made.graph, opset)
    assert ("is_test" in {each.name for each in made.graph.node[0].attribute}) == stated


def test_the_defaults_of_a_node_in_a_body_are_stated_and_not_those_of_another_domain() -> None:
    here, there = "t () => (float[2,3] p) { p = Selu(x) }", "e () => (float[2,3] q) { q = own.Selu(x) }"
    made = model(f"y = If (c) <then_branch = {here}, else_branch = {there}>", 5, "bool c, float[2,3] x")
    reference_evaluator._declare_defaults(made.graph, 5)
    bodies = {each.name: each.g.node[0] for each in made.graph.node[0].attribute}
    assert len(bodies["then_branch"].attribute) == 2
    assert len(bodies["else_branch"].attribute) == 0


def test_values_that_are_exposed_come_behind_the_outputs() -> None:
    session = reference_evaluator.load(model("t = Neg(x) y = Abs(t)", 13), expose=["t"])
    assert session.outputs == ("y", "t")
    y, t = session.run({"x": A})
    assert (np.asarray(y) == A).all()
    assert (np.asarray(t) == -A).all()


def test_a_file_is_loaded_and_what_is_none_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    onnx.save(model("y = Neg(x)", 13), path)
    (y,) = reference_evaluator.load(path).run({"x": A})
    assert (np.asarray(y) == -A).all()
    with pytest.raises(RefusedError, match=r"^onnx\.reference: "):
        reference_evaluator.load(tmp_path / "none.onnx")
    with pytest.raises(RefusedError, match=r"^onnx\.reference: "):
        reference_evaluator.load(model("y = Nope(x)", 13)).run({"x": A})


def test_a_prelu_leaves_what_is_not_below_0() -> None:
    made = model("y = PRelu(x, s)", 6, "float[3] x, float[1] s", "float[3] y")
    with np.errstate(invalid="ignore"):
        found = computed(made, x=np.float32([-1, 0, 2]), s=np.float32([np.inf]))
    assert found.tolist() == [-np.inf, 0, 2]
