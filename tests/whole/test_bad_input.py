"""Files that are no model, or were damaged by chance: an answer, or one line and status 2, and nothing is written."""

from __future__ import annotations

import os
import random
from typing import TYPE_CHECKING

import onnx
import pytest

from graphfix.cli import streams
from tests.support.asking import ask, refused
from tests.support.places import ROOT

if TYPE_CHECKING:
    from pathlib import Path

MODELS = ROOT / "models"

NO_MODELS = {
    "empty": b"",
    "one-byte": b"\x08",
    "zeros": bytes(4096),
    "ones": b"\xff" * 4096,
    "text": b"this is a text file, and no model\n" * 9,
    "json": b'{"ir_version": 8}',
    "zip": b"PK\x03\x04" + bytes(60),
    "elf": b"\x7fELF" + bytes(60),
    "tflite": b"\x1c\0\0\0TFL3" + bytes(200),
    "endless-varint": b"\x80" * 200,
    "endless-group": b"\x0b" * 200,
    "length-of-everything": b"\x3a\xff\xff\xff\xff\xff\xff\xff\xff\x7f",
}


@pytest.mark.parametrize("command", ["check", "fix", "show", "verify"])
@pytest.mark.parametrize("name", NO_MODELS)
def test_a_file_that_is_no_model_is_refused_by_its_name(
    name: str, command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(NO_MODELS[name])
    more = {"fix": ["-o", tmp_path / "o.onnx"], "verify": [MODELS / "operators/where_mask.onnx"]}.get(command, [])
    line = refused(capsys, tmp_path, command, path, *more)
    assert str(path) in line


def test_a_tflite_file_is_called_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(NO_MODELS["tflite"])
    assert "TFLite" in refused(capsys, tmp_path, "check", path)


@pytest.mark.parametrize(
    "step", [7, pytest.param(4, marks=pytest.mark.ci), pytest.param(1, marks=pytest.mark.full)], ids="every {}".format
)
@pytest.mark.parametrize("name", ["bodies/if", "bodies/function_nested", "constants/sparse"])
def test_a_prefix_of_a_model_is_refused(
    name: str, step: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = (MODELS / f"{name}.onnx").read_bytes()
    path = tmp_path / "m.onnx"
    taken = []
    for stop in range(0, len(data), step):
        path.write_bytes(data[:stop])
        for argv in (("check", path), ("fix", path, "--no-verify", "-o", tmp_path / "o.onnx")):
            answer = ask(capsys, *argv)
            if answer.status != 2:
                taken.append(stop)
            else:
                assert len(answer.lines) == 1, answer.err
    assert not [stop for stop in taken if stop < len(data) - tail_of_functions(data)], taken
    assert ask(capsys, "show", MODELS / f"{name}.onnx").status == 0


def tail_of_functions(data: bytes) -> int:
    """The bytes behind opset_import: without them what is left is a whole model that calls unknown operators."""
    whole = onnx.ModelProto.FromString(data)
    return sum(function.ByteSize() + 8 for function in whole.functions)


@pytest.mark.ci
def test_random_bytes_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    draw = random.Random(20)  # noqa: S311 - no secret, a seeded test
    path = tmp_path / "m.onnx"
    for size in [*range(1, 40), 100, 1000, 100_000]:
        path.write_bytes(draw.randbytes(size))
        refused(capsys, tmp_path, "check", path)


@pytest.mark.ci
@pytest.mark.parametrize("command", ["check", "show", "fix"])
def test_a_path_that_is_no_file_is_refused(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "WAIT", 0.1)
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "loop").symlink_to("loop")
    output = ["-o", tmp_path / "o.onnx"] if command == "fix" else []
    for name, words in {
        "folder": "folder",
        "pipe": "pipe",
        "absent.onnx": "no such file",
        "folder/absent/m.onnx": "no such file",
        "loop": "symbolic links",
        "n" * 300: "too long",
        "nul\0": "null",
    }.items():
        line = refused(capsys, tmp_path, command, tmp_path / name, *output)
        assert words in line.lower()


# --- damage by chance ------------------------------------------------------------------------------------------

SMALL = ("quantized/qdq", "bodies/loop", "bodies/function_nested")
EVERY = {"encoder": 4096, **dict.fromkeys(SMALL, 1 << 20)}


def flips(name: str, step: int) -> list[tuple[int, int]]:
    """(place, bits to turn over) of one byte each: all bits and one bit in turn."""
    size = min((MODELS / f"{name}.onnx").stat().st_size, EVERY[name])
    return [(at, 0xFF if at // step % 2 else 1 << at % 8) for at in range(0, size, step)]


def assert_survives(name: str, step: int, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = (MODELS / f"{name}.onnx").read_bytes()
    path, out = folder / "m.onnx", folder / "o.onnx"
    for at, bits in flips(name, step):
        path.write_bytes(data[:at] + bytes([data[at] ^ bits]) + data[at + 1 :])
        for argv in (("check", path), ("fix", path, "-o", out, "--no-verify")):
            answer = ask(capsys, *argv)
            where = f"byte {at} of {name} xor {bits:#x}, {argv[0]}: {answer.err}"
            assert answer.status in ({0, 1, 2} if argv[0] == "check" else {0, 2, 4}), where
            assert len(answer.lines) == (answer.status == 2), where
            assert out.exists() == (answer.status in (0, 4) and argv[0] == "fix"), where
            if out.exists():
                onnx.load(out)
                out.unlink()


@pytest.mark.parametrize(
    "step", [61, pytest.param(48, marks=pytest.mark.ci), pytest.param(1, marks=pytest.mark.full)], ids="every {}".format
)
@pytest.mark.parametrize("name", EVERY)
def test_a_byte_that_was_turned_over_is_no_crash(
    name: str, step: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert_survives(name, step, tmp_path, capsys)
