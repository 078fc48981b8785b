"""Edits of whole nodes, carried out on a TFLite model: bypassed, respelled, evaluated, replaced."""

from __future__ import annotations

from dataclasses import replace

from graphfix.formats.tflite.edit.made import TILE, broadcast_to_version, numbers, options_of, repeats_of, tile_version
from graphfix.formats.tflite.edit.operands import NOT_TILED
from graphfix.formats.tflite.edit.state import State
from graphfix.formats.tflite.file.records import Operator, Options
from graphfix.formats.tflite.file.schema import CODES
from graphfix.graph.edits import Refused, Replace
from graphfix.graph.view import Node, Value, settle
from graphfix.shapes.shape import Shape


def bypass(state: State, node: Node) -> None:
    """Let everyone who reads the node's result read its operand 0, and take the node out."""
    source, result = node.operand(0), node.results[0]
    for reader, at in result.reads if result is not None else ():
        state.put(reader, at, source)
    state.remove(node.graph.at(node.index))


def evaluate(state: State, node: Node) -> None:
    """Let a constant take the place of the node's first result."""
    desk = state.desks[node.graph]
    result = node.results[0]
    if result is None:
        raise Refused("it has no result")
    data = state.evaluator.elements(desk.scope.tensors[result])
    constant = desk.constant(result, f"{result.name}_value", result.shape, data)
    state.added += len(data)
    for reader, at in result.reads:
        state.put(reader, at, constant)
    if not any(other in node.graph.outputs or other.is_read for other in node.results if other is not None):
        state.remove(node.graph.at(node.index))


def take_place(state: State, node: Node, edit: Replace) -> Node:
    """Make the new operators that the last one reads before the node, and let it become the last."""
    desk = state.desks[node.graph]
    last = edit.node
    made: dict[int, Value] = {}
    operands = tuple(desk.source(source, node, made) for source in last.operands)
    scope = desk.scope
    scope.operators[node.index] = Operator(
        state.container.code(CODES[last.op], last.version),
        tuple(scope.tensors[operand] for operand in operands),
        scope.operator(node.index).outputs,
        options=options_of(last),
        changed=True,
    )
    scope.record.changed = True
    state.unread.update(dict.fromkeys(value for value in node.operands if value is not None))
    new_node = replace(node, op=last.op, version=last.version, operands=operands, attributes=dict(last.attributes))
    settle(new_node)
    for operand in operands:
        new_node.graph.note(new_node.index, operand)
    return new_node


def canonicalize(state: State, node: Node, to: Shape) -> Node:
    """State the node as a stretch of its operand 0 to a static shape: TILE, or BROADCAST_TO."""
    desk = state.desks[node.graph]
    value = node.operand(0)
    tiled = value.shape.static and value.dtype not in NOT_TILED
    op = "TILE" if tiled else "BROADCAST_TO"
    version = tile_version(value.dtype) if tiled else broadcast_to_version(value.dtype)
    target = desk.integers(repeats_of(value.shape, to) if tiled else numbers(to))
    record: Operator = desk.scope.operator(node.index)
    record.code = state.container.code(CODES[op], version)
    record.options = Options(TILE if tiled else 0)
    record.inputs = (desk.scope.tensors[value], desk.scope.tensors[target])
    record.changed = desk.scope.record.changed = True
    state.unread.update(dict.fromkeys(operand for operand in node.operands[1:] if operand is not None))
    new = replace(node, op=op, version=version, operands=(value, target), attributes={})
    settle(new)
    new.graph.note(new.index, target)
    return new
