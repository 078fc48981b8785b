"""The smoke set sees each kind of fault: another status, other text, a traceback, a file that is absent, a hang."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import smoke

if TYPE_CHECKING:
    from pathlib import Path

STEP = smoke.Step(1, "fix m.onnx", "proved .*", "out.onnx")


def command(folder: Path, text: str) -> str:
    """Write an executable that takes the place of graphfix."""
    path = folder / "graphfix"
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("echo proved all; echo x > out.onnx; exit 1", ""),
        ("echo proved all; echo x > out.onnx", "status 0, not 1"),
        ("echo different; echo x > out.onnx; exit 1", "the output does not match 'proved .*'"),
        ("echo proved all; exit 1", "out.onnx is absent or empty"),
        ("echo proved all; : > out.onnx; exit 1", "out.onnx is absent or empty"),
        ("echo proved all; echo x > out.onnx; echo 'Traceback (most recent' >&2; exit 1", "a traceback"),
    ],
)
def test_a_command_that_does_not_end_as_expected_is_a_fault(text: str, fault: str, tmp_path: Path) -> None:
    said = smoke.run(command(tmp_path, text), STEP, tmp_path)
    assert bool(said) == bool(fault)
    assert fault in said


def test_a_command_that_hangs_is_a_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(smoke, "SECONDS", 0.2)
    assert "no answer after 0.2 s" in smoke.run(command(tmp_path, "exec sleep 9"), STEP, tmp_path)


def test_one_fault_is_the_status_of_the_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(smoke, "STEPS", (smoke.Step(0, "one", "good"), smoke.Step(0, "two", "good")))
    assert smoke.main(command(tmp_path, "echo good")) == 0
    assert smoke.main(command(tmp_path, '[ "$1" = one ] && echo good')) == 1
    assert "2 commands, 1 with a fault" in capsys.readouterr().out


def test_the_set_has_25_commands_and_more_of_both_formats_and_every_status() -> None:
    assert len(smoke.STEPS) >= 25
    assert {step.status for step in smoke.STEPS} == {0, 1, 2, 4}
    assert all(
        any(f"fix models/{part}" in step.command for step in smoke.STEPS) for part in ("encoder.onnx", "bodies/")
    )
