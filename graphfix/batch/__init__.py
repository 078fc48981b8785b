"""Process many models, each in its own process, so that a crash ends only one model.

Results that exist already are not made again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from graphfix.batch.python_function import batch_files

__all__ = ["batch_files"]


def __getattr__(name: str) -> object:
    """Import `batch_files` when it is first used. A worker of a cluster does not need it."""
    if name not in __all__:
        raise AttributeError(f"module 'graphfix.batch' has no attribute {name!r}")
    from graphfix.batch import python_function

    return python_function.batch_files
