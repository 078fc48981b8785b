"""The checker's own readers, one a format, for the proof and the runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphfix.results import GraphfixError

if TYPE_CHECKING:
    from pathlib import Path

TFLITE_IDENTIFIER = b"TFL3"
"""Bytes 4 to 8 of a TFLite file."""


def is_tflite(path: Path) -> bool:
    """Whether a file has TFLite's identifier. Raises GraphfixError where it can't be read."""
    try:
        with path.open("rb") as file:
            return file.read(8)[4:] == TFLITE_IDENTIFIER
    except OSError as error:
        raise GraphfixError(
            f"{path}: can't be read: {error.strerror}; give the path of a model that can be read"
        ) from None
