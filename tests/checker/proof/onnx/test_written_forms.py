"""Operators that the second file writes out by their definition: the proof alone, without a run.

`decompose-attention` and its like write the second file, from formulas of their own. The proof has to find the
definition of the operator in it, and of no other: where the operator differs in one thing, the same nodes are no form.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx import ModelProto, numpy_helper

import graphfix
from graphfix.results import InexactSite
from tests.support.onnx.recurrent import ALL, Recurrent
from tests.support.proving import prove

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from graphfix.checker.proof import Proof

QKV = "float[2,4,3,8] q, float[2,4,5,8] k, float[2,4,5,6] v"
GROUPED = "float[2,4,3,8] q, float[2,2,5,8] k, float[2,2,5,6] v"
IN_A_ROW = "float[2,3,32] q, float[2,5,16] k, float[2,5,12] v"
PAST = ", float[2,4,0,8] pk, float[2,4,0,6] pv"
X, ANGLES, TABLES = "float[2,4,3,8] x", "float[2,3,4] c, float[2,3,4] s", "float[9,2] c, float[9,2] s, int64[2,3] p"
ROW = f"float[2,3,32] x, {ANGLES}"
OWN = '"own" : 1'
GROUPS = "float[2,6,4,5] x, float[6] s, float[6] b"


class Node(NamedTuple):
    """One node that returns `y` of this shape."""

    inputs: str
    shape: str
    node: str
    opset: int = 23

    @property
    def model(self) -> ModelProto:
        node = self.node if self.node.startswith("y, ") else f"y = {self.node}"
        text = f"g ({self.inputs}) => (float[{self.shape}] y) {{ {node} }}"
        head = f'<ir_version: 10, opset_import: ["" : {self.opset}{", " * ("own." in node)}{OWN * ("own." in node)}]>'
        return onnx.parser.parse_model(f"{head} {text}")


FORMS: dict[str, Node] = {
    "Gelu": Node("float[2,3] x", "2,3", 'Gelu<approximate = "tanh">(x)', 20),
    "RMSNormalization": Node("float[2,3,8] x, float[8] s", "2,3,8", "RMSNormalization(x, s)"),
    "RMSNormalization of an epsilon": Node(
        "float[2,3,8] x, float[8] s", "2,3,8", "RMSNormalization<epsilon = 0.001, stash_type = 1>(x, s)"),
    "RMSNormalization over two axes": Node(
        "float[2,3,8] x, float[3,8] s", "2,3,8", "RMSNormalization<axis = 1>(x, s)"),
    "RMSNormalization over all axes": Node(
        "float[2,3,8] x, float[2,3,8] s", "2,3,8", "RMSNormalization<axis = -3>(x, s)"),
    "RMSNormalization by one scale": Node("float[2,3,8] x, float[1] s", "2,3,8", "RMSNormalization<axis = -2>(x, s)"),
    "GroupNormalization": Node(GROUPS, "2,6,4,5", "GroupNormalization<num_groups = 2>(x, s, b)", 21),
    "GroupNormalization of one group": Node(GROUPS, "2,6,4,5", "GroupNormalization<num_groups = 1>(x, s, b)", 21),
    "GroupNormalization of rank 3": Node(
        "float[2,6,4] x, float[6] s, float[6] b", "2,6,4",
        "GroupNormalization<num_groups = 3, epsilon = 0.01>(x, s, b)", 21),
    "Attention": Node(QKV, "2,4,3,6", "Attention(q, k, v)"),
    "Attention of another scale": Node(QKV, "2,4,3,6", "Attention<scale = 0.3>(q, k, v)"),
    "Attention, causal": Node(QKV, "2,4,3,6", "Attention<is_causal = 1>(q, k, v)"),
    "Attention, causal, over fewer keys": Node(
        "float[2,4,5,8] q, float[2,4,3,8] k, float[2,4,3,6] v", "2,4,5,6", "Attention<is_causal = 1>(q, k, v)"),
    "Attention with a mask": Node(f"{QKV}, float[3,5] m", "2,4,3,6", "Attention(q, k, v, m)"),
    "Attention with a mask for each head": Node(f"{QKV}, float[1,4,3,5] m", "2,4,3,6", "Attention(q, k, v, m)"),
    "Attention with a mask of truth values": Node(f"{QKV}, bool[2,1,3,5] m", "2,4,3,6", "Attention(q, k, v, m)"),
    "Attention, causal, with a mask": Node(
        f"{QKV}, bool[2,1,3,5] m", "2,4,3,6", "Attention<is_causal = 1>(q, k, v, m)"),
    "Attention of grouped heads": Node(GROUPED, "2,4,3,6", "Attention(q, k, v)"),
    "Attention of one head of keys": Node(
        "float[2,4,3,8] q, float[2,1,5,8] k, float[2,1,5,6] v", "2,4,3,6", "Attention(q, k, v)"),
    "Attention of heads in a row": Node(
        IN_A_ROW, "2,3,24", "Attention<q_num_heads = 4, kv_num_heads = 2>(q, k, v)"),
    "Attention of one head in a row": Node(
        "float[2,3,8] q, float[2,5,8] k, float[2,5,6] v", "2,3,6",
        "Attention<q_num_heads = 1, kv_num_heads = 1>(q, k, v)"),
    "RotaryEmbedding": Node(f"{X}, {ANGLES}", "2,4,3,8", "RotaryEmbedding(x, c, s)"),
    "RotaryEmbedding of neighbours": Node(f"{X}, {ANGLES}", "2,4,3,8", "RotaryEmbedding<interleaved = 1>(x, c, s)"),
    "RotaryEmbedding by position": Node(
        f"{X}, float[9,4] c, float[9,4] s, int64[2,3] p", "2,4,3,8", "RotaryEmbedding(x, c, s, p)"),
    "RotaryEmbedding of a part, by position": Node(
        f"{X}, {TABLES}", "2,4,3,8", "RotaryEmbedding<rotary_embedding_dim = 4>(x, c, s, p)"),
    "RotaryEmbedding of a part of neighbours": Node(
        f"{X}, float[2,3,2] c, float[2,3,2] s", "2,4,3,8",
        "RotaryEmbedding<rotary_embedding_dim = 4, interleaved = 1>(x, c, s)"),
    "RotaryEmbedding of all that is": Node(
        f"{X}, {ANGLES}", "2,4,3,8", "RotaryEmbedding<rotary_embedding_dim = 8>(x, c, s)"),
    "RotaryEmbedding of one position": Node(
        "float[2,4,1,8] x, float[2,1,4] c, float[2,1,4] s", "2,4,1,8", "RotaryEmbedding(x, c, s)"),
    "RotaryEmbedding of heads in a row": Node(ROW, "2,3,32", "RotaryEmbedding<num_heads = 4>(x, c, s)"),
    "RotaryEmbedding of one head in a row": Node(
        f"float[2,3,8] x, {ANGLES}", "2,3,8", "RotaryEmbedding<num_heads = 1>(x, c, s)"),
    "RotaryEmbedding of a part of rows, by position": Node(
        f"float[2,3,32] x, {TABLES}", "2,3,32",
        "RotaryEmbedding<num_heads = 4, interleaved = 1, rotary_embedding_dim = 4>(x, c, s, p)"),
}  # fmt: skip


def written(folder: Path, model: ModelProto) -> tuple[Path, Path]:
    """Store a model, and what is made of it for TOSA; nothing is checked yet."""
    before, after = folder / "before.onnx", folder / "after.onnx"
    before.write_bytes(model.SerializeToString())
    after.write_bytes(_written(before.read_bytes(), folder))
    return before, after


_MADE: dict[bytes, bytes] = {}


def _written(model: bytes, folder: Path) -> bytes:
    """Return what is made of a model; several tests ask for that of one model."""
    if model not in _MADE:
        graphfix.fix_file(folder / "before.onnx", folder / "made.onnx", target="tosa", check_result=False)
        _MADE[model] = (folder / "made.onnx").read_bytes()
    return _MADE[model]


@pytest.mark.parametrize("form", FORMS)
def test_a_written_form_is_proved_but_for_its_rounding(form: str, tmp_path: Path) -> None:
    model = FORMS[form].model
    (node,) = model.graph.node
    before, after = written(tmp_path, model)
    assert node.op_type not in {each.op_type for each in onnx.load(after).graph.node}
    found = prove(before, after)
    assert (found.status, found.reason) == ("bounded", None)
    assert found.inexact == (InexactSite(f"{node.op_type}#0", "y", "y", inside=False),)


OTHERS: dict[str, tuple[str, Node]] = {
    "Gelu by the error function": ("Gelu", Node("float[2,3] x", "2,3", "Gelu(x)", 20)),
    "another epsilon": (
        "RMSNormalization", Node("float[2,3,8] x, float[8] s", "2,3,8", "RMSNormalization<epsilon = 0.1>(x, s)")),
    "another axis": (
        "RMSNormalization", Node("float[2,3,8] x, float[8] s", "2,3,8", "RMSNormalization<axis = 1>(x, s)")),
    "normalized in half precision": (
        "RMSNormalization", Node("float[2,3,8] x, float[8] s", "2,3,8", "RMSNormalization<stash_type = 10>(x, s)")),
    "groups normalized in half precision": (
        "GroupNormalization",
        Node(GROUPS, "2,6,4,5", "GroupNormalization<num_groups = 2, stash_type = 10>(x, s, b)", 21)),
    "other groups": ("GroupNormalization", Node(GROUPS, "2,6,4,5", "GroupNormalization<num_groups = 3>(x, s, b)", 21)),
    "a scale and a bias that changed places": (
        "GroupNormalization", Node(GROUPS, "2,6,4,5", "GroupNormalization<num_groups = 2>(x, b, s)", 21)),
    "a softcap": ("Attention", Node(QKV, "2,4,3,6", "Attention<softcap = 2.0>(q, k, v)")),
    "a softmax in half precision": ("Attention", Node(QKV, "2,4,3,6", "Attention<softmax_precision = 10>(q, k, v)")),
    "a negative scale": ("Attention", Node(QKV, "2,4,3,6", "Attention<scale = -0.35355339>(q, k, v)")),
    "a causal flag of 2": ("Attention, causal", Node(QKV, "2,4,3,6", "Attention<is_causal = 2>(q, k, v)")),
    "no causal flag": ("Attention, causal", Node(QKV, "2,4,3,6", "Attention(q, k, v)")),
    "a past": ("Attention", Node(QKV + PAST, "2,4,3,6", 'Attention(q, k, v, "", pk, pv)')),
    "scores as a result": ("Attention", Node(QKV, "2,4,3,6", 'y, "", "", w = Attention(q, k, v)')),
    "a mask of one column": (
        "Attention with a mask for each head", Node(f"{QKV}, float[1,4,3,1] m", "2,4,3,6", "Attention(q, k, v, m)")),
    "a mask of one row": (
        "Attention with a mask for each head", Node(f"{QKV}, float[1,4,1,5] m", "2,4,3,6", "Attention(q, k, v, m)")),
    "a mask of one column that is not read": (
        "Attention", Node(f"{QKV}, float[3,1] m", "2,4,3,6", "Attention(q, k, v, m)")),
    "a scale of more axes": (
        "RMSNormalization", Node("float[2,3,8] x, float[1,1,1,8] s", "2,3,8", "RMSNormalization(x, s)")),
    "rows whose heads are not counted": (
        "Attention of heads in a row", Node(IN_A_ROW, "2,3,24", "Attention<kv_num_heads = 2>(q, k, v)")),
    "rows whose heads of keys are not counted": (
        "Attention of heads in a row", Node(IN_A_ROW, "2,3,24", "Attention<q_num_heads = 4>(q, k, v)")),
    "neighbours of a flag of 2": (
        "RotaryEmbedding", Node(f"{X}, {ANGLES}", "2,4,3,8", "RotaryEmbedding<interleaved = 2>(x, c, s)")),
    "neighbours in the place of halves": (
        "RotaryEmbedding", Node(f"{X}, {ANGLES}", "2,4,3,8", "RotaryEmbedding<interleaved = 1>(x, c, s)")),
    "sines in the place of cosines": (
        "RotaryEmbedding", Node(f"{X}, {ANGLES}", "2,4,3,8", "RotaryEmbedding(x, s, c)")),
    "rotated rows whose heads are not counted": (
        "RotaryEmbedding of heads in a row", Node(ROW, "2,3,32", "RotaryEmbedding(x, c, s)")),
    "rotated rows of other heads": (
        "RotaryEmbedding of heads in a row", Node(ROW, "2,3,32", "RotaryEmbedding<num_heads = 3>(x, c, s)")),
    "a row whose head of queries is not counted": (
        "Attention of one head in a row",
        Node("float[2,3,8] q, float[2,5,8] k, float[2,5,6] v", "2,3,6", "Attention<kv_num_heads = 1>(q, k, v)")),
    "a row whose head of keys is not counted": (
        "Attention of one head in a row",
        Node("float[2,3,8] q, float[2,5,8] k, float[2,5,6] v", "2,3,6", "Attention<q_num_heads = 1>(q, k, v)")),
    "a rotated row whose head is not counted": (
        "RotaryEmbedding of one head in a row", Node(f"float[2,3,8] x, {ANGLES}", "2,3,8", "RotaryEmbedding(x, c, s)")),
    "an operator of another domain": ("Gelu", Node("float[2,3] x", "2,3", 'own.Gelu<approximate = "tanh">(x)', 20)),
}  # fmt: skip
"""The name of a form, and a node of which the nodes of that form are not the definition."""


def with_inputs(path: Path, of: ModelProto) -> None:
    """Give a stored model the inputs of another one: their shapes, and those that it does not read."""
    model = onnx.load(path)
    del model.graph.input[:]
    model.graph.input.extend(of.graph.input)
    del model.graph.value_info[:]
    onnx.save(model, path)


def not_a_form(folder: Path, base: ModelProto, other: ModelProto) -> Proof:
    """Ask the proof about another operator, and the form that was written for `base`."""
    before, after = written(folder, base)
    onnx.save(other, before)
    with_inputs(after, other)
    return prove(before, after)


@pytest.mark.parametrize("name", OTHERS)
def test_the_form_of_another_operator_is_not_proved(name: str, tmp_path: Path) -> None:
    form, other = OTHERS[name]
    assert not_a_form(tmp_path, FORMS[form].model, other.model).status == "not proved"


UNKNOWN = {
    "Gelu": Node("float[] x", "", 'Gelu<approximate = "tanh">(x)', 20),
    "RMSNormalization": Node("float[] x, float[8] s", "", "RMSNormalization(x, s)"),
    "GroupNormalization": Node("float[] x, float[6] s", "", "GroupNormalization<num_groups = 2>(x, s, s)", 21),
    "Attention of queries": Node("float[] q, float[2,4,5,8] k", "", "Attention(q, k, k)"),
    "Attention of values": Node("float[2,4,3,8] q, float[2,4,5,8] k, float[] v", "", "Attention(q, k, v)"),
    "Attention with a mask": Node(f"{QKV}, float[] m", "2,4,3,6", "Attention(q, k, v, m)"),
    "Attention of symbols": Node("float[2,4,N,8] q, float[2,4,M,8] k", "2,4,N,8", "Attention(q, k, k)"),
    "RotaryEmbedding": Node(f"float[] x, {ANGLES}", "", "RotaryEmbedding(x, c, s)"),
    "RotaryEmbedding by angles": Node(f"{X}, float[] c, float[] s", "2,4,3,8", "RotaryEmbedding(x, c, s)"),
    "RotaryEmbedding by positions": Node(
        f"{X}, float[9,4] c, float[9,4] s, int64[] p", "2,4,3,8", "RotaryEmbedding(x, c, s, p)"),
    "LSTM": Node(
        "float[] x, float[1,16,3] w, float[1,16,4] r", "", "LSTM<hidden_size = 4>(x, w, r)"),
    "LSTM by weights": Node("float[2,2,3] x, float[] w, float[] r", "2,1,2,4", "LSTM<hidden_size = 4>(x, w, r)"),
}  # fmt: skip


@pytest.mark.parametrize("name", UNKNOWN)
def test_an_operator_whose_sizes_are_not_known_is_proved_as_it_is(name: str, tmp_path: Path) -> None:
    paths = tmp_path / "before.onnx", tmp_path / "after.onnx"
    for path in paths:
        model = UNKNOWN[name].model
        model.doc_string = path.name  # else one is a copy of the other
        onnx.save(model, path)
    assert prove(*paths).proved


# --- recurrent operators --------------------------------------------------------------------------------------------

PLAIN = Recurrent("LSTM", steps=2)
BOTH = replace(PLAIN, direction="bidirectional")
RECURRENT = {
    **{name: replace(each, steps=2) for name, each in ALL.items()},
    "no bias, states of zeros": replace(PLAIN, bias=False, begun=False),
    "a bias, states of zeros": replace(PLAIN, begun=False),
    "a GRU without a bias": Recurrent("GRU", linear=1, steps=2, bias=False, begun=False),
    "a GRU without a bias, reset before": Recurrent("GRU", linear=0, steps=2, bias=False),
    "one step": replace(PLAIN, steps=1),
    "one step of two directions": replace(BOTH, steps=1),
    "one step of a GRU": Recurrent("GRU", linear=0, steps=1),
    "other activations": replace(PLAIN, attributes=(("activations", ["Relu", "Sigmoid", "Tanh"]),)),
    "other activations of two directions": replace(
        BOTH, attributes=(("activations", ["Relu", "Sigmoid", "Tanh", "Tanh", "Relu", "Sigmoid"]),)
    ),
    "a RNN by Relu": Recurrent("RNN", steps=2, attributes=(("activations", ["Relu"]),)),
    "no flags": replace(PLAIN, attributes=(("input_forget", 0), ("layout", 0))),
}


@pytest.mark.alike(2)
@pytest.mark.parametrize("name", RECURRENT)
def test_the_steps_of_a_recurrent_operator_are_proved_but_for_their_rounding(name: str, tmp_path: Path) -> None:
    check_steps(RECURRENT[name], tmp_path)


def test_the_steps_of_a_gru_without_a_bias_are_proved_but_for_their_rounding(tmp_path: Path) -> None:
    """Where it resets after the product, a formula needs the bias by itself: zeros."""
    check_steps(RECURRENT["a GRU without a bias"], tmp_path)


def check_steps(case: Recurrent, folder: Path) -> None:
    """Check that an operator is proved equal to its steps, and that only its results may be rounded otherwise."""
    before, after = written(folder, case.model)
    assert case.op not in {each.op_type for each in onnx.load(after).graph.node}
    found = prove(before, after)
    assert (found.status, found.reason) == ("bounded", None)
    assert {(site.operator, site.before) for site in found.inexact} <= {
        (f"{case.op}#0", result) for result in ("y", "y_h", "y_c")
    }


def with_operand(at: int, array: np.ndarray) -> Callable[[ModelProto], None]:
    """Give the node an operand more, which the model stores."""

    def changed(model: ModelProto) -> None:
        node = model.graph.node[0]
        node.input.extend([""] * (at + 1 - len(node.input)))
        node.input[at] = "more"
        model.graph.initializer.append(numpy_helper.from_array(array, "more"))

    return changed


def as_it_is(_: ModelProto) -> None:
    """Change nothing."""


STEPS: dict[str, tuple[Recurrent, Recurrent, Callable[[ModelProto], None]]] = {
    "a clip": (PLAIN, replace(PLAIN, attributes=(("clip", 0.5),)), as_it_is),
    "coupled gates": (PLAIN, replace(PLAIN, attributes=(("input_forget", 1),)), as_it_is),
    "another activation": (
        PLAIN, replace(PLAIN, attributes=(("activations", ["Relu", "Tanh", "Tanh"]),)), as_it_is),
    "an activation without a formula": (
        PLAIN, replace(PLAIN, attributes=(("activations", ["Elu", "Tanh", "Tanh"]),)), as_it_is),
    "activations of one direction": (
        BOTH, replace(BOTH, attributes=(("activations", ["Sigmoid", "Tanh", "Tanh"]),)), as_it_is),
    "a slope of an activation": (PLAIN, replace(PLAIN, attributes=(("activation_alpha", [0.5]),)), as_it_is),
    "another direction": (PLAIN, replace(PLAIN, direction="reverse"), as_it_is),
    "a reset after the product": (
        Recurrent("GRU", linear=0, steps=2), Recurrent("GRU", linear=1, steps=2), as_it_is),
    "lengths": (PLAIN, PLAIN, with_operand(4, np.array([1, 2], np.int32))),
    "peepholes": (PLAIN, PLAIN, with_operand(7, np.ones((1, 12), np.float32))),
    "the batch in front": (
        replace(PLAIN, begun=False), replace(PLAIN, begun=False, attributes=(("layout", 1),)), as_it_is),
}  # fmt: skip


@pytest.mark.parametrize("name", STEPS)
def test_the_steps_of_another_operator_are_not_proved(name: str, tmp_path: Path) -> None:
    base, other, change = STEPS[name]
    model = other.model
    change(model)
    assert not_a_form(tmp_path, base.model, model).status == "not proved"
