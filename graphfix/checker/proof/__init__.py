"""The proof: two models are read into one table of terms, and are equal for all inputs where the terms are."""

from graphfix.checker.proof.proving import maps, prove
from graphfix.checker.proof.result import ABOUT_SIZE_0, STORED_SHAPES, Proof, UnprovedError

__all__ = ["ABOUT_SIZE_0", "STORED_SHAPES", "Proof", "UnprovedError", "maps", "prove"]
