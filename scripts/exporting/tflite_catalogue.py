"""Every exported TFLite file by its name, in the order in which they are written."""

from __future__ import annotations

import importlib

from exporting.tflite_model import Export

MODULES = ("transformers hub senses attention decoders images vision detection blocks tables sequences control").split()
"""Where the models are: exporting/tflite_NAME.py has MODELS."""

EXPORTS = {
    made.name: made
    for name in MODULES
    for model in importlib.import_module(f"exporting.tflite_{name}").MODELS
    for made in (Export(model, variant) for variant in model.variants)
}
