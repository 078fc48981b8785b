"""What ai-edge-quantizer makes of a TFLite file: dynamic, weights only, static in 8 and 16 bits, weights in 4 bits."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from ai_edge_quantizer import qtyping, quantizer, recipe, recipe_manager

from models.exporting.from_keras.model import Export
from models.exporting.silence import quiet

_EVERY = qtyping.TFLOperationName.ALL_SUPPORTED


def _blocks(size: int) -> Any:  # noqa: ANN401 - a recipe is a list that JSON can hold
    """Return the recipe of 4-bit weights that share a scale in blocks of so many."""
    manager = recipe_manager.RecipeManager()
    granularity = qtyping.QuantGranularity[f"BLOCKWISE_{size}"]
    manager.add_weight_only_config(".*", _EVERY, num_bits=4, granularity=granularity)
    return manager.get_quantization_recipe()


def _whole_tensors() -> Any:  # noqa: ANN401 - a recipe is a list that JSON can hold
    """Return the static recipe in 8 bits whose weights have one scale a tensor."""
    manager = recipe_manager.RecipeManager()
    granularity = qtyping.QuantGranularity.TENSORWISE
    manager.add_static_config(".*", _EVERY, activation_num_bits=8, weight_num_bits=8, weight_granularity=granularity)
    return manager.get_quantization_recipe()


RECIPES: dict[str, Callable[[], Any]] = {
    "dynamic8": recipe.dynamic_wi8_afp32,
    "dynamic4": recipe.dynamic_wi4_afp32,
    "weights8": recipe.weight_only_wi8_afp32,
    "weights4": recipe.weight_only_wi4_afp32,
    "blocks32": lambda: _blocks(32),
    "static8": recipe.static_wi8_ai8,
    "static8_tensor": _whole_tensors,
    "static16x8": recipe.static_wi8_ai16,
}


def quantize(path: Path, export: Export, name: str) -> bytes:
    """Return the file of a recipe; activations are measured on the samples that the export gives.

    Raises what the quantizer raises.
    """
    with quiet():
        made = quantizer.Quantizer(path.read_bytes(), RECIPES[name]())
        measured = None
        if made.need_calibration:
            samples = {signature: export.samples(signature) for signature in export.model.signatures}
            measured = made.calibrate(samples, num_threads=1)
        found = made.quantize(measured, enable_progress_bar=False, enable_progress_report=False).quantized_model
    if found is None:
        raise ValueError(f"{path.name}: the quantizer returned no model")
    return bytes(found)
