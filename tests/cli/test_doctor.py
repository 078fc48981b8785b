"""`graphfix doctor`: the exit status, both forms, and a machine on which nothing is installed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from graphfix.report.doctor import environment_json, environment_text
from graphfix.results.environment import Environment, Probe, ProbeStatus
from graphfix.runtimes import doctor
from tests.support.asking import ask
from tests.support.places import ROOT


@pytest.mark.ci
def test_here_all_works_and_nothing_private_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    answer = ask(capsys, "doctor")
    assert (answer.status, answer.err) == (0, "")
    assert answer.out.endswith("all that graphfix needs works\n")
    assert str(Path.home()) not in answer.out
    assert sys.prefix not in answer.out


@pytest.mark.ci
def test_one_document(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "QUESTIONS", doctor.QUESTIONS[:1])
    answer = ask(capsys, "doctor", "--json")
    assert answer.status == 0
    assert [probe["status"] for probe in json.loads(answer.out)["probes"]] == ["works"]


def test_a_broken_runtime_ends_with_1(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "onnxruntime.py").write_text("raise ImportError('no libstdc++')", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(doctor, "QUESTIONS", doctor.QUESTIONS[:1])
    answer = ask(capsys, "doctor")
    assert answer.status == 1
    assert "fails   onnxruntime  ImportError: no libstdc++\n" in answer.out


@pytest.mark.ci
def test_a_configuration_that_can_not_be_read_is_no_obstacle(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(doctor, "QUESTIONS", doctor.QUESTIONS[:1])
    monkeypatch.chdir(tmp_path)
    Path("graphfix.toml").write_text("json = [", encoding="utf-8")
    assert ask(capsys, "doctor").status == 0


def test_a_python_without_any_of_the_packages_gets_an_answer() -> None:
    command = [sys.executable, "-S", "-P", "-m", "graphfix", "doctor"]
    done = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.count("fails ") == 6
    assert "works " not in done.stdout


@pytest.mark.parametrize(
    ("words", "status", "works"),
    [("", 0, True), ("", 1, False), ("--json", 0, True), ("--json", 1, False), ("-q", 0, True), ("-q", 1, False)],
)
def test_the_status_says_what_works_and_each_form_ends_with_one_line_break(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, words: str, status: int, works: bool
) -> None:
    probe = Probe("onnxruntime", None, "works" if works else "fails", None if works else "no", 0.5)
    environment = Environment("3.12.1 (CPython)", "Linux", 4, (), (), (probe,))
    monkeypatch.setattr(doctor, "examine", lambda _: environment)
    answer = ask(capsys, "doctor", *words.split())
    text = {"": environment_text(environment) + "\n", "--json": environment_json(environment), "-q": ""}[words]
    assert (answer.status, answer.out, answer.err) == (status, text, "")
    assert answer.out.endswith("\n") is (words != "-q")
    assert not answer.out.endswith("\n\n")


@pytest.mark.parametrize(("status", "left"), [("works", 0), ("fails", 1)])
def test_the_exit_status_is_whether_all_that_is_needed_works(
    status: ProbeStatus, left: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = Environment("3.11", "Linux", 2, (), (), (Probe("onnx", None, status, "gone", 0.5),))
    monkeypatch.setattr(doctor, "examine", lambda _: found)
    answer = ask(capsys, "doctor")
    assert (answer.status, answer.out) == (left, environment_text(found) + "\n")
    document = ask(capsys, "doctor", "--json")
    assert (document.status, document.out) == (left, environment_json(found))
    quiet = ask(capsys, "doctor", "-q")
    assert (quiet.status, quiet.out) == (left, "")
