"""Nodes of a TFLite model that are evaluated or replaced for target tosa: text in, text out, run in LiteRT."""

from __future__ import annotations

from typing import TYPE_CHECKING

import ai_edge_litert.schema_py_generated as schema
import numpy as np
import pytest

import graphfix
from graphfix.graph.edits import Evaluate, New, Numbers, Refused, Replace
from models.builders.tflite.text import Quantized, model, pack, tree
from tests.support import engine
from tests.support.tflite.fixing import fixed

if TYPE_CHECKING:
    from pathlib import Path

SPECTRUM = """
s:complex64[1,3,1,5] = RFFT2D(x[1,3,1,8], n:const:int32[2]{1,8})
q:complex64[1,3,5] = SQUEEZE(s, squeeze_dims=[2])
y[1,3,5] = CAST(q)
"""
SHAPES = """
s:int32[2] = SHAPE(x[2,3], out_type=INT32)
n:int32[] = STRIDED_SLICE(s, b:const:int32[1]{0}, e:const:int32[1]{1}, t:const:int32[1]{1}, shrink_axis_mask=1)
p:int32[2] = PACK(n, k:const:int32[]{3}, axis=0, values_count=2)
r[2,3] = RESHAPE(x, p)
y[2,3] = NEG(r)
"""
NUMBERS = """
r:int32[4000] = RANGE(a:const:int32[]{0}, b:const:int32[]{4000}, c:const:int32[]{1})
y:int32[4000] = ADD(x:int32[4000], r)
"""
FORMS = {
    "a condition that follows the first axis": (
        "y[2,3] = SELECT(c:bool[2], a[2,3], b[2,3])",
        [
            "c_lifted[2,1] = RESHAPE(c[2], shape_freex1[2])",
            "y[2,3] = SELECT_V2(c_lifted[2,1], a[2,3], b[2,3])",
        ],
    ),
    "a scalar condition": (
        "y[2,3] = SELECT(c:bool[], a[2,3], b[2,3])",
        ["c_lifted[1,1] = RESHAPE(c[], shape_1x1[2])", "y[2,3] = SELECT_V2(c_lifted[1,1], a[2,3], b[2,3])"],
    ),
    "a short alpha": (
        "y[1,2,2,3] = PRELU(x[1,2,2,3], a:const[3])",
        ["y[1,2,2,3] = PRELU(x[1,2,2,3], a_lifted[1,1,3])"],
    ),
    "a long alpha": (
        "y[1,2,2,3] = PRELU(x[1,2,2,3], a:const[1,1,1,3])",
        ["y[1,2,2,3] = PRELU(x[1,2,2,3], a_restated[1,1,3])"],
    ),
    "a long alpha that is computed": (
        "y[1,2,2,3] = PRELU(x[1,2,2,3], a[1,1,1,3])",
        [
            "y_reshape[1,1,3] = RESHAPE(a[1,1,1,3], constant[3])",
            "y[1,2,2,3] = PRELU(x[1,2,2,3], y_reshape[1,1,3])",
        ],
    ),
    "batches of a product": (
        "y[2,3,5] = BATCH_MATMUL(a[2,3,4], b[1,4,5])",
        [
            "b_stretched[2,4,5] = TILE(b[1,4,5], shape_2x1x1[3])",
            "y[2,3,5] = BATCH_MATMUL(a[2,3,4], b_stretched[2,4,5])",
        ],
    ),
    "a product that is read as it is": (
        "y[2,3,5] = BATCH_MATMUL(a[2,3,4], b[4,5])",
        ["y[2,3,5] = BATCH_MATMUL(a[2,3,4], b[4,5])"],
    ),
    "a spectrum of rank 4": (
        SPECTRUM,
        [
            "y_reshape[3,1,8] = RESHAPE(x[1,3,1,8], constant[3])",
            "y_rfft2d[3,1,5] = RFFT2D(y_reshape[3,1,8], n[2])",
            "y_real[3,1,5] = REAL(y_rfft2d[3,1,5])",
            "y[1,3,5] = RESHAPE(y_real[3,1,5], constant_1[3])",
        ],
    ),
    "a square": ("y[2,3] = POW(x[2,3], e:const[]{2.0})", ["y[2,3] = MUL(x[2,3], x[2,3])"]),
    "another power": (
        "y[2,3] = POW(x[2,3], e:const[]{3.0})",
        ["y[2,3] = POW(x[2,3], e_lifted[1,1])"],
    ),
    "shape arithmetic behind a static size": (
        SHAPES,
        ["r[2,3] = RESHAPE(x[2,3], p_value[2])", "y[2,3] = NEG(r[2,3])"],
    ),
}


@pytest.mark.parametrize("case", FORMS)
def test_an_operator_takes_the_form_that_is_read(case: str, tmp_path: Path) -> None:
    text, view = FORMS[case]
    found = fixed(text, target="tosa")
    assert found.view == view
    before, after = tmp_path / "a.tflite", tmp_path / "b.tflite"
    before.write_bytes(found.before)
    after.write_bytes(found.data)
    verdict = graphfix.verify(before, after, runs=2)
    assert verdict.status in ("proved", "equal"), verdict.reason
    is_copy = found.data == found.before
    assert {run.status for run in verdict.runs} == (set() if is_copy else {"equal"})


def sparse() -> bytes:
    """w[2,4] = [[0,5,0,7],[0,0,9,0]] in compressed rows, unpacked by a DENSIFY."""
    made = tree("d[2,4] = DENSIFY(w:const[2,4])\ny[2,4] = ADD(x[2,4], d)")
    (weights,) = [tensor for tensor in made.subgraphs[0].tensors if tensor.name == "w"]
    made.buffers[weights.buffer].data = np.array([5, 7, 9], np.float32).view(np.uint8)
    weights.sparsity = schema.SparsityParametersT()
    weights.sparsity.traversalOrder = [0, 1]
    dense, rows = schema.DimensionMetadataT(), schema.DimensionMetadataT()
    dense.format, dense.denseSize = schema.DimensionType.DENSE, 2
    rows.format = schema.DimensionType.SPARSE_CSR
    for side, numbers in (("Segments", [0, 2, 3]), ("Indices", [1, 3, 2])):
        vector = schema.Int32VectorT()
        vector.values = numbers
        setattr(rows, f"array{side}Type", schema.SparseIndexVector.Int32Vector)
        setattr(rows, f"array{side}", vector)
    weights.sparsity.dimMetadata = [dense, rows]
    return pack(made)


@pytest.mark.ci
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16"])
def test_what_copies_elements_keeps_their_scale(dtype: str, tmp_path: Path) -> None:
    text = f"subgraph main(x:{dtype}[1,2,2,3], a:{dtype}[1,1,1,3]):\n  y:{dtype}[1,2,2,3] = PRELU(x, a)"
    scale = Quantized(0.1, 0 if dtype == "int16" else 3)
    (tmp_path / "in.tflite").write_bytes(model(text, quantization=dict.fromkeys("xay", scale)))
    outcome = graphfix.fix_file(tmp_path / "in.tflite", tmp_path / "out.tflite", target="tosa")
    assert outcome.verdict is not None
    assert outcome.verdict.status == "proved"
    copied = engine.load(tmp_path / "out.tflite").graphs[0].nodes[0]
    assert (copied.op, copied.results[0] and copied.results[0].quantization) == (
        "RESHAPE",
        (np.float32(0.1), scale.zero_point),
    )


def test_nothing_new_computes_with_quantized_numbers() -> None:
    """No plan says by which scale the sum in the middle would be quantized."""
    for dtype, refused in (("int8", True), ("float32", False)):
        text = f"subgraph main(x:{dtype}[2,3]):\n  y:{dtype}[2,3] = ADD(x, x)"
        scales = dict.fromkeys("xy", Quantized(0.1, 3)) if refused else {}
        loaded = engine.load(model(text, quantization=scales))
        node = loaded.graphs[0].nodes[0]
        inner = New("ADD", (0, 1), node.operand(0).shape, dtype)
        edit = Replace(New("ADD", (inner, 1), node.operand(0).shape, dtype), "GF304")
        if refused:
            with pytest.raises(Refused, match="'x' is quantized, and no scale is known for what ADD makes of it"):
                loaded.apply(node, [edit])
        else:
            loaded.apply(node, [edit])
            assert [each.op for each in engine.load(loaded.tobytes()).graphs[0].nodes] == ["ADD", "ADD"]


def test_a_sparse_constant_becomes_the_dense_one_that_litert_unpacks() -> None:
    found = fixed(sparse(), target="tosa")
    assert found.view == ["y[2,4] = ADD(x[2,4], d_value[2,4])"]
    (dense,) = [tensor for tensor in found.tree.subgraphs[0].tensors if tensor.name == b"d_value"]
    data = bytes(found.tree.buffers[dense.buffer].data)
    assert np.frombuffer(data, np.float32).reshape(2, 4).tolist() == [[0, 5, 0, 7], [0, 0, 9, 0]]
    assert found.counts == {"densify-constants": 1}


def test_weights_that_the_model_unpacks_stay_packed() -> None:
    found = fixed("d[2,3] = DEQUANTIZE(h:const:float16[2,3])\ny[2,3] = ADD(x[2,3], d)", target="tosa")
    assert found.data == found.before


def test_a_constant_that_would_be_too_big_stays_a_node() -> None:
    found = fixed(NUMBERS, target="tosa", max_expand_bytes=15_999)
    assert found.data == found.before
    assert [(code, reason) for code, _, reason in found.left] == [
        ("GF303", "the constant would take 16000 bytes, more than --max-expand-bytes")
    ]
    assert fixed(NUMBERS, target="tosa").view == ["y[4000] = ADD(x[4000], r_value[4000])"]


def test_what_no_file_of_the_format_has_is_not_evaluated() -> None:
    """A model that LiteRT does not run computes nothing for us: the custom operator is not there."""
    text = "s:int32[2] = SHAPE(x[2,3])\nr[2,3] = RESHAPE(x, s)\nz[2,3] = CUSTOM.Nope(r)"
    found = fixed(text, target="tosa", stable=False)
    assert "RESHAPE(x[2,3], s[2])" in found.view[1]


def test_what_is_not_known_is_refused_with_the_options_that_make_it_known() -> None:
    opened = engine.load(model("a[2,3] = RELU(x[2,3])\ny[2,3] = NEG(a)"))
    with pytest.raises(Refused, match=r"is not known before the model runs: .*--dim.*--set"):
        opened.apply(opened.graphs[0].nodes[0], [Evaluate("GF303")])
    assert not opened.changed


def test_outputs_are_never_constants() -> None:
    found = fixed("s:int32[2] = SHAPE(x[2,3])\ny[2,3] = NEG(x)", target="tosa", stable=False)
    assert found.view[0] == "s[2] = SHAPE(x[2,3])"


@pytest.mark.ci
def test_free_sizes_are_demanded_with_the_options_that_bind_them(tmp_path: Path) -> None:
    path = tmp_path / "m.tflite"
    path.write_bytes(model("y[?,3] = ADD(x[?,3], b:const[3])"))
    with pytest.raises(
        graphfix.GraphfixError, match=r"needs sizes: x\[\?,3\]; bind: --shape x=1,3 \(or --bind-defaults\)"
    ):
        graphfix.fix_file(path, tmp_path / "o.tflite", target="tosa")
    outcome = graphfix.fix_file(path, tmp_path / "o.tflite", target="tosa", bind_defaults=True)
    assert outcome.verdict is not None
    assert outcome.verdict.status == "proved"
    assert [str(value) for value in engine.load(tmp_path / "o.tflite").graphs[0].inputs] == ["x[1,3]"]


def test_a_free_input_is_a_finding_of_check(tmp_path: Path) -> None:
    path = tmp_path / "m.tflite"
    path.write_bytes(model("y[?,3] = NEG(x[?,3])"))
    sites = graphfix.check(path, target="tosa").sites
    assert [(site.code, site.node, site.op) for site in sites[:1]] == [("GF302", "x", "input")]


def test_an_operand_with_a_scale_for_each_index_is_named(tmp_path: Path) -> None:
    path = tmp_path / "m.tflite"
    text = "y:int8[2,3] = MUL(x:int8[2,3], w:const:int8[2,3])"
    found = []
    for scales in (Quantized(0.5), Quantized((0.5, 0.25), (0, 0), 0)):
        path.write_bytes(model(text, quantization={"w": scales}))
        found.append([(site.code, site.op) for site in graphfix.check(path, target="tosa").sites])
    assert found == [[], [("GF305", "MUL")]]


@pytest.mark.parametrize(
    "text",
    [
        "t:int8[2,3] = TILE(x:int8[2,3], r:const:int32[2]{1,1})\ny[2,3] = DEQUANTIZE(t)",
        "t:int8[2,3] = BROADCAST_TO(x:int8[2,3], r:const:int32[2]{2,3})\ny[2,3] = DEQUANTIZE(t)",
    ],
    ids=["TILE", "BROADCAST_TO"],
)
def test_a_copy_that_is_quantized_otherwise_is_not_bypassed(text: str) -> None:
    """The kernels copy the numbers, so that the same ones stand for other values behind it."""
    file = model(text, quantization={"x": Quantized(0.5, 3), "t": Quantized(0.25, 3)})
    found = fixed(file)
    assert found.data == file
    assert [reason for _, _, reason in found.left] == ["'x' and 't' have other scales or zero points"]
    alike = model(text, quantization={"x": Quantized(0.5, 3), "t": Quantized(0.5, 3)})
    assert fixed(alike).view == ["y[2,3] = DEQUANTIZE(x[2,3])"]


def test_constants_that_differ_in_the_sign_of_zero_are_two() -> None:
    opened = engine.load(model("y[1] = NEG(x[1])"))
    builder = opened._state.builders[opened.graphs[0]]
    made = [
        builder.new_constant(Numbers((zero,), (1,), "float32"), opened.graphs[0].nodes[0]) for zero in (0.0, -0.0, 0.0)
    ]
    assert made[0] is made[2]
    assert made[0] is not made[1]


def test_a_choice_over_more_axes_than_kernels_broadcast_keeps_its_name() -> None:
    """SELECT takes a scalar condition at any rank, SELECT_V2 up to 8."""
    shape = "[1,1,1,1,1,1,1,2,3]"
    found = fixed(f"y{shape} = SELECT(c:bool[], x{shape}, z{shape})", target="tosa")
    assert found.data == found.before
    assert "the runtime broadcasts SELECT_V2 up to rank 8, and the result has rank 9" in [why for *_, why in found.left]
