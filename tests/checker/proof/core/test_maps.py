"""The proof's indexing maps: where an element of the space finds its element of each operand."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest

from graphfix.checker.files.pair import Pair
from graphfix.checker.proof.core.indexing_maps import Note
from graphfix.checker.proof.core.terms import Core
from graphfix.checker.proof.neutral.broadcast import broadcast_of
from graphfix.checker.proof.neutral.explain import Notes
from graphfix.checker.proof.onnx import compare as onnx_compare
from graphfix.checker.proof.tflite import compare as tflite_compare
from models.builders.tflite.text import model as tflite
from tests.support.places import committed_models
from tests.support.proving import maps, prove
from tests.support.written import Written

ONNX = {
    "lifted": ("float[2,3,4] x, float[4] b", "y = Add(x, b)", 17, {0: "(d0, d1, d2)", 1: "(d2)"}),
    "stretched": ("float[2,1] x, float[1,3] b", "y = Add(x, b)", 17, {0: "(d0, 0)", 1: "(0, d1)"}),
    "maybe stretched": ("float[N,3] x, float[M,3] b", "y = Add(x, b)", 17, {0: "(d0?, d1)", 1: "(d0?, d1)"}),
    "one symbol": ("float[N,3] x, float[N,3] b", "y = Add(x, b)", 17, {0: "(d0, d1)", 1: "(d0, d1)"}),
    "a number under a symbol": ("float[N,3] x, float[2,3] b", "y = Add(x, b)", 17, {0: "(d0?, d1)", 1: "(d0, d1)"}),
    "a scalar": ("float[2] x, float b", "y = Add(x, b)", 17, {0: "(d0)", 1: "()"}),
    "three": (
        "bool[N,1] x, float[N,4] b, float c",
        "y = Where(x, b, c)",
        17,
        {0: "(d0, 0)", 1: "(d0, d1)", 2: "()"},
    ),
    "a legacy axis": (
        "float[2,3,4,5] x, float[3,4] b",
        "y = Add<broadcast=1, axis=1>(x, b)",
        6,
        {0: "(d0, d1, d2, d3)", 1: "(d1, d2)"},
    ),
    "a legacy slope": ("float[2,3,4,5] x, float[3] b", "y = PRelu(x, b)", 6, {1: "(d1)"}),
    "a slope": ("float[2,3,4,5] x, float[5] b", "y = PRelu(x, b)", 9, {1: "(d3)"}),
    "a scale": (
        "float[2,3,4] x, float[4] s, float[4] b",
        "y = LayerNormalization(x, s, b)",
        17,
        {1: "(d2)", 2: "(d2)"},
    ),
    "a transposed product": (
        "float[4,2] x, float[4,3] w, float[3] b",
        "y = Gemm<transA=1>(x, w, b)",
        13,
        {2: "(d1)"},
    ),
    "a stack of matrices": (
        "float[8,2,3] x, float[1,3,4] b",
        "y = MatMul(x, b)",
        13,
        {0: "(d0, d1, d3)", 1: "(0, d3, d2)"},
    ),
    "a vector on the right": ("float[8,2,3] x, float[3] b", "y = MatMul(x, b)", 13, {0: "(d0, d1, d3)", 1: "(d3)"}),
    "a vector on the left": ("float[3] x, float[8,3,2] b", "y = MatMul(x, b)", 13, {0: "(d3)", 1: "(d0, d3, d2)"}),
    "scales along an axis": (
        "float[2,3,4] x, float[3] s, uint8[3] z",
        "y = QuantizeLinear<axis=1>(x, s, z)",
        13,
        {0: "(d0, d1, d2)", 1: "(d1)", 2: "(d1)"},
    ),
}


@pytest.mark.parametrize(("inputs", "node", "opset", "expected"), ONNX.values(), ids=ONNX)
def test_the_map_of_each_operand(
    written: Written, inputs: str, node: str, opset: int, expected: dict[int, str]
) -> None:
    kind = "uint8" if "Quantize" in node else "float"
    (each,) = maps(written(f"g ({inputs}) => ({kind}[A] y) {{ {node} }}", opset=opset))
    assert each.reads is not None
    assert {read.operand: read.map.partition(" -> ")[2] for read in each.reads} == expected


@pytest.mark.parametrize(
    ("operator", "expected"),
    [
        ("SELECT(c:bool[2], a[2,3], b[2,3])", {0: "(d0)", 1: "(d0, d1)", 2: "(d0, d1)"}),
        ("SELECT_V2(c:bool[3], a[2,3], b[1,3])", {0: "(d1)", 1: "(d0, d1)", 2: "(0, d1)"}),
        ("PRELU(x[1,2,2,3], a[1,1,3])", {1: "(0, 0, d3)"}),
        ("ADD(x[N,3], b[3])", {0: "(d0, d1)", 1: "(d1)"}),
        ("BATCH_MATMUL(a[8,3,2], b[3,4], adj_x=True)", {0: "(d0, d3, d1)", 1: "(d3, d2)"}),
    ],
)  # fmt: skip
def test_the_map_of_each_operand_of_tflite(operator: str, expected: dict[int, str], tmp_path: Path) -> None:
    path = tmp_path / "m.tflite"
    path.write_bytes(tflite(f"y[N] = {operator}"))
    (each,) = maps(path, tflite=True)
    assert each.reads is not None
    assert {read.operand: read.map.partition(" -> ")[2] for read in each.reads} == expected


def test_a_node_is_reported_by_its_scope_its_name_and_its_notation(written: Written) -> None:
    path = written("""g (bool c, float[2,3] x, float[3] b) => (float[2,3] y) {
        [pick] y = If (c) <then_branch = yes () => (float[2,3] t) { [inner] t = Add(x, b) },
                           else_branch = no () => (float[2,3] e) { e = Mul(x, b) }> }""")
    assert [(each.graph, each.label, each.notation) for each in maps(path)] == [
        ("main/pick.then_branch", "inner", "t[2,3] = Add(x[2,3], b[3])"),
        ("main/pick.else_branch", "Mul#0", "e[2,3] = Mul(x[2,3], b[3])"),
    ]


def test_a_view_has_a_second_map_to_what_it_is_a_view_of(written: Written) -> None:
    path = written("""g (float[2,3] x, float[2] b) => (float[2,3] y) {
        s = Constant<value_ints = [2, 1]>()
        lifted = Reshape(b, s)
        y = Add(x, lifted)
    }""")
    (each,) = maps(path)
    assert each.reads is not None
    assert [(read.map, read.of, read.through) for read in each.reads] == [
        ("(d0, d1) -> (d0, d1)", None, None),
        ("(d0, d1) -> (d0, 0)", "input 'b'[2]", "(d0, d1) -> (d0)"),
    ]


def test_the_maps_of_a_body_are_those_of_the_shapes_that_all_iterations_share(written: Written) -> None:
    path = written("""g (int64 n, float[3] v, float[2,3] b) => (float[R,3] y) {
        go = Constant<value_int = 1>()
        again = Cast<to = 9>(go)
        y = Loop (n, again, v) <body = each (int64 i, bool c, float w) => (bool more, float z) {
            more = Identity(c)
            z = Add(w, b)
        }>
    }""")
    assert [(each.label, each.reads) for each in maps(path)] == [("Add#1", None)]


def test_a_function_is_read_at_each_call(written: Written) -> None:
    path = written(
        "g (float[2,3] x, float[3] b) => (float[2,3] y, float[3] z) { y = own.f(x, b) z = own.f(b, b) }",
        domains=', "own" : 1',
        functions='<domain: "own", opset_import: ["" : 17]> f (v, w) => (r) { r = Add(v, w) }',
    )
    first, second = maps(path)
    assert first.reads is not None
    assert second.reads is not None
    assert (first.graph, second.graph) == ("function own.f", "function own.f")
    assert (first.reads[1].map, second.reads[1].map) == ("(d0, d1) -> (d1)", "(d0) -> (d0)")


def test_sizes_that_are_bound_are_known_to_the_maps(written: Written) -> None:
    path = written("g (float[N] x, float[M] b) => (float[R] y) { y = Add(x, b) }")
    (each,) = maps(path, bindings={"N": 1, "M": 4})
    assert each.reads is not None
    assert [read.map for read in each.reads] == ["(d0) -> (0)", "(d0) -> (d0)"]


def test_giving_maps_enters_nothing_into_what_is_compared(written: Written) -> None:
    """The files are read a second time to tell why they differ: with notes that are taken of the same nodes."""
    text = "g (float[N,3] x, float[3] b) => (float[N,3] y) {{ t = Mul(x, b) u = Div(t, w) y = {}(u, b) }}"
    w = np.float32([1, 2, 3])
    proof = prove(written(text.format("Add"), w=w), written(text.format("Sub"), w=w))
    assert (proof.before, proof.after) == ("Add#2", "Sub#2")
    assert [node and node.notation for node in proof.nodes] == [
        "y[N,3] = Add(u[N,3], b[3])",
        "y[N,3] = Sub(u[N,3], b[3])",
    ]


DEFINED = frozenset({"Pow", "PRelu"})
"""A power by 2, and PRelu of float32, are compared as the products that they are, and printed as they stand."""


def test_what_is_printed_is_what_is_compared() -> None:
    """The maps over the operands as values of their own, after the operands' views, are those of the node's term."""
    count = 0
    for path in committed_models():
        notes = Notes()
        with ExitStack() as stack:
            (tflite_compare if path.suffix == ".tflite" else onnx_compare).note_nodes(Pair(path, path), stack, notes)
        for note in notes.taken:
            term, alone = (None if core is None else broadcast_of(core) for core in (_core(note), note.isolated))
            if term is None or alone is None or note.op in DEFINED:
                continue
            views = [note.operands[core.number] for core in alone[0]]
            composed = [
                tuple(None if axis is None or view is None or view.axes is None else view.axes[axis] for axis in axes)
                for view, axes in zip(views, alone[1], strict=True)
            ]
            assert [view and view.core for view in views] == list(term[0])
            if len(term[2]) < len(alone[2]):  # of an elementwise term only the axes that an operand follows
                kept = [place for place in range(len(alone[2])) if any(axes[place] is not None for axes in composed)]
                composed = [tuple(axes[place] for place in kept) for axes in composed]
            assert composed == list(term[1])
            count += 1
    assert count >= 320


def _core(note: Note) -> Core | None:
    return None if note.results[0] is None else note.results[0].core
