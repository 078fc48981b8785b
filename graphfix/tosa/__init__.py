"""The command `graphfix tosa`: fix a model for TOSA, convert it, validate it and run it.

The package depends on the others, and only the command line depends on it, so it could be removed.
"""

from graphfix.tosa.command import tosa_file

__all__ = ["tosa_file"]
