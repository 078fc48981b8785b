"""Lifts and stretches carried out on TFLite models: text in, text out, edits counted, all else as it was."""

from __future__ import annotations

import numpy as np
import pytest

from graphfix.graph.edits import Edit, Inline, Lift, Refused, Upgrade
from models.builders.tflite.text import Quantized, model
from tests.support import engine
from tests.support.named import rules
from tests.support.runtimes.litert_groups import KERNELS, Job, run
from tests.support.tflite import kept
from tests.support.tflite.fixing import fixed, tree

EQUAL = "equalize-ranks"
STRETCH = "materialize-broadcasts"

RANKS = {
    "a constant: a second tensor on its buffer": (
        "y[2,3,4] = ADD(x[2,3,4], b:const[4])",
        ["y[2,3,4] = ADD(x[2,3,4], b_lifted[1,1,4])"],
        1,
    ),
    "a static shape: RESHAPE": (
        "y[2,3,4] = ADD(x[2,3,4], b[4])",
        ["b_lifted[1,1,4] = RESHAPE(b[4], shape_1x1xfree[3])", "y[2,3,4] = ADD(x[2,3,4], b_lifted[1,1,4])"],
        1,
    ),
    "one size that is free: RESHAPE, open there": (
        "y[2,?,4] = ADD(x[2,?,4], b[?,4])",
        ["b_lifted[1,?,4] = RESHAPE(b[?,4], shape_1xfreex4[3])", "y[2,?,4] = ADD(x[2,?,4], b_lifted[1,?,4])"],
        1,
    ),
    "two sizes that are free: EXPAND_DIMS": (
        "y[2,?,?] = ADD(x[2,?,?], b[?,?])",
        ["b_lifted[1,?,?] = EXPAND_DIMS(b[?,?], axis_0[])", "y[2,?,?] = ADD(x[2,?,?], b_lifted[1,?,?])"],
        1,
    ),
    "two axes and two sizes that are free: an EXPAND_DIMS for each axis": (
        "y[5,2,?,?] = ADD(x[5,2,?,?], b[?,?])",
        [
            "b_lifted[1,?,?] = EXPAND_DIMS(b[?,?], axis_0[])",
            "b_lifted_1[1,1,?,?] = EXPAND_DIMS(b_lifted[1,?,?], axis_1[])",
            "y[5,2,?,?] = ADD(x[5,2,?,?], b_lifted_1[1,1,?,?])",
        ],
        1,
    ),
    "no elements: EXPAND_DIMS, for -1 can't be told from anything": (
        "y[2,0] = ADD(x[2,0], b[0])",
        ["b_lifted[1,0] = EXPAND_DIMS(b[0], axis_0[])", "y[2,0] = ADD(x[2,0], b_lifted[1,0])"],
        1,
    ),
    "a scalar: nothing is open": (
        "y[2,3] = ADD(x[2,3], b[])",
        ["b_lifted[1,1] = RESHAPE(b[], shape_1x1[2])", "y[2,3] = ADD(x[2,3], b_lifted[1,1])"],
        1,
    ),
    "two readers at one shape share one new operator, before the first": (
        "y[2,3] = ADD(x[2,3], b[3])\nz[2,3] = MUL(y, b)",
        [
            "b_lifted[1,3] = RESHAPE(b[3], shape_1xfree[2])",
            "y[2,3] = ADD(x[2,3], b_lifted[1,3])",
            "z[2,3] = MUL(y[2,3], b_lifted[1,3])",
        ],
        2,
    ),
    "a half-precision constant is lifted in front of its DEQUANTIZE": (
        "d[4] = DEQUANTIZE(h:const:float16[4])\ny[2,3,4] = ADD(x[2,3,4], d)",
        [
            "d_lifted[1,1,4] = DEQUANTIZE(h_lifted[1,1,4])",
            "y[2,3,4] = ADD(x[2,3,4], d_lifted[1,1,4])",
        ],
        1,
    ),
    "a DEQUANTIZE that others read stays for them": (
        "d[4] = DEQUANTIZE(h:const:float16[4])\ny[2,3,4] = ADD(x[2,3,4], d)\nz[4] = NEG(d)",
        [
            "d[4] = DEQUANTIZE(h[4])",
            "d_lifted[1,1,4] = DEQUANTIZE(h_lifted[1,1,4])",
            "y[2,3,4] = ADD(x[2,3,4], d_lifted[1,1,4])",
            "z[4] = NEG(d[4])",
        ],
        1,
    ),
    "strings are lifted": (
        "y:bool[2,3] = EQUAL(x:string[2,3], b:string[3])",
        ["b_lifted[1,3] = RESHAPE(b[3], shape_1xfree[2])", "y[2,3] = EQUAL(x[2,3], b_lifted[1,3])"],
        1,
    ),
    "the batch of a matrix product": (
        "y[2,3,5] = BATCH_MATMUL(x[2,3,4], b[4,5])",
        ["b_lifted[1,4,5] = RESHAPE(b[4,5], shape_1xfreex5[3])", "y[2,3,5] = BATCH_MATMUL(x[2,3,4], b_lifted[1,4,5])"],
        1,
    ),
}


@pytest.mark.parametrize("case", RANKS)
def test_ranks_are_made_equal(case: str) -> None:
    text, view, edits = RANKS[case]
    found = fixed(text, target="ranks")
    assert found.view == view
    assert found.counts == {EQUAL: edits}


STRETCHES = {
    "a constant is written out": (
        "y[2,3] = ADD(x[2,3], b:const[1,3])",
        ["y[2,3] = ADD(x[2,3], b_stretched[2,3])"],
        {STRETCH: 1},
    ),
    "a constant of a lower rank is written out, its lifted tensor is not kept": (
        "y[2,3] = ADD(x[2,3], b:const[3])",
        ["y[2,3] = ADD(x[2,3], b_lifted_stretched[2,3])"],
        {EQUAL: 1, STRETCH: 1},
    ),
    "a static shape: TILE": (
        "y[2,3] = ADD(x[2,3], b[1,3])",
        ["b_stretched[2,3] = TILE(b[1,3], shape_2x1[2])", "y[2,3] = ADD(x[2,3], b_stretched[2,3])"],
        {STRETCH: 1},
    ),
    "strings: TILE, for a constant too": (
        "y:bool[2,3] = EQUAL(x:string[2,3], b:const:string[1,3])",
        ["b_stretched[2,3] = TILE(b[1,3], shape_2x1[2])", "y[2,3] = EQUAL(x[2,3], b_stretched[2,3])"],
        {STRETCH: 1},
    ),
    "a free size on the other side alone: BROADCAST_TO its shape": (
        "y[?,3] = ADD(x[?,3], b[1,3])",
        [
            "x_shape[2] = SHAPE(x[?,3])",
            "b_stretched[?,3] = BROADCAST_TO(b[1,3], x_shape[2])",
            "y[?,3] = ADD(x[?,3], b_stretched[?,3])",
        ],
        {STRETCH: 1},
    ),
    "both are stretched, each by the other's free size: BROADCAST_ARGS": (
        "y[?,?] = ADD(x[?,1], b[1,?])",
        [
            "b_shape[2] = SHAPE(b[1,?])",
            "x_shape[2] = SHAPE(x[?,1])",
            "x_shape_merged[2] = BROADCAST_ARGS(x_shape[2], b_shape[2])",
            "x_stretched[?,?] = BROADCAST_TO(x[?,1], x_shape_merged[2])",
            "b_stretched[?,?] = BROADCAST_TO(b[1,?], x_shape_merged[2])",
            "y[?,?] = ADD(x_stretched[?,?], b_stretched[?,?])",
        ],
        {STRETCH: 2},
    ),
    "two free sizes that may not meet: the other's size where one is 1": (
        "y[?] = ADD(x[?], b[?])",
        [
            "x_shape[1] = SHAPE(x[?])",
            "b_shape[1] = SHAPE(b[?])",
            "x_shape_is_1[1] = EQUAL(x_shape[1], shape_1[1])",
            "x_shape_merged[1] = SELECT_V2(x_shape_is_1[1], b_shape[1], x_shape[1])",
            "x_stretched[?] = BROADCAST_TO(x[?], x_shape_merged[1])",
            "b_shape_is_1[1] = EQUAL(b_shape[1], shape_1[1])",
            "b_shape_merged[1] = SELECT_V2(b_shape_is_1[1], x_shape[1], b_shape[1])",
            "b_stretched[?] = BROADCAST_TO(b[?], b_shape_merged[1])",
            "y[?] = ADD(x_stretched[?], b_stretched[?])",
        ],
        {STRETCH: 2},
    ),
    "batches that may not meet: the whole shape, by the other's batch": (
        "y[?,2,4] = BATCH_MATMUL(x[?,2,3], b[?,3,4])",
        [
            "b_shape[3] = SHAPE(b[?,3,4])",
            "b_size_0[1] = GATHER(b_shape[3], shape_0[1])",
            "sizes[3] = CONCATENATION(b_size_0[1], shape_2[1], shape_3[1])",
            "x_shape[3] = SHAPE(x[?,2,3])",
            "x_shape_is_1[3] = EQUAL(x_shape[3], shape_1x1x1[3])",
            "x_shape_merged[3] = SELECT_V2(x_shape_is_1[3], sizes[3], x_shape[3])",
            "x_stretched[?,2,3] = BROADCAST_TO(x[?,2,3], x_shape_merged[3])",
            "x_size_0[1] = GATHER(x_shape[3], shape_0[1])",
            "sizes_1[3] = CONCATENATION(x_size_0[1], shape_3[1], shape_4[1])",
            "b_shape_is_1[3] = EQUAL(b_shape[3], shape_1x1x1[3])",
            "b_shape_merged[3] = SELECT_V2(b_shape_is_1[3], sizes_1[3], b_shape[3])",
            "b_stretched[?,3,4] = BROADCAST_TO(b[?,3,4], b_shape_merged[3])",
            "y[?,2,4] = BATCH_MATMUL(x_stretched[?,2,3], b_stretched[?,3,4])",
        ],
        {STRETCH: 2},
    ),
    "a free size under a stored one: BROADCAST_TO, which fails where it does not fit": (
        "y[4,3] = ADD(x[?,3], b[4,3])",
        ["x_stretched[4,3] = BROADCAST_TO(x[?,3], shape_4x3[2])", "y[4,3] = ADD(x_stretched[4,3], b[4,3])"],
        {STRETCH: 1},
    ),
    "a half-precision constant is written out in front of its DEQUANTIZE": (
        "d[4] = DEQUANTIZE(h:const:float16[4])\ny[2,4] = ADD(x[2,4], d)",
        [
            "d_lifted_stretched[2,4] = DEQUANTIZE(h_lifted_stretched[2,4])",
            "y[2,4] = ADD(x[2,4], d_lifted_stretched[2,4])",
        ],
        {EQUAL: 1, STRETCH: 1},
    ),
    "SELECT_V2 with three ranks": (
        "y[2,3] = SELECT_V2(c:bool[], a[3], b[2,3])",
        [
            "c_lifted[1,1] = RESHAPE(c[], shape_1x1[2])",
            "c_lifted_stretched[2,3] = TILE(c_lifted[1,1], shape_2x3[2])",
            "a_lifted[1,3] = RESHAPE(a[3], shape_1xfree[2])",
            "a_lifted_stretched[2,3] = TILE(a_lifted[1,3], shape_2x1[2])",
            "y[2,3] = SELECT_V2(c_lifted_stretched[2,3], a_lifted_stretched[2,3], b[2,3])",
        ],
        {EQUAL: 2, STRETCH: 2},
    ),
}


@pytest.mark.parametrize("case", STRETCHES)
def test_size_one_axes_are_stretched(case: str) -> None:
    text, view, counts = STRETCHES[case]
    found = fixed(text)
    assert sorted(found.view) == sorted(view)
    assert found.counts == counts


LEFT = {
    "half bytes": ("y:int4[2,3] = SELECT_V2(c:bool[2,3], a:int4[1,3], b:int4[2,3])", [("GF102", 1, "int4")]),
    "strings of a free size": ("y:bool[?,3] = EQUAL(x:string[?,3], b:string[1,3])", [("GF102", 1, "no strings")]),
    "a rank that is not known": (
        "y[*] = ADD(x[*], b[3])",
        [("GF103", 0, "the rank of an operand is not known"), ("GF103", 1, "the rank of an operand is not known")],
    ),
    "a quantized operand of a product in float32, unless it is written out": (
        "y[?,2,4] = BATCH_MATMUL(x[?,2,3], w:int8:const[1,3,4])",
        [("GF102", 1, "takes the int8 operand of a BATCH_MATMUL in float32 for a constant")],
    ),
    "PRELU's alpha": ("y[2,3,4] = PRELU(x[2,3,4], a:const[4])", [("GF101", 1, ""), ("GF102", 1, "")]),
}


@pytest.mark.parametrize("case", LEFT)
def test_what_can_not_be_made_explicit_is_left_with_the_reason(case: str) -> None:
    text, expected = LEFT[case]
    found = fixed(text)
    assert found.counts == {}
    assert found.data == found.before
    assert [(code, operand) for code, operand, _ in found.left] == [(code, operand) for code, operand, _ in expected]
    for (_, _, reason), (_, _, words) in zip(found.left, expected, strict=True):
        assert words in reason


STATED = """
t[?,?,8] = RESHAPE(x[?,32], s:const:int32[3]{-1,4,8})
u[?,4,8] = RESHAPE(x, s)
y[?,4,8] = ADD(t, u)
z[?,4,8] = MUL(y, c[1,4,8])
"""


def test_a_proven_size_is_stated_where_a_reader_of_stored_shapes_saw_a_broadcast() -> None:
    found = fixed(STATED)
    (tensor,) = (each for each in found.tree.subgraphs[0].tensors if each.name == b"t")
    assert (list(tensor.shape), list(tensor.shapeSignature)) == ([1, 4, 8], [-1, 4, 8])
    assert kept.differences(found.before, found.data, found.outcome.sites) == []


def test_no_size_is_stated_of_an_output_or_in_a_file_that_is_not_rewritten() -> None:
    found = fixed(model(STATED, outputs=["z", "t"]))
    (tensor,) = (each for each in found.tree.subgraphs[0].tensors if each.name == b"t")
    assert list(tensor.shapeSignature) == [-1, -1, 8]
    without = fixed("\n".join(STATED.splitlines()[:-1]))
    assert without.data == without.before


def test_no_size_is_stated_that_is_only_assumed() -> None:
    text = (
        "a[2,4,8] = CUSTOM.Shift(x[2,4,8])\nt[2,?,8] = NEG(a)\ny[2,4,8] = ADD(t, b[2,4,8])\nz[2,4,8] = MUL(b, c[1,4,8])"
    )
    found = fixed(text)
    assert found.counts
    (tensor,) = (each for each in found.tree.subgraphs[0].tensors if each.name == b"t")
    assert list(tensor.shapeSignature) == [2, -1, 8]


def test_xnnpack_takes_a_quantized_operand_for_a_constant_whatever_makes_it() -> None:
    """Why such an operand is stretched as a constant alone."""
    made = "t:int8[4,3,4] = TILE(w:int8:const[1,3,4], m:const:int32[3]{4,1,1})\n"
    scale = Quantized((0.5,), (0,), 0)
    written = model("y[4,2,4] = BATCH_MATMUL(x[4,2,3], w:int8:const[4,3,4])", quantization={"w": scale})
    computed = model(made + "y[4,2,4] = BATCH_MATMUL(x[4,2,3], t)", quantization={"w": scale, "t": scale})
    feeds = (np.linspace(-1, 2, 24, dtype=np.float32).reshape(4, 2, 3),)
    near = []
    for file in (written, computed):
        (answers,) = run([[Job(file, kernels, feeds) for kernels in KERNELS[1:]]])
        default, xnnpack = (ran.outputs[0] for ran in answers)
        near.append(bool(np.allclose(default, xnnpack, atol=0.05)))
    assert near == [True, False]


def test_what_is_assumed_leaves_nothing_beside_a_stretch_that_is_certain() -> None:
    found = fixed("y[?,2,2,4] = BATCH_MATMUL(x[?,1,2,3], b[?,2,3,4])", unknown="assume")
    assert [(code, operand) for code, operand, _ in found.left] == [("GF103", 0), ("GF103", 1)]
    assert all("it is assumed that" in reason for _, _, reason in found.left)
    assert found.counts == {STRETCH: 1}
    assert found.view[-1] == "y[?,2,2,4] = BATCH_MATMUL(x_stretched[?,2,2,3], b[?,2,3,4])"


def test_a_big_constant_is_stretched_by_an_operator() -> None:
    text = "y[2000,3] = ADD(x[2000,3], b:const[1,3])"
    small = fixed(text, max_expand_bytes=23_999)
    assert small.view == [
        "b_stretched[2000,3] = TILE(b[1,3], shape_2000x1[2])",
        "y[2000,3] = ADD(x[2000,3], b_stretched[2000,3])",
    ]
    # the file is small: all constants together may take twice its size
    assert fixed(text, max_expand_bytes=24_000).view == small.view


def test_the_report_says_by_how_many_bytes_constants_grew() -> None:
    found = fixed("y[2,3] = ADD(x[2,3], b:const[1,3])")
    assert [site.bytes for site in found.outcome.sites] == [24]


def test_a_lifted_constant_keeps_the_buffer_and_its_scales_move_along() -> None:
    data = model(
        "y[2,3,4] = ADD(x[2,3,4], w:int8:const[3,4])",
        quantization={"w": Quantized((0.5, 0.25, 2.0), (0, 0, 0), 0)},
    )
    found = fixed(data, target="ranks")
    before, after = tree(data).subgraphs[0], found.tree.subgraphs[0]
    (old,) = [it for it in after.tensors if it.name == b"w"]
    (new,) = [it for it in after.tensors if it.name == b"w_lifted"]
    assert (old.buffer, list(old.shape), old.quantization.quantizedDimension) == (new.buffer, [3, 4], 0)
    assert (list(new.shape), new.quantization.quantizedDimension) == ([1, 3, 4], 1)
    assert list(new.quantization.scale) == [0.5, 0.25, 2.0]
    assert len(after.tensors) == len(before.tensors) + 1
    assert len(found.tree.buffers) == len(tree(data).buffers)


@pytest.mark.parametrize(
    ("edit", "why"),
    [
        (Upgrade(17, "GF304"), "TFLite has no operator sets, and its bodies are subgraphs"),
        (Inline("then_branch"), "it names no subgraph for the branch"),
    ],
    ids=["upgrade", "inline"],
)
def test_what_the_format_does_not_have_is_refused_before_another_edit_is_carried_out(edit: Edit, why: str) -> None:
    opened = engine.load(model("y[2,3] = ADD(x[2,3], b:const[3])"))
    with pytest.raises(Refused, match=why):
        opened.apply(opened.graphs[0].nodes[0], [Lift(1, (0,)), edit])
    assert not opened.changed
    assert [str(node) for node in opened.finish()[0].nodes] == ["y[2,3] = ADD(x[2,3], b[3])"]


def test_a_shape_of_fewer_axes_gets_ones_in_front_before_sizes_are_chosen() -> None:
    found = fixed("y[?,?,?] = ADD(x[?,?,?], b[?])", rewrites=rules("materialize-broadcasts"), stable=False)
    assert found.view == [
        "b_shape[1] = SHAPE(b[?])",
        "x_shape[3] = SHAPE(x[?,?,?])",
        "b_shape_lifted[3] = CONCATENATION(shape_1x1[2], b_shape[1])",
        "x_shape_is_1[3] = EQUAL(x_shape[3], shape_1x1x1[3])",
        "x_shape_merged[3] = SELECT_V2(x_shape_is_1[3], b_shape_lifted[3], x_shape[3])",
        "x_stretched[?,?,?] = BROADCAST_TO(x[?,?,?], x_shape_merged[3])",
        "y[?,?,?] = ADD(x_stretched[?,?,?], b[?])",
    ]
