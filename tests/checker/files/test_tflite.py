"""What the proof reads of a TFLite file is what the generated reader reads."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import flatbuffers
import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema

from graphfix.checker.files.tflite.file import read
from graphfix.checker.files.tflite.graphs import read_graphs
from graphfix.checker.files.tflite.schema import OPERATORS, TYPES
from graphfix.results import GraphfixError
from tests.support.places import MODELS, committed_models, model_id, zoo_models
from tests.support.proving import prove

MADE = [pytest.param(path, id=model_id(path)) for path in committed_models("tflite")]


def _listed(numbers: np.ndarray | list[int] | None) -> tuple[int, ...]:
    return () if numbers is None else tuple(int(number) for number in numbers)


@pytest.mark.alike(4)
@pytest.mark.parametrize("path", [*MADE, *zoo_models("tflite")])
def test_tables_say_what_the_generated_reader_says(path: Path) -> None:
    data = path.read_bytes()
    theirs = schema.ModelT.InitFromPackedBuf(data, 0)
    with ExitStack() as stack:
        ours, _ = read(path, stack)
        assert len(ours.subgraphs) == len(theirs.subgraphs)
        for mine, graph in zip(ours.subgraphs, theirs.subgraphs, strict=True):
            assert (mine.inputs, mine.outputs) == (_listed(graph.inputs), _listed(graph.outputs))
            for tensor, other in zip(mine.tensors, graph.tensors, strict=True):
                assert tensor.name == (other.name or b"").decode("utf-8", "replace")
                assert (tensor.dtype, tensor.stored) == (TYPES[other.type], _listed(other.shape))
                assert tensor.variable == other.isVariable
                buffer = theirs.buffers[other.buffer]
                held = b"" if buffer.data is None else bytes(bytearray(buffer.data))
                if buffer.offset > 1:
                    held = data[buffer.offset : buffer.offset + buffer.size]
                assert (b"" if tensor.payload is None else tensor.payload.read(0, len(data))) == held
                scales = None if other.quantization is None else other.quantization.scale
                if scales is not None and len(scales):
                    assert tensor.quantization is not None
                    assert tensor.quantization.key[0] == np.array(scales, "<f4").tobytes()
                    assert tensor.quantization.key[1] == _listed(other.quantization.zeroPoint)
            for operator, made in zip(mine.operators, graph.operators, strict=True):
                code = theirs.operatorCodes[made.opcodeIndex]
                number = max(code.builtinCode, code.deprecatedBuiltinCode)
                assert operator.name == OPERATORS[number] or operator.name.startswith("custom ")
                assert (operator.inputs, operator.outputs) == (_listed(made.inputs), _listed(made.outputs))
                stated = {} if made.builtinOptions is None else vars(made.builtinOptions)
                for key, value in stated.items():
                    if isinstance(value, int):
                        assert operator.options[key] == value
                newer = stated.keys() - operator.options.keys()
                assert not any(stated[key] for key in newer)  # LiteRT's schema is a later one


@pytest.mark.parametrize("size", [8, 40, 200])
def test_a_file_that_is_cut_short_is_an_error_of_one_line(size: int, tmp_path: Path) -> None:
    path = tmp_path / "m.tflite"
    path.write_bytes((MODELS / "shapes" / "two_sided.tflite").read_bytes()[:size])
    with ExitStack() as stack, pytest.raises(GraphfixError, match="no TFLite model"):
        read(path, stack)


def test_the_scale_of_an_operator_s_intermediate_tensor_is_part_of_the_operator(tmp_path: Path) -> None:
    """An LSTM computes by the scales of tensors that are none of its operands."""
    paths = []
    for index, scale in enumerate([0.5, 0.5, 0.25]):
        made = schema.ModelT.InitFromPackedBuf((MODELS / "shapes" / "two_sided.tflite").read_bytes(), 0)
        graph = made.subgraphs[0]
        quantization = schema.QuantizationParametersT()
        quantization.scale, quantization.zeroPoint = [scale], [0]
        between = schema.TensorT()
        between.name, between.shape, between.quantization = f"between{index}", [1], quantization
        graph.tensors.append(between)
        graph.operators[0].intermediates = [len(graph.tensors) - 1]
        builder = flatbuffers.Builder(1024)
        builder.Finish(made.Pack(builder), b"TFL3")
        paths.append(tmp_path / f"m{index}.tflite")
        paths[-1].write_bytes(bytes(builder.Output()))
    assert prove(paths[0], paths[1], tflite=True).proved
    assert not prove(paths[0], paths[2], tflite=True).proved


@pytest.mark.parametrize("stride", [2, 3])
def test_a_field_that_the_schema_does_not_know_is_not_passed_over(stride: int, tmp_path: Path) -> None:
    """The options of an ADD with more fields than the schema has, as a later one may have them."""
    paths = tmp_path / "a.tflite", tmp_path / "b.tflite"
    for path, number in zip(paths, (2, stride), strict=True):
        made = schema.ModelT.InitFromPackedBuf((MODELS / "shapes" / "two_sided.tflite").read_bytes(), 0)
        operator = made.subgraphs[0].operators[0]
        operator.builtinOptions = schema.Conv2DOptionsT()
        operator.builtinOptions.strideH = number
        operator.debugMetadataIndex = number  # so that no copy is compared
        builder = flatbuffers.Builder(1024)
        builder.Finish(made.Pack(builder), b"TFL3")
        path.write_bytes(bytes(builder.Output()) + bytes(number))
    proof = prove(*paths, tflite=True)
    assert (proof.status, proof.reason) == (
        "not proved",
        "a table of AddOptions has a field that the schema of the proof does not know",
    )
    (graph,) = read_graphs(paths[0])  # the runs ask no more than what the schema knows
    (original,) = read_graphs(MODELS / "shapes" / "two_sided.tflite")
    assert [op.name for op in graph.ops] == [op.name for op in original.ops]
