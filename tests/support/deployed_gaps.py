"""What falls short on models/deployed, by file and target (tests/whole/test_deployed.py: the tables are exact)."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import metadata

from graphfix.results.runtime_facts import SIZE_0_KEEPS_AXES

_UNSORTED = "the nodes are not sorted"
REFUSED: Mapping[str, str] = dict.fromkeys(
    "optimized/film_legacy_half optimized/fpn_dynamo_half_inside optimized/unet_cropped_dynamo_half"
    " optimized/yolo_free_dynamo_half_inside".split(),
    _UNSORTED,
)
"""Files that are not read, and what the message says: float16 conversion leaves nodes in the wrong order."""

_NAME = "new values take the name of a value that onnxruntime named, and the proof refuses such names"
_TYPE = "a stretched value has the stale element type of its operand"
_BIAS = "DequantizeLinear of com.microsoft, of a bias whose weights have 4 bits, is lifted: the proof has no rule"
NOT_PROVED: Mapping[tuple[str, str], str] = {
    ("optimized/conformer_dynamo_half_extended", "explicit"): _NAME,
    ("optimized/conformer_dynamo_half_extended", "ranks"): _NAME,
    ("optimized/diffusion_dynamo_extended", "explicit"): _NAME,
    ("optimized/diffusion_dynamo_extended", "ranks"): _NAME,
    ("optimized/diffusion_dynamo_fused_unet", "explicit"): _NAME,
    ("optimized/whisper_encoder_dynamo_half_extended", "explicit"): _NAME,
    ("quantized/resnet_legacy_qdq_int4", "explicit"): _BIAS,
    ("quantized/resnet_legacy_qdq_int4", "ranks"): _BIAS,
    ("quantized/roberta_dynamo_qdq_int4", "explicit"): _BIAS,
    ("quantized/roberta_dynamo_qdq_int4", "ranks"): _BIAS,
    ("quantized/vit_dynamo_qdq_channel_extended", "explicit"): _TYPE,
    ("quantized/vit_dynamo_qdq_symmetric", "explicit"): _TYPE,
}
"""And why."""

LEFT_KINDS: Mapping[str, str] = {
    "contradicts the computed": "the model builder stores rank 0 for constants of rank 1; fusions transpose weights and"
    " keep their shapes",
    "is quantized in blocks": "a lift of a constant in blocks changes the axis of its blocks",
}
"""What reasons for sites that are left say, and why these sites are left."""

LEFT: Mapping[tuple[str, str], int] = {
    ("litert_quantized/gpt2_free_dynamic8", "explicit"): 1,
    ("quantized/convnext_v2_legacy_qdq_16", "ranks"): 6,
    ("quantized/whisper_encoder_dynamo_qdq_16", "ranks"): 7,
}
"""How many nodes have another site that is left."""

NOT_EQUAL_BY_RUNS: Mapping[tuple[str, str], str] = (
    {
        ("optimized/prototypes_cdist_legacy_extended", "explicit"): (
            "at batch 0 onnxruntime's ReduceSum along axis -1 returns its operand (tests/support/exported_gaps.py)"
        ),
    }
    if SIZE_0_KEEPS_AXES.holds(metadata.version("onnxruntime"))
    else {}
)
"""What the runs do not find equal, and why."""
