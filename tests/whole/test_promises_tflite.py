"""What the README and the design promise of TFLite models: the same commands and codes, nothing loaded idly."""

from __future__ import annotations

import json
import re
import shutil
from typing import TYPE_CHECKING

import pytest

import graphfix
from graphfix.targets.registry import run_for
from models.builders.tflite.cases import tflite_cases
from models.builders.tflite.text import model
from tests.support import engine
from tests.support.asking import ask
from tests.support.places import ROOT
from tests.whole.test_promises import HEAVY, loaded_by

if TYPE_CHECKING:
    from pathlib import Path

MODELS = ROOT / "models"
TWO_SIDED = MODELS / "shapes/two_sided.tflite"
LIBRARIES = HEAVY | {"ai_edge_litert", "tflite", "flatbuffers"}


@pytest.mark.ci
@pytest.mark.parametrize("command", ["fix", "check", "show"])
def test_a_model_is_read_and_written_without_any_library(command: str, tmp_path: Path) -> None:
    argv = [command, str(TWO_SIDED), *(["-o", str(tmp_path / "o.tflite"), "--no-verify"] if command == "fix" else [])]
    loaded = loaded_by(f"from graphfix.cli.commands import main; main({argv})")
    assert "graphfix.formats.tflite.model" in loaded
    assert not loaded & LIBRARIES
    assert not [name for name in loaded if name.startswith("graphfix.formats.onnx")]


@pytest.mark.ci
def test_kernels_run_in_another_process_than_graphfix(tmp_path: Path) -> None:
    argv = ["fix", str(TWO_SIDED), "-o", str(tmp_path / "o.tflite")]
    loaded = loaded_by(f"from graphfix.cli.commands import main; main({argv})")
    assert (tmp_path / "o.tflite").exists()
    assert "graphfix.checker" in loaded
    assert not loaded & {"ai_edge_litert.interpreter", "onnxruntime", "onnx"}


@pytest.mark.ci
@pytest.mark.parametrize("name", ["model", "model.onnx", "model.bin"])
def test_the_content_says_what_a_file_is_and_not_its_name(name: str, tmp_path: Path) -> None:
    shutil.copy(TWO_SIDED, tmp_path / name)
    outcome = graphfix.fix_file(tmp_path / name, tmp_path / "fixed.onnx", runs=1)
    assert (outcome.format, outcome.changed) == ("tflite", True)
    assert (tmp_path / "fixed.onnx").read_bytes()[4:8] == b"TFL3"


# --- the commands and their statuses ----------------------------------------------------------------------------------


@pytest.mark.ci
def test_a_model_is_found_wanting_then_fixed_then_clean_and_equal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "o.tflite"
    assert ask(capsys, "check", TWO_SIDED).status == 1
    assert ask(capsys, "fix", TWO_SIDED, "-o", out).status == 0
    assert ask(capsys, "check", out).status == 0
    said = ask(capsys, "verify", TWO_SIDED, out, "--runs", 1)
    assert (said.status, said.err) == (0, "")
    assert re.search(r"proved for all inputs and sizes; 1 output bit-equal over \d+ runs? on 3 kernel sets", said.out)
    shown = ask(capsys, "show", out, "--maps")
    assert "TILE" in shown.out
    assert "operand 1: (d0, d1, d2, d3) -> (d0, d1, d2, d3)" in shown.out


@pytest.mark.ci
def test_another_constant_is_reported_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, number in (("one", 1.0), ("two", 2.0)):
        (tmp_path / name).write_bytes(model(f"y[2,3] = ADD(x[2,3], c:const[3]{{1.0,1.0,{number}}})"))
    said = ask(capsys, "verify", tmp_path / "one", tmp_path / "two")
    assert said.status == 1
    assert "different: " in said.out


@pytest.mark.ci
def test_a_model_without_a_kernel_is_proved_and_what_was_not_run_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = ask(capsys, "fix", MODELS / "explicit/broadcast_in_dim.tflite", "-o", tmp_path / "o.tflite")
    assert said.status == 0
    assert "proved for all inputs and sizes" in said.out
    assert "STABLEHLO_BROADCAST_IN_DIM" in said.out
    assert ask(capsys, "verify", MODELS / "explicit/broadcast_in_dim.tflite", tmp_path / "o.tflite").status == 0


def test_what_can_not_be_done_is_said_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "m.tflite").write_bytes(TWO_SIDED.read_bytes()[:100])
    said = ask(capsys, "fix", tmp_path / "m.tflite", "-o", tmp_path / "o.tflite")
    assert (said.status, said.out, len(said.lines)) == (2, "", 1)
    assert "m.tflite" in said.err
    assert not (tmp_path / "o.tflite").exists()


def test_the_input_is_only_replaced_in_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "m.tflite"
    shutil.copy(TWO_SIDED, path)
    assert ask(capsys, "fix", path, "-o", path).status == 2
    assert path.read_bytes() == TWO_SIDED.read_bytes()
    assert ask(capsys, "fix", path, "-o", path, "--in-place").status == 0
    assert ask(capsys, "check", path).status == 0


def test_a_free_size_is_bound_by_its_input_and_axis(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "m.tflite").write_bytes(model("y[?,3] = ADD(x[?,3], z[3])"))
    said = ask(capsys, "fix", tmp_path / "m.tflite", "-o", tmp_path / "o.tflite", "--dim", "x[0]=4")
    assert (said.status, said.err) == (0, "")
    shown = ask(capsys, "show", tmp_path / "o.tflite")
    assert "input x[4,3] float32" in shown.out
    assert "?" not in shown.out


# --- the report -------------------------------------------------------------------------------------------------------


@pytest.mark.ci
def test_the_document_has_the_same_parts_as_for_onnx(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = {}
    for suffix in ("onnx", "tflite"):
        source = MODELS / f"rfc_rank_expansion.{suffix}"
        said = ask(capsys, "fix", source, "-o", tmp_path / f"o.{suffix}", "--json")
        assert said.status == 0
        found[suffix] = json.loads(said.out)
    onnx, tflite = found["onnx"], found["tflite"]
    assert (onnx["format"], tflite["format"]) == ("onnx", "tflite")
    assert onnx.keys() == tflite.keys()
    assert onnx["verdict"].keys() == tflite["verdict"].keys()
    for mine, theirs in zip(onnx["sites"], tflite["sites"], strict=True):
        assert mine.keys() == theirs.keys()
        assert [mine[key] for key in ("code", "operand", "before", "after", "status")] == [
            theirs[key] for key in ("code", "operand", "before", "after", "status")
        ]
    assert {"ai-edge-litert"} <= tflite["verdict"]["versions"].keys()


@pytest.mark.ci
@pytest.mark.parametrize("suffix", ["json", "md"])
def test_the_report_is_written_where_it_is_asked_for(
    suffix: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = tmp_path / f"r.{suffix}"
    assert ask(capsys, "fix", TWO_SIDED, "-o", tmp_path / "o.tflite", "--report", report).status == 0
    assert "GF101" in report.read_text(encoding="utf-8")


def test_what_explicit_pins_is_in_the_report_and_ranks_pins_nothing(tmp_path: Path) -> None:
    for target, fixed in (("explicit", True), ("ranks", False)):
        outcome = graphfix.fix_file(TWO_SIDED, tmp_path / target, target=target, check_result=False)
        for name in ("x[", "z["):
            assert any(f"the input {name}" in line for line in outcome.assumes) == fixed


# --- the rewrites -----------------------------------------------------------------------------------------------------


@pytest.mark.ci
def test_every_rewrite_but_the_legacy_one_has_work_in_some_committed_model() -> None:
    worked: set[str] = set()
    for case in tflite_cases():
        if case.kind == "refused":
            continue
        outcome = engine.fix(engine.load(case.data))
        worked |= {name for name, count in outcome.rewrites.items() if count}
    assert worked == set(run_for("explicit")) - {"upgrade-legacy-broadcast"}


def test_the_readme_s_python_runs_on_a_model_s_bytes(tmp_path: Path) -> None:
    opened = engine.load(TWO_SIDED.read_bytes())
    assert engine.fix(opened, target="ranks").changed
    opened.save(tmp_path / "fixed.tflite")
    assert graphfix.verify(TWO_SIDED, tmp_path / "fixed.tflite", runs=1).status == "proved"
