"""Runs of TFLite models: LiteRT runs both models on each of its kernel sets."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_LARGEST_COPY = 1 << 30
"""The largest file, in bytes, that is copied, or read into objects to cut it."""


def too_large(path: Path) -> bool:
    """Return whether a file is too large to be copied or read into objects."""
    return path.stat().st_size > _LARGEST_COPY
