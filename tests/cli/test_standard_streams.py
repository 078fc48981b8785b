"""Closed standard streams are opened anew, and stderr drops what can't be written, with stand-ins for the system."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from graphfix.cli import standard_streams
from graphfix.cli.standard_streams import _NeverFailing, repair


@pytest.fixture
def closed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of streams that are closed; each that is opened is added behind a 0."""
    numbers: list[int] = []

    def fstat(number: int) -> None:
        if number in numbers:
            raise OSError(9, "Bad file descriptor")

    def opened(path: str, flags: int) -> int:
        assert (path, flags) == (os.devnull, os.O_RDWR)
        return 1000

    made = SimpleNamespace(
        fstat=fstat,
        open=opened,
        devnull=os.devnull,
        O_RDWR=os.O_RDWR,
        set_inheritable=lambda number, kept: numbers.append(number + kept),
    )
    monkeypatch.setattr(standard_streams, "os", made)
    monkeypatch.setattr(sys, "stdout", sys.stdout)
    monkeypatch.setattr(sys, "stderr", sys.stderr)
    return numbers


@pytest.mark.parametrize("numbers", [[], [0], [1], [2], [0, 1, 2], [3]], ids=str)
def test_each_of_the_three_that_is_closed_is_the_null_device_which_children_have_too(
    closed: list[int], numbers: list[int]
) -> None:
    closed.extend(numbers)
    repair()
    assert closed[len(numbers) :] == [1001 for number in numbers if number < 3]


@pytest.mark.parametrize("is_there", [True, False])
@pytest.mark.usefixtures("closed")
def test_python_s_stdout_is_made_only_where_there_is_none(monkeypatch: pytest.MonkeyPatch, is_there: bool) -> None:
    before = io.StringIO() if is_there else None
    monkeypatch.setattr(sys, "stdout", before)
    repair()
    if is_there:
        assert sys.stdout is before
    else:
        assert (sys.stdout.fileno(), sys.stdout.encoding, sys.stdout.mode) == (1, "utf-8", "w")
        assert sys.stdout.buffer.raw.closefd is False  # type: ignore[attr-defined]  # a FileIO's


@pytest.mark.parametrize(
    ("before", "encoding"),
    [
        (SimpleNamespace(encoding="latin-1"), "latin-1"),
        (SimpleNamespace(encoding=None), "utf-8"),
        (SimpleNamespace(), "utf-8"),
        (None, "utf-8"),
    ],
    ids=["with an encoding", "with none", "without", "closed"],
)
@pytest.mark.usefixtures("closed")
def test_stderr_writes_each_line_at_once_and_what_it_can_not_show_as_escapes(
    monkeypatch: pytest.MonkeyPatch, before: object, encoding: str
) -> None:
    monkeypatch.setattr(sys, "stderr", before)
    repair()
    made = sys.stderr
    assert isinstance(made, io.TextIOWrapper)
    assert (made.encoding, made.errors, made.line_buffering) == (encoding, "backslashreplace", True)
    raw = made.buffer
    assert isinstance(raw, _NeverFailing)
    assert (raw.fileno(), raw.mode, raw.closefd) == (2, "wb", False)


def test_what_the_system_refuses_is_dropped_and_counted_as_written(tmp_path: Path) -> None:
    with _NeverFailing(tmp_path / "good", "w") as good:
        assert good.write(b"text") == 4
    assert (tmp_path / "good").read_bytes() == b"text"
    number = os.open(tmp_path / "good", os.O_RDONLY)
    with _NeverFailing(number, "w") as bad:
        assert bad.write(b"lost") == 4
        assert bad.write(memoryview(b"more lost")) == 9
    assert (tmp_path / "good").read_bytes() == b"text"
