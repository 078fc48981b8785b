"""The TOSA tools as a runtime: models converted, validated and run."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from typing import TYPE_CHECKING

import numpy as np
import onnx
import pytest

from graphfix.runtimes import tosa
from tests.support.places import ZOO
from tests.support.runtimes.tosa_loop import needs_tools, onnx_file, ran, tflite, validated

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = needs_tools


def test_a_tflite_model_goes_through_the_whole_loop(tmp_path: Path) -> None:
    model = tflite(tmp_path, "y[2,3,4] = SUB(a[2,3,4], b[4])")
    a, b = np.arange(24, dtype=np.float32).reshape(2, 3, 4), np.array([1, 10, 100, 1000], np.float32)
    answer = ran(model, a, b)
    assert answer.status == "valid"
    (y,) = answer.outputs
    assert y.dtype == np.float32
    assert np.array_equal(y, a - b)


@pytest.mark.ci
def test_folders_may_have_blanks_and_commas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "my models, new"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    model = tflite(folder, "y[2] = ABS(x[2])")
    assert ran(model, np.array([-1, 2], np.float32)).outputs[0].tolist() == [1, 2]


@pytest.mark.ci
def test_an_onnx_model_goes_through_the_whole_loop(tmp_path: Path) -> None:
    model = onnx_file(
        tmp_path, "g (float[2,3] a, float[3] b) => (float[2,3] y, float[2,3] z) {y = Sub(a, b) z = Neg(a)}"
    )
    a, b = np.array([[1, 2, 3], [4, 5, 6]], np.float32), np.array([0.5, 20, -1], np.float32)
    answer = ran(model, a, b)
    assert answer.status == "valid"
    assert [o.tolist() for o in answer.outputs] == [(a - b).tolist(), (-a).tolist()]


@pytest.mark.ci
def test_empty_names_at_the_end_of_a_node_are_no_names(tmp_path: Path) -> None:
    """torch-mlir refuses most operators that have such names: failed to legalize onnx.Dropout."""
    path = onnx_file(tmp_path, "g (float[2,4] x) => (float[2,2] y) {a, b = Split<axis = 1>(x) y = Dropout(a)}")
    model = onnx.load(path)
    split, dropout = model.graph.node
    split.output[1] = ""
    dropout.input.extend(["", ""])
    dropout.output.append("")
    onnx.save(model, path)
    x = np.arange(8, dtype=np.float32).reshape(2, 4)
    assert ran(path, x).outputs[0].tolist() == x[:, :2].tolist()


@pytest.mark.ci
@pytest.mark.parametrize(
    ("text", "inputs", "wanted"),
    [
        ("y:bool[2] = LOGICAL_AND(a:bool[2], b:bool[2])", ([True, True], [True, False]), [True, False]),
        ("y:int32[2] = SUB(a:int32[2], b:int32[2])", ([5, -7], [7, 2**30]), [-2, -7 - 2**30]),
        # the int8 of these texts have scale 0.5 and zero point 3: 4.5 + 1 = 5.5
        ("y:int8[1] = ADD(a:int8[1], b:int8[1])", ([12], [5]), [14]),
        ("y[] = ADD(a[], b[])", (1.5, 2.0), 3.5),
    ],
    ids=["bool", "int32", "int8", "rank 0"],
)
def test_element_types_and_rank_0_come_back_as_they_are(
    tmp_path: Path, text: str, inputs: tuple[object, ...], wanted: object
) -> None:
    kind = text.split("[", maxsplit=1)[0].partition(":")[2] or "float32"
    (y,) = ran(tflite(tmp_path, text), *(np.array(value, kind) for value in inputs)).outputs
    assert y.dtype == np.dtype(kind)
    assert y.tolist() == wanted


@pytest.mark.ci
def test_a_module_that_conforms_lists_its_operators_and_custom_ones_by_name(tmp_path: Path) -> None:
    verdict = validated(tflite(tmp_path, "t[2] = ABS(x[2])\ny[2] = CUSTOM.Frobnicate(t)"))
    assert verdict.valid
    assert verdict.operators == {"tosa.abs": 1, "tosa.custom:Frobnicate": 1}


@pytest.mark.ci
def test_conversion_is_reproducible_and_names_no_path(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    for folder in (here, there):
        folder.mkdir()
        tosa.convert(tosa.CONVERTER, tflite(folder, "y[2,3] = ADD(x[2,3], b:const[3])"), folder / "m.mlirbc")
    assert (here / "m.mlirbc").read_bytes() == (there / "m.mlirbc").read_bytes()
    assert b"here" not in (here / "m.mlirbc").read_bytes()


@pytest.mark.ci
def test_conversion_leaves_nothing_but_its_output(tmp_path: Path) -> None:
    tosa.convert(
        tosa.TORCH_MLIR, onnx_file(tmp_path, "g (float[2] x) => (float[2] y) {y = Abs(x)}"), tmp_path / "out.mlirbc"
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m.onnx", "out.mlirbc"]


@pytest.mark.ci
def test_operators_that_the_converter_left_in_silence_are_named(tmp_path: Path) -> None:
    verdict = validated(tflite(tmp_path, "y:int64[2,3] = BROADCAST_TO(x:int64[3], s:const:int32[2]{2,3})"))
    assert verdict.errors == ("operators that were not converted are left: tfl.broadcast_to (1)",)
    assert not (tmp_path / "m.tosa").exists()


@pytest.mark.ci
@pytest.mark.parametrize(
    ("text", "operator", "why"),
    [
        ("y[N,3] = ADD(x[N,3], b[N,1])", "tosa.add", "cannot be dynamic"),
        ("y:uint8[2] = ADD(x:uint8[2], b:uint8[2])", "tosa.rescale", "element type 'ui8' is not legal"),
        ("y:int64[2] = ADD(x:int64[2], b:int64[2])", "tosa.add", "requires any of [int64]"),
        ("y[1,1,1,1,2,2,3] = ABS(x[1,1,1,1,2,2,3])", "tosa.abs", "MAX_RANK"),
        ("y[2,3,5] = BATCH_MATMUL(a[2,3,4], b[1,4,5])", "tosa.matmul", "expected batch of b to match size 2, got 1"),
    ],
    ids=["dynamic dim", "uint8", "int64", "rank 7", "batch of 1"],
)
def test_what_the_specification_can_not_take_is_named(tmp_path: Path, text: str, operator: str, why: str) -> None:
    verdict = validated(tflite(tmp_path, text))
    assert not verdict.valid
    assert any(error.startswith(f"{operator}: ") and why in error for error in verdict.errors), verdict.errors
    assert len(set(verdict.errors)) == len(verdict.errors)
    assert not (tmp_path / "m.tosa").exists()


@pytest.mark.ci
def test_a_validation_error_names_the_onnx_node(tmp_path: Path) -> None:
    verdict = validated(
        onnx_file(tmp_path, "g (float[1,2,3] x, float[2,1] s) => (float[1,2,3] y) {[leaky] y = PRelu(x, s)}")
    )
    assert verdict.errors[0] == "tosa.const: is not profile-aligned: element type 'f64' is not legal at 'leaky'"


@pytest.mark.ci
def test_bytecode_that_is_none_is_an_error_of_the_module(tmp_path: Path) -> None:
    (tmp_path / "m.mlirbc").write_bytes(b"no module")
    assert not tosa.validate(tmp_path / "m.mlirbc").valid
    (error,) = tosa.validate(tmp_path / "absent.mlirbc").errors
    assert error.startswith("tosa-opt ends with exit status 1: cannot open input file ")


@pytest.mark.ci
def test_a_power_of_a_negative_base_is_reported_as_unpredictable(tmp_path: Path) -> None:
    model = tflite(tmp_path, "y[2] = POW(x[2], e:const[2]{2.0,2.0})")
    assert ran(model, np.array([3, 2], np.float32)).status == "valid"
    found = tosa.run(model.with_suffix(".tosa"), [np.array([3, -2], np.float32)])
    assert (found.status, found.reason) == ("unpredictable", "OpPow: x is less than 0")


@pytest.mark.ci
def test_versions_are_those_of_the_installed_packages() -> None:
    loud = {name: value for name, value in os.environ.items() if not name.startswith("PIP_")}
    command = [sys.executable, "-m", "pip", "list"]
    listed = subprocess.run(command, capture_output=True, text=True, check=True, env=loud).stdout
    packages = {line.split()[0]: line.split()[1] for line in listed.splitlines() if len(line.split()) > 1}
    assert tosa.versions() == {tool: packages[tool] for tool in (tosa.CONVERTER, tosa.TORCH_MLIR, tosa.TOSA_TOOLS)}


def test_the_tools_are_not_imported_with_the_runtime() -> None:
    code = "import sys, graphfix.runtimes.tosa; print(*{n.partition('.')[0] for n in sys.modules})"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert {"numpy", "onnx", "torch_mlir", "tosa_reference_model", "tosa_converter_for_tflite"}.isdisjoint(loaded)


@pytest.mark.ci
@pytest.mark.zoo
def test_sparse_constants_that_are_left_are_counted(tmp_path: Path) -> None:
    tosa.convert(tosa.CONVERTER, ZOO / "mediapipe" / "pose_detection.tflite", tmp_path / "m.mlirbc")
    (error,) = tosa.validate(tmp_path / "m.mlirbc").errors
    assert set(error.rpartition(": ")[2].split(", ")) == {"tfl.pseudo_sparse_const (38)", "tfl.densify (38)"}


@pytest.mark.ci
@pytest.mark.zoo
def test_a_real_model_with_custom_operators_conforms(tmp_path: Path) -> None:
    tosa.convert(tosa.CONVERTER, ZOO / "mediapipe" / "selfie_segmentation.tflite", tmp_path / "m.mlirbc")
    verdict = tosa.validate(tmp_path / "m.mlirbc", tmp_path / "m.tosa")
    assert verdict.valid
    assert verdict.operators["tosa.custom:Convolution2DTransposeBias"] == 1
    assert (tmp_path / "m.tosa").read_bytes()[4:8] == b"TOSA"
