"""Decide whether an Attention or RotaryEmbedding has only attributes that this project interprets."""

from __future__ import annotations

from math import inf

from graphfix.graph.view import Node

FLAGS = ("is_causal", "interleaved")
READ = frozenset(
    {
        *FLAGS,
        *("q_num_heads", "kv_num_heads", "scale", "softcap", "softmax_precision", "qk_matmul_output_mode"),
        *("num_heads", "rotary_embedding_dim"),
    }
)
"""The attributes that are interpreted. A later operator set may add other attributes, such as a window."""


def has_sense(node: Node) -> bool:
    """Return whether the scale is a positive number, each flag is 0 or 1, and all attributes are in `READ`."""
    scale = node.attributes.get("scale", 1.0)
    flags = (node.attributes.get(name, 0) for name in FLAGS)
    plain = isinstance(scale, float) and 0 < scale < inf and all(flag in (0, 1) for flag in flags)
    return plain and node.attributes.keys() <= READ
