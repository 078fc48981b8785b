"""What onnxruntime is fed and returns."""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import pytest

from graphfix.runtimes.onnx.onnxruntime import _extended, load
from graphfix.runtimes.session import RefusedError
from tests.support.notation import model as notation


@pytest.mark.parametrize("shape", [(), (1,), (2, 3), (0, 2)], ids=str)
def test_what_numpy_has_no_type_for_is_fed_in_its_own_shape(shape: tuple[int, ...]) -> None:
    sizes = f"[{','.join(map(str, shape))}]" if shape else ""
    graph = f"g (bfloat16{sizes} x) => (float{sizes} y) {{ y = Cast <to = 1> (x) }}"
    model = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : 21]> {graph}')
    (numbers,) = load(model.SerializeToString()).run({"x": np.full(shape, 2, ml_dtypes.bfloat16)})
    assert np.shape(numbers) == shape  # type: ignore[arg-type]  # an array
    assert np.all(np.asarray(numbers) == 2)


NUMBERS = [0.0, 1.0, 2.0, 3.0, 6.0]
KINDS = {
    "BFLOAT16": ml_dtypes.bfloat16,
    "FLOAT8E4M3FN": ml_dtypes.float8_e4m3fn,
    "FLOAT8E4M3FNUZ": ml_dtypes.float8_e4m3fnuz,
    "FLOAT8E5M2": ml_dtypes.float8_e5m2,
    "FLOAT8E5M2FNUZ": ml_dtypes.float8_e5m2fnuz,
    "UINT4": ml_dtypes.uint4,
    "INT4": ml_dtypes.int4,
}
"""By the name of an element type that numpy lacks: what returns it."""


def cast(name: str, given: int, made: int) -> bytes:
    """A model that casts five numbers."""
    helper = onnx.helper
    ends = [helper.make_tensor_value_info(end, kind, [5]) for end, kind in (("x", given), ("y", made))]
    graph = helper.make_graph([helper.make_node("Cast", ["x"], ["y"], to=made)], name, ends[:1], ends[1:])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10).SerializeToString()


@pytest.mark.parametrize("name", KINDS)
def test_what_numpy_has_no_type_for_is_returned(name: str) -> None:
    model = cast(name, onnx.TensorProto.FLOAT, onnx.TensorProto.DataType.Value(name))
    (got,) = load(model).run({"x": np.float32(NUMBERS)})
    assert isinstance(got, np.ndarray)
    assert (got.dtype, got.astype(np.float32).tolist()) == (KINDS[name], NUMBERS)


@pytest.mark.parametrize("name", KINDS)
def test_what_numpy_has_no_type_for_is_fed(name: str) -> None:
    session = load(cast(name, onnx.TensorProto.DataType.Value(name), onnx.TensorProto.FLOAT))
    feeds = {"x": np.float32(NUMBERS).astype(KINDS[name])}
    if name.endswith("INT4"):
        with pytest.raises(RefusedError, match="from numpy") as refused:
            session.run(feeds)
        assert refused.value.missing_kernel
        return
    (got,) = session.run(feeds)
    assert np.asarray(got).tolist() == NUMBERS


def test_shapes_that_are_observed_stand_apart_from_the_outputs() -> None:
    text = "y[2,3] = Neg(x[2,3])\nz[3,2] = Transpose(y)\ns:int64[2] = Shape(z)\nt:int64[2] = Shape(y)"
    made = notation(text)
    made.graph.output.insert(0, onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [2, 3]))
    del made.graph.output[1:]
    made.graph.output.extend(onnx.helper.make_tensor_value_info(name, onnx.TensorProto.INT64, [2]) for name in "st")
    session = load(made.SerializeToString(), shapes=("s", "t"))
    assert session.outputs == session.interface == ("y",)
    values, shapes = session.run_observed({"x": np.ones((2, 3), np.float32)})
    assert [np.shape(value) for value in values] == [(2, 3)]  # type: ignore[call-overload]  # arrays
    assert shapes == [(3, 2), (2, 3)]


@pytest.mark.parametrize(
    ("operator", "missing"),
    [("y[2] = mine.Foo(x[2])", False), ("y:bfloat16[2] = Sqrt(x:bfloat16[2])", True)],
    ids=["unknown", "no kernel"],
)
def test_what_is_refused_says_whether_a_kernel_is_missing(operator: str, missing: bool) -> None:
    with pytest.raises(RefusedError) as refused:
        load(notation(operator).SerializeToString())
    said = str(refused.value)
    assert said.startswith("onnxruntime: ")
    assert "ONNXRuntimeError" not in said
    assert "\n" not in said
    assert refused.value.missing_kernel == missing


def test_more_nodes_stand_behind_a_model_and_its_file_stays(tmp_path: Path) -> None:
    path = tmp_path / "own.onnx"
    path.write_bytes(b"model")
    with _extended(b"model", b" more") as given:
        assert given == b"model more"
    with _extended(path, b" more") as given:
        assert isinstance(given, str)
        copy = Path(given)
        assert copy.read_bytes() == b"model more"
        assert copy.parent != tmp_path
    assert not copy.parent.exists()
    assert [each.read_bytes() for each in tmp_path.iterdir()] == [b"model"]


@pytest.mark.parametrize("arena", [True, False])
def test_memory_is_kept_for_the_next_run_by_default(arena: bool) -> None:
    data = notation("y[2] = Neg(x[2])").SerializeToString()
    session = load(data) if arena else load(data, arena=False)
    assert session.session.get_session_options().enable_cpu_mem_arena == arena
