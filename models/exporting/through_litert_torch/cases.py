"""Which TFLite files go through which recipe of ai-edge-quantizer. Needs neither PyTorch nor the quantizer."""

from __future__ import annotations

from pathlib import Path

from models.exporting.from_keras.catalogue import EXPORTS as EXPORTED
from models.exporting.from_keras.model import Export
from models.exporting.through_litert_torch.models import EXPORTS as CONVERTED

MODELS = Path(__file__).resolve().parents[2]
TORCH, QUANTIZED = MODELS / "deployed" / "litert_torch", MODELS / "deployed" / "litert_quantized"

TABLE = {
    "dynamic8": (
        "attention_causal_fixed attention_relative_fixed bert_fixed cache_index_copy_fixed decoder_slice_fixed"
        " mixer_fixed transposed_overlap_fixed swin_shifted_fixed vit_fixed gpt2_free masked_softmax_free"
        " mobilenet_v2_free"
    ),
    "dynamic4": "attention_grouped_fixed decoder_capped_fixed unet_transposed_fixed t5_batch",
    "weights8": "cache_slice_fixed codec_three_fixed style_fixed roberta_free swin_block_free",
    "weights4": "layer_in_front_fixed rotary_fixed unet_time_fixed encode_decode_free",
    "blocks32": "attention_fixed rotary_given_fixed",
    "static8": (
        "attention_filled_mask_fixed attention_fixed bert_fixed convnext_fixed gated_gelu_fixed residual_fixed"
        " swin_fixed unet_bilinear_fixed yolo_fixed mobilenet_v3_free unet_free film_free"
    ),
    "static8_tensor": "layer_in_front_fixed squeezed_fixed unet_nearest_fixed",
    "static16x8": (
        "attention_causal_fixed gated_silu_fixed mixer_fixed rms_norm_fixed squeezed_fixed vit_fixed wave_fixed"
        " tabular_free"
    ),
}
"""By recipe: files that litert-torch writes, and files of models/exported."""


def source(name: str) -> tuple[Path, Export]:
    """Return the file that a name of the table means, and how it is fed."""
    if name in CONVERTED:
        return TORCH / f"{name}.tflite", CONVERTED[name]
    return MODELS / "exported" / f"{name}.tflite", EXPORTED[name]


RECIPES = {f"{name}_{recipe}": (name, recipe) for recipe, names in TABLE.items() for name in names.split()}
"""What is quantized, and how, by the name of the file in models/deployed/litert_quantized."""
