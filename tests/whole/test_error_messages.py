"""What a user reads where something is wrong: what, where, and what to do next; no library speaks in its own words."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import graphfix
from graphfix.cli import commands
from graphfix.results import GraphfixError
from tests.support.notation import model
from tests.support.places import ROOT

TFLITE = ROOT / "models" / "bodies" / "if.tflite"


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a model, and what is none."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.onnx").write_bytes(model("y[2,3] = Add(x[2,3], b[3])").SerializeToString())
    (tmp_path / "text.tflite").write_text("hello")
    (tmp_path / "bytes.tflite").write_bytes(b"hello\x07")
    (tmp_path / "cut.tflite").write_bytes(TFLITE.read_bytes()[:20])
    (tmp_path / "damaged.onnx").write_bytes(b":\x50no\x01")
    np.save(tmp_path / "objects.npy", np.array([{}], dtype=object))
    (tmp_path / "objects.npy").rename(tmp_path / "objects.npz")
    (tmp_path / "m.tflite").write_bytes(TFLITE.read_bytes())
    return tmp_path


MESSAGES = {
    "check text.tflite": "text.tflite: a text file: give the path of an ONNX or TFLite model",
    "verify text.tflite text.tflite": "text.tflite: a text file: give the path of an ONNX or TFLite model",
    "check bytes.tflite": "bytes.tflite: no TFLite model (it has no identifier TFL3), and no ONNX model, or cut short: "
    "no field can start before byte 3; get the file again",
    "verify bytes.tflite bytes.tflite": "bytes.tflite: no TFLite model (it has no identifier TFL3), and no ONNX model: "
    "byte 2 starts no field; get the file again",
    "verify cut.tflite cut.tflite": "cut.tflite: no TFLite model: it is cut short, or contradicts itself; "
    "get the file again",
    "verify m.onnx damaged.onnx": "damaged.onnx: no ONNX model: a message in it is damaged; get the file again",
    "verify m.onnx m.onnx --inputs objects.npz": "objects.npz: not an .npz file, or cut short; "
    "save the inputs with numpy.savez",
    "verify m.onnx m.onnx --signature a": "m.onnx: --signature a: only a TFLite model has signatures; leave it out",
    "fix m.onnx -o no/f.onnx": "no/f.onnx: its folder does not exist; create it first",
    "check m.tflite --narrow-inputs": "m.tflite: --narrow-inputs is for ONNX: "
    "a TFLite model is converted with int32 inputs to begin with; leave it out",
    "check nowhere.onnx": "nowhere.onnx: no such file or directory; give the path of a model that can be read",
}


@pytest.mark.parametrize("command", MESSAGES)
@pytest.mark.usefixtures("files")
def test_it_says_what_and_where_and_what_to_do(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert commands.main(command.split()) == 2
    assert capsys.readouterr().err == f"graphfix: {MESSAGES[command]}\n"


@pytest.mark.usefixtures("files")
def test_a_call_s_arguments_are_named() -> None:
    for call, words in (
        (lambda: graphfix.verify("m.onnx", "m.onnx", atol=-1.0), "a tolerance is at least 0, and atol is -1.0; give 0"),
        (lambda: graphfix.check("m.onnx", max_expand_bytes=-1), "max_expand_bytes: a size is at least 0 bytes, not -1"),
        (
            lambda: graphfix.check("m.onnx", dims=["N=4"]),
            "dims is ['N=4']; give a mapping of names, such as {'batch': 4",
        ),  # type: ignore[arg-type] -- wrong on purpose
        (lambda: graphfix.explain(5), "explain takes a rewrite, a finding code, a target, or a target file, not 5"),  # type: ignore[arg-type] -- as above
    ):
        with pytest.raises(GraphfixError) as caught:
            call()
        assert words in str(caught.value)
