"""What falls short on models/exported, by file and target (tests/whole/test_exported.py: the tables are exact)."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import metadata

from graphfix.results.runtime_facts import SIZE_0_KEEPS_AXES

NOT_PROVED: Mapping[tuple[str, str], str] = {}
"""And why."""

LEFT: Mapping[tuple[str, str], int] = {
    ("gpt2_free_dynamic.tflite", "explicit"): 1,
    ("swin_free_legacy.onnx", "ranks"): 6,
}
"""How many nodes have a site that is left."""

NOT_EQUAL_BY_RUNS: Mapping[tuple[str, str], str] = (
    {
        ("prototypes_cdist_legacy.onnx", "explicit"): (
            "at batch 0 onnxruntime's ReduceSum along axis -1 returns its operand, of a rank more than declared, "
            "and refuses a Shape node behind it"
        ),
    }
    if SIZE_0_KEEPS_AXES.holds(metadata.version("onnxruntime"))
    else {}
)
"""What the runs do not find equal, and why."""

NEVER_STRETCHED: Mapping[str, int] = {
    "bert_free.tflite": 2,
    "bert_free_dynamic.tflite": 2,
    "bert_free_fp16.tflite": 2,
    "bert_pooled_free.tflite": 2,
    "bifpn_dynamo.onnx": 2,
    "bloom_free.tflite": 2,
    "cache_concat_free.tflite": 3,
    "clip_batch.tflite": 2,
    "conformer_dynamo.onnx": 4,
    "conformer_legacy.onnx": 3,
    "detr_legacy.onnx": 3,
    "fcos_legacy.onnx": 2,
    "fpn_dynamo.onnx": 2,
    "gemma_batch.tflite": 4,
    "gpt2_free.tflite": 2,
    "gpt2_free_dynamic.tflite": 2,
    "gpt2_past_free.tflite": 3,
    "gptj_batch.tflite": 3,
    "hub_bart_free.tflite": 3,
    "lstm_cell_free.tflite": 2,
    "lstm_cell_free_dynamic.tflite": 2,
    "maxvit_dynamo.onnx": 2,
    "maxvit_legacy.onnx": 2,
    "mobilebert_free.tflite": 3,
    "ragged_free.tflite": 1,
    "roberta_free.tflite": 2,
    "senet_dynamo.onnx": 6,
    "state_space_batch.tflite": 2,
    "state_space_free.tflite": 2,
    "swin_free_dynamo.onnx": 1,
    "t5_batch.tflite": 4,
    "unet_cropped_dynamo.onnx": 2,
    "unet_cropped_legacy.onnx": 2,
    "wavenet_dynamo.onnx": 4,
    "wavenet_legacy.onnx": 4,
}
"""By file, target explicit: nodes that are stretched at run time, and that no size stretches of those that the test
tries: what the model is used at, and each free size at 1."""
