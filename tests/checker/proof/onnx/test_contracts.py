"""Nodes that compute what is known: only what the operator's own set allows is read as the constant, or as the view.

Each case has three graphs of one output: what stands there already, a node within the contract that is the same, and
one outside, which a lenient reader would take for the same. onnxruntime is asked what the last one is.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import onnx.parser
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper

from graphfix.results import GraphfixError
from graphfix.runtimes.onnx import onnxruntime
from graphfix.runtimes.session import RefusedError
from tests.support.proving import prove

IR = 8
KNOWN = {
    "d": np.arange(6, dtype=np.int64).reshape(2, 3),
    "f": np.arange(6, dtype=np.float32).reshape(2, 3),
    "zero": np.int64(0), "five": np.int64(5), "one": np.int64(1), "one32": np.int32(1),
    "v0": np.array([0]), "v1": np.array([1]), "v2": np.array([2]), "v3": np.array([3]), "back": np.array([-1]),
    "v1_32": np.array([1], np.int32), "row": np.array([[0]]), "pair": np.array([0, 0]),
    "to32": np.array([3, 2]), "to3x": np.array([3, -2]), "to23": np.array([2, 3]), "half": np.float32(0.5),
    "over": np.float32(1.5), "halves": np.array([0.5], np.float32), "n9": np.array([-9]), "n1": np.array([-1]),
    "two_and_one": np.array([2, 1]), "ones": np.array([1, 1]), "square": np.float32(2), "square32": np.int32(2),
    "square64": np.int64(2), "grown": np.array([2, 2], np.float32), "shrunk": np.array([1, 0.6], np.float32),
}  # fmt: skip


class Case(NamedTuple):
    """Bodies of graphs of an input `x`, which end in `y`; `opset` is that of all three."""

    before: str
    inside: str
    outside: str
    opset: int = 13
    x: str = "float[2,3]"
    y: str = "int64"
    constant: object = None
    """The constant `c`."""


SUM = KNOWN["d"].sum(0, keepdims=True)
CASES = {
    "Slice by bounds of two types": Case(
        "y = Identity(c)", "y = Slice(d, v0, v1, v0)", "y = Slice(d, v0, v1_32, v0)", constant=KNOWN["d"][:1]),
    "Slice by bounds that are no vectors": Case(
        "y = Identity(c)", "y = Slice(d, v0, v1)", "y = Slice(d, zero, one)", constant=KNOWN["d"][:1]),
    "Slice of one axis twice": Case(
        "y = Identity(c)", "y = Slice(d, v0, v1, v0)", "y = Slice(d, pair, ones, pair)", constant=KNOWN["d"][:1]),
    "Slice that counts down from in front of the axis": Case(
        "y = Identity(c)", "y = Slice(d, v0, v0, v1, n1)", "y = Slice(d, n9, n9, v1, n1)",
        constant=np.zeros((2, 0), np.int64)),
    "Transpose by an axis from behind": Case(
        "y = Identity(c)", "y = Transpose <perm=[1,0]> (d)", "y = Transpose <perm=[-1,0]> (d)", constant=KNOWN["d"].T),
    "Reshape to a size below -1": Case(
        "y = Identity(c)", "y = Reshape(d, to32)", "y = Reshape(d, to3x)", constant=KNOWN["d"].reshape(3, 2)),
    "Reshape to a scalar's size": Case(
        "y = Identity(c)", "y = Reshape(v2, v1)", "y = Reshape(v2, one)", constant=np.array([2])),
    "Range of two types": Case(
        "y = Identity(c)", "y = Range(zero, five, one)", "y = Range(zero, five, one32)", constant=np.arange(5)),
    "Split told twice": Case(
        "y = Identity(c)", "y, z = Split <num_outputs=2> (d)", "y, z = Split <num_outputs=2> (d, two_and_one)", 18,
        constant=KNOWN["d"][:1]),
    "Split told nothing, of a size that is not whole": Case(
        "y = Identity(c)", "y, z = Split <axis=1> (d, two_and_one)", "y, z = Split <axis=1> (d)",
        constant=KNOWN["d"][:, :2]),
    "ReduceSum over a scalar's axis": Case(
        "y = Identity(c)", "y = ReduceSum(d, v0)", "y = ReduceSum(d, zero)", constant=SUM),
    "ReduceSum over a table's axes": Case(
        "y = Identity(c)", "y = ReduceSum(d, v0)", "y = ReduceSum(d, row)", constant=SUM),
    "ReduceSum that keeps dims by 2": Case(
        "y = Identity(c)", "y = ReduceSum <keepdims=1> (d, v0)", "y = ReduceSum <keepdims=2> (d, v0)", constant=SUM),
    "Gather behind the end": Case(
        "y = Identity(c)", "y = Gather(v2, back)", "y = Gather(v2, v1)", constant=np.array([2])),
    "ConstantOfShape of two values": Case(
        "y = Identity(c)", "y = ConstantOfShape <value=int64[1] {7}> (v2)",
        "y = ConstantOfShape <value=int64[2] {7,7}> (v2)", 9, constant=np.array([7, 7])),
    "ConstantOfShape of a scalar": Case(
        "y = Identity(c)", "y = ConstantOfShape <value=int64[1] {7}> (v1)",
        "y = ConstantOfShape <value=int64[1] {7}> (one)", 9, constant=np.array([7])),
    "Dropout of more than all": Case(
        "y = Relu(x)", "r = Relu(x) y = Dropout(r, half)", "r = Relu(x) y = Dropout(r, over)", y="float"),
    "Dropout by a vector": Case(
        "y = Relu(x)", "r = Relu(x) y = Dropout(r, half)", "r = Relu(x) y = Dropout(r, halves)", y="float"),
    "Dropout by what is not known": Case(
        "y = Relu(x)", "r = Relu(x) y = Dropout(r, half)",
        "r = Relu(x) k = ReduceMax <keepdims=0> (r) y = Dropout(r, k)", y="float"),
    "Tile by a scalar": Case(
        "y = Relu(x)", "r = Relu(x) y = Tile(r, v1)", "r = Relu(x) y = Tile(r, one)", x="float[3]", y="float"),
    "Unsqueeze of one axis twice": Case(
        "y = Unsqueeze(x, v0)", "y = Unsqueeze(x, v0)", "y = Unsqueeze(x, pair)", y="float"),
    "Squeeze of a scalar's axis": Case(
        "y = Squeeze(x, v0)", "y = Squeeze(x, v0)", "y = Squeeze(x, zero)", x="float[1,3]", y="float"),
    "Flatten from behind before set 11": Case(
        "y = Reshape(x, to23)", "y = Flatten <axis=1> (x)", "y = Flatten <axis=-1> (x)", 9, y="float"),
    "a square of integers before their power": Case(
        "y = Mul(x, x)", "y = Mul(x, x)", "y = Pow(x, square32)", 7, x="int32[2,3]", y="int32"),
    "a square of one integer": Case(
        "y = Mul(x, x)", "y = Mul(x, x)", "y = Pow(x, square64)", 13, x="int64[1]", y="int64"),
    "Softmax over an axis behind the last": Case(
        "a = Flatten <axis=2> (x) b = Softmax(a) s = Shape(x) y = Reshape(b, s)",
        "a = Flatten <axis=2> (x) b = Softmax(a) s = Shape(x) y = Reshape(b, s)", "y = Softmax <axis=2> (x)", 11,
        y="float"),
}  # fmt: skip


def model(case: Case, body: str) -> ModelProto:
    text = f'<ir_version: {IR}, opset_import: ["" : {case.opset}]> g ({case.x} x) => ({case.y} y) {{ {body} }}'
    made = onnx.parser.parse_model(text)
    made.graph.output[0].type.tensor_type.ClearField("shape")
    known = {**KNOWN, "c": np.asarray(case.constant)} if case.constant is not None else KNOWN
    read = {name for node in made.graph.node for name in node.input}
    made.graph.initializer.extend(
        numpy_helper.from_array(np.asarray(value), name) for name, value in known.items() if name in read
    )
    return made


def proved(before: ModelProto, after: ModelProto, folder: Path) -> bool:
    paths = folder / "before.onnx", folder / "after.onnx"
    for path, proto in zip(paths, (before, after), strict=True):
        path.write_bytes(proto.SerializeToString())
    return prove(*paths).proved


def result(proto: ModelProto) -> np.ndarray | None:
    """What onnxruntime returns; None where it refuses the model."""
    given = proto.graph.input[0].type.tensor_type
    dims = [dim.dim_value for dim in given.shape.dim]
    kind = helper.tensor_dtype_to_np_dtype(given.elem_type)
    x = np.full(dims, 2) + np.arange(np.prod(dims)).reshape(dims)
    x = x * 1_000_000_007 if given.elem_type == TensorProto.INT64 else x
    try:
        found = onnxruntime.load(proto.SerializeToString()).run({"x": x.astype(kind)})
    except RefusedError:
        return None
    return np.asarray(found[0])


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_what_an_operator_set_allows_is_read_as_what_it_computes(case: Case, tmp_path: Path) -> None:
    assert proved(model(case, case.before), model(case, case.inside), tmp_path)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_what_it_does_not_allow_is_not(case: Case, tmp_path: Path) -> None:
    assert not proved(model(case, case.before), model(case, case.outside), tmp_path)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_onnxruntime_refuses_it_or_returns_something_else(case: Case) -> None:
    before, inside, outside = (result(model(case, body)) for body in (case.before, case.inside, case.outside))
    assert before is not None
    assert inside is not None
    assert np.array_equal(before, inside)
    assert outside is None or outside.shape != before.shape or outside.tobytes() != before.tobytes()


def test_a_value_that_lies_in_another_file_is_not_read_from_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = Case("y = Identity(c)", "y = ConstantOfShape <value=int64[1] {7}> (v2)", "", constant=np.array([7, 7]))
    after = model(case, case.inside)
    value = after.graph.node[0].attribute[0].t
    value.ClearField("int64_data")
    value.ClearField("raw_data")
    value.data_location = TensorProto.EXTERNAL
    value.external_data.add(key="location", value="seven.bin")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "seven.bin").write_bytes(np.int64(7).tobytes())
    monkeypatch.chdir(elsewhere)
    with pytest.raises(GraphfixError, match="seven"):
        proved(model(case, case.before), after, tmp_path)


def test_a_legacy_sum_of_constants_is_aligned_as_its_set_says(tmp_path: Path) -> None:
    table, line = np.array([[1, 2], [3, 4]], np.float32), np.array([10, 20], np.float32)
    head = f'<ir_version: {IR}, opset_import: ["" : 6]> g () => (float[2,2] y)'

    def made(body: str, **known: np.ndarray) -> ModelProto:
        proto = onnx.parser.parse_model(f"{head} {{ {body} }}")
        proto.graph.initializer.extend(numpy_helper.from_array(value, name) for name, value in known.items())
        return proto

    summed = made("y = Add <broadcast=1, axis=0> (a, b)", a=table, b=line)
    assert not proved(made("y = Identity(c)", c=table + line), summed, tmp_path)
    same = made("y = Add(a, b)", a=table, b=table)
    assert proved(made("y = Identity(c)", c=table + table), same, tmp_path)


@pytest.mark.parametrize(("scales", "same"), [("grown", True), ("shrunk", False)])
def test_the_nearest_of_fewer_elements_is_rounded_up_before_set_11(scales: str, same: bool, tmp_path: Path) -> None:
    x = "float[3,5]"
    older = model(Case("", "", "", 10, x, "float"), f"y = Resize(x, {scales})")
    coordinates = 'coordinate_transformation_mode="asymmetric", nearest_mode="floor"'
    newer = model(Case("", "", "", 13, x, "float"), f"y = Resize <{coordinates}> (x, , {scales})")
    assert proved(older, newer, tmp_path) is same
    one, two = result(older), result(newer)
    assert one is not None
    assert two is not None
    assert np.array_equal(one, two) is same
