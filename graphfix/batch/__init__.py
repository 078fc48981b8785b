"""Many models, each apart: what one of them does to its process ends no other, and what was made is not made again."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from graphfix.batch.python_function import batch_files

__all__ = ["batch_files"]


def __getattr__(name: str) -> object:
    """Import the function when it is asked for: a worker does not need it."""
    if name not in __all__:
        raise AttributeError(f"module 'graphfix.batch' has no attribute {name!r}")
    from graphfix.batch import python_function

    return python_function.batch_files
