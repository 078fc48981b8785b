"""The checker's own readers, one a format, for the proof and the runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphfix.results.files.file_kinds import refuse_foreign

if TYPE_CHECKING:
    from pathlib import Path

TFLITE_IDENTIFIER = b"TFL3"
"""Bytes 4 to 8 of a TFLite file."""


def is_tflite(path: Path) -> bool:
    """Return whether a file has TFLite's identifier.

    Raises GraphfixError if the file can't be read, or if its content is known not to be a model.
    """
    refuse_foreign(path)
    with path.open("rb") as file:
        return file.read(8)[4:] == TFLITE_IDENTIFIER
