"""The list of what other systems lack: each use in graphfix has a guard, and a use without a guard is found."""

from __future__ import annotations

from pathlib import Path

import linux_assumptions
import pytest


@pytest.mark.ci
def test_each_use_in_graphfix_has_a_guard(capsys: pytest.CaptureFixture[str]) -> None:
    status = linux_assumptions.main()
    printed = capsys.readouterr().out
    assert status == 0, printed
    assert "os.fork (not on Windows): graphfix/batch/jobs/scratch.py: locked" in printed
    assert ", 0 without a guard\n" in printed


def test_typeshed_says_what_a_system_lacks() -> None:
    lacking = linux_assumptions.lacking
    assert lacking("os")["fork"] == ("Windows",)
    assert lacking("os")["sched_getaffinity"] == ("macOS", "Windows")
    assert lacking("signal")["SIGALRM"] == ("Windows",)
    assert lacking("fcntl")[""] == ("Windows",)
    assert not {"open", "getpid", "path", ""} & set(lacking("os"))
    assert lacking("no_such_module") == {}


def guards(folder: Path, text: str) -> list[str]:
    """Return the guard of each use in a text."""
    path = folder / "planted.py"
    path.write_text(text, encoding="utf-8")
    return [use.guard for use in linux_assumptions.uses(path, folder)]


@pytest.mark.parametrize(
    "text",
    [
        "import os\nos.fork()",
        "import os as system\nsystem.fork()",
        "from os import fork",
        "import fcntl",
        "import signal\nsignal.setitimer(signal.ITIMER_REAL, 1)",
        "import mmap\ndef f(data):\n    data.madvise(1)",
        "import psutil\nprocess.rlimit(1)",
        "import select\nselect.select([1], [], [])",
        "import os\nos.kill(1, 2)",
        "import os\nos.open(path, os.O_RDONLY)",
        "import subprocess\nsubprocess.Popen([], start_new_session=True)",
        "text = open('/proc/self/status').read()",
        "folder = '/dev/shm'",
        # conditions and handlers that do not guard the use
        "import os\nif hasattr(os, 'getpid'):\n    os.fork()",
        "import os, select\nif hasattr(select, 'poll'):\n    os.fork()",
        "import os\nif hasattr(os, 'fork'):\n    os.sched_getaffinity(0)",
        "import os\nif not hasattr(os, 'fork'):\n    os.fork()",
        "import os\nif hasattr(os, 'fork'):\n    pass\nelse:\n    os.fork()",
        "import os\nhasattr(os, 'fork') or os.fork()",
        "import os\nos.fork() if verbose or hasattr(os, 'fork') else 0",
        "import os\ndef f():\n    if not hasattr(os, 'fork'):\n        print()\n    os.fork()",
        "import os\ntry:\n    os.fork()\nexcept OSError:\n    pass",
        "try:\n    pass\nexcept OSError:\n    open('/proc/self/status')",
    ],
)
def test_a_planted_use_without_a_guard_is_found(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "" in guards(tmp_path, text)
    assert linux_assumptions.main([""], tmp_path) == 1
    assert "NO GUARD" in capsys.readouterr().out


@pytest.mark.parametrize(
    "text",
    [
        "import os\nif hasattr(os, 'fork'):\n    os.fork()",
        "import os\nif verbose and hasattr(os, 'fork'):\n    os.fork()",
        "import os\nif hasattr(os, 'fork'):\n    os.getsid(0)",
        "import os\nif not hasattr(os, 'fork'):\n    pass\nelse:\n    os.fork()",
        "import os\nnumber = os.fork() if hasattr(os, 'fork') else 0",
        "import os\nnot hasattr(os, 'fork') or os.fork()",
        "import os\nhasattr(os, 'fork') and os.fork()",
        "import os\ndef f():\n    if not hasattr(os, 'fork'):\n        return\n    os.fork()",
        "import os\ndef f():\n    if verbose or not hasattr(os, 'fork'):\n        raise ValueError\n    os.fork()",
        "import os\ntry:\n    os.fork()\nexcept AttributeError:\n    pass",
        "try:\n    import fcntl\nexcept ImportError:\n    fcntl = None",
        "try:\n    text = open('/proc/self/status').read()\nexcept OSError:\n    text = ''",
    ],
)
def test_a_guard_is_recognized(text: str, tmp_path: Path) -> None:
    found = guards(tmp_path, text)
    assert found
    assert "" not in found


def test_other_calls_texts_and_docstrings_are_not_uses(tmp_path: Path) -> None:
    calls = "import os\nos.getpid()\nfork()\nobject.fork()\nos.open(p, os.O_RDONLY | BINARY)\n"
    assert guards(tmp_path, f"'/proc is not read here.'\n{calls}text = 'see /proc'\n") == []


@pytest.mark.parametrize("body", ["pass", "raise GraphfixError('no')", "if not hasattr(os, 'fork'):\n        return"])
def test_a_guard_elsewhere_must_refuse(body: str, tmp_path: Path) -> None:
    path = tmp_path / "scratch.py"
    path.write_text(f"def held():\n    {body}\n", encoding="utf-8")
    assert not linux_assumptions._refuses(path, "held")
    path.write_text(
        "def held():\n    if not hasattr(os, 'fork'):\n        raise GraphfixError('no')\n", encoding="utf-8"
    )
    assert linux_assumptions._refuses(path, "held")


def test_rows_of_the_script_that_fit_no_use_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert linux_assumptions.main(root=tmp_path) == 1
    lines = capsys.readouterr().out.splitlines()
    assert "a row of this script: graphfix/batch/process/worker.py: os.fork is not used" in lines
    assert len(lines) == len(linux_assumptions.ELSEWHERE) + len(linux_assumptions.HARMLESS) + 1
