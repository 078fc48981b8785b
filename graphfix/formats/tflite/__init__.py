"""TFLite files: read without their weights, edited in place, written as a new block in front of the old file."""

from __future__ import annotations

from typing import Final

IDENTIFIER: Final = b"TFL3"
"""The identifier of the schema's version 3."""
IDENTIFIER_AT: Final = slice(4, 8)
"""Behind the offset of the root table."""
