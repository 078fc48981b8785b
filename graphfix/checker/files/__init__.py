"""The checker's own readers of model files, a folder for each format. The proof and the runs use these readers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphfix.results.files.file_kinds import refuse_foreign

if TYPE_CHECKING:
    from pathlib import Path

TFLITE_IDENTIFIER = b"TFL3"
"""The bytes 4 to 7 of every TFLite file."""


def is_tflite(path: Path) -> bool:
    """Return whether a file has the identifier of TFLite in its bytes 4 to 7.

    Raises GraphfixError if the file can't be read, or if its content is recognized as something that is not a model.
    """
    refuse_foreign(path)
    with path.open("rb") as file:
        return file.read(8)[4:] == TFLITE_IDENTIFIER
