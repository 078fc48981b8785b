"""No telemetry: onnxruntime is imported with it switched off, and no command writes a file below the home folder."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.places import ROOT

MODEL = str(ROOT / "models" / "rfc_rank_expansion.onnx")
SPY = """
import importlib, os, sys
with open(os.environ["SEEN"], "a", encoding="utf-8") as seen:
    print(os.environ.get("ORT_DISABLE_TELEMETRY"), file=seen)
sys.path[:] = [folder for folder in sys.path if folder != os.path.dirname(os.path.dirname(__file__))]
del sys.modules["onnxruntime"]
importlib.import_module("onnxruntime")
"""
"""A module in front of onnxruntime: it notes the variable when it is imported, and makes way for the package."""

pytestmark = pytest.mark.usefixtures("processes")


class Machine:
    """An empty home folder, and the variable as each process had it that imported onnxruntime."""

    def __init__(self, folder: Path) -> None:
        self.home, self.work, self.spy, self._seen = (folder / name for name in ("home", "work", "spy", "seen"))
        (self.spy / "onnxruntime").mkdir(parents=True)
        (self.spy / "onnxruntime" / "__init__.py").write_text(SPY, encoding="utf-8")
        for made in (self.home, self.work):
            made.mkdir()

    def run(self, *arguments: str, **variables: str) -> None:
        """Run Python in the work folder. Raises CalledProcessError."""
        kept = {name: os.environ[name] for name in ("PATH", "PYTHONPYCACHEPREFIX") if name in os.environ}
        own = {"HOME": str(self.home), "SEEN": str(self._seen), "PYTHONPATH": f"{self.spy}{os.pathsep}{ROOT}"}
        subprocess.run([sys.executable, *arguments], cwd=self.work, env={**kept, **own, **variables}, check=True)

    @property
    def seen(self) -> set[str]:
        return set(self._seen.read_text(encoding="utf-8").split()) if self._seen.exists() else set()

    @property
    def written(self) -> list[Path]:
        """What lies below the home folder."""
        return sorted(self.home.rglob("*"))


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.mark.ci
def test_fix_verify_and_check_send_nothing_and_write_nothing_below_home(machine: Machine) -> None:
    machine.run("-m", "graphfix", "fix", MODEL, "-o", "f.onnx")
    machine.run("-m", "graphfix", "verify", MODEL, "f.onnx")
    machine.run("-m", "graphfix", "check", "f.onnx")
    assert machine.seen == {"1"}
    assert machine.written == []


@pytest.mark.ci
def test_the_python_functions_switch_it_off_too(machine: Machine) -> None:
    machine.run("-c", f"import graphfix; graphfix.fix_file({MODEL!r}, 'f.onnx')")
    assert machine.seen == {"1"}
    assert machine.written == []


@pytest.mark.ci
def test_so_do_the_processes_of_a_batch(machine: Machine) -> None:
    machine.run("-m", "graphfix", "batch", MODEL, "-o", "made", "--jobs", "1")
    assert machine.seen == {"1"}
    assert machine.written == []


@pytest.mark.ci
@pytest.mark.tosa
def test_so_does_tosa(machine: Machine) -> None:
    machine.run("-m", "graphfix", "tosa", MODEL, "-o", "f.tosa", "--run")
    assert machine.seen == {"1"}
    assert machine.written == []


@pytest.mark.ci
def test_a_setting_of_the_user_s_own_wins(machine: Machine) -> None:
    machine.run("-m", "graphfix", "fix", MODEL, "-o", "f.onnx", ORT_DISABLE_TELEMETRY="0")
    assert machine.seen == {"0"}
