"""The deployed models: the committed files are those of the tables, small, and run."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest

from models.exporting import build_decoders, export_litert, optimize_onnx
from models.exporting.deployed import files
from models.exporting.deployed.decoder_cases import NOT_RUN
from models.exporting.deployed.files import DEPLOYED, Deployed, committed, parts, sizes_of
from models.exporting.feeds import numbers
from tests.support.needs import of_16_channels
from tests.support.tiers import COVER_DEPLOYED, tiered

CASES = {
    "optimized": optimize_onnx.cases(optimize_onnx.OPTIMIZED),
    "quantized": optimize_onnx.cases(optimize_onnx.QUANTIZED),
    "decoders": build_decoders.cases(),
}
NAMES = [f"{folder}/{name}" for folder, cases in CASES.items() for name in cases]
LITERT = export_litert.paths()
MOST_TFLITE = 125_000
NEWER = frozenset(
    "decoders/gemma2_windowed decoders/hunyuan_int4 decoders/phi_int4 decoders/qwen3_norms_inside"
    " optimized/mobilenet_v3_legacy_all quantized/bert_dynamo_blocks_qdq_extended"
    " quantized/conformer_dynamo_extended_dynamic quantized/distilbert_dynamo_blocks2"
    " quantized/mpnet_dynamo_blocks_qdq_extended quantized/vit_dynamo_dynamic_extended"
    " quantized/vit_dynamo_qdq_channel_extended quantized/vit_dynamo_qdq_symmetric"
    " quantized/vit_dynamo_qoperator_channel quantized/whisper_encoder_dynamo_dynamic_channel".split()
)
"""Files that onnxruntime 1.23.0 refuses or computes no finite numbers of, and 1.31.1 runs: kernels, attributes."""
FOR_ALL_RELEASES = [name for name in NAMES if name not in NEWER]


def is_covering(name: str) -> bool:
    return name in COVER_DEPLOYED


@pytest.mark.parametrize("folder", CASES)
def test_the_committed_files_and_their_sizes_are_those_of_the_tables(folder: str) -> None:
    described = {name: case.described() for name, case in CASES[folder].items()}
    assert sorted(described) == committed(DEPLOYED / folder)
    assert sizes_of(DEPLOYED / folder) == described


def test_the_committed_tflite_files_are_those_of_the_tables() -> None:
    assert export_litert.strays(LITERT) == []
    assert [path for path in LITERT if not path.exists()] == []


def test_there_are_as_many_files_of_each_tool_as_are_asked_for() -> None:
    assert len(NAMES) >= 120
    assert sum(path.parent == export_litert.TORCH for path in LITERT) >= 40
    assert sum(path.parent == export_litert.QUANTIZED for path in LITERT) >= 40


@pytest.mark.parametrize("name", of_16_channels(tiered(FOR_ALL_RELEASES, is_covering)))
def test_an_onnx_file_is_small_and_runs(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert_small_and_runs(name, capsys)


@pytest.mark.needs_release("onnxruntime>=1.31")
@pytest.mark.parametrize("name", of_16_channels(tiered(sorted(NEWER), is_covering)))
def test_an_onnx_file_of_newer_kernels_is_small_and_runs(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert_small_and_runs(name, capsys)


def assert_small_and_runs(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The file is no larger than it may be, and its script runs this file alone."""
    folder, _, stem = name.partition("/")
    path = DEPLOYED / f"{name}.onnx"
    assert sum(map(len, parts(path).values())) <= files.MOST_BYTES
    assert files.main([stem, "--run"], "", DEPLOYED / folder, dict) == 0
    assert f"{stem}: ok" in capsys.readouterr().out


@pytest.mark.parametrize("path", tiered(LITERT, lambda path: is_covering(f"{path.parent.name}/{path.stem}"), name=str))
def test_a_tflite_file_is_small_and_runs(path: Path) -> None:
    assert path.stat().st_size < MOST_TFLITE
    assert export_litert.main([path.stem, "--run"]) == 0


@pytest.mark.needs_release("onnxruntime>=1.31")
def test_what_is_not_run_is_refused_by_the_kernel() -> None:
    """A file leaves the list when onnxruntime runs it."""
    for name in NOT_RUN:
        case = build_decoders.cases()[name]
        path = DEPLOYED / "decoders" / f"{name}.onnx"
        with pytest.raises(Exception, match="GroupQueryAttention"):
            files.run(path, case.inputs, [{"batch": 2, "sequence": 5, "past": 0, "total": 5}])


def _doubled(path: Path) -> None:
    graph = "g (float[n] x) => (float[n] y) { y = Add(x, x) }"
    onnx.save(onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : 20]> {graph}'), path)


def _constant(path: Path) -> None:
    graph = "g (float[n] x) => (float[n] y) { y = Sub(x, x) }"
    onnx.save(onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : 20]> {graph}'), path)


def test_a_file_is_written_with_its_sizes_and_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONHASHSEED", "0")
    cases = {"double": Deployed("double", _doubled, {"x": numbers("n")}, ({"n": 3}, {"n": 4}))}
    for options in ([], ["--check"], ["--run"]):
        assert files.main(options, "", tmp_path, lambda: cases) == 0
    (tmp_path / "double.onnx").write_bytes(b"")
    assert files.main(["--check"], "", tmp_path, lambda: cases) == 1


def test_a_file_that_shows_nothing_or_that_nothing_makes_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PYTHONHASHSEED", "0")
    cases = {"constant": Deployed("constant", _constant, {"x": numbers("n")}, ({"n": 3}, {"n": 4}))}
    _doubled(tmp_path / "stray.onnx")
    assert files.main([], "", tmp_path, lambda: cases) == 1
    said = capsys.readouterr().out
    assert "constant: the outputs of run 1 are all the same number" in said
    assert "stray: nothing makes this file" in said
    assert not (tmp_path / "constant.onnx").exists()
