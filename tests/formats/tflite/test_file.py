"""Reading TFLite files: what the container says, against LiteRT's object API."""

from __future__ import annotations

import sys
from pathlib import Path
from subprocess import run as run_process

import numpy as np
import pytest

from graphfix.formats.tflite.file.container import Container, read
from graphfix.formats.tflite.file.records import Code, Operator, Signature, Tensor
from tests.support.places import zoo_models
from tests.support.tflite.flat_files import (
    add_model,
    buffer,
    code,
    model,
    operator,
    packed,
    quantization,
    schema,
    subgraph,
    tensor,
    unpacked,
)

B = schema.BuiltinOperator


def one_operator(builtin: int, options: object, second: bool = False) -> Container:
    made = operator(0, (0,), (1,))
    if second:
        made.builtinOptions2 = options
        made.builtinOptions2Type = getattr(schema.BuiltinOptions2, type(options).__name__.removesuffix("T"))
    elif options is not None:
        made = operator(0, (0,), (1,), options)
    graphs = [subgraph([tensor("x", (2,)), tensor("y", (2,))], [made], (0,), (1,)), subgraph([], [], (), ())]
    return read(packed(model(graphs, [code(builtin)], [buffer()])))


@pytest.mark.alike(4)
@pytest.mark.parametrize("path", zoo_models("tflite"))
def test_a_real_model_reads_as_the_object_api_reads_it(path: Path) -> None:
    container, reported = read(path), unpacked(path.read_bytes())
    assert [(entry.name.decode(), entry.buffer) for entry in reported.metadata or []] == container.metadata
    assert [max(entry.builtinCode, entry.deprecatedBuiltinCode) for entry in reported.operatorCodes] == [
        entry.builtin for entry in container.codes
    ]
    for graph, other in zip(container.subgraphs, reported.subgraphs, strict=True):
        assert (list(graph.inputs), list(graph.outputs)) == (list(other.inputs), list(other.outputs))
        for found, entry in zip(graph.tensors, other.tensors, strict=True):
            same_tensor(found, entry)
        for node, entry in zip(graph.operators, other.operators, strict=True):
            assert (node.code, list(node.inputs)) == (entry.opcodeIndex, plain(entry.inputs))
            assert list(node.outputs) == plain(entry.outputs)
    payloads = [b"" if entry.data is None else bytes(entry.data) for entry in reported.buffers]
    assert [container.data(index) for index in range(len(payloads))] == payloads
    assert [container.size(index) for index in range(len(payloads))] == [len(payload) for payload in payloads]
    assert container.blocker is None


def plain(values: object) -> list[int]:
    return [] if values is None else [int(value) for value in values]  # type: ignore[attr-defined]  # an array or a list


def same_tensor(found: Tensor, reported: object) -> None:
    assert found.name == reported.name.decode()  # type: ignore[attr-defined]  # TensorT has no types
    assert list(found.shape) == plain(reported.shape)  # type: ignore[attr-defined]  # as above
    assert (found.type, found.buffer) == (reported.type, reported.buffer)  # type: ignore[attr-defined]  # as above
    signature = reported.shapeSignature  # type: ignore[attr-defined]  # as above
    assert found.signature == (None if signature is None else tuple(plain(signature)))
    assert found.sparse == (reported.sparsity is not None)  # type: ignore[attr-defined]  # as above
    reported_scales = reported.quantization and reported.quantization.scale  # type: ignore[attr-defined]  # as above
    assert (found.quantization.scales if found.quantization else 0) == len(plain(reported_scales))


def test_a_container_says_what_the_file_holds() -> None:
    container = read(packed(add_model()))
    assert container.codes == [Code(B.ADD, 1)]
    assert container.metadata == [("min_runtime_version", 2)]
    assert container.signatures == [Signature("serving_default", 0, (("x", 0),), (("y", 2),))]
    assert [container.holds(index) for index in range(3)] == [False, True, True]
    assert container.data(1) == np.arange(3, dtype=np.float32).tobytes()
    assert [entry.inputs for entry in container.subgraphs[0].operators] == [(0, 1)]


def test_the_first_buffer_is_no_constant_whatever_it_holds() -> None:
    # LiteRT: "Input tensor 1 lacks data" where the constant's tensor has buffer 0.
    made = add_model()
    made.buffers[0] = buffer(np.zeros(6, np.float32))
    assert not read(packed(made)).holds(0)


def test_a_per_axis_quantization_is_read() -> None:
    made = add_model()
    made.subgraphs[0].tensors[1] = tensor("c", (1, 3), "int8", 1, quantization=quantization([1, 2, 3], [0, 0, 0], 1))
    found = read(packed(made)).subgraphs[0].tensors[1].quantization
    assert found is not None
    assert (found.scales, found.dimension) == (3, 1)


def reshape() -> object:
    made = schema.ReshapeOptionsT()
    made.newShape = [2, -1]
    return made


def matmul() -> object:
    made = schema.BatchMatMulOptionsT()
    made.adjY = True
    return made


def depthwise() -> object:
    made = schema.DepthwiseConv2DOptionsT()
    made.padding, made.strideW, made.strideH, made.depthMultiplier, made.dilationHFactor = 1, 2, 3, 4, 5
    return made


def sides() -> object:
    made = schema.StablehloBroadcastInDimOptionsT()
    made.broadcastDimensions = [1, 2**40]
    return made


def branches() -> object:
    made = schema.IfOptionsT()
    made.thenSubgraphIndex, made.elseSubgraphIndex = 1, 1
    return made


@pytest.mark.parametrize(
    ("builtin", "options", "second", "expected"),
    [
        (B.RESHAPE, reshape(), False, {"new_shape": (2, -1)}),
        (B.RESHAPE, schema.ReshapeOptionsT(), False, {"new_shape": ()}),
        (B.BATCH_MATMUL, matmul(), False, {"adj_x": False, "adj_y": True}),
        (
            B.DEPTHWISE_CONV_2D,
            depthwise(),
            False,
            {
                "padding": 1,
                "stride_w": 2,
                "stride_h": 3,
                "depth_multiplier": 4,
                "fused_activation_function": 0,
                "dilation_w_factor": 1,
                "dilation_h_factor": 5,
            },
        ),
        (
            B.RESIZE_BILINEAR,
            schema.ResizeBilinearOptionsT(),
            False,
            {"align_corners": False, "half_pixel_centers": False},
        ),
        (B.STABLEHLO_BROADCAST_IN_DIM, sides(), True, {"broadcast_dimensions": (1, 2**40)}),
        (B.IF, branches(), False, {"then_subgraph_index": 1, "else_subgraph_index": 1}),
        (B.LOCAL_RESPONSE_NORMALIZATION, schema.LocalResponseNormalizationOptionsT(), False, {}),
        (B.MEAN, None, False, {}),
    ],
    ids=[
        "a vector of numbers",
        "an absent vector is empty",
        "flags",
        "defaults that are not 0",
        "fields of the past are no options",
        "64-bit numbers of the second union",
        "indices of subgraphs",
        "options that are not read",
        "no options",
    ],
)
def test_options_are_read_by_name(builtin: int, options: object, second: bool, expected: dict[str, object]) -> None:
    container = one_operator(builtin, options, second)
    assert container.options(container.subgraphs[0].operators[0]) == expected


def test_a_new_operator_has_no_options_and_hinders_nothing() -> None:
    container = read(packed(add_model()))
    made = Operator(0, (0,), (2,))
    assert container.options(made) == {}
    assert container.operator_blocker(made) is None


def test_codes_above_126_are_found_by_the_wider_field() -> None:
    assert one_operator(B.BROADCAST_TO, None).codes == [Code(130, 1)]


def test_control_dependencies_refuse_inserts() -> None:
    made = add_model()
    assert read(packed(made)).insertion_blocker is None
    made.metadata[0].name = "model_control_dependencies"
    assert "model_control_dependencies" in (read(packed(made)).insertion_blocker or "")


def test_reading_needs_neither_numpy_nor_flatbuffers_nor_a_runtime(tmp_path: Path) -> None:
    (tmp_path / "m.tflite").write_bytes(packed(add_model()))
    script = (
        "import sys; from pathlib import Path; from graphfix.formats.tflite.file.container import read\n"
        "read(Path(sys.argv[1])).save(Path(sys.argv[2]))\n"
        "print({'numpy', 'flatbuffers', 'tflite', 'onnx', 'ai_edge_litert'} & set(sys.modules))"
    )
    arguments = [sys.executable, "-c", script, str(tmp_path / "m.tflite"), str(tmp_path / "out.tflite")]
    done = run_process(arguments, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
