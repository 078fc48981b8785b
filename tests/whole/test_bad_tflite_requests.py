"""What is asked for of a TFLite model: names, ranks and sizes that it does not have."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from models.builders.tflite.text import model
from tests.support.asking import ask, refused
from tests.support.tflite.broken import ADD

if TYPE_CHECKING:
    from pathlib import Path

TEXT = """
a[batch,seq,2] = MUL(hidden[batch,seq,2], weight:const[2])
y[batch,seq,2] = ADD(a, mask[seq,1])
"""
REQUESTS = {
    "dim-of-no-input": (["--dim", "nope[0]=4"], "nope[0]"),
    "dim-that-is-a-symbol-of-onnx": (["--dim", "batch=4"], "batch"),
    "dim-that-is-fixed": (["--dim", "hidden[2]=2"], "hidden[2]"),
    "dim-behind-the-rank": (["--dim", "hidden[9]=2"], "hidden[9]"),
    "dim-below-0": (["--dim", "hidden[-1]=2"], "hidden[-1]"),
    "dim-without-a-size": (["--dim", "hidden[0]"], "is not NAME=SIZE"),
    "dim-without-a-name": (["--dim", "=4"], "'=4' is not NAME=SIZE"),
    "dim-no-number": (["--dim", "hidden[0]=four"], "give a number"),
    "dim-negative": (["--dim", "hidden[0]=-4"], "give a number"),
    "dim-fraction": (["--dim", "hidden[0]=1.5"], "give a number"),
    "dim-range-upside-down": (["--dim", "hidden[0]=9..2"], "give a number"),
    "dim-beyond-32-bits": (["--dim", "hidden[0]=99999999999"], "99999999999"),
    "dim-twice": (["--dim", "hidden[0]=2", "--dim", "hidden[0]=3"], "more than once"),
    "shape-of-no-input": (["--shape", "nope=1,2"], "there is no input"),
    "shape-of-a-constant": (["--shape", "weight=1,2"], "there is no input"),
    "shape-of-an-output": (["--shape", "y=1,2,2"], "there is no input"),
    "shape-without-sizes": (["--shape", "hidden"], "is not NAME=SIZE"),
    "shape-no-numbers": (["--shape", "hidden=a,b,c"], "give sizes"),
    "shape-empty-part": (["--shape", "hidden=1,,3"], "give sizes"),
    "shape-of-another-rank": (["--shape", "hidden=1,2"], "2 dims given"),
    "shape-against-a-fixed-dim": (["--shape", "hidden=1,2,7"], "contradicts"),
    "shape-beyond-32-bits": (["--shape", "hidden=1,99999999999,2"], "99999999999"),
    "shape-twice": (["--shape", "hidden=1,2,2", "--shape", "hidden=1,2,2"], "more than once"),
    "shape-against-dim": (["--shape", "hidden=3,8,2", "--dim", "hidden[0]=2"], "contradicts"),
    "shapes-that-do-not-meet": (["--shape", "hidden=2,8,2", "--shape", "mask=3,1"], "ADD"),
    "dims-that-do-not-meet": (["--dim", "hidden[1]=8", "--dim", "mask[0]=3"], "ADD"),
    "no-such-target": (["--target", "moon"], "invalid choice: 'moon'"),
    "no-such-rule": (["--only", "moon"], "'moon' is not a rewrite"),
    "bytes-below-0": (["--max-expand-bytes", "-1"], "-1"),
}


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "m.tflite"
    path.write_bytes(model(TEXT))
    return path


@pytest.mark.parametrize("command", ["check", "fix"])
@pytest.mark.parametrize("name", REQUESTS)
def test_a_request_that_makes_no_sense_is_refused(
    name: str, command: str, source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options, words = REQUESTS[name]
    output = ["-o", tmp_path / "o.tflite", "--no-verify"] if command == "fix" else []
    assert words in refused(capsys, tmp_path, command, source, *output, *options)


def test_what_makes_sense_is_taken(source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The other requests differ from these in what they say they differ in."""
    out = tmp_path / "o.tflite"
    for options in (["--dim", "hidden[0]=4"], ["--shape", "hidden=2,8,2", "--shape", "mask=8,1"]):
        assert ask(capsys, "fix", source, "-o", out, "--no-verify", *options).status == 0


def test_names_are_refused_when_verifying(source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "nope" in refused(capsys, tmp_path, "verify", source, source, "--dim", "nope[0]=3")
    assert "nope" in refused(capsys, tmp_path, "verify", source, source, "--shape", "nope=3")
    assert "hidden" in refused(capsys, tmp_path, "verify", source, source, "--shape", "hidden=3")


def test_a_model_of_the_other_format_is_no_partner(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import onnx.parser

    other = tmp_path / "m.onnx"
    text = '<ir_version: 8, opset_import: ["" : 17]> g (float[2,3] x) => (float[2,3] y) { y = Relu(x) }'
    other.write_bytes(onnx.parser.parse_model(text).SerializeToString())
    refused(capsys, tmp_path, "verify", source, other)
    refused(capsys, tmp_path, "verify", other, source)


def test_a_model_without_free_sizes_has_none_to_bind(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "m.tflite"
    path.write_bytes(model(ADD))
    assert "axis 0 of 'x' is static" in refused(capsys, tmp_path, "check", path, "--dim", "x[0]=2")
