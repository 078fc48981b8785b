"""Pairs of models with operators that onnx does not define: what differs in one thing is not proved."""

from __future__ import annotations

from typing import TYPE_CHECKING

import onnx.parser
import pytest

from graphfix.checker.proof.core.result import SOME_SCORES
from tests.support.proving import prove

if TYPE_CHECKING:
    from pathlib import Path

HEAD = '<ir_version: 10, opset_import: ["" : 20, "com.microsoft" : 1]>\n'
MS = "com.microsoft."
QKV = "float[B,S,8] q, float[B,L,8] k, float[B,L,12] v"
DATA = "float[B,S,8] x, float[B,S,8] y, float[8] g"

BEFORE = f"{QKV}, float[B,2,P,4] pk, float[B,2,P,6] pv, float[B,2,P,4] ok"
ATTENDED = f'{MS}MultiHeadAttention<num_heads = 2, scale = 0.5>(q, k, v, "", "", "", pk, pv)'
SKIPPED = f"{MS}SkipLayerNormalization<epsilon = 0.1>(x, y, g, g)"
DROPPED = f"d = {MS}BitmaskDropout<seed = 1>(x) e = {{}} r = Add(d, e)"
WRITES = [
    f'{name} = {MS}Attention<num_heads = 1, past_present_share_buffer = {{0}}>({data}, w, b, "", s)'
    for name, data in (("a, p", "x"), ("c, q", "y"))
]
IN_ORDER, REVERSED = (" ".join([*each, "r = Add(a, c)"]) for each in (WRITES, WRITES[::-1]))
BUFFERS = "float[B,S,8] x, float[B,S,8] y, float[8,24] w, float[24] b, float[2,B,1,9,8] s"

DIFFERENT: dict[str, tuple[str, str, str]] = {
    "an attribute": (BEFORE, f"r = {ATTENDED}", f"r = {ATTENDED.replace('0.5', '0.25')}"),
    "an attribute that is left out": (BEFORE, f"r = {ATTENDED}", f"r = {ATTENDED.replace(', scale = 0.5', '')}"),
    "another past": (BEFORE, f"r = {ATTENDED}", f"r = {ATTENDED.replace('pk', 'ok')}"),
    "operands in other places": (
        f"{QKV}, float[28] b, int32[B] m", f"r = {MS}MultiHeadAttention<num_heads = 2>(q, k, v, b)",
        f'r = {MS}MultiHeadAttention<num_heads = 2>(q, k, v, "", b)'),
    "an operand less": (
        f"{QKV}, float[28] b", f"r = {MS}MultiHeadAttention<num_heads = 2>(q, k, v, b)",
        f"r = {MS}MultiHeadAttention<num_heads = 2>(q, k, v)"),
    "operands the other way round": (DATA, f"r = {SKIPPED}", f"r = {SKIPPED.replace('x, y', 'y, x')}"),
    "a result in another place": (DATA, f'z, "", "", r = {SKIPPED}', f'z, r, "", "" = {SKIPPED}'),
    "another operator": (
        DATA, f"r = {MS}SkipSimplifiedLayerNormalization(x, y, g)", f"r = {MS}SkipLayerNormalization(x, y, g)"),
    "another domain": (
        "float[2,3] x", f"r = {MS}Gelu(x)", "r = Gelu(x)"),
    "one draw in the place of two": (
        "float[2,3] x", DROPPED.format(f"{MS}BitmaskDropout<seed = 1>(x)"), DROPPED.format("Identity(d)")),
    "writes in another order": (
        BUFFERS, IN_ORDER.format(1), REVERSED.format(1)),
    "a view behind a bias along the last axis": (
        "float[1,3] x, float[3] b", f"e = Expand(x, s) r = {MS}FastGelu(e, b)",
        f"e = {MS}FastGelu(x, b) r = Expand(e, s)"),
    "a skip of another shape": (
        "float[B,S,8] x, float[1,8] y, float[8] g", f"r = {SKIPPED}",
        f"u = Expand(y, t) r = {SKIPPED.replace('y,', 'u,')}"),
}  # fmt: skip
"""Inputs, and two graphs that are not the same."""
ALIKE: dict[str, tuple[str, str, str]] = {
    "an expansion to its own shape": (DATA, f'z, "", "", r = {SKIPPED}',
                                      f'h = Shape(x) e = Expand(y, h) z, "", "", r = {SKIPPED.replace("y,", "e,")}'),
    "a skip of one text for all": (
        "float[B,S,8] x, float[S,8] y, float[8] g", f"r = {SKIPPED}",
        f"h = Shape(x) e = Expand(y, h) r = {SKIPPED.replace('y,', 'e,')}"),
    "one value in the place of two": (
        "float[2,3] x, float[3] b", f"d = {MS}BiasGelu(x, b) e = {MS}BiasGelu(x, b) r = Add(d, e)",
        f"d = {MS}BiasGelu(x, b) r = Add(d, d)"),
    "independent nodes in another order": (
        BUFFERS, IN_ORDER.format(0), REVERSED.format(0)),
    "a view behind an elementwise operator": (
        "float[1,3] x", f"e = Expand(x, s) r = {MS}FastGelu(e)", f"e = {MS}FastGelu(x) r = Expand(e, s)"),
    "a shape that the rules know": (
        f"{QKV}, float[12] g", f"a = {MS}MultiHeadAttention<num_heads = 2>(q, k, v) r = Add(a, g)",
        f"a = {MS}MultiHeadAttention<num_heads = 2>(q, k, v) h = Shape(a) e = Expand(g, h) r = Add(a, e)"),
}  # fmt: skip
"""Inputs, and two graphs that are the same."""


def proved(folder: Path, inputs: str, *graphs: str) -> bool:
    """Whether the second of two graphs, which return `r`, is proved to be the first."""
    return prove(*written(folder, inputs, *graphs)).proved


def written(folder: Path, inputs: str, *graphs: str) -> tuple[Path, Path]:
    """Write two graphs that return `r` as models."""
    paths = [folder / "before.onnx", folder / "after.onnx"]
    for path, graph in zip(paths, graphs, strict=True):
        constants = "int64[2] s = {4, 3}, int64[2] t = {5, 8}"
        text = f"{HEAD} g ({inputs}) => (float[] r) <{constants}> {{ {graph} }}"
        path.write_bytes(onnx.parser.parse_model(text).SerializeToString())
    return paths[0], paths[1]


@pytest.mark.parametrize(("inputs", "before", "after"), DIFFERENT.values(), ids=list(DIFFERENT))
def test_what_differs_in_one_thing_is_not_proved(inputs: str, before: str, after: str, tmp_path: Path) -> None:
    assert proved(tmp_path, inputs, before, before)
    assert not proved(tmp_path, inputs, before, after)


@pytest.mark.parametrize(("inputs", "before", "after"), ALIKE.values(), ids=list(ALIKE))
def test_what_is_the_same_is_proved(inputs: str, before: str, after: str, tmp_path: Path) -> None:
    assert proved(tmp_path, inputs, before, after)


@pytest.mark.parametrize("results", ["r, e", 'r, ""', "e, r"])
def test_results_that_no_operator_has_are_terms(results: str, tmp_path: Path) -> None:
    """Version 9 of the domain has no rules, so the stored shapes of the results are asked for."""
    paths = written(tmp_path, "int8[3] x", *[f"{results} = {MS}DequantizeLinear(x, k)"] * 2)
    for path in paths:
        made = onnx.load(path)
        made.opset_import[1].version = 9
        made.graph.node[0].doc_string = path.name  # else one is a copy of the other
        made.graph.initializer.append(onnx.helper.make_tensor("k", onnx.TensorProto.FLOAT, [], [0.5]))
        onnx.save(made, path)
    assert prove(*paths).proved


@pytest.mark.parametrize(("sizes", "expected"), [("B,3", (SOME_SCORES,)), ("2,3", ())])
def test_a_softmax_that_returns_nothing_without_elements_assumes_that_there_are_some(
    sizes: str, expected: tuple[str, ...], tmp_path: Path
) -> None:
    graphs = [f"v = Identity(x) r = {MS}QLinearSoftmax<opset = 13>({data}, s, z, s, z)" for data in ("x", "v")]
    assert prove(*written(tmp_path, f"uint8[{sizes}] x, float s, uint8 z", *graphs)).assumes == expected
