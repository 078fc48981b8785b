"""The proof: read two models into one table of terms, and compare the terms of their outputs.

If the terms of every output are equal, the two models compute the same for all inputs.
"""

from graphfix.checker.proof.core.result import ABOUT_SIZE_0, STORED_SHAPES, Proof, UnprovedError
from graphfix.checker.proof.proving import maps, prove

__all__ = ["ABOUT_SIZE_0", "STORED_SHAPES", "Proof", "UnprovedError", "maps", "prove"]
