"""Small tensors, attributes and message classes, beside what onnx makes of the same."""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Sequence

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from graphfix.formats.onnx.file.tensors import FORMATS, attribute_of, elements_of, tensor_of
from graphfix.results import onnx_messages

TYPES = {name: code for name, code in TensorProto.DataType.items() if name not in ("UNDEFINED", "STRING")}


def same(left: Sequence[object], right: Sequence[object]) -> bool:
    """Whether all elements are of one type and one value; NaN is NaN, and -0.0 is not 0.0."""
    return [(type(each), repr(each)) for each in left] == [(type(each), repr(each)) for each in right]


@pytest.mark.parametrize("form", ["raw", "typed"])
@pytest.mark.parametrize("name", TYPES)
def test_elements_of_any_type_are_what_onnx_reads(name: str, form: str) -> None:
    random = np.random.default_rng(7)
    kind = helper.tensor_dtype_to_np_dtype(TYPES[name])
    numbers = random.normal(scale=40, size=6).round(2).astype(np.float32).astype(kind).reshape(2, 3)
    if form == "raw":
        tensor = numpy_helper.from_array(numbers)
    else:
        tensor = helper.make_tensor("t", TYPES[name], numbers.shape, numbers.reshape(-1).tolist())
        assert not tensor.HasField("raw_data")
    assert tensor.data_type == TYPES[name]
    wanted = numpy_helper.to_array(tensor).reshape(-1).tolist()
    assert len(wanted) == numbers.size
    assert same(elements_of(tensor), wanted)


@pytest.mark.parametrize("number", [math.inf, -math.inf, math.nan, -0.0, 1e-42])
@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
def test_odd_floats_are_what_onnx_reads(number: float, kind: type) -> None:
    tensor = numpy_helper.from_array(np.asarray([number], kind))
    assert same(elements_of(tensor), numpy_helper.to_array(tensor).tolist())


def test_text_and_no_elements() -> None:
    assert elements_of(helper.make_tensor("t", TensorProto.STRING, [2], ["a", "ü"])) == ("a", "ü")
    assert elements_of(numpy_helper.from_array(np.empty((0, 3), np.int64))) == ()
    assert elements_of(helper.make_tensor("t", TensorProto.INT64, [0], [])) == ()


@pytest.mark.parametrize("code", FORMATS)
def test_a_tensor_is_what_onnx_makes_of_the_array(code: int) -> None:
    kind = helper.tensor_dtype_to_np_dtype(code)
    array = np.asarray([[0, 1, 1]], kind)
    assert tensor_of(array.reshape(-1).tolist(), code, (1, 3)) == numpy_helper.from_array(array)
    assert tensor_of([], code, (0,)) == numpy_helper.from_array(np.empty(0, kind))


VALUES = {
    "int": 3, "negative": -1, "truth": True, "float": 0.5, "text": "same", "bytes": b"\xff",
    "ints": [1, -2], "tuple": (3,), "floats": [0.5, 1.5], "both": [1, 0.5], "texts": ["a", "b"],
    "tensor": helper.make_tensor("t", TensorProto.FLOAT, [1], [2.0]), "numpy": np.int64(4), "numpy ints": np.arange(3),
}  # fmt: skip


@pytest.mark.parametrize("name", VALUES)
def test_an_attribute_is_what_onnx_makes_of_the_value(name: str) -> None:
    made = attribute_of("a", VALUES[name])
    assert made == helper.make_attribute("a", VALUES[name])
    assert made.type


@pytest.mark.parametrize("value", [None, [], {}, 1j, ["a", 1], [True, False]], ids=repr)
def test_a_value_that_no_attribute_holds_is_refused(value: object) -> None:
    with pytest.raises((TypeError, ValueError)):
        attribute_of("a", value)


def test_the_message_classes_are_those_of_onnx() -> None:
    assert "ModelProto" in onnx_messages.__all__
    assert {name: getattr(onnx_messages, name) for name in onnx_messages.__all__} == {
        name: getattr(onnx, name) for name in onnx_messages.__all__
    }


PROGRAM = """
import sys
{first}
{second}
assert ("onnx" in sys.modules) == ("onnx" in sys.argv[1:]), "onnx was imported"
import onnx, onnx.checker, onnx.helper, onnx.shape_inference, onnx.numpy_helper, onnx.reference, numpy
from graphfix.results.onnx_messages import ModelProto, TensorProto
assert ModelProto is onnx.ModelProto
assert onnx.onnx_ml_pb2.ModelProto is ModelProto
graph = onnx.helper.make_graph([onnx.helper.make_node("Relu", ["x"], ["y"])], "g",
    [onnx.helper.make_tensor_value_info("x", 1, [2])], [onnx.helper.make_tensor_value_info("y", 1, [2])])
model = onnx.helper.make_model(graph)
onnx.checker.check_model(model)
assert isinstance(ModelProto.FromString(model.SerializeToString()), onnx.ModelProto)
onnx.shape_inference.infer_shapes(model)
print(onnx.numpy_helper.to_array(onnx.numpy_helper.from_array(numpy.arange(2))))
"""
OURS = "from graphfix.results import onnx_messages"


@pytest.mark.ci
@pytest.mark.parametrize(
    ("first", "second", "imported"), [(OURS, "", ""), ("import onnx", OURS, "onnx"), (OURS, "import onnx", "onnx")]
)
def test_onnx_works_before_and_after_its_message_classes_were_loaded_alone(
    first: str, second: str, imported: str
) -> None:
    program = PROGRAM.format(first=first, second=second)
    done = subprocess.run([sys.executable, "-c", program, imported], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "[0 1]\n", "")
