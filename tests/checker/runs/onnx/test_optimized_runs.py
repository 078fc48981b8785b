"""Runs with optimizations on: which of the two models fails is said, and it decides nothing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnxruntime
import pytest

import graphfix
from graphfix.report.table import table
from graphfix.results import Outcome
from tests.support.notation import model

REFUSED = """\
mn[1,1] = ReduceMean(x[1,1], axes=[1], keepdims=1)
ct[1,1] = Sub(x, mn)
sq[1,1] = Pow(ct, two:const[]{2})
vr[1,1] = ReduceMean(sq, axes=[1], keepdims=1)
ve[1,1] = Add(vr, eps:const[]{0.00001})
sd[1,1] = Sqrt(ve)
nm[1,1] = Div(ct, sd)
y[1,2] = Mul(sc:const[2]{0.5,0.25}, nm)"""
"""onnxruntime fuses it to a normalization whose scale is longer than its axis, and refuses its own operator then."""


def fails(path: Path) -> bool:
    """Return whether the installed onnxruntime refuses the model by its defaults."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    try:
        session.run(None, {"x": np.ones((1, 1), np.float32)})
    except Exception:  # noqa: BLE001 -- onnxruntime raises classes of its own
        return True
    return False


@pytest.fixture
def paths(tmp_path: Path) -> tuple[Path, Path]:
    """The model, and one with another name for the same."""
    made = []
    for name in ("one", "two"):
        proto = model(REFUSED, opset=17)
        proto.graph.name = name
        made.append(tmp_path / f"{name}.onnx")
        made[-1].write_bytes(proto.SerializeToString())
    return made[0], made[1]


def test_a_model_that_the_default_refuses_before_and_after_is_a_line_of_the_text(paths: tuple[Path, Path]) -> None:
    verdict = graphfix.verify(*paths, runs=4)
    assert verdict.status == "proved"
    text = table(Outcome("verify", "one", "onnx", output="two", verdict=verdict))
    note = "  note: with optimizations on (the default of onnxruntime) both models fail: onnxruntime: "
    assert any(line.startswith(note) for line in text.splitlines()) == all(map(fails, paths))


def test_the_model_that_fails_alone_is_named(paths: tuple[Path, Path], tmp_path: Path) -> None:
    fixed = tmp_path / "fixed.onnx"
    verdict = graphfix.fix_file(paths[0], fixed, runs=4).verdict
    assert verdict is not None
    reasons = {str(run.reason).partition(":")[0] for run in verdict.runs if run.optimizations == "on"}
    said = {
        (True, True): "both models fail",
        (True, False): "the first model fails",
        (False, True): "the second model fails",
    }
    assert reasons == {said.get((fails(paths[0]), fails(fixed)), "None")}
