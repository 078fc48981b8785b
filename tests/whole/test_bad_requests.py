"""What is asked for: names and sizes that a model does not have, data files that are not its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.asking import refused
from tests.support.onnx.broken import external, model
from tests.support.places import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    import onnx

MODELS = ROOT / "models"


REQUESTS = {
    "dim-of-no-input": (["--dim", "nope=4"], "no input has a dim of that name"),
    "dim-without-a-size": (["--dim", "batch"], "'batch' is not NAME=SIZE"),
    "dim-without-a-name": (["--dim", "=4"], "'=4' is not NAME=SIZE"),
    "dim-no-number": (["--dim", "batch=four"], "give a number"),
    "dim-negative": (["--dim", "batch=-4"], "give a number"),
    "dim-fraction": (["--dim", "batch=1.5"], "give a number"),
    "dim-range-upside-down": (["--dim", "batch=9..2"], "give a number"),
    "dim-open-range": (["--dim", "batch=2.."], "give a number"),
    "dim-superscript": (["--dim", "batch=²"], "give a number"),
    "dim-twice": (["--dim", "batch=2", "--dim", "batch=3"], "more than once"),
    "shape-of-no-input": (["--shape", "nope=1,2"], "there is no input"),
    "shape-of-a-constant": (["--shape", "weight=1,2"], "there is no input"),
    "shape-without-sizes": (["--shape", "hidden"], "is not NAME=SIZE"),
    "shape-no-numbers": (["--shape", "hidden=a,b,c"], "give sizes"),
    "shape-empty-part": (["--shape", "hidden=1,,3"], "give sizes"),
    "shape-of-another-rank": (["--shape", "hidden=1,2"], "2 dims given"),
    "shape-against-a-fixed-dim": (["--shape", "hidden=1,2,7"], "contradicts"),
    "shape-twice": (["--shape", "hidden=1,2,2", "--shape", "hidden=1,2,2"], "more than once"),
    "shape-against-dim": (["--shape", "hidden=3,8,2", "--dim", "batch=2"], "contradicts"),
    "shapes-against-each-other": (["--shape", "hidden=2,8,2", "--shape", "mask=3,8"], "contradicts"),
    "no-such-target": (["--target", "moon"], "invalid choice: 'moon'"),
    "no-such-rule": (["--only", "moon"], "'moon' is not a rewrite"),
    "no-such-option": (["--moon"], "--moon"),
}


def requested() -> onnx.ModelProto:
    return model(
        "g (float[batch,seq,2] hidden, float[batch,seq] mask) => (float[batch,seq,2] y) <float[2] weight = {1, 2}> "
        "{ a = Mul(hidden, weight) u = Constant <value = int64[1] {2}> () m = Unsqueeze(mask, u) y = Add(a, m) }"
    )


@pytest.mark.parametrize("command", ["check", "fix"])
@pytest.mark.parametrize("name", REQUESTS)
def test_a_request_that_makes_no_sense_is_refused(
    name: str, command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options, words = REQUESTS[name]
    path = tmp_path / "m.onnx"
    path.write_bytes(requested().SerializeToString())
    output = ["-o", tmp_path / "o.onnx", "--no-verify"] if command == "fix" else []
    assert words in refused(capsys, tmp_path, command, path, *output, *options)


def test_contradicting_sizes_are_refused_when_verifying(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = MODELS / "encoder.onnx"
    assert "nope" in refused(capsys, tmp_path, "verify", path, path, "--dim", "nope=3")
    assert "nope" in refused(capsys, tmp_path, "verify", path, path, "--shape", "nope=3")


def test_no_command_and_an_unknown_command_are_usage_errors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    refused(capsys, tmp_path)
    refused(capsys, tmp_path, "frobnicate")
    refused(capsys, tmp_path, "fix")
    refused(capsys, tmp_path, "explain", "GF999")
    refused(capsys, tmp_path, "fix", MODELS / "operators/where_mask.onnx")


# --- external data ---------------------------------------------------------------------------------------------

LOCATIONS = {
    "missing": ("absent.bin", {}, "no such file"),
    "too-short": ("data.bin", {"offset": "4"}, "ends at byte 16, but the file has 12"),
    "offset-past-the-end": ("data.bin", {"offset": "1000000"}, "the file has 12"),
    "offset-no-number": ("data.bin", {"offset": "-4"}, "must be a number"),
    "up": ("../data.bin", {}, "leaves the model's folder"),
    "up-and-back": ("sub/../../data.bin", {}, "leaves the model's folder"),
    "absolute": ("/etc/hostname", {}, "absolute"),
    "windows-absolute": ("C:\\data.bin", {}, "absolute"),
    "symlink": ("link.bin", {}, "is a link out of the model's folder"),
    "through-a-symlinked-folder": ("linked/data.bin", {}, "is a link out of the model's folder"),
    "a-folder": ("sub", {}, "not a regular file"),
    "no-name": ("", {}, "no file name"),
}


@pytest.mark.parametrize("name", LOCATIONS)
def test_external_data_that_is_not_a_file_of_the_folder_is_refused(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    location, more, words = LOCATIONS[name]
    home, outside = tmp_path / "home", tmp_path / "outside"
    (home / "sub").mkdir(parents=True)
    outside.mkdir()
    for folder in (tmp_path, home, outside):
        (folder / "data.bin").write_bytes(bytes(12))
    (home / "link.bin").symlink_to(outside / "data.bin")
    (home / "linked").symlink_to(outside)
    path = external(home / "m.onnx", location, **more)
    for argv in (
        ("check", path),
        ("fix", path, "-o", home / "o.onnx", "--no-verify"),
        ("fix", path, "-o", tmp_path / "o.onnx"),
    ):
        line = refused(capsys, tmp_path, *argv)
        assert words in line
        assert "'b'" in line


def test_a_data_file_is_never_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    there = tmp_path / "there"
    there.mkdir()
    (tmp_path / "data.bin").write_bytes(bytes(range(12)))
    (there / "o.onnx.data").write_bytes(b"somebody's own")
    path = external(tmp_path / "m.onnx", "data.bin")
    assert "o.onnx.data" in refused(capsys, tmp_path, "fix", path, "-o", there / "o.onnx", "--no-verify")
    assert "data file" in refused(capsys, tmp_path, "fix", path, "-o", tmp_path / "data.bin", "--no-verify")
