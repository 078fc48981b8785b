"""All models that are exported."""

from __future__ import annotations

import importlib

from models.exporting.from_pytorch.case import Case

_MODULES = (
    "text decoders seq2seq vision_transformers convolutions segmentation detection audio sequences heads control"
).split()

CASES: tuple[Case, ...] = tuple(
    case for name in _MODULES for case in importlib.import_module(f"models.exporting.from_pytorch.{name}").CASES
)
