"""One batch holds a folder at a time, and what a killed one left is removed; scratch never stays."""

from __future__ import annotations

import errno
import fcntl
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from graphfix.batch.jobs.scratch import locked, scratch
from graphfix.results import GraphfixError

HOLDS = """
from graphfix.batch.jobs.scratch import locked, scratch
with locked({output!r}), scratch({output!r}) as made:
    (made / "half").write_text("half a model")
    print("holds", flush=True)
    input()
"""


def other(output: Path) -> subprocess.Popen[str]:
    """Another process that holds the folder, and has begun."""
    code = textwrap.dedent(HOLDS).format(output=str(output))
    pipe = subprocess.PIPE
    process = subprocess.Popen([sys.executable, "-c", code], stdin=pipe, stdout=pipe, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "holds\n"
    return process


def files(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


def test_a_second_batch_is_refused_while_the_first_works_and_its_scratch_stays(tmp_path: Path) -> None:
    output = tmp_path / "new" / "out"
    with other(output) as first:
        before = files(output)
        assert len([name for name in before if name.endswith("half")]) == 1
        with pytest.raises(GraphfixError, match=f"{output}: another batch writes there; wait"), locked(str(output)):
            pass
        assert files(output) == before
        first.communicate("\n")
    with locked(str(output)):
        assert files(output) == [".graphfix", ".graphfix/.lock"]


def test_what_a_killed_batch_left_is_removed_and_its_lock_is_free(tmp_path: Path) -> None:
    with other(tmp_path) as first:
        first.send_signal(signal.SIGKILL)
        first.wait()
    (tmp_path / "m.onnx").touch()
    assert any(name.endswith("half") for name in files(tmp_path))
    with locked(str(tmp_path)):
        assert files(tmp_path) == [".graphfix", ".graphfix/.lock", "m.onnx"]


def test_scratch_of_a_lost_worker_goes_at_the_end(tmp_path: Path) -> None:
    with locked(tmp_path.as_uri()):
        (tmp_path / ".graphfix" / ".scratch" / "lost").mkdir(parents=True)
    assert files(tmp_path) == [".graphfix", ".graphfix/.lock"]


@pytest.mark.parametrize("output", ["", "memory://store/out"])
def test_scratch_is_removed_however_the_work_ends(tmp_path: Path, output: str) -> None:
    output = output or str(tmp_path)

    found: list[Path] = []

    def fail() -> None:
        with scratch(output) as made:
            found.append(made)
            (made / "sub").mkdir()
            (made / "sub" / "half").touch()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert not found[0].exists()
    with scratch(output) as one, scratch(output) as two:
        assert one != two
        assert one.is_relative_to(tmp_path) is (output == str(tmp_path))


def test_a_folder_that_can_not_be_locked_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    with pytest.raises(GraphfixError, match=r"can't be locked: no locks available; choose"), locked(str(tmp_path)):
        pass


def test_a_folder_that_can_not_be_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for output in ("file", "file/below", "a\0b"):
        hold = locked(str(tmp_path / output))
        with pytest.raises(GraphfixError, match=r"no folder for results: .*; choose another one"), hold:
            pass
    with locked("memory://nothing"):
        pass
