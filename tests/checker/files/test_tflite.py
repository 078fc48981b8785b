"""What the proof reads of a TFLite file is what the generated reader reads."""

from __future__ import annotations

import struct
from contextlib import ExitStack
from pathlib import Path

import flatbuffers
import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema

from graphfix.checker.files.tflite.file import read
from graphfix.checker.files.tflite.graphs import read_graphs
from graphfix.checker.files.tflite.schema import OPERATORS, TYPES, UnsupportedFieldError
from graphfix.checker.files.tflite.tables import Tables
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


def made(
    path: Path, tensors: list[schema.TensorT], operators: list[schema.OperatorT], *buffers: schema.BufferT
) -> Path:
    """Write a model of one subgraph."""
    model, graph = schema.ModelT(), schema.SubGraphT()
    model.version, model.buffers, model.subgraphs = 3, [schema.BufferT(), *buffers], [graph]
    code = schema.OperatorCodeT()
    code.builtinCode = code.deprecatedBuiltinCode = schema.BuiltinOperator.CONCAT_EMBEDDINGS
    model.operatorCodes = [code]
    graph.tensors, graph.operators, graph.inputs, graph.outputs = tensors, operators, [], []
    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), b"TFL3")
    path.write_bytes(bytes(builder.Output()))
    return path


@pytest.mark.parametrize(
    ("signature", "stored", "dims"),
    [
        (None, (2, 3), (2, 3)),
        ((-1, 3), (1, 3), (None, 3)),
        ((2, 4), (2, 3), (2, None)),
        ((2, 3), (2, -1), (2, None)),
        (None, (0, 3), (0, 3)),
        ((0, 3), (0, 1), (0, None)),
        ((-1,), (), None),
        ((2,), (2, 3), None),
        ((2, 3, 4), (2, 3), None),
        ((2, -2), (2, 3), "below -1"),
        ((-3, 3), (2, 3), "below -1"),
    ],
)
def test_a_size_that_the_signature_gives_otherwise_is_any(
    signature: tuple[int, ...] | None,
    stored: tuple[int, ...],
    dims: tuple[int | None, ...] | str | None,
    tmp_path: Path,
) -> None:
    tensor = schema.TensorT()
    tensor.name, tensor.shape, tensor.shapeSignature = "x", list(stored), signature and list(signature)
    path = made(tmp_path / "m.tflite", [tensor], [])
    with ExitStack() as stack:
        if isinstance(dims, str):
            with pytest.raises(UnsupportedFieldError, match=dims):
                read(path, stack)
            return
        (found,) = read(path, stack)[0].subgraphs[0].tensors
        assert (found.name, found.dims, found.stored, found.dtype) == ("x", dims, stored, "float32")


def test_options_with_a_vector_are_read_for_each_operator(tmp_path: Path) -> None:
    """All that the table of options itself holds is the same for both: a number, and how far away the vectors are."""
    operators = []
    for columns, sizes in (([2, 3], [4, 5]), ([6, 7], [8, 9])):
        operator = schema.OperatorT()
        operator.builtinOptionsType = schema.BuiltinOptions.ConcatEmbeddingsOptions
        operator.builtinOptions = options = schema.ConcatEmbeddingsOptionsT()
        options.numChannels, options.numColumnsPerChannel, options.embeddingDimPerChannel = 2, columns, sizes
        operators.append(operator)
    with ExitStack() as stack:
        found = read(made(tmp_path / "m.tflite", [], operators), stack)[0].subgraphs[0].operators
        assert [list(each.options.values()) for each in found] == [[2, (2, 3), (4, 5)], [2, (6, 7), (8, 9)]]


@pytest.mark.parametrize(
    ("vtable", "offsets"),
    [
        ((4, 4), ()),
        ((8, 8, 4, 7), (4, 7)),
        ((8, 8, 4, 8), None),
        ((8, 8, 8, 4), None),
        ((6, 3, 3), (3,)),
        ((6, 3, 4), None),
        ((5, 8), None),
        ((7, 8, 4), None),
        ((2, 4), None),
        ((0, 4), None),
    ],
)
def test_a_vtable_says_where_the_fields_of_a_table_begin(
    vtable: tuple[int, ...], offsets: tuple[int, ...] | None
) -> None:
    for pad in (0, 4):
        described = b"\0" * pad + struct.pack(f"<{len(vtable)}H", *vtable)
        described += b"\0" * (-len(described) % 4)
        data = described + struct.pack("<i4i", len(described) - pad, 1, 2, 3, 4)
        tables = Tables(data)  # type: ignore[arg-type]
        if offsets is None:
            with pytest.raises(ValueError, match=f"at byte {pad} that describes others does not fit"):
                tables.at(len(described))
        else:
            for _ in range(2):  # read, and known
                found = tables.at(len(described))
                assert (found.place, found.offsets) == (len(described), (*offsets, *[0] * (32 - len(offsets))))


@pytest.mark.parametrize(("place", "distance"), [(8, 9), (8, 12), (8, 7), (8, 5)])
def test_a_vtable_begins_in_the_file_at_an_even_byte(place: int, distance: int) -> None:
    data = b"\4\0" * 4 + struct.pack("<i", distance) + b"\4\0" * 16
    with pytest.raises(ValueError, match="described where nothing can begin"):
        Tables(data).at(place)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="a table at byte 6, where none can begin"):
        Tables(b"\4\0" * 3 + struct.pack("<i", 6) + b"\4\0").at(6)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("ranked", "data", "signature", "dims"),
    [
        (False, None, None, None),
        (True, None, None, ()),
        (False, [1, 2, 3, 4], None, ()),
        (True, [1, 2, 3, 4], [2], None),
    ],
)
def test_a_tensor_without_sizes_is_a_scalar_where_the_file_says_so_or_holds_it(
    ranked: bool, data: list[int] | None, signature: list[int] | None, dims: tuple[int, ...] | None, tmp_path: Path
) -> None:
    tensor, buffer = schema.TensorT(), schema.BufferT()
    tensor.shape, tensor.shapeSignature, tensor.hasRank, buffer.data = [], signature, ranked, data
    tensor.buffer = 1 if data else 0
    with ExitStack() as stack:
        (found,) = read(made(tmp_path / "m.tflite", [tensor], [], buffer), stack)[0].subgraphs[0].tensors
        assert (found.dims, found.payload is not None) == (dims, data is not None)
