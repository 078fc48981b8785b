"""Arm's converter from TFLite to TOSA, in a process of its own: some models end the one that it is in."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

PACKAGE = "tosa_converter_for_tflite"
CONVERT = f"import sys; from {PACKAGE} import tflite_flatbuffer_to_tosa_mlir as convert; convert(*sys.argv[1:])"
PATIENCE = 300
"""Seconds after which it counts as hung."""


@dataclass(frozen=True)
class Converted:
    """What became of a model; `why` is empty where it was accepted."""

    why: str

    @property
    def accepted(self) -> bool:
        return not self.why


def convert(model: Path, output: Path) -> Converted:
    """Convert a model to MLIR bytecode; fails the test where the converter is not installed."""
    if find_spec(PACKAGE) is None:
        pytest.fail("tosa-converter-for-tflite is not installed: pip install -e '.[dev]' (Linux and Windows, x86-64)")
    done = subprocess.run(
        [sys.executable, "-c", CONVERT, str(model), str(output)],
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
        timeout=PATIENCE,
    )
    if done.returncode:
        return Converted((done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1])
    return Converted("" if output.stat().st_size else "it wrote nothing")
