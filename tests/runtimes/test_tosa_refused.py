"""Every way in which the TOSA tools fail is one line by name, and ends no process but their own."""

from __future__ import annotations

import shutil
import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from graphfix.results import GraphfixError
from graphfix.runtimes import process, tosa, worker
from graphfix.runtimes.extras import install_command
from graphfix.runtimes.session import RefusedError
from tests.support.places import ZOO
from tests.support.runtimes.tosa_loop import needs_tools, onnx_file, ran, tflite, validated

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = needs_tools


def test_a_refused_tflite_operator_is_named_with_its_tensor(tmp_path: Path) -> None:
    model = tflite(tmp_path, "y[2,3,4,5] = PRELU(x[2,3,4,5], a:const[5])")
    with pytest.raises(RefusedError) as refused:
        tosa.convert(tosa.CONVERTER, model, tmp_path / "m.mlirbc")
    assert str(refused.value) == (
        "tosa-converter-for-tflite: tfl.prelu: 'alpha' should have one less rank than 'input'. at 'y'"
    )
    assert (refused.value.aborted, refused.value.missing_kernel) == (False, False)
    assert not (tmp_path / "m.mlirbc").exists()


@pytest.mark.ci
def test_a_refused_onnx_operator_is_named_with_its_node(tmp_path: Path) -> None:
    text = """g (float[1,2,3,3] x) => (float[1,2,3,3] y)
      <float[2] s = {1, 2}, float[2] b = {1, 2}, float[2] m = {1, 2}, float[2] v = {1, 2}>
      {[norm] y = BatchNormalization(x, s, b, m, v)}"""
    with pytest.raises(RefusedError, match=r"^torch-mlir: failed to legalize onnx\.BatchNormalization at 'norm'$"):
        tosa.convert(tosa.TORCH_MLIR, onnx_file(tmp_path, text, opset=9), tmp_path / "m.mlirbc")


@pytest.mark.ci
@pytest.mark.parametrize(
    ("tool", "name", "content", "words"),
    [
        (tosa.TORCH_MLIR, "m.onnx", b"\xff\xfe no model", r"^torch-mlir: \S+/m\.onnx is no ONNX file: .+$"),
        (tosa.CONVERTER, "m.tflite", b"\x1c\x00\x00\x00TFL3 and no more", r"^tosa-converter-for-tflite\b.*: .+$"),
        (tosa.TORCH_MLIR, "empty", b"", r"^torch-mlir: .+$"),
    ],
)
def test_a_file_that_is_no_model_is_refused_in_one_line(
    tmp_path: Path, tool: str, name: str, content: bytes, words: str
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(RefusedError, match=words):
        tosa.convert(tool, tmp_path / name, tmp_path / "m.mlirbc")


@pytest.mark.ci
def test_a_model_that_is_not_there_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(GraphfixError, match=r"nowhere\.tflite: No such file or directory; give the path"):
        tosa.convert(tosa.CONVERTER, tmp_path / "nowhere.tflite", tmp_path / "m.mlirbc")


@pytest.mark.ci
def test_a_division_by_zero_ends_only_the_model_s_own_process(tmp_path: Path) -> None:
    model = tflite(tmp_path, "y:int32[2] = FLOOR_DIV(a:int32[2], b:int32[2])")
    (y,) = ran(model, np.array([7, -7], np.int32), np.array([2, 2], np.int32)).outputs
    assert y.tolist() == [3, -4]
    with pytest.raises(RefusedError, match=r"^tosa-tools aborts the process \(SIG\w+\)") as refused:
        tosa.run(model.with_suffix(".tosa"), [np.array([7, 7], np.int32), np.array([2, 0], np.int32)])
    assert refused.value.aborted


@pytest.mark.ci
@pytest.mark.parametrize(
    "inputs",
    [[], [np.zeros(3, np.float32)], [np.zeros((2, 3), np.float64)], [np.zeros((2, 3), np.float32)] * 2],
    ids=["none", "another size", "another type", "one too many"],
)
def test_inputs_that_do_not_fit_are_refused(tmp_path: Path, inputs: list[np.ndarray]) -> None:
    model = tflite(tmp_path, "y[2,3] = ABS(x[2,3])")
    assert validated(model).valid
    with pytest.raises(RefusedError):
        tosa.run(model.with_suffix(".tosa"), inputs)


@pytest.mark.ci
def test_a_graph_with_a_custom_operator_does_not_run(tmp_path: Path) -> None:
    model = tflite(tmp_path, "y[2] = CUSTOM.Frobnicate(x[2])")
    with pytest.raises(RefusedError, match=r"^tosa-tools: Invalid TOSA graph$"):
        ran(model, np.zeros(2, np.float32))


@pytest.mark.ci
@pytest.mark.parametrize(
    ("status", "output", "words"),
    [("TOSA_ERROR", [1.0], "refuses the graph"), ("TOSA_VALID", [], "returns no values for an output")],
)
def test_what_the_reference_model_only_hints_at_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: str, output: list[float], words: str
) -> None:
    statuses = SimpleNamespace(TOSA_VALID=0, TOSA_UNPREDICTABLE=1, TOSA_ERROR=2)
    answer = [np.array(output, np.float32)], getattr(statuses, status)
    stub = SimpleNamespace(GraphStatus=statuses, run=lambda *_: answer)
    monkeypatch.setitem(sys.modules, "tosa_reference_model", stub)
    (tmp_path / "m.tosa").write_bytes(b"")
    with pytest.raises(RefusedError, match=words):
        worker._run_tosa(str(tmp_path / "m.tosa"), [])


@pytest.mark.ci
def test_a_file_that_is_no_flatbuffer_is_refused(tmp_path: Path) -> None:
    (tmp_path / "m.tosa").write_bytes(b"nothing of the kind" * 10)
    with pytest.raises(RefusedError):
        tosa.run(tmp_path / "m.tosa", [])
    with pytest.raises(RefusedError):
        tosa.run(tmp_path / "absent.tosa", [])


@pytest.mark.ci
def test_a_tool_that_takes_too_long_is_stopped(tmp_path: Path) -> None:
    model = tflite(tmp_path, "y[2] = ABS(x[2])")
    with pytest.raises(
        RefusedError, match=r"tosa-converter-for-tflite was stopped: no answer within 0\.001 seconds"
    ) as r:
        tosa.convert(tosa.CONVERTER, model, tmp_path / "m.mlirbc", seconds=0.001)
    assert r.value.aborted
    assert not (tmp_path / "m.mlirbc").exists()


def test_a_tool_that_is_not_installed_is_one_line_that_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = tflite(tmp_path, "y[2] = ABS(x[2])")
    absent = dict.fromkeys(tosa._PACKAGES, ("no_such_package",))
    monkeypatch.setattr(tosa, "_PACKAGES", absent)
    for tool, request in [
        (tosa.CONVERTER, lambda: tosa.convert(tosa.CONVERTER, model, tmp_path / "m.mlirbc")),
        (tosa.TOSA_TOOLS, lambda: tosa.validate(tmp_path / "m.mlirbc")),
        (tosa.TOSA_TOOLS, lambda: tosa.run(tmp_path / "m.tosa", [])),
    ]:
        with pytest.raises(RefusedError) as refused:
            request()
        assert str(refused.value) == f"{tool} is not installed: {install_command('tosa')}"
        assert refused.value.missing_kernel
    assert tosa.versions() == {}


@pytest.mark.ci
def test_a_process_that_ends_without_an_answer_is_refused_with_its_last_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "python"
    program.write_text("#!/bin/sh\necho 'last words' >&2\nexit 3\n")
    program.chmod(0o755)
    monkeypatch.setattr(tosa.sys, "executable", str(program))
    with pytest.raises(RefusedError, match=r"^the tool fails: last words$"):
        tosa._asked("the tool", "convert_tflite", (), 60)


@pytest.mark.ci
def test_no_debugger_or_symbolizer_is_found_by_a_tool(tmp_path: Path) -> None:
    assert shutil.which("sh") is not None
    program = tmp_path / "p.py"
    program.write_text("import shutil, sys; sys.exit(3 if shutil.which('sh') else 4)")
    assert process.finished("p", [sys.executable, str(program)], str, seconds=60).cause == "exit status 4"


@pytest.mark.ci
@pytest.mark.zoo
def test_a_converter_that_segfaults_is_refused_as_such(tmp_path: Path) -> None:
    with pytest.raises(RefusedError, match=r"^tosa-converter-for-tflite aborts the process \(SIGSEGV\)") as refused:
        tosa.convert(tosa.CONVERTER, ZOO / "basic-pitch" / "nmp.tflite", tmp_path / "m.mlirbc")
    assert refused.value.aborted
    assert not (tmp_path / "m.mlirbc").exists()
