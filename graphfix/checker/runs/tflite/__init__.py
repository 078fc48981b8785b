"""The TFLite side of the runs: LiteRT runs both models on each of its kernel sets."""

LARGEST_COPY = 1 << 30
"""Bytes of the largest file that is copied, or read into objects and cut, to find something out."""
