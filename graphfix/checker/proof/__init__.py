"""The proof: two models are read into one table of terms, and are equal for all inputs where the terms are."""

from graphfix.checker.proof.core.result import ABOUT_SIZE_0, STORED_SHAPES, Proof, UnprovedError
from graphfix.checker.proof.proving import maps, prove

__all__ = ["ABOUT_SIZE_0", "STORED_SHAPES", "Proof", "UnprovedError", "maps", "prove"]
