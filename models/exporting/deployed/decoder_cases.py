"""The decoders that are built: families, sizes and the builder's options. Needs neither PyTorch nor the builder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from models.exporting.feeds import Feed, Sizes, ids, mask, numbers, positions

SMALL = {
    "vocab_size": 32,
    "hidden_size": 32,
    "intermediate_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "max_position_embeddings": 64,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "pad_token_id": 0,
}


@dataclass(frozen=True)
class Decoder:
    """A file: the family's name in transformers, what differs from SMALL, and what the builder is asked."""

    name: str
    family: str
    precision: str
    provider: str = "cpu"
    options: tuple[str, ...] = ()
    differs: Mapping[str, Any] = field(default_factory=dict)
    data: bool = False

    @property
    def settings(self) -> dict[str, Any]:
        """The arguments of the family's configuration."""
        return SMALL | dict(self.differs)


_HEAD = {"head_dim": 16}
_HEADS = _HEAD | {"num_attention_heads": 4, "num_key_value_heads": 2}
_WINDOW = {"sliding_window": 8}
_FAMILIES: dict[str, tuple[str, Mapping[str, Any]]] = {
    "llama": ("Llama", _HEADS),
    "mistral": ("Mistral", _HEAD | _WINDOW),
    "qwen2": ("Qwen2", {}),
    "qwen3": ("Qwen3", _HEADS),
    "phi": ("Phi", {"hidden_size": 64, "partial_rotary_factor": 0.5}),
    "phi3": ("Phi3", {"original_max_position_embeddings": 64}),
    "gemma": ("Gemma", _HEAD),
    "gemma2": ("Gemma2", _HEADS | _WINDOW | {"query_pre_attn_scalar": 16}),
    "gemma3": ("Gemma3", _HEAD | _WINDOW | {"query_pre_attn_scalar": 16}),
    "smollm": ("SmolLM3", {}),
    "granite": ("Granite", {"embedding_multiplier": 2.0, "residual_multiplier": 0.5, "logits_scaling": 4.0}),
    "olmo": ("Olmo", {"num_key_value_heads": 2}),
    "nemotron": ("Nemotron", _HEAD | {"partial_rotary_factor": 1.0}),
    "hunyuan": ("HunYuanDenseV1", _HEAD),
}
"""By name: the family's name in transformers, and what differs from SMALL."""

_FILES = """
llama     float32        fp32 cpu
llama     float16        fp16 cuda
llama     int4           int4 cpu
llama     int4_lossy     int4 cpu is_symmetric=false block_size=16 accuracy_level=1
llama     int4_qdq       int4 cpu use_qdq=true
llama     int4_rtn       int4 cpu algo_config=rtn_last
llama     int8           int8 cpu
mistral   int4_embedding int4 cpu op_types_to_quantize=MatMul/Gather
mistral   separate       fp32 cpu fuse_qkv=false
mistral   pruned         fp32 cpu prune_lm_head=true include_hidden_states=true
mistral   embedded       int4 cpu exclude_embeds=true
mistral   dml            fp16 dml
mistral   gate_up        int4 cpu fuse_mlp_gate_up=true
mistral   int4           int4 cpu
qwen2     float16        fp16 cuda
qwen2     int4           int4 cpu
qwen2     int4_qdq       int4 cpu use_qdq=true is_symmetric=false
qwen3     float32        fp32 cpu
qwen3     float16        fp16 cuda fuse_qk_norm_gqa=false
qwen3     norms_inside   fp16 cuda
qwen3     int4           int4 cpu
phi       int4           int4 cpu
phi3      float32        fp32 cpu
phi3      float16        fp16 cuda
phi3      int4           int4 cpu
gemma     float32        fp32 cpu
gemma     int4           int4 cpu
gemma2    float32        fp32 cpu windowed_kv_cache=false
gemma2    int4           int4 cpu windowed_kv_cache=false
gemma2    windowed       int4 cpu
gemma3    float32        fp32 cpu windowed_kv_cache=false
gemma3    int4           int4 cpu windowed_kv_cache=false
smollm    float32        fp32 cpu
smollm    float16        fp16 cuda
smollm    int4           int4 cpu
granite   int4           int4 cpu
olmo      int4           int4 cpu
nemotron  float32        fp32 cpu
nemotron  int4           int4 cpu
hunyuan   int4           int4 cpu
"""
"""A line a file: family, what is special, precision, execution provider, and the builder's options."""

_DATA = ("llama_float32", "llama_int4", "qwen2_float16", "qwen3_int4", "gemma2_int4", "phi3_float32")
"""Files that are stored as builders write them: model.onnx and model.onnx.data in a folder."""


def _decoder(line: str) -> Decoder:
    """Return the file that a line describes."""
    family, special, precision, provider, *options = line.split()
    name, differs = _FAMILIES[family]
    stem = f"{family}_{special}"
    data = stem in _DATA
    return Decoder(f"{stem}/model" if data else stem, name, precision, provider, tuple(options), differs, data)


DECODERS = {made.name: made for made in map(_decoder, _FILES.strip().splitlines())}
"""Every file by its path in models/deployed/decoders without .onnx."""

SIZES = (
    {"batch": 2, "sequence": 5, "past": 0, "total": 5},
    {"batch": 3, "sequence": 1, "past": 4, "total": 5},
)
"""A prompt, and one step behind it."""

NOT_RUN = ("gemma2_windowed", "qwen3_norms_inside")
"""Files that onnxruntime loads and whose attention its CPU kernel refuses (a cache smaller than the window; norms)."""


def sizes(case: Decoder) -> tuple[Sizes, ...]:
    """Return the sizes that a file is run at."""
    return () if case.name in NOT_RUN else SIZES


def inputs(case: Decoder) -> dict[str, Feed]:
    """Return what a decoder may be fed: a file has some of these inputs."""
    settings = case.settings
    head = settings.get("head_dim", settings["hidden_size"] // settings["num_attention_heads"])
    cache = numbers("batch", settings["num_key_value_heads"], "past", head)
    named = {
        "input_ids": ids(settings["vocab_size"], "batch", "sequence"),
        "inputs_embeds": numbers("batch", "sequence", settings["hidden_size"]),
        "attention_mask": mask("batch", "total"),
        "position_ids": positions("batch", "sequence"),
    }
    layers = range(settings["num_hidden_layers"])
    return named | {f"past_key_values.{layer}.{part}": cache for layer in layers for part in ("key", "value")}
