"""The parts of models/README.md on models/exported and models/deployed: how those files are made, of which kinds."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Kind:
    """A kind of model, and architectures of it in each format: a file's name is one of them, `_` and its variant."""

    name: str
    onnx: tuple[str, ...]
    tflite: tuple[str, ...]


def _kind(name: str, onnx: str, tflite: str) -> Kind:
    return Kind(name, tuple(onnx.split()), tuple(tflite.split()))


EXPORTED_KINDS = (
    _kind("attention with masks", "bert roberta bart", "masked_softmax causal_range cross keras_encoder"),
    _kind("rotary embedding", "llama_past qwen2_past gpt_neox", "llama gpt_neox roformer gptj"),
    _kind(
        "cache of keys and values", "gpt2_past llama_past whisper_decoder_past", "gpt2_past cache_concat cache_update"
    ),
    _kind("relative positions", "t5 mpnet bloom_alibi", "t5 bucket_bias xlnet alibi"),
    _kind("windows", "swin swin_free maxvit mistral_window", "swin swin_block maxvit"),
    _kind("BERT", "bert bert_pair distilbert albert", "bert bert_pooled albert mobilebert"),
    _kind("GPT-2", "gpt2 gpt2_past", "gpt2 gpt2_past"),
    _kind("Llama", "llama_past llama_sdpa_past", "llama"),
    _kind("T5", "t5 t5_encoder t5_decoder_past", "t5"),
    _kind("Whisper", "whisper_encoder whisper_decoder_past", "whisper whisper_sound"),
    _kind("DeBERTa", "deberta", "deberta"),
    _kind("CLIP", "clip", "clip"),
    _kind("state space (Mamba)", "mamba selective_scan s4d", "state_space linear_scan"),
    _kind(
        "convolutional residuals, free height and width",
        "resnet resnet_se convnext_v2 mobilenet_v3",
        "resnet regnet convnext mobilenet_v2",
    ),
    _kind("detection heads", "yolo_free yolo_anchors fcos detr", "yolo ssd_decode nms iou"),
    _kind("U-Net", "unet unet_cropped unet_transposed", "unet"),
    _kind("group norm", "diffusion diffusion_written", "group_norm group_norm_time"),
    _kind("FiLM", "film", "film"),
    _kind("einsum", "tabular graph_attention selective_scan", "einsum_attention"),
    _kind("spectrograms", "spectrogram pcen", "keyword_spotting whisper_sound"),
    _kind(
        "control flow",
        "scripted_loop scripted_branch scripted_search cond_branch early_exit",
        "branch case greedy newton scan",
    ),
    _kind("several signatures", "", "encode_decode codec counter trainer"),
)
"""ONNX has no signatures."""

_INTRODUCTION = """\
## Exported models

`exported/` holds 160 ONNX and 161 TFLite files as users write models and convert them: with both exporters of PyTorch
(`legacy` by tracing, `dynamo` by torch.export; operator sets 11 to 23) and with TensorFlow's converter (Keras, tf
functions, saved models; floats to int16x8). They are written by

```sh
python -m models.exporting.export_onnx          # torch, transformers, onnxscript; the script names versions
python -m models.exporting.export_tflite        # tensorflow, tf-keras, transformers, keras-hub
python -m models.exporting.export_onnx --run    # runs what is committed, and needs no PyTorch
python -m models.exporting.export_onnx --check  # exports and compares; export_tflite has both options too
python scripts/sizes_table.py                   # what sizes that are not known cost on them (docs/sizes.md)
```

in an environment for each that has graphfix's dependencies too: graphfix needs neither PyTorch nor TensorFlow, and the
tests ask for the committed files alone. `sizes.json` says what each ONNX file is fed, and at which sizes. No weights
are downloaded: the models are built from configurations of a layer or two, and their weights are a short pattern that
repeats. Where an architecture is not written in models/exporting it is that of transformers, Keras or KerasHub (all
Apache-2.0).
A name is that of the architecture, then of the exporter (`_dynamo`, `_legacy`, with the operator set where there are
several) or of what is free and how numbers are stored (`_free`, `_batch`, `_fixed`; `_int8` ..).

| kind | ONNX | TFLite |
| --- | --- | --- |
"""


_DEPLOYED = """
## Deployed models

`deployed/` holds 209 ONNX and 108 TFLite files as users deploy them: what optimizers, quantizers and builders make of
exports.

- `optimized`, from `exported/`: onnxruntime's optimizing sessions (`_extended`, `_all`), its optimizer of
  transformers by type of model (`_fused_TYPE`, `_fused_half`) and its conversion to float16 (`_half`,
  `_half_inside`)
- `quantized`, from `exported/`: onnxruntime's quantizers, dynamic, static in QDQ and QOperator form, weights in
  blocks of 2, 4 and 8 bits, HQQ, NF4 and FP4
- `decoders`: the model builder of onnxruntime-genai, from small models of 14 families; some are `model.onnx` and
  `model.onnx.data` in a folder
- `litert_torch`: litert-torch, from modules of PyTorch (models/exporting/through_litert_torch)
- `litert_quantized`: ai-edge-quantizer, from `litert_torch/` and `exported/`

```sh
python -m models.exporting.optimize_onnx   # optimized, quantized; versions are named in the scripts
python -m models.exporting.build_decoders  # decoders
python -m models.exporting.export_litert   # litert_torch, litert_quantized
```

Each has the options `--check` and `--run`, too; `sizes.json` of a folder says what its ONNX files are fed, and at
which sizes. A name is that of the model, then of the recipe: `EXPORTED_RECIPE`, `FAMILY_SPECIAL` for decoders. Some
files are as odd as the tools make them: conversion to float16 leaves nodes that are not sorted, and static
quantization leaves stale types. Files of recipe `all` hold convolutions whose channels are stored in blocks of 16,
which onnxruntime reads right on a CPU with AVX-512. `gemma2_windowed` and `qwen3_norms_inside` load, and
onnxruntime's CPU kernel refuses to run them.
"""


def section() -> str:
    """Return both sections in markdown."""
    rows = (f"| {kind.name} | {_named(kind.onnx)} | {_named(kind.tflite)} |\n" for kind in EXPORTED_KINDS)
    return _INTRODUCTION + "".join(rows) + _DEPLOYED


def _named(names: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names) or "none"
