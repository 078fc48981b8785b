"""Empty names at the end of a node's operands or results mean the same as no names: both files may have them."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx import ModelProto, numpy_helper

import graphfix
from graphfix.checker.proof import Proof
from tests.support.onnx.recurrent import Recurrent
from tests.support.proving import prove

HEAD = '<ir_version: 10, opset_import: ["" : {}]>\n'
HEADS = "float[2,2,5,4] x"
IMAGE = "float[1,2,4,4] x"
FLOORED = 'coordinate_transformation_mode = "asymmetric", nearest_mode = "floor"'
TWICE = np.array([1, 1, 2, 2], np.float32)


class Case(NamedTuple):
    """A model of one node of interest, its first, and how many empty names that node takes at each end."""

    model: ModelProto
    operands: int
    results: int
    target: str = "tosa"


def parsed(text: str, opset: int = 23, **constants: object) -> ModelProto:
    model = onnx.parser.parse_model(HEAD.format(opset) + text)
    model.graph.initializer.extend(numpy_helper.from_array(np.asarray(each), name) for name, each in constants.items())
    return model


def first_result(recurrent: Recurrent) -> ModelProto:
    """The model of a recurrent operator, of whose results the first is read alone."""
    model = recurrent.model
    del model.graph.node[0].output[1:], model.graph.output[1:]
    return model


BARE = {"bias": False, "begun": False}
CASES = {
    "a GRU": Case(first_result(Recurrent("GRU", **BARE)), 3, 1),
    "a RNN": Case(first_result(Recurrent("RNN", **BARE)), 3, 1),
    "a LSTM": Case(first_result(Recurrent("LSTM", **BARE)), 5, 2),
    "an Attention": Case(parsed(f"g ({HEADS}) => (float[2,2,5,4] y) {{ y = Attention(x, x, x) }}"), 3, 3),
    "a Resize": Case(parsed(f"g ({IMAGE}) => (float[1,2,8,8] y) {{ y = Resize(x, , s) }}", 17, s=TWICE), 1, 0),
    "a Clip": Case(parsed("g (float[2,3] x, float low) => (float[2,3] y) { y = Clip(x, low) }", 17), 1, 0, "explicit"),
    "a LayerNormalization": Case(
        parsed("g (float[2,3] x, float[3] s) => (float[2,3] y) { y = LayerNormalization(x, s) }", 17), 1, 2, "ranks"
    ),
    "a Gemm": Case(
        parsed("g (float[2,3] x, float[3,3] w) => (float[2,3] y) { z = Gemm(x, w)  y = Add(z, b) }", 17,
               b=np.ones(3, np.float32)), 1, 0, "explicit"),
}  # fmt: skip


def named(case: Case, end: str) -> ModelProto:
    """The model of a case with empty names at one end, or at both."""
    model = ModelProto.FromString(case.model.SerializeToString())
    node = model.graph.node[0]
    node.input.extend([""] * (case.operands if end != "results" else 0))
    node.output.extend([""] * (case.results if end != "operands" else 0))
    return model


def fixed(model: ModelProto, target: str, path: Path) -> tuple[Proof, dict[str, int], ModelProto]:
    """What is proved of a fixed model, what was rewritten, and its fixed form."""
    before, after = path.with_suffix(".before.onnx"), path.with_suffix(".after.onnx")
    onnx.save(model, before)
    held = graphfix.load(before)
    outcome = graphfix.fix(held, target=target)
    held.save(after)
    return prove(before, after), dict(outcome.rewrites), onnx.load(after)


@pytest.mark.alike(2)
@pytest.mark.parametrize("end", ["operands", "results", "both"])
@pytest.mark.parametrize("case", CASES)
def test_a_node_with_empty_names_at_its_end_is_fixed_and_proved_as_without(case: str, end: str, tmp_path: Path) -> None:
    plain, rewrites, form = fixed(CASES[case].model, CASES[case].target, tmp_path / "plain")
    assert plain.matched
    proof, done, got = fixed(named(CASES[case], end), CASES[case].target, tmp_path / "named")
    assert (proof.reason, proof.status, done) == (None, plain.status, rewrites)
    assert [node.op_type for node in got.graph.node] == [node.op_type for node in form.graph.node]


PARTS = "g (float[4] x) => (float[4] y) { a = Split(x)  y = Identity(a) }"


def test_an_empty_name_among_the_parts_of_a_split_is_a_part(tmp_path: Path) -> None:
    """It has half the elements with the name, and all of them without."""
    one, two = parsed(PARTS, 13), parsed(PARTS, 13)
    two.graph.node[0].output.append("")
    for model, name in ((one, "one"), (two, "two")):
        onnx.save(model, tmp_path / f"{name}.onnx")
    assert not prove(tmp_path / "two.onnx", tmp_path / "one.onnx").proved
    assert not prove(tmp_path / "one.onnx", tmp_path / "two.onnx").proved
    sizes = [graphfix.load(tmp_path / f"{name}.onnx").graphs[0].nodes[0].results[0] for name in ("one", "two")]
    assert [str(value and value.shape) for value in sizes] == ["[4]", "[2]"]


def test_a_resize_whose_empty_operand_is_dropped_by_an_upgrade_is_spelled_in_full(tmp_path: Path) -> None:
    text = f'g ({IMAGE}) => (float[1,2,8,8] y) {{ y = Resize<mode = "linear">(x, none, s) }}'
    model = parsed(text, 11, s=TWICE, none=np.zeros(0, np.float32))
    model.graph.node[0].input.append("")
    proof, _, upgraded = fixed(model, "tosa", tmp_path / "m")
    assert list(upgraded.graph.node[0].input) == ["x", "", "s"]
    assert proof.reason is None


@pytest.mark.parametrize("opset", [11, 13, 18, 19])
@pytest.mark.parametrize("target", ["explicit", "tosa"])
def test_an_operand_of_a_resize_without_elements_is_absent_in_every_set(
    opset: int, target: str, tmp_path: Path
) -> None:
    """Set 11 asks for it; runtimes accept it in later sets, and converters of models keep it."""
    text = f"g ({IMAGE}) => (float[1,2,8,8] y) {{ z = Resize<{FLOORED}>(x, none, none, s)  y = Add(z, b) }}"
    empty, half = np.zeros(0, np.float32), np.float32(0.5)
    proof, _, _ = fixed(parsed(text, opset, none=empty, s=np.array([1, 2, 8, 8]), b=half), target, tmp_path / "m")
    assert (proof.reason, proof.proved) == (None, True)
