"""Which attributes of an Attention or a RotaryEmbedding mean something."""

from __future__ import annotations

from math import inf

from graphfix.graph.view import Node

FLAGS = ("is_causal", "interleaved")


def has_sense(node: Node) -> bool:
    """Whether the scale is above 0 and each flag is yes or no: the operators' texts do not say what others are."""
    scale = node.attributes.get("scale", 1.0)
    flags = (node.attributes.get(name, 0) for name in FLAGS)
    return isinstance(scale, float) and 0 < scale < inf and all(flag in (0, 1) for flag in flags)
