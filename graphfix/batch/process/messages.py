"""What the process that does models is asked."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from graphfix.batch.jobs.job import Command
from graphfix.engine.request import Request


@dataclass(frozen=True, slots=True)
class Locations:
    """Ask for the locations of an ONNX model's data files, relative to its folder; other files have no locations."""

    model: Path
    data_root: tuple[Path, ...] = ()
    """Folders besides the model's own in which its data files may lie."""


@dataclass(frozen=True, slots=True)
class LocalJob:
    """Ask for one model to be done, from a file here to a file here."""

    command: Command
    source: Path
    output: Path
    """Unused by `check`."""
    request: Request
    folder: Path
    """The working folder: paths in the request may be relative to it."""
    scratch: Path
    """The folder for temporary files, which the runtimes use, too."""
