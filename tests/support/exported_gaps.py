"""What falls short on models/exported, by file and target (tests/whole/test_exported.py: the tables are exact)."""

from __future__ import annotations

from collections.abc import Mapping

NOT_PROVED: Mapping[tuple[str, str], str] = {
    ("bert_fixed_int8.tflite", "explicit"): "another way of computing",
    ("gpt2_free_dynamic.tflite", "explicit"): "another way of computing",
    ("mobilebert_fixed_int8.tflite", "explicit"): "another way of computing",
    ("swin_free_legacy.onnx", "explicit"): "a stretch that the proof can not follow",
}
"""And why."""

LEFT: Mapping[tuple[str, str], int] = {
    ("bilinear_free.tflite", "explicit"): 1,
    ("cache_concat_free.tflite", "explicit"): 2,
    ("cross_free.tflite", "explicit"): 1,
    ("encode_decode_free.tflite", "explicit"): 1,
    ("encode_decode_free_dynamic.tflite", "explicit"): 1,
    ("gpt2_past_free.tflite", "explicit"): 1,
    ("hub_bart_free.tflite", "explicit"): 1,
    ("keras_decoder_batch.tflite", "explicit"): 1,
    ("scripted_loop_legacy_opset11.onnx", "explicit"): 2,
    ("scripted_loop_legacy_opset11.onnx", "ranks"): 8,
    ("scripted_loop_legacy_opset16.onnx", "explicit"): 2,
    ("scripted_loop_legacy_opset16.onnx", "ranks"): 8,
    ("swin_free_legacy.onnx", "ranks"): 6,
}
"""How many nodes have a site that is left."""

NOT_COMPARED: Mapping[tuple[str, str], str] = {
    (f"swin_free_{exporter}.onnx", target): "two runs of the original itself differ"
    for exporter in ("dynamo", "legacy")
    for target in ("explicit", "ranks")
}
"""What the runs can't compare, and why."""

NEVER_STRETCHED: Mapping[str, Mapping[str, int]] = {
    "onnx": {
        "bifpn_dynamo.onnx": 2,
        "conformer_dynamo.onnx": 6,
        "conformer_legacy.onnx": 3,
        "detr_dynamo.onnx": 3,
        "detr_legacy.onnx": 3,
        "fcos_dynamo.onnx": 2,
        "fcos_legacy.onnx": 2,
        "fpn_dynamo.onnx": 2,
        "gpt_neox_dynamo.onnx": 5,
        "linear_attention_dynamo.onnx": 2,
        "linear_attention_legacy.onnx": 2,
        "maxvit_dynamo.onnx": 2,
        "maxvit_legacy.onnx": 2,
        "segformer_dynamo.onnx": 4,
        "senet_dynamo.onnx": 6,
        "swin_free_dynamo.onnx": 1,
        "swin_free_legacy.onnx": 1,
        "unet_cropped_dynamo.onnx": 2,
        "unet_cropped_legacy.onnx": 2,
        "wavenet_dynamo.onnx": 9,
        "wavenet_legacy.onnx": 4,
        "yolo_free_dynamo.onnx": 2,
        "yolo_free_legacy.onnx": 3,
    },
    "tflite": {
        "albert_free.tflite": 2,
        "alibi_free.tflite": 2,
        "audio_gain_free.tflite": 1,
        "bart_batch.tflite": 1,
        "bert_free.tflite": 2,
        "bert_free_dynamic.tflite": 2,
        "bert_free_fp16.tflite": 2,
        "bert_pooled_free.tflite": 2,
        "bloom_free.tflite": 4,
        "cache_concat_free.tflite": 1,
        "clip_batch.tflite": 2,
        "convbert_free.tflite": 2,
        "gemma_batch.tflite": 4,
        "gpt2_free.tflite": 2,
        "gpt2_free_dynamic.tflite": 2,
        "gpt2_past_free.tflite": 3,
        "gpt_neox_free.tflite": 5,
        "gptj_batch.tflite": 3,
        "hub_bart_free.tflite": 2,
        "llama_free.tflite": 6,
        "llama_free_dynamic.tflite": 6,
        "lstm_cell_free.tflite": 2,
        "lstm_cell_free_dynamic.tflite": 2,
        "message_passing_free.tflite": 2,
        "mobilebert_free.tflite": 5,
        "opt_batch.tflite": 1,
        "ragged_free.tflite": 2,
        "roberta_free.tflite": 2,
        "roformer_free.tflite": 6,
        "segformer_free.tflite": 4,
        "speech2text_batch.tflite": 2,
        "state_space_batch.tflite": 2,
        "state_space_free.tflite": 2,
        "t5_batch.tflite": 5,
        "tcn_free.tflite": 2,
        "wavenet_free.tflite": 2,
        "wavenet_free_fp16.tflite": 2,
        "whisper_batch.tflite": 1,
        "whisper_sound_free.tflite": 1,
    },
}
"""By format and file, target explicit: nodes that are stretched at run time, and that no size stretches which the test
tries: those that the model is used at, and each free size at 1."""
