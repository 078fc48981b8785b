"""What the process that does models is asked."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from graphfix.batch.job import Command
from graphfix.engine.request import Request


@dataclass(frozen=True, slots=True)
class Locations:
    """Ask which files of external data a model names, relative to its folder: none where it is no ONNX model."""

    model: Path


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
