"""TFLite files: read without their weights, edited in place, and written as a new block in front of the old file."""

from __future__ import annotations

from typing import Final

IDENTIFIER: Final = b"TFL3"
"""The file identifier of version 3 of the TFLite schema."""
IDENTIFIER_AT: Final = slice(4, 8)
"""The position of the identifier in a file: bytes 4 to 7, behind the offset of the root table."""
