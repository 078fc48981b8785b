"""Small changes of a TFLite model, each a named kind, by LiteRT's object API."""

from __future__ import annotations

from collections.abc import Mapping

from tests.support.pairs import tflite_codes, tflite_model, tflite_operands, tflite_tensors
from tests.support.pairs.tflite_fields import Change

CHANGES: Mapping[str, Change] = {
    **tflite_operands.CHANGES,
    **tflite_codes.CHANGES,
    **tflite_tensors.CHANGES,
    **tflite_model.CHANGES,
}
"""By name: each yields whenever the model stands changed, and puts it back behind that."""
