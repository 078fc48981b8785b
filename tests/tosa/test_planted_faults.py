"""A converted model with one fault in it differs: the judge of `--run` lets none of these through."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import onnx
import pytest
import tflite
from onnx import ModelProto, numpy_helper

import graphfix
from graphfix.api import format_of
from graphfix.engine.request import Request
from graphfix.tosa import convert
from tests.support.runtimes.tosa_loop import needs_tools

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = needs_tools
EXPORTED = Path(__file__).resolve().parents[2] / "models" / "exported"


def verdicts(name: str, fault: Callable[[bytes], bytes], folder: Path, **shapes: str) -> tuple[str, str]:
    """What the judge says of the model as it is converted, and with the fault in what was converted."""
    source = EXPORTED / name
    fixed, faulty = folder / f"fixed{source.suffix}", folder / f"faulty{source.suffix}"
    narrow = source.suffix == ".onnx"
    graphfix.fix_file(
        source, fixed, target="tosa", shapes=shapes, bind_defaults=True, narrow_inputs=narrow, check_result=False
    )
    faulty.write_bytes(fault(fixed.read_bytes()))
    assert faulty.read_bytes() != fixed.read_bytes()
    found = []
    for made in (fixed, faulty):
        files = convert.Files(source, made, folder / "m.mlirbc", folder / "m.tosa", narrow=narrow)
        conversion, _ = convert.convert(files, convert.converter(format_of(source)), Request(run=True))
        found.append(conversion.status)
    return found[0], found[1]


def onnx_fault(change: Callable[[ModelProto], None]) -> Callable[[bytes], bytes]:
    def changed(data: bytes) -> bytes:
        model = onnx.load_from_string(data)
        change(model)
        return model.SerializeToString()

    return changed


@pytest.mark.ci
@pytest.mark.parametrize("weights", ["onnx::Conv_90", "head.weight"])
def test_the_sign_of_one_weight(weights: str, tmp_path: Path) -> None:
    def flip(model: ModelProto) -> None:
        (stored,) = (each for each in model.graph.initializer if each.name == weights)
        values = numpy_helper.to_array(stored).copy()
        values.flat[np.abs(values).argmax()] *= -1
        stored.CopyFrom(numpy_helper.from_array(values, weights))

    found = verdicts("resnet_legacy.onnx", onnx_fault(flip), tmp_path, image="1,3,32,32")
    assert found == ("agrees", "differs")


@pytest.mark.ci
def test_an_index_of_a_gather_that_is_off_by_one(tmp_path: Path) -> None:
    def move(model: ModelProto) -> None:
        (node,) = (each for each in model.graph.node if each.name == "/model/pooler/Gather")
        model.graph.initializer.append(numpy_helper.from_array(np.array(1, np.int64), "off_by_one"))
        node.input[1] = "off_by_one"

    found = verdicts("bert_legacy.onnx", onnx_fault(move), tmp_path, input_ids="1,4", attention_mask="1,4")
    assert found == ("agrees", "differs")


def operands(data: bytearray) -> list[tuple[tflite.Tensor, tflite.Tensor]]:
    """The data and the constant weights of each operator that has both, to be changed in place."""
    model = tflite.Model.GetRootAsModel(data, 0)
    graph = model.Subgraphs(0)
    nodes = [graph.Operators(at) for at in range(graph.OperatorsLength())]
    pairs = [tuple(graph.Tensors(node.Inputs(at)) for at in (0, 1)) for node in nodes if node.InputsLength() > 1]
    return [(x, w) for x, w in pairs if model.Buffers(w.Buffer()).DataLength()]


@pytest.mark.ci
def test_a_scale_that_is_off_by_2_percent(tmp_path: Path) -> None:
    def widen(data: bytes) -> bytes:
        made = bytearray(data)
        scales = next(w.Quantization().ScaleAsNumpy() for _, w in operands(made) if w.Quantization().ScaleLength())
        scales *= np.float32(1.02)
        return bytes(made)

    assert verdicts("tcn_fixed_int8io.tflite", widen, tmp_path) == ("agrees", "differs")


@pytest.mark.ci
def test_a_zero_point_that_is_off_by_3(tmp_path: Path) -> None:
    """Of the output: within the file another tensor's would be wrong for what makes it and for what reads it alike."""

    def move(data: bytes) -> bytes:
        made = bytearray(data)
        graph = tflite.Model.GetRootAsModel(made, 0).Subgraphs(0)
        zeros = graph.Tensors(graph.Outputs(0)).Quantization().ZeroPointAsNumpy()
        zeros += 3
        return bytes(made)

    assert verdicts("tcn_fixed_int8io.tflite", move, tmp_path) == ("agrees", "differs")
