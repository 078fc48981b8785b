from __future__ import annotations

from pathlib import Path
from typing import Any

import ai_edge_litert.schema_py_generated as schema
import numpy as np
import pytest

from models.builders.tflite import text as tflite_text
from models.builders.tflite.parts import payload
from models.builders.tflite.text import Quantized
from tests.support.runtimes.litert_runs import KERNELS, Job, run


def built(text: str, **options: Any) -> Any:  # noqa: ANN401 -- the object API has no types
    """The file of a text, read back by the object API."""
    return schema.ModelT.InitFromPackedBuf(tflite_text.model(text, **options))


def names(graph: Any, indices: Any) -> list[bytes]:  # noqa: ANN401 -- the object API has no types
    return [graph.tensors[index].name for index in indices]


@pytest.mark.parametrize(
    ("dtype", "elements", "expected"),
    [
        ("int4", [1, -2, 3], b"\xe1\x03"),
        ("uint4", [15, 1], b"\x1f"),
        ("int2", [1, -1, -2, 0, 1], b"\x2d\x01"),
        ("bfloat16", [1.0, -2.0], b"\x80\x3f\x00\xc0"),
        ("float16", [1.0], b"\x00\x3c"),
        ("bool", [True, False], b"\x01\x00"),
        ("int64", [-1], b"\xff" * 8),
        ("string", ["ab", "c"], b"\2\0\0\0\x10\0\0\0\x12\0\0\0\x13\0\0\0abc"),
        ("float8_e5m2", [60], b"\x3c"),
    ],
)
def test_a_payload_is_what_the_format_stores(dtype: str, elements: list[Any], expected: bytes) -> None:
    assert payload(dtype, elements) == expected


def test_what_is_read_and_never_made_goes_in_and_what_is_made_and_never_read_comes_out() -> None:
    (graph,) = built("s[3] = ADD(a[3], b:const[3])\nv:variable[3]\ny[3] = MUL(s, c[3])\nw[3] = SUB(a, v)").subgraphs
    assert names(graph, graph.inputs) == [b"a", b"c"]
    assert names(graph, graph.outputs) == [b"y", b"w"]
    assert [tensor.name for tensor in graph.tensors if tensor.isVariable] == [b"v"]


def test_a_header_states_inputs_that_nobody_reads_and_outputs_that_nobody_makes() -> None:
    (graph,) = built("subgraph main(x[2], u[3]) -> x, y:\ny[2] = NEG(x)").subgraphs
    assert names(graph, graph.inputs) == [b"x", b"u"]
    assert names(graph, graph.outputs) == [b"x", b"y"]


def test_an_absent_operand_is_minus_one() -> None:
    (graph,) = built("y[2,4] = FULLY_CONNECTED(x[2,3], w:const[4,3], )").subgraphs
    assert list(graph.operators[0].inputs) == [0, 1, -1]


def test_an_unranked_value_has_no_shape_and_a_scalar_an_empty_one() -> None:
    unranked, scalar = built("y[*] = ADD(x[*], s[])").subgraphs[0].tensors[:2]
    assert (unranked.shape, unranked.hasRank) == (None, False)
    assert (len(scalar.shape), scalar.hasRank) == (0, True)


def test_one_operator_code_serves_an_operator_and_version() -> None:
    model = built("a[2] = ADD(x[2], y[2])\nb:int8[2] = ADD(p:int8[2], q:int8[2])\nc[2] = ADD(a, x)\nd[2] = NEG(c)")
    assert [(code.builtinCode, code.version) for code in model.operatorCodes] == [(0, 1), (0, 2), (59, 1)]
    assert [operator.opcodeIndex for operator in model.subgraphs[0].operators] == [0, 1, 0, 2]


def test_a_stated_version_is_written_and_a_custom_operator_keeps_its_bytes() -> None:
    model = built("a[2] = ADD(x[2], y[2], version=7)\nb[2] = CUSTOM.Mine(a, custom_options=b'a, b')")
    assert [(code.version, code.customCode) for code in model.operatorCodes] == [(7, None), (1, b"Mine")]
    assert bytes(model.subgraphs[0].operators[1].customOptions) == b"a, b"


def test_attributes_are_literals_enumerations_or_subgraphs() -> None:
    text = """
    z[2,2] = ADD(x[2,2], y[2,2], fused_activation_function=RELU6)
    s:int64[2] = SHAPE(z, out_type=INT64)
    r[4] = RESHAPE(z, new_shape=[4])
    b[2,4] = STABLEHLO_BROADCAST_IN_DIM(r, broadcast_dimensions=[1])
    i[2] = IF(c:bool[], v[2], then=two, else=one)
    subgraph one:
    t[2] = NEG(v[2])
    subgraph two:
    t[2] = ABS(v[2])
    """
    add, shape, reshape, broadcast, choice = built(text).subgraphs[0].operators
    assert add.builtinOptions.fusedActivationFunction == schema.ActivationFunctionType.RELU6
    assert shape.builtinOptions.outType == schema.TensorType.INT64
    assert list(reshape.builtinOptions.newShape) == [4]
    assert broadcast.builtinOptionsType == schema.BuiltinOptions.NONE
    assert list(broadcast.builtinOptions2.broadcastDimensions) == [1]
    assert (choice.builtinOptions.thenSubgraphIndex, choice.builtinOptions.elseSubgraphIndex) == (2, 1)


def test_quantized_types_have_scales_unless_told_otherwise() -> None:
    options = {"b": None, "c": Quantized((0.5, 0.25), (1, 2), 1)}
    model = built("x:int16[1,2] = CUSTOM.A(a:uint8[1,2], b:int8[1,2], c:int8[1,2], d[2])", quantization=options)
    quantizations = {tensor.name: tensor.quantization for tensor in model.subgraphs[0].tensors}
    assert (list(quantizations[b"a"].scale), list(quantizations[b"a"].zeroPoint)) == ([0.5], [128])
    assert (list(quantizations[b"x"].scale), list(quantizations[b"x"].zeroPoint)) == ([0.5], [0])
    assert (quantizations[b"b"], quantizations[b"d"]) == (None, None)
    assert (list(quantizations[b"c"].scale), list(quantizations[b"c"].zeroPoint)) == ([0.5, 0.25], [1, 2])
    assert quantizations[b"c"].quantizedDimension == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("y[2] = NEG(x)", "no dims"),
        ("y[2] = NEG(x[2])\nz[2] = ABS(x[3])", "described otherwise"),
        ("y[2] = NEG(x:const[3]{1.0})", "do not fill"),
        ("y[2] = NONSENSE(x[2])", "no operator NONSENSE"),
        ("y[2] = ADD(x[2], x, adj_y=True)", "has no adj_y"),
        ("y[2] = LOG(x[2], base=2)", "no builtin options"),
        ("y[2 = NEG(x[2])", "is no value"),
    ],
)
def test_a_text_that_is_not_in_the_notation_is_refused(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        tflite_text.model(text)


def test_litert_reads_strings_and_constants_as_they_were_written(tmp_path: Path) -> None:
    path = tmp_path / "m.tflite"
    text = """
    y:string[3] = RESHAPE(s:const:string[1,3]{'a', 'b, {c}', ''}, d:const:int32{3})
    f[2] = MUL(x[2], b:const[2]{0.5, -2.0})
    """
    path.write_bytes(tflite_text.model(text))
    for ran in run([Job(path, kernels, {"x": np.array([3, 4], np.float32)}) for kernels in KERNELS]):
        assert ran.outputs[0].tolist() == [b"a", b"b, {c}", b""]
        np.testing.assert_array_equal(ran.outputs[1], np.array([1.5, -8], np.float32), strict=True)
