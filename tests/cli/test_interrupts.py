"""Ctrl-C and `kill`, at any time: no file is left, no process, no traceback, and the status says what happened."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.asking import listing
from tests.support.notation import model
from tests.support.places import ROOT

PHASES = ("reading the model", "planning", "writing the result", "proving", "running the first model")
"""What -v says when a phase begins, in order; before the last one ends, every one of them is over."""
NODES = 400
SOON = 20
"""Seconds after which a process counts as hung."""


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model whose runs take long: many products, and free sizes."""
    lines = [f"v{at + 1}[N,256] = MatMul(v{at}, w:const[256,256])" for at in range(NODES)]
    lines[0] = "v1[N,256] = Add(v0[N,256], b:const[256])"
    path = tmp_path_factory.mktemp("slow") / "slow.onnx"
    path.write_bytes(model("\n".join(lines)).SerializeToString())
    return path


def children(pid: int) -> list[int]:
    """The processes that a process has started."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return [int(child) for task in tasks for child in (task / "children").read_text().split()]


def is_there(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="no /proc to find child processes in")
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("phase", PHASES)
def test_a_stopped_fix_leaves_nothing(tmp_path: Path, slow: Path, phase: str, number: int, status: int) -> None:
    scratch, folder = tmp_path / "scratch", tmp_path / "out"
    scratch.mkdir()
    folder.mkdir()
    command = [sys.executable, "-m", "graphfix", "fix", str(slow), "-o", str(folder / "f.onnx"), "-v", "--runs", "5000"]
    environment = {**os.environ, "TMPDIR": str(scratch), "PYTHONPATH": os.pathsep.join(map(str, (ROOT, *sys.path)))}
    begun = time.monotonic()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment) as asked:
        assert asked.stderr is not None
        said = []
        for line in asked.stderr:
            said.append(line)
            if line.rstrip().endswith(phase):
                break
        if phase == PHASES[-1]:
            while not children(asked.pid) and time.monotonic() < begun + SOON:
                time.sleep(0.01)
            time.sleep(0.3)
        started = children(asked.pid)
        assert bool(started) >= (phase == PHASES[-1])
        asked.send_signal(number)
        out, rest = asked.communicate(timeout=SOON)
    assert (asked.returncode, out) == (status, "")
    assert "Traceback" not in "".join(said) + rest
    assert listing(folder) == {}
    assert listing(scratch) == {}
    while any(map(is_there, started)) and time.monotonic() < begun + SOON:
        time.sleep(0.01)
    assert not any(map(is_there, started))


OWN = '''"""Wait."""

import time

from graphfix.api.rewriting import ANY

ON = ANY
CODE = "MY101"


def plan(node):
    for _ in range(600):  # CPython may see a signal only at the end of the call before which it came
        time.sleep(0.1)
    yield
'''


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_it_stops_in_a_rewrite_of_one_s_own_and_whoever_reads_may_be_gone(
    tmp_path: Path, number: int, status: int
) -> None:
    (tmp_path / "wait.py").write_text(OWN)
    for name, line in (("a", "y[2] = Neg(x[2])"), ("b", "y[2] = Add(x[2], b[2])")):
        (tmp_path / f"{name}.onnx").write_bytes(model(line).SerializeToString())
    (tmp_path / "graphfix.toml").write_text('[[overrides]]\nfiles = ["b.onnx"]\nrewrites = ["wait.py"]\n')
    outer = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    environment = {**outer, "PYTHONPATH": os.pathsep.join(map(str, (ROOT, *sys.path)))}
    read, write = os.pipe()
    command = [sys.executable, "-m", "graphfix", "check", "a.onnx", "b.onnx", "-v"]
    with subprocess.Popen(
        command, stdout=write, stderr=subprocess.PIPE, text=True, env=environment, cwd=tmp_path
    ) as asked:
        os.close(write)
        os.close(read)
        assert asked.stderr is not None
        planning = (line for line in asked.stderr if line.rstrip().endswith("planning"))
        assert all(next(planning, "") for _ in range(2))
        asked.send_signal(number)
        _, rest = asked.communicate(timeout=SOON)
    assert (asked.returncode, rest) == (status, "")
