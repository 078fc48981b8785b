"""Carry out edits of whole nodes: bypass, write as a stretch, evaluate, replace by other nodes, or inline a body."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from graphfix import operators
from graphfix.formats.neutral.editing import NewNodes, NodeEdit, bypass, replace_node
from graphfix.formats.tflite.edit.inline import decide
from graphfix.formats.tflite.edit.new_records import (
    TILE,
    broadcast_to_version,
    options_of,
    repeats_of,
    tile_version,
)
from graphfix.formats.tflite.edit.operands import tiles
from graphfix.formats.tflite.edit.state import State
from graphfix.formats.tflite.file.records import Operator, Options
from graphfix.formats.tflite.file.schema import CODES
from graphfix.graph.edits import Canonicalize, Evaluate, Fold, Inline, Refused, Replace
from graphfix.graph.view import NO_ATTRIBUTES, Node, Value
from graphfix.operators.row import TFLITE
from graphfix.shapes.dim import Shape


def carry_out(state: State, node: Node, edit: NodeEdit) -> Node:
    """Carry out an edit of a node that `check` has accepted; return the node as it is now."""
    match edit:
        case Fold():
            bypass(state, node, edit.operand)
            return node
        case Canonicalize():
            return _canonicalize(state, node, edit.to)
        case Evaluate():
            return _evaluate(state, node)
        case Replace():
            return _replaced(state, node, edit)
        case Inline():
            operator = state.builders[node.graph].subgraph.operator(node.index)
            state.decided.append(decide(state.container, operator, edit))
            state.renews = True  # Operators of the body may compute results that are known before the run.
            return node  # The node stays in the view until the view is built again.


def _evaluate(state: State, node: Node) -> Node:
    """Replace the node's first result by a constant; remove the node if no result is used any more."""
    builder = state.builders[node.graph]
    result = node.results[0]
    if result is None:
        raise Refused("it has no result")
    data = state.evaluator.elements(builder.subgraph.tensors[result])
    constant = builder.constant(result, f"{result.name}_value", result.shape, data)
    state.added += len(data)
    for reader, at in result.reads:
        state.put(reader, at, constant)
    if not any(other.is_used for other in node.results if other is not None):
        state.remove(node)
    return node


def _replaced(state: State, node: Node, edit: Replace) -> Node:
    """Replace the node by the edit's last new node; the new nodes that the last one reads are placed before it."""
    builder = state.builders[node.graph]
    last = edit.node
    operands = NewNodes(builder, node).operands(last)
    subgraph = builder.subgraph
    inputs, old = tuple(subgraph.tensors[operand] for operand in operands), subgraph.operator(node.index)
    if (last.op, last.version, dict(last.attributes)) == (node.op, node.version, dict(node.attributes)):
        # The old record also keeps options that graphfix does not read.
        subgraph.operators[node.index] = replace(old, inputs=inputs, changed=True)
    else:
        code = state.container.code(CODES[last.op], last.version)
        subgraph.operators[node.index] = Operator(code, inputs, old.outputs, options=options_of(last), changed=True)
    subgraph.record.changed = True
    state.renews = state.renews or _are_constants(node.operands) or _are_constants(operands)
    row, attributes = operators.row(TFLITE, last.op, last.version), dict(last.attributes)
    new_node = replace(node, op=last.op, version=last.version, operands=operands, attributes=attributes, row=row)
    return replace_node(state, node, new_node)


def _are_constants(values: Iterable[Value | None]) -> bool:
    """Return whether all values are constants. The result of their reader may then be known before the run."""
    return all(value is None or value.kind == "constant" for value in values)


def _canonicalize(state: State, node: Node, to: Shape) -> Node:
    """Replace the node by a TILE or a BROADCAST_TO that stretches its operand 0 to the static shape `to`."""
    builder = state.builders[node.graph]
    value = node.operand(0)
    tiled = tiles(state, value, to)
    op = "TILE" if tiled else "BROADCAST_TO"
    version = tile_version(value.dtype) if tiled else broadcast_to_version(value.dtype)
    target = builder.integers(repeats_of(value.shape, to) if tiled else to.numbers)
    record: Operator = builder.subgraph.operator(node.index)
    record.code = state.container.code(CODES[op], version)
    record.options = Options(TILE if tiled else 0)
    record.inputs = (builder.subgraph.tensors[value], builder.subgraph.tensors[target])
    record.changed = builder.subgraph.record.changed = True
    return replace_node(
        state, node, replace(node, op=op, version=version, operands=(value, target), attributes=NO_ATTRIBUTES)
    )
