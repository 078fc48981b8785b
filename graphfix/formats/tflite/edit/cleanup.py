"""What follows once all edits are carried out: dead operators go, and the new parts that nothing names."""

from __future__ import annotations

from graphfix.formats.neutral import editing
from graphfix.formats.tflite.edit.state import State
from graphfix.formats.tflite.file.container import Container
from graphfix.formats.tflite.file.records import ABSENT, NEW, Subgraph
from graphfix.graph.view import Node

REMOVABLE = frozenset(
    "SHAPE BROADCAST_ARGS DEQUANTIZE PACK STRIDED_SLICE SLICE GATHER CONCATENATION CAST RESHAPE EXPAND_DIMS SQUEEZE"
    " REDUCE_PROD RANGE MUL ADD SUB DIV MAXIMUM MINIMUM FILL RFFT2D"
    " TILE BROADCAST_TO STABLEHLO_BROADCAST_IN_DIM EQUAL SELECT_V2".split()
)
"""Operators without a side effect that only served what was edited; others stay, read or not."""


def drop_dead(state: State) -> None:
    """Remove the operators that only served what was edited."""
    editing.remove_dead(state, lambda node: _is_removable(state, node))


def _is_removable(state: State, node: Node) -> bool:
    """Whether an operator whose results nobody reads is still there, has no side effect, and may be removed."""
    return (
        (node.op in REMOVABLE or state.is_known(node))
        and node.index not in state.builders[node.graph].order.gone
        and (node.index < 0 or state.container.insertion_blocker is None)
    )


def drop_tensors(subgraph: Subgraph) -> None:
    """Drop the new tensors that no operator names, such as a constant that was lifted first and then stretched."""
    named = {tensor for operator in subgraph.operators for tensor in (*operator.inputs, *operator.outputs)}
    kept = [at for at, tensor in enumerate(subgraph.tensors) if tensor.place != NEW or at in named]
    if len(kept) == len(subgraph.tensors):
        return
    moved = {old: new for new, old in enumerate(kept)}
    moved[ABSENT] = ABSENT
    subgraph.tensors = [subgraph.tensors[at] for at in kept]
    for operator in subgraph.operators:
        operator.inputs = tuple(moved[tensor] for tensor in operator.inputs)
        operator.outputs = tuple(moved[tensor] for tensor in operator.outputs)


def drop_codes(container: Container) -> None:
    """Drop the operator codes that lost their last operator: LiteRT refuses a file for one without a kernel.

    Operators that no edit names keep their index: new codes move into the freed slots, those at the end go, and any
    other repeats the last code. What no operator of the file had stays.
    """
    codes = container.codes
    operators = [operator for subgraph in container.subgraphs for operator in subgraph.operators]
    used = {operator.code for operator in operators}
    free = set(range(len(codes))) - used - container.parts.unused_codes
    new = sorted((at for at in used if codes[at].place == NEW), reverse=True)
    moved = {at: slot for slot, at in zip(sorted(free), new, strict=False) if slot < at}
    for at, slot in moved.items():
        codes[slot] = codes[at]
    for operator in operators:
        operator.code = moved.get(operator.code, operator.code)
    free = (free - set(moved.values())) | set(moved)
    del codes[1 + max(set(range(len(codes))) - free, default=-1) :]
    for slot in free & set(range(len(codes))):
        codes[slot] = codes[-1]


def drop_buffers(container: Container) -> None:
    """Drop the new buffers that nothing names any more."""
    named = {tensor.buffer for subgraph in container.subgraphs for tensor in subgraph.tensors}
    named.update(buffer for _, buffer in container.metadata)
    kept = [at for at, buffer in enumerate(container.buffers) if buffer.data is None or at in named]
    if len(kept) == len(container.buffers):
        return
    moved = {old: new for new, old in enumerate(kept)}
    container.buffers[:] = [container.buffers[at] for at in kept]
    for subgraph in container.subgraphs:
        for tensor in subgraph.tensors:
            tensor.buffer = moved[tensor.buffer]
    container.metadata[:] = [(name, moved[buffer]) for name, buffer in container.metadata]
