"""The messages to the child process of a batch."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from graphfix.batch.jobs.job import Command
from graphfix.engine.request import Request


@dataclass(frozen=True, slots=True)
class Locations:
    """Request the locations of an ONNX model's data files, relative to its folder; other files have none."""

    model: Path
    data_root: tuple[Path, ...] = ()
    """Further folders in which data files may lie, besides the model's own folder."""


@dataclass(frozen=True, slots=True)
class LocalJob:
    """Request the work on one model, from a local file to a local file."""

    command: Command
    source: Path
    output: Path
    """Unused by `check`."""
    request: Request
    folder: Path
    """The working directory: paths in the request may be relative to it."""
    scratch: Path
    """The folder for temporary files, also those of the runtimes."""
