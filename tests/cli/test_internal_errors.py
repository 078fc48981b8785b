"""An unexpected exception is one line and status 2, whatever command meets it: a crash is never the answer no."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from graphfix.api import pipeline
from graphfix.cli import commands, parser
from graphfix.results import Outcome
from graphfix.results.faults import LONGEST, Fault, InternalError

COMMANDS = {
    "fix": ("fix_file", ["fix", "m.onnx", "-o", "f.onnx"]),
    "check": ("check", ["check", "m.onnx"]),
    "verify": ("verify", ["verify", "m.onnx", "f.onnx"]),
    "show": ("show", ["show", "m.onnx"]),
}


def raising(error: Exception) -> Callable[..., object]:
    def fail(*_: object, **__: object) -> object:
        raise error

    return fail


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("m.onnx", "n.onnx"):
        (tmp_path / name).touch()
    return tmp_path


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("error", [ValueError("a\nb"), RecursionError("too deep"), KeyError()], ids=repr)
def test_it_is_one_line_and_status_2(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: str, error: Exception
) -> None:
    function, argv = COMMANDS[command]
    monkeypatch.setattr(pipeline, function, raising(error))
    assert commands.main(argv) == 2
    (line,) = capsys.readouterr().err.splitlines()
    text = f": {' '.join(str(error).split())}" if str(error) else ""
    assert "internal error in graphfix/cli/" in line
    assert line.endswith(f": {type(error).__name__}{text}; please report it, -v shows the traceback")


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("command", ["fix", "check", "verify"])
def test_no_memory_is_one_line_and_status_2(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    function, argv = COMMANDS[command]
    monkeypatch.setattr(pipeline, function, raising(MemoryError()))
    assert commands.main(argv) == 2
    assert capsys.readouterr().err == "graphfix: m.onnx: stopped: there is no more memory\n"


@pytest.mark.usefixtures("folder")
def test_its_text_is_short_and_harmless_to_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(pipeline, "check", raising(ValueError("\x1b[31m" + "x" * 10_000)))
    assert commands.main(["check", "m.onnx"]) == 2
    said = capsys.readouterr().err
    assert "\x1b" not in said
    assert len(said) < 2 * LONGEST


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("command", COMMANDS)
def test_with_v_python_s_traceback_is_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    function, argv = COMMANDS[command]
    monkeypatch.setattr(pipeline, function, raising(ZeroDivisionError("nought")))
    assert commands.main([*argv, "-v"]) == 2
    said = capsys.readouterr().err
    assert "Traceback (most recent call last)" in said
    assert said.splitlines()[-1].endswith("please report it, -v shows the traceback")


def test_reports_count_it_as_a_failure(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(pipeline, "fix_file", raising(ZeroDivisionError("nought")))
    reports = [word for name in ("r.xml", "r.sarif") for word in ("--report", name)]
    assert commands.main(["fix", "m.onnx", "-o", "f.onnx", "--json", *reports]) == 2
    document = json.loads(capsys.readouterr().out)
    assert (document["kind"], document["error"].split(" in ")[0]) == ("internal", "m.onnx: internal error")
    assert "<error" in (folder / "r.xml").read_text(encoding="utf-8")
    (run,) = json.loads((folder / "r.sarif").read_text(encoding="utf-8"))["runs"]
    assert run["invocations"][0]["executionSuccessful"] is False


@pytest.mark.usefixtures("folder")
def test_the_other_models_are_checked(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def check(model: Path, _: object) -> Outcome:
        if model.name == "m.onnx":
            raise IndexError("nought")
        return Outcome("check", str(model), "onnx")

    monkeypatch.setattr(pipeline, "check", check)
    assert commands.main(["check", "m.onnx", "n.onnx"]) == 2
    assert "2 models: 1 clean, 0 with findings, 1 could not be checked" in capsys.readouterr().out


def test_a_fault_of_the_parser_is_one_too(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(parser, "said", raising(TypeError("no")))
    assert commands.main(["check", "m.onnx"]) == 2
    assert capsys.readouterr().err.startswith("graphfix: internal error in graphfix/cli/commands.py:")


def test_that_of_a_child_process_shows_the_place_in_the_child() -> None:
    fault = Fault("graphfix/runtimes/worker.py:7", "KeyError: 'x'", "Traceback of the child")
    assert Fault.of(InternalError(fault)) == fault
    assert Fault.of(InternalError(fault)).trace == "Traceback of the child"


@pytest.mark.parametrize("words", [["check", "m.onnx"], ["check", "m.onnx", "-v"], ["--verbose"]], ids=" ".join)
def test_of_a_fault_of_the_parser_the_traceback_is_printed_with_v_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    monkeypatch.setattr(parser, "said", raising(TypeError("no\x1b")))
    assert commands.main(words) == 2
    first, *others = capsys.readouterr().err.splitlines()
    if words == ["check", "m.onnx"]:
        assert (first.startswith("graphfix: internal error"), others) == (True, [])
        return
    assert first == "Traceback (most recent call last):"
    assert "TypeError: no\\x1b" in others[-2]
    assert others[-1].startswith("graphfix: internal error in graphfix/cli/commands.py:")
