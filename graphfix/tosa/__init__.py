"""Fix a model for TOSA, convert it, validate it and run it: one room, which could be taken out."""

from graphfix.tosa.command import tosa_file

__all__ = ["tosa_file"]
