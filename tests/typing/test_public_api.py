"""The typed program runs, and mypy refuses arguments of wrong types."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import onnx_ir
import pytest

import graphfix
from tests.support.notation import model
from tests.typing import public_api

ROOT = Path(__file__).parents[2]
WRONG = {
    'graphfix.fix("m.onnx", target="moon")': "target",
    'graphfix.check("m.onnx", dims={"N": "4"})': "int | tuple[int, int]",
    'graphfix.check("m.onnx", shapes={"x": "1,2"})': "Sequence[int | None]",
    'graphfix.verify("m.onnx", "f.onnx", proof="never")': "proof",
    "graphfix.load(3)": "load",
    "graphfix.fix_file(b'', 'f.onnx')": "fix_file",
    'graphfix.load("m.onnx").apply': "apply",
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = tmp_path / "m.onnx"
    made.write_bytes(model("y[N,3] = Add(x[N,3], b[N,3])").SerializeToString())
    return made


def test_the_typed_program_runs(path: Path) -> None:
    with path.open("rb") as file:
        assert {one.format for one in public_api.sources(path, file)} == {"onnx"}
    proto, ir = public_api.members(graphfix.load(path), path.parent)
    assert proto.graph.node[0].op_type == "Add"
    assert [node.op_type for node in public_api.passed(ir).graph] == ["Add"]
    assert isinstance(ir, onnx_ir.Model)
    outcome = public_api.fixed(path)
    assert public_api.verified(path, outcome.model).status == "proved"
    assert public_api.files(path).command == "check"
    assert "GF999" in public_api.explained()


@pytest.mark.ci
def test_mypy_names_each_argument_of_a_wrong_type(tmp_path: Path) -> None:
    program = tmp_path / "wrong.py"
    program.write_text("import graphfix\n\n" + "".join(f"{line}\n" for line in WRONG))
    command = [sys.executable, "-m", "mypy", "--strict", str(program)]  # by the cache and the settings of the project
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    errors = [line for line in done.stdout.splitlines() if line.startswith(str(program)) and ": error:" in line]
    assert len(errors) == len(WRONG), done.stdout
    for error, word in zip(errors, WRONG.values(), strict=True):
        assert word in error
