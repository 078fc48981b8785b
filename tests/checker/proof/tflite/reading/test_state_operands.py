"""Operands that a recurrent operator writes into are variables in both files, and such models are seen to load."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

import graphfix
from models.builders.tflite.text import model
from tests.support.runtimes.litert_groups import Job, run
from tests.support.runtimes.tosa_loop import tflite

if TYPE_CHECKING:
    from pathlib import Path

WEIGHTS = ", ".join(f"w{at}:const[2,2]{{0.1,0.2,0.3,0.{at}}}" for at in range(1, 9))
BIASES = ", ".join(f"b{at}:const[2]{{0.1,0.{at}}}" for at in range(1, 5))
STATES = {"h": "h:variable[1,2]", "c": "c:variable[1,2]"}
COPIES = {
    "RESHAPE": "m[1,2] = RESHAPE({}, s:const:int32[2]{{1,2}})",
    "BROADCAST_TO": "m[1,2] = BROADCAST_TO({}, s:const:int32[2]{{1,2}})",
}


def lstm(state: str = "", copy: str = "") -> str:
    """A model of one LSTM; `state` is read through the operator `copy`."""
    read = {name: "m" if name == state else text for name, text in STATES.items()}
    lines = [COPIES[copy].format(STATES[state])] if copy else []
    operands = f"x[1,3,2], {WEIGHTS}, , , , {BIASES}, , , {read['h']}, {read['c']}, , , , "
    said = "fused_activation_function=TANH, time_major=False"
    return "\n".join([*lines, f"y[1,3,2] = UNIDIRECTIONAL_SEQUENCE_LSTM({operands}, {said})"])


@pytest.mark.parametrize("copy", COPIES)
@pytest.mark.parametrize("state", STATES)
def test_a_copy_of_a_state_is_not_the_state(state: str, copy: str, tmp_path: Path) -> None:
    before, after = tmp_path / "before.tflite", tmp_path / "after.tflite"
    for path, text in ((before, lstm()), (after, lstm(state, copy))):
        path.write_bytes(model(text))
    (ran,) = run([[Job(after.read_bytes(), "AUTO", (np.zeros((1, 3, 2), np.float32),))]])
    assert "_state != nullptr was not true" in ran[0].error
    assert graphfix.verify(before, after, proof="only").status == "undecided"
    observed = graphfix.verify(before, after, proof="only", load=True)
    assert observed.status == "different"
    assert observed.load is not None
    assert "the second file does not load in LiteRT with the reference kernels" in (observed.load.failure or "")


def test_a_model_whose_kernels_add_tensors_is_seen_to_load(tmp_path: Path) -> None:
    path = tflite(tmp_path, lstm())
    after = tmp_path / "after.tflite"
    after.write_bytes(model(f"{lstm()}\nz[1,3,2] = NEG(x[1,3,2])"))
    load = graphfix.verify(path, after, proof="only", load=True).load
    assert load is not None
    assert len(load.observed) == 3
    assert load.reason is None
