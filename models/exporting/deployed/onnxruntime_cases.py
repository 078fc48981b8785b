"""Which files of models/exported go through which of onnxruntime's tools. Needs none of these tools."""

from __future__ import annotations

OPTIMIZED = {
    "extended": (
        "albert_legacy bahdanau_dynamo bart_decoder_past_dynamo bert_dynamo bert_pair_dynamo_opset23 bifpn_dynamo"
        " bloom_alibi_dynamo contrastive_dynamo convnext_v2_legacy deberta_dynamo deeplab_legacy"
        " detr_dynamo diffusion_dynamo efficientnet_bytes_legacy experts_legacy gpt2_past_dynamo gpt_neox_dynamo"
        " llama_sdpa_past_legacy mamba_dynamo maxvit_dynamo mobilenet_v3_dynamo opt_legacy pcen_dynamo"
        " prototypes_cdist_legacy qwen3_past_dynamo senet_legacy swin_dynamo t5_encoder_dynamo unet_cropped_dynamo"
        " vit_dynamo whisper_decoder_past_dynamo"
    ),
    "all": (
        "conformer_dynamo deeplab_dynamo denoiser_dynamo efficientnet_bytes_dynamo fcos_legacy fpn_dynamo"
        " mobilenet_v3_legacy super_resolution_legacy unet_cropped_legacy yolo_free_legacy"
    ),
    "fused_bert": "albert_legacy bert_dynamo bert_pair_legacy deberta_dynamo distilbert_legacy roberta_dynamo",
    "fused_bart": "bart_dynamo whisper_decoder_past_dynamo whisper_encoder_legacy",
    "fused_clip": "clip_dynamo",
    "fused_conformer": "conformer_dynamo",
    "fused_gpt2": "gpt2_legacy gpt2_past_dynamo",
    "fused_gpt_neox": "gpt_neox_dynamo",
    "fused_mmdit": "clip_dynamo",
    "fused_qwen3": "llama_sdpa_past_dynamo qwen3_past_dynamo",
    "fused_swin": "swin_dynamo",
    "fused_t5": "roberta_dynamo t5_decoder_past_dynamo t5_encoder_dynamo",
    "fused_unet": "diffusion_dynamo unet_dynamo",
    "fused_vit": "vit_dynamo",
    "fused_half": "bert_dynamo gpt2_past_dynamo t5_encoder_dynamo vit_legacy",
    "half": "convnext_v2_dynamo distilbert_dynamo film_legacy qwen2_past_dynamo resnet_legacy unet_cropped_dynamo",
    "half_inside": "fpn_dynamo mpnet_dynamo yolo_free_dynamo",
    "half_extended": "conformer_dynamo convnext_v2_legacy whisper_encoder_dynamo",
}
"""By recipe, in models/deployed/optimized."""

QUANTIZED = {
    "dynamic": "bahdanau_legacy_opset16 distilbert_dynamo experts_dynamo gpt2_past_dynamo t5_encoder_dynamo",
    "dynamic_channel": "deberta_dynamo llama_sdpa_past_dynamo whisper_encoder_dynamo",
    "dynamic_uint8": "mobilenet_v3_dynamo qwen3_past_dynamo roberta_dynamo",
    "extended_dynamic": "conformer_dynamo distilbert_dynamo gpt2_past_dynamo",
    "dynamic_extended": "bert_dynamo qwen2_past_dynamo vit_dynamo",
    "qdq": "deeplab_legacy distilbert_dynamo film_legacy resnet_legacy yolo_free_dynamo",
    "qdq_channel": "convnext_v2_legacy distilbert_dynamo mobilenet_v3_dynamo resnet_se_dynamo tabular_dynamo",
    "qdq_symmetric": "resnet_legacy unet_cropped_dynamo vit_dynamo",
    "qdq_prepared": "fpn_dynamo mobilenet_v3_dynamo unet_cropped_dynamo",
    "qdq_16": "convnext_v2_legacy fpn_dynamo whisper_encoder_dynamo",
    "qdq_int4": "resnet_legacy roberta_dynamo",
    "qdq_extended": "distilbert_dynamo fpn_dynamo resnet_legacy",
    "qdq_channel_extended": "mobilenet_v3_dynamo vit_dynamo",
    "qoperator": "bert_dynamo deeplab_legacy film_legacy mobilenet_v3_dynamo resnet_se_dynamo tabular_dynamo",
    "qoperator_int8": "convnext_v2_legacy distilbert_dynamo",
    "qoperator_channel": "resnet_legacy vit_dynamo whisper_encoder_dynamo yolo_free_dynamo",
    "qoperator_prepared": "fpn_dynamo unet_cropped_dynamo",
    "blocks16": "bert_dynamo gpt2_past_dynamo llama_sdpa_past_dynamo",
    "blocks16_asymmetric": "conformer_dynamo qwen3_past_dynamo",
    "blocks32": "distilbert_dynamo whisper_decoder_past_dynamo",
    "blocks32_asymmetric": "qwen2_past_dynamo t5_encoder_dynamo",
    "blocks64": "vit_dynamo",
    "blocks128_asymmetric": "gpt_neox_dynamo",
    "blocks_qdq": "distilbert_dynamo llama_sdpa_past_dynamo qwen3_past_dynamo",
    "blocks_qdq_asymmetric": "gpt2_past_dynamo roberta_dynamo",
    "blocks_qdq_extended": "bert_dynamo mpnet_dynamo",
    "blocks_embedding": "bert_dynamo gpt2_past_dynamo t5_decoder_past_dynamo",
    "blocks8": "mistral_window_dynamo roberta_dynamo",
    "blocks2": "distilbert_dynamo",
    "hqq": "gpt2_past_dynamo qwen2_past_dynamo",
    "nf4": "distilbert_dynamo qwen3_past_dynamo",
    "fp4": "roberta_dynamo",
    "extended_blocks32": "bert_pair_dynamo_opset23 llama_sdpa_past_dynamo",
}
"""By recipe, in models/deployed/quantized."""


def pairs(table: dict[str, str]) -> dict[str, tuple[str, str]]:
    """Return the file of models/exported and the recipe of each file that a table names."""
    every = ((stem, recipe) for recipe, stems in table.items() for stem in stems.split())
    return {f"{stem}_{recipe}": (stem, recipe) for stem, recipe in every}
