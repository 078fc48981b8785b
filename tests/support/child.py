"""A module of tests/support as the program of another process."""

from __future__ import annotations

import os
import sys

from tests.support.places import ROOT


def command(module: str, *arguments: str) -> list[str]:
    """Run a module of the tests, by its dotted name."""
    return [sys.executable, "-m", module, *arguments]


def environment() -> dict[str, str]:
    """This process's variables, with the folders from which the tests and the scripts are imported."""
    folders = [str(ROOT), str(ROOT / "scripts"), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, folders))}
