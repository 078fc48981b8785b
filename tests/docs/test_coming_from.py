"""The page for users of other tools: its commands exist, and what it says of the order of tools is what happens."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from graphfix.cli.parser import parser
from tests.support.asking import ask
from tests.support.places import ROOT

PAGE = (ROOT / "docs" / "coming-from.md").read_text(encoding="utf-8")
INLINE = [text for text in re.findall(r"`(graphfix [a-z]+ [^`]+|verify --[^`]+)`", PAGE) if " " in text]
ENCODER = str(ROOT / "models" / "encoder.onnx")


@pytest.mark.parametrize("command", INLINE)
def test_a_command_of_a_table_is_one(command: str) -> None:
    words = shlex.split(command.removeprefix("graphfix "))
    missing = ["IN", "OUT"] if command.startswith("verify") else []
    parser().parse_args(words + missing)


def test_there_are_commands_in_the_tables() -> None:
    assert len(INLINE) > 10


def optimized(tool: str, model: str, folder: Path) -> Path:
    """Run an optimizer on a model."""
    program = os.environ.get("GRAPHFIX_ONNXSIM") if tool == "onnxsim" else str(Path(sys.executable).parent / tool)
    made = folder / f"{tool}.onnx"
    subprocess.run([program or tool, model, str(made)], cwd=folder, capture_output=True, check=True, timeout=300)
    return made


@pytest.mark.parametrize(
    ("tool", "word"),
    [
        ("onnxslim", "equal"),
        pytest.param("onnxsim", "different", marks=pytest.mark.onnxsim),
    ],
)
@pytest.mark.ci
def test_behind_an_optimizer_fix_ends_with_0_and_verify_says_what_the_optimizer_did(
    tool: str, word: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = optimized(tool, ENCODER, tmp_path)
    assert f": {word}: " in ask(capsys, "verify", ENCODER, made).out
    assert ask(capsys, "fix", made, "-o", tmp_path / "f.onnx", "--runs", "1").status == 0
