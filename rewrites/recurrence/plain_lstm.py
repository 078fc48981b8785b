"""Which UNIDIRECTIONAL_SEQUENCE_LSTM is the plain one, that is unrolled."""

from __future__ import annotations

from graphfix.graph.view import Node

PLAIN = frozenset({*range(9), *range(12, 16), 18, 19})
"""The operands of the plain form: data, weights, biases, and the two states."""
TANH = 4
"""The activation, by its number in the schema."""
RANK = 3


def kept(node: Node) -> str | None:
    """Why the operator stays; None for the plain form."""
    if {at for at, value in enumerate(node.operands) if value is not None} != PLAIN:
        return "it is unrolled without coupled gates, peepholes, projection and layer normalization alone"
    if node.attributes.get("cell_clip") or node.attributes.get("proj_clip"):
        return "it is unrolled without a clip alone"
    if node.attributes.get("fused_activation_function") != TANH or node.attributes.get("diagonal_recurrent_tensors"):
        return "it is unrolled with TANH and whole matrices alone"
    if any(value.dtype != "float32" for value in node.operands if value is not None):
        return "it is unrolled in float32 alone"
    return None if node.operand(0).ranked.rank == RANK else "it is unrolled on data of rank 3 alone"
