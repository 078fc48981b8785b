"""Decide which UNIDIRECTIONAL_SEQUENCE_LSTM has the plain form, which alone is unrolled."""

from __future__ import annotations

from graphfix.graph.view import Node

PLAIN = frozenset({*range(9), *range(12, 16), 18, 19})
"""The indices of the operands of the plain form: data, weights, biases, and the two states."""
STATES = (18, 19)
TANH = 4
"""The number of the activation TANH in TFLite's schema."""
RANK = 3


def kept(node: Node) -> str | None:
    """Return why the operator is not unrolled, or None if it has the plain form."""
    if {at for at, value in enumerate(node.operands) if value is not None} != PLAIN:
        return "it is unrolled without coupled gates, peepholes, projection and layer normalization alone"
    if node.attributes.get("cell_clip") or node.attributes.get("proj_clip"):
        return "it is unrolled without a clip alone"
    if node.attributes.get("fused_activation_function") != TANH or node.attributes.get("diagonal_recurrent_tensors"):
        return "it is unrolled with TANH and whole matrices alone"
    if node.graph.path != "main" or not all(_own(node, at) for at in STATES):
        return "it is unrolled in the main graph and from states of its own alone: variables that nothing else reads"
    if any(value.dtype != "float32" for value in node.operands if value is not None):
        return "it is unrolled in float32 alone"
    return None if node.operand(0).ranked.rank == RANK else "it is unrolled on data of rank 3 alone"


def _own(node: Node, at: int) -> bool:
    """Return whether a state is a variable that only this operand reads.

    No other operator can then see whether the variable was written.
    """
    state = node.operand(at)
    given = state.kind != "input" or state in node.graph.inputs
    return not given and state not in node.graph.outputs and len(state.reads) == 1
