"""Recurrent operators as their steps: what onnxruntime returns for both forms, what is proved, what stays."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import onnx
import pytest
from onnx import ModelProto

import graphfix
from graphfix.graph.edits import Leave
from rewrites.tosa.unroll_recurrence import MOST_NODES, NOT_TAKEN, _within
from tests.support import engine
from tests.support.checked import verify
from tests.support.onnx.recurrent import ALL, Recurrent
from tests.support.runtimes.onnx_runs import run

if TYPE_CHECKING:
    from pathlib import Path

    from graphfix.results import Outcome

PLAIN = Recurrent("LSTM")
CASES = {
    **ALL,
    "no bias, states of zeros": replace(PLAIN, bias=False, begun=False),
    "a GRU without a bias": Recurrent("GRU", linear=1, bias=False, begun=False),
    "one step": replace(PLAIN, steps=1),
    "one step of two directions": replace(PLAIN, steps=1, direction="bidirectional"),
    "one step of a GRU": Recurrent("GRU", linear=0, steps=1),
    "other activations": replace(PLAIN, attributes=(("activations", ["Relu", "Sigmoid", "Tanh"]),)),
    "a RNN by Relu": Recurrent("RNN", attributes=(("activations", ["Relu"]),)),
}


def fixed(folder: Path, model: ModelProto, **options: object) -> tuple[Path, Path, Outcome]:
    before, after = folder / "before.onnx", folder / "after.onnx"
    onnx.save(model, before)
    return before, after, graphfix.fix_file(before, after, target="tosa", **options)  # type: ignore[arg-type]  # its own


@pytest.mark.alike(2)
@pytest.mark.parametrize("case", CASES)
def test_the_steps_compute_the_same_numbers(case: str) -> None:
    before = CASES[case].model
    loaded = engine.load(before)
    engine.fix(loaded, target="tosa")
    after = onnx.load_from_string(loaded.tobytes())
    assert CASES[case].op not in {node.op_type for node in after.graph.node}
    x = np.random.default_rng(3).uniform(-1, 1, (CASES[case].steps, 2, 3)).astype(np.float32)
    for wanted, got in zip(run(before, x=x), run(after, x=x), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=2e-6)


@pytest.mark.ci
@pytest.mark.parametrize("case", CASES)
def test_every_form_is_proved_but_for_its_rounding_and_held_to_it(case: str, tmp_path: Path) -> None:
    before, after, outcome = fixed(tmp_path, CASES[case].model)
    assert outcome.verdict is not None
    assert outcome.verdict.status == "equal"
    assert outcome.verdict.proof is not None
    assert outcome.verdict.proof["status"] == "bounded"
    assert f"of the largest magnitude, at {CASES[case].op}#0" in str(outcome.verdict.reason)
    assert CASES[case].op not in {node.op_type for node in onnx.load(after).graph.node}
    onnx.checker.check_model(onnx.load(after), full_check=True)
    x = np.random.default_rng(1).uniform(-1, 1, (CASES[case].steps, 2, 3)).astype(np.float32)
    for wanted, got in zip(*(run(onnx.load(path), x=x) for path in (before, after)), strict=True):
        assert wanted.shape == got.shape
        assert np.abs(wanted - got).max() <= 2e-6 * max(1.0, np.abs(wanted).max())


@pytest.mark.ci
def test_what_was_unrolled_is_not_changed_again(tmp_path: Path) -> None:
    _, after, _ = fixed(tmp_path, PLAIN.model)
    again = graphfix.fix_file(after, tmp_path / "again.onnx", target="tosa")
    assert not again.changed
    assert (tmp_path / "again.onnx").read_bytes() == after.read_bytes()


STAYING = {
    "a clip": (replace(PLAIN, attributes=(("clip", 0.5),)), "clip"),
    "gates that are coupled": (replace(PLAIN, attributes=(("input_forget", 1),)), "input_forget"),
    "another activation": (replace(PLAIN, attributes=(("activations", ["Elu", "Tanh", "Tanh"]),)), "elu"),
    "too many steps": (replace(PLAIN, steps=300), "4096"),
}


@pytest.mark.parametrize("case", STAYING)
def test_what_stays_is_named_once_with_its_reason(case: str, tmp_path: Path) -> None:
    recurrent, word = STAYING[case]
    onnx.save(recurrent.model, tmp_path / "m.onnx")
    sites = [site for site in graphfix.check(tmp_path / "m.onnx", target="tosa").sites if site.op == "LSTM"]
    assert [site.code for site in sites] == ["GF305"]
    assert word in str(sites[0].reason)


def test_of_sizes_that_are_free_each_value_is_named_once_and_no_other(tmp_path: Path) -> None:
    made = PLAIN.model
    made.graph.input[0].type.tensor_type.shape.dim[1].dim_param = "N"
    onnx.save(made, tmp_path / "m.onnx")
    sites = graphfix.check(tmp_path / "m.onnx", target="tosa").sites
    assert [site.reason for site in sites if site.code == "GF304"] == ["the sizes of x[5,N,3] are not all numbers"]


def test_it_runs_for_tosa_alone(tmp_path: Path) -> None:
    onnx.save(PLAIN.model, tmp_path / "m.onnx")
    graphfix.fix_file(tmp_path / "m.onnx", tmp_path / "o.onnx")
    assert [node.op_type for node in onnx.load(tmp_path / "o.onnx").graph.node] == ["LSTM"]


# --- what is no unrolled form ---------------------------------------------------------------------------------------


def gates_swapped(model: ModelProto) -> None:
    """The first two parts of the sums change places."""
    sigmoids = [node for node in model.graph.node if node.op_type == "Sigmoid"]
    sigmoids[0].input[0], sigmoids[1].input[0] = sigmoids[1].input[0], sigmoids[0].input[0]


def steps_swapped(model: ModelProto) -> None:
    node = next(node for node in model.graph.node if node.op_type == "Concat" and len(node.input) > 1)
    node.input[0], node.input[1] = node.input[1], node.input[0]


def a_wrong_activation(model: ModelProto) -> None:
    next(node for node in model.graph.node if node.op_type == "Tanh").op_type = "Sigmoid"


def a_difference_for_a_sum(model: ModelProto) -> None:
    [node for node in model.graph.node if node.op_type == "Add"][-1].op_type = "Sub"


def the_wrong_state(model: ModelProto) -> None:
    """Both initial states are the output's."""
    for node in model.graph.node:
        for at, name in enumerate(node.input):
            if name == "c0":
                node.input[at] = "h0"


FAULTS = [gates_swapped, steps_swapped, a_wrong_activation, a_difference_for_a_sum, the_wrong_state]


@pytest.mark.ci
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_a_wrong_form_is_neither_proved_nor_equal(fault: object, tmp_path: Path) -> None:
    before, after, _ = fixed(tmp_path, PLAIN.model)
    model = onnx.load(after)
    fault(model)  # type: ignore[operator]  # one of the functions above
    onnx.save(model, after)
    verdict = verify(before, after)
    assert verdict.status == "different"
    assert verdict.proof is not None
    assert verdict.proof["status"] == "not proved"


@pytest.mark.ci
def test_weights_that_are_a_little_wrong_are_not_proved(tmp_path: Path) -> None:
    """By 1e-6 of their size: no run would say so under the bound of what is inexact."""
    before, after, _ = fixed(tmp_path, PLAIN.model)
    model = onnx.load(after)
    held = max(model.graph.initializer, key=lambda tensor: len(tensor.raw_data))
    array = onnx.numpy_helper.to_array(held).copy()
    array.reshape(-1)[0] *= 1 + 1e-6
    held.CopyFrom(onnx.numpy_helper.from_array(array, held.name))
    onnx.save(model, after)
    assert verify(before, after, proof="only").proof["status"] == "not proved"  # type: ignore[index]  # it was asked


@pytest.mark.ci
def test_a_formula_that_was_written_out_before_is_compared_bit_for_bit(tmp_path: Path) -> None:
    """What the first file computes in other operators is held to no bound."""
    _, after, _ = fixed(tmp_path, PLAIN.model)
    (tmp_path / "same.onnx").write_bytes(after.read_bytes())
    model = onnx.load(after)
    model.producer_name = "other"
    onnx.save(model, after)
    verdict = verify(tmp_path / "same.onnx", after)
    assert verdict.status == "proved"
    assert verdict.proof is not None
    assert verdict.proof["inexact"] == []


def test_the_named_form_does_not_replace_the_written_one(tmp_path: Path) -> None:
    """Proved is only what the second file writes out, never the other way."""
    before, after, _ = fixed(tmp_path, PLAIN.model)
    assert verify(after, before, proof="only").proof["status"] == "not proved"  # type: ignore[index]  # it was asked


def test_as_many_nodes_as_are_taken_are_written() -> None:
    assert _within(7, MOST_NODES) == []
    why = f"its 7 steps take {MOST_NODES + 1} nodes, and {MOST_NODES} are the most: bind a shorter length"
    assert _within(7, MOST_NODES + 1) == [Leave(None, why, NOT_TAKEN, "left", blocks=True)]
