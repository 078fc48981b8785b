"""What an interrupted command says of its files: those that it has written, and those that it has not."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

import pytest

from graphfix.cli import interrupts
from graphfix.cli.status import INTERRUPTED, TERMINATED, Terminated


def stopped(options: Namespace, written: Sequence[Path]) -> None:
    """A command that writes these files and is stopped then."""
    with interrupts.accounted(options):
        for path in written:
            made = path.with_name("draft")
            made.write_text("new")
            made.replace(path)
        raise KeyboardInterrupt


def interrupted(options: Namespace, *written: Path) -> str:
    """What is said then."""
    with pytest.raises(KeyboardInterrupt) as raised:
        stopped(options, written)
    (said,) = raised.value.args
    return str(said)


def test_what_has_another_inode_is_written(tmp_path: Path) -> None:
    output, page, table = tmp_path / "f.onnx", tmp_path / "r.html", tmp_path / "r.md"
    table.write_text("older")
    options = Namespace(command="fix", output=output, report=[page, table])
    assert interrupted(options) == "nothing written"
    assert interrupted(options, output) == f"{output} is written, {page} and {table} are not"
    assert interrupted(options, output, table) == f"{output} and {table} are written, {page} is not"
    assert interrupted(options, output, page, table) == f"{output} and {page} and {table} are written"


@pytest.mark.parametrize(
    ("options", "written", "said"),
    [
        ({"command": "fix", "output": None, "in_place": True, "model": "m.onnx"}, "m.onnx", "m.onnx is written"),
        ({"command": "fix", "output": None, "in_place": False, "model": "m.onnx"}, "m.onnx", "nothing written"),
        ({"command": "fix", "output": None, "model": "m.onnx"}, "m.onnx", "nothing written"),
        ({"command": "fix", "output": "-"}, "-", "nothing written"),
        ({"command": "tosa", "output": "m.tosa"}, "m.mlirbc", "m.mlirbc is written, m.tosa is not"),
        ({"command": "tosa", "output": "m.tosa"}, "m.tosa", "m.tosa is written, m.mlirbc is not"),
        ({"command": "check", "write_baseline": "b.json", "report": []}, "b.json", "b.json is written"),
        ({"command": "check", "write_baseline": None, "report": ["r.md"]}, "r.md", "r.md is written"),
        ({"command": "batch", "output": "out", "report": ["r.md"]}, "r.md", "nothing written"),
    ],
)
def test_the_files_of_a_command_are_those_of_its_options(
    options: dict[str, object], written: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert interrupted(Namespace(**options), Path(written)) == said


def test_a_text_that_an_interrupt_has_stays_and_so_does_its_kind() -> None:
    options = Namespace(command="fix", output=None)
    with pytest.raises(Terminated) as raised, interrupts.accounted(options):
        raise Terminated("the model on stdout is not complete")
    assert raised.value.args == ("the model on stdout is not complete",)
    with pytest.raises(Terminated, match="nothing written"), interrupts.accounted(options):
        raise Terminated


@pytest.mark.parametrize(
    ("stop", "status", "line"),
    [
        (KeyboardInterrupt(), INTERRUPTED, "graphfix: interrupted; nothing written\n"),
        (KeyboardInterrupt("f.onnx is written"), INTERRUPTED, "graphfix: interrupted; f.onnx is written\n"),
        (Terminated("f.onnx is written"), TERMINATED, "graphfix: terminated; f.onnx is written\n"),
    ],
)
def test_an_interrupt_is_a_line_and_a_status(
    stop: KeyboardInterrupt, status: int, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert interrupts.report(stop) == status
    assert capsys.readouterr() == ("", line)
    assert (INTERRUPTED, TERMINATED) == (130, 143)
