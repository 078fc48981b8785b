"""`check` asks what `fix` was asked: a model that was fixed with --keep-fusions is clean with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.support.asking import ask, refused
from tests.support.places import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

MODEL = ROOT / "models" / "encoder.onnx"


def test_what_fix_keeps_check_keeps(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "o.onnx"
    options = ("--target", "ranks", "--keep-fusions")
    assert ask(capsys, "fix", MODEL, "-o", out, "--no-verify", *options).status == 0
    assert ask(capsys, "check", out, *options).status == 0
    assert ask(capsys, "check", out, "--target", "ranks").status == 1


def test_broadcasts_for_a_target_that_makes_none_are_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for command in (["check"], ["fix", "-o", tmp_path / "o.onnx"]):
        for target in ("compact", "onnxruntime"):
            said = refused(capsys, tmp_path, *command, MODEL, "--target", target, "--broadcasts", "explicit")
            assert f"target {target} takes stretches out" in said
    assert ask(capsys, "check", MODEL, "--target", "compact", "--broadcasts", "keep").status in (0, 1)
