"""What is written never replaces a file that is read: one line, status 2, nothing written."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

import graphfix
from graphfix.results import GraphfixError
from tests.support.asking import refused
from tests.support.notation import model
from tests.support.onnx.broken import external

if TYPE_CHECKING:
    from pathlib import Path

Capsys = pytest.CaptureFixture[str]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A model under names that reports may have, a second one, a target file and inputs."""
    content = model("y[2,3] = Add(x[2,3], b[3])").SerializeToString()
    for name in ("m.onnx", "m.json", "m.md", "after.json"):
        (tmp_path / name).write_bytes(content)
    for name in ("t.toml", "t.json"):
        (tmp_path / name).write_text('name = "mine"\n', encoding="utf-8")
    np.savez(tmp_path / "in.npz", x=np.zeros((2, 3), np.float32), b=np.zeros(3, np.float32))
    (tmp_path / "in.npz").rename(tmp_path / "in.json")
    (tmp_path / "link.json").symlink_to("m.json")
    (tmp_path / "hard.json").hardlink_to(tmp_path / "m.json")
    return tmp_path


CASES = {
    "the report of fix is its output": ("fix m.onnx -o q.json --report q.json", "the report is the output"),
    "the same by another spelling": ("fix m.onnx -o q.json --report ./q.json", "the report is the output"),
    "the output is the target file": ("fix m.onnx -o t.toml --target-file t.toml", "the output is the target file"),
    "the report is the target file": ("check m.onnx --report t.json --target-file t.json", "is the target file"),
    "the report of check is its model": ("check m.json --report m.json", "the report is the model"),
    "the report of check is one of its models": ("check m.onnx m.json --report m.json", "the report is the model"),
    "the report of fix is its model": ("fix m.md -o x.onnx --report m.md", "the report is the model"),
    "the report is the model in place": ("fix m.md --in-place --report m.md", "the report is the model"),
    "the report is a symlink to the model": ("check m.json --report link.json", "the report is the model"),
    "the report is a hard link to the model": ("check m.json --report hard.json", "the report is the model"),
    "the second report is the model": ("check m.json --report r.md --report m.json", "the report is the model"),
    "the report of verify is the second model": (
        "verify m.onnx after.json --report after.json",
        "the report is the second model",
    ),
    "the report of verify is what it runs on": (
        "verify m.onnx after.json --inputs in.json --report in.json",
        "the report is what the runs read",
    ),
    "the report of tosa is what it runs on": (
        "tosa m.onnx -o o.tosa --run --inputs in.json --report in.json",
        "the report is what the runs read",
    ),
    "the output of tosa is what it runs on": (
        "tosa m.onnx -o in.json --run --inputs in.json",
        "the output is what the runs read",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_no_file_that_is_read_is_replaced(
    case: str, folder: Path, capsys: Capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    line, words = CASES[case]
    said = refused(capsys, folder, *line.split())
    assert words in said
    assert "choose another name" in said


def test_nor_is_the_target_file_in_python(folder: Path) -> None:
    with pytest.raises(GraphfixError, match="the output is the target file"):
        graphfix.fix_file(folder / "m.onnx", folder / "t.toml", target_file=folder / "t.toml")
    assert (folder / "t.toml").read_text(encoding="utf-8") == 'name = "mine"\n'


@pytest.mark.parametrize(
    "command", ["check", "fix -o o.onnx", "fix -o sub/o.onnx", "verify other.onnx", "verify m.onnx"]
)
def test_a_report_does_not_replace_the_model_s_data_file(
    command: str, tmp_path: Path, capsys: Capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sub").mkdir()
    external(tmp_path / "m.onnx", "w.json")
    (tmp_path / "w.json").write_bytes(bytes(12))
    (tmp_path / "other.onnx").write_bytes(model("y[2,3] = Add(x[2,3], b[3])").SerializeToString())
    said = refused(capsys, tmp_path, *command.split(), "m.onnx", "--report", "w.json")
    assert "this is the name of the model's own data file" in said
