"""Every exported TFLite file by its name, in the order in which they are written."""

from __future__ import annotations

import importlib

from models.exporting.from_keras.model import Export

MODULES = ("transformers hub senses attention decoders images vision detection blocks tables sequences control").split()
"""Where the models are: exporting/tflite_NAME.py has MODELS."""

EXPORTS = {
    made.name: made
    for name in MODULES
    for model in importlib.import_module(f"models.exporting.from_keras.{name}").MODELS
    for made in (Export(model, variant) for variant in model.variants)
}
