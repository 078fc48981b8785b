"""Checkouts of graphfix that a script compares: the option `--tree`, and Python with a checkout's packages."""

from __future__ import annotations

import os
import subprocess
import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent


def add_option(parser: ArgumentParser) -> None:
    """Add the option `--tree` to the parser."""
    parser.add_argument("--tree", action="append", metavar="LABEL=FOLDER", help="a checkout to measure; this one")


def chosen(given: Sequence[str] | None) -> dict[str, Path]:
    """Return the folder of each `--tree LABEL=FOLDER` by its label.

    Without the option, return this checkout with the label `here`.
    """
    pairs = [each.split("=", 1) for each in given or [f"here={HERE}"]]
    return {label: Path(folder).resolve() for label, folder in pairs}


def python(
    tree: Path, arguments: Sequence[object], text: str = "", **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run Python in scripts/ with the packages of the checkout `tree`, and return the process with its output.

    `text` is its input, and `variables` are further environment variables.
    """
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        input=text,
        env=os.environ | {"PYTHONPATH": str(tree)} | variables,
        cwd=HERE / "scripts",
        text=True,
        capture_output=True,
        check=False,
    )
