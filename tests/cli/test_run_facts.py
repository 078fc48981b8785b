"""What the head of an HTML report tells of the command that made it."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import pytest

import graphfix
from graphfix.cli import commands, terminal
from tests.support.places import ROOT


def test_the_command_line_can_be_pasted_again(monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["check", "a b.onnx", "--dim", "N=4"]
    monkeypatch.setattr(sys, "argv", ["/usr/bin/graphfix", *words])
    assert shlex.split(terminal.run_facts().command_line) == ["graphfix", *words]


@pytest.mark.parametrize(
    ("word", "shown"),
    [
        ("https://user:secret@host/m.onnx", "https://***@host/m.onnx"),
        ("s3://token@bucket/in", "s3://***@bucket/in"),
        ("https://host/a@b.onnx", "https://host/a@b.onnx"),
        ("me@host.onnx", "me@host.onnx"),
    ],
)
def test_a_password_in_a_url_is_left_out(monkeypatch: pytest.MonkeyPatch, word: str, shown: str) -> None:
    monkeypatch.setattr(sys, "argv", ["graphfix", "batch", word])
    assert shlex.split(terminal.run_facts().command_line)[2] == shown


def test_the_date_has_its_time_zone_and_the_versions_are_those_of_packages() -> None:
    facts = terminal.run_facts()
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d \S+", facts.date)
    assert facts.versions["graphfix"] == graphfix.__version__
    assert {"Python", "numpy", "onnx", "onnxruntime"} <= facts.versions.keys()


@pytest.mark.parametrize("command", [["check"], ["fix", "-o", "OUT"]])
def test_reports_of_the_command_line_have_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    report, output = tmp_path / "r.html", str(tmp_path / "f.onnx")
    words = [word.replace("OUT", output) for word in command]
    words = [words[0], str(ROOT / "models" / "matmul.onnx"), *words[1:], "--report", str(report), "-q"]
    monkeypatch.setattr(sys, "argv", ["graphfix", *words])
    commands.main(words)
    assert '<section id="run"' in report.read_text(encoding="utf-8")
    assert shlex.join(["graphfix", *words]) in report.read_text(encoding="utf-8")
