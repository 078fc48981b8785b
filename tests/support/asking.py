"""The command line asked inside the test's own process: the status, what it said, and whether it wrote anything."""

from __future__ import annotations

import hashlib
import signal
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from graphfix.cli import commands

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

    import pytest

FAILED = 2
PATIENCE = 30
"""Seconds after which a command counts as hung."""


@dataclass(frozen=True)
class Answer:
    status: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.err.splitlines()


def ask(capsys: pytest.CaptureFixture[str], *argv: object) -> Answer:
    """Run one command; a usage error ends like a shell would see it."""
    try:
        with watched():
            status = commands.main([str(part) for part in argv])
    except SystemExit as stop:
        status = stop.code if isinstance(stop.code, int) else FAILED
    said = capsys.readouterr()
    return Answer(status, said.out, said.err)


def refused(capsys: pytest.CaptureFixture[str], folder: Path, *argv: object) -> str:
    """Run one command that must fail: status 2, one line, and nothing in the folder changed. Give the line."""
    before = listing(folder)
    answer = ask(capsys, *argv)
    assert (answer.status, answer.out) == (FAILED, ""), answer
    assert len(answer.lines) == 1, answer.err
    assert answer.lines[0].startswith("graphfix: ")
    assert "Traceback" not in answer.err
    assert listing(folder) == before
    return answer.lines[0]


def listing(folder: Path) -> dict[str, str]:
    """Every entry below the folder: what it is and, of a file, what it holds."""
    return {str(path.relative_to(folder)): _content(path) for path in sorted(folder.rglob("*"))}


def _content(path: Path) -> str:
    if path.is_symlink():
        return f"-> {path.readlink()}"
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "folder or pipe"


@contextmanager
def watched() -> Iterator[None]:
    """Turn a hang into a failure."""

    def overdue(_number: int, _frame: FrameType | None) -> None:
        raise AssertionError(f"no answer after {PATIENCE} s")

    old = signal.signal(signal.SIGALRM, overdue)
    signal.alarm(PATIENCE)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, old)
