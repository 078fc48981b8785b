"""Refuse edits that can't be carried out on an ONNX model, before anything is changed."""

from __future__ import annotations

from collections.abc import Sequence

from graphfix.formats.neutral.editing import NOT_KNOWN
from graphfix.formats.onnx.edit.new_nodes import EXPAND_SINCE
from graphfix.formats.onnx.edit.quantized import check_quantized
from graphfix.formats.onnx.edit.state import State
from graphfix.formats.onnx.edit.unroll import check_loop
from graphfix.graph.edits import (
    Canonicalize,
    DropMetadata,
    Edit,
    Evaluate,
    Fold,
    Inline,
    Lift,
    Refused,
    Replace,
    Restate,
    Stretch,
)
from graphfix.graph.liveness import is_live
from graphfix.graph.redundant_nodes import constant
from graphfix.graph.view import Node, Value
from graphfix.results.onnx_messages import AttributeProto, NodeProto


def check(state: State, node: Node, edit: Edit) -> None:
    """Raise Refused if the edit can't be carried out on the node. The error's text completes "left alone because"."""
    match edit:
        case Lift():
            _check_version(state, node)
            if state.quantizes:
                check_quantized(node.operand(edit.operand), None, state.builders[node.graph].version)
        case Stretch():
            _check_stretch(state, node, edit)
        case Canonicalize():
            _check_canonicalize(state, node)
        case Restate():
            _check_restate(state, node, node.operand(edit.operand))
        case Fold() | Evaluate() | Replace() | Inline():
            _check_node(state, node, edit)
        case DropMetadata():
            raise Refused("it is an edit of TFLite files alone")


def _check_restate(state: State, node: Node, value: Value) -> None:
    """Raise Refused if the constant `value` can't be written in another shape for the node."""
    stored_constant = constant(value)
    tensor = state.views.tensors.get(stored_constant) if stored_constant is not None else None
    if stored_constant is None or tensor is None:
        raise Refused(f"'{value.name}' holds its numbers in an attribute that has no other shape")
    if stored_constant.graph is not node.graph and not state.builders[stored_constant.graph].holds_initializers:
        raise Refused(f"'{stored_constant.name}' is a constant of another scope, which holds no further one")
    if state.views.is_cut(tensor) and sum(is_live(reader) for reader, _ in stored_constant.reads) > 1:
        raise Refused(f"'{stored_constant.name}' has other readers, and is too big to be there twice")


def _check_node(state: State, node: Node, edit: Fold | Evaluate | Replace | Inline) -> None:
    """Raise Refused if a whole node can't be folded, evaluated, replaced or inlined."""
    used = [value for value in node.results if value is not None and is_used(state, value)]
    match edit:
        case Fold():
            if any(result in node.graph.outputs for result in node.results):
                raise Refused("its result is an output of the graph")
        case Evaluate():
            _check_evaluate(state, node, used)
        case Replace():
            made = {0, *(at for at, _ in edit.others)}
            if any(value in used for at, value in enumerate(node.results) if at not in made):
                raise Refused("more than its first result is read")
            _check_version(state, node)
        case Inline():
            if edit.trips is not None:
                _check_version(state, node)
                check_loop(state.message(node), edit.trips)
            else:
                _check_branch(state.message(node), edit.branch)


def is_used(state: State, value: Value) -> bool:
    """Return whether a node reads the value, or a graph returns it."""
    return value.is_read or any(value in graph.outputs for graph in state.views.graphs)


def _check_version(state: State, node: Node) -> int:
    """Return the opset version in the node's graph.

    Raise Refused if the graph does not import the standard operators.
    """
    return state.builders[node.graph].version


def _check_canonicalize(state: State, node: Node) -> None:
    """Raise Refused if the node can't be written as an Expand."""
    version = _check_version(state, node)
    if version < EXPAND_SINCE:
        raise Refused(f"opset {version} has no Expand")
    _check_expand(state)


def _check_stretch(state: State, node: Node, edit: Stretch) -> None:
    """Raise Refused if an operand can't be stretched, for example because the opset has no Expand."""
    value = node.operand(edit.operand)
    if state.quantizes:
        check_quantized(value, edit.to, state.builders[node.graph].version)
    version = state.builders[node.graph].version
    if version < EXPAND_SINCE and not (edit.to.static and value.shape.static):
        raise Refused(f"opset {version} has no Expand, and a Tile needs sizes that are known")
    if state.movement is not None:
        _check_expand(state)


def _check_expand(state: State) -> None:
    """Raise Refused if the target of the rewrite does not accept an Expand (`state.movement`)."""
    if state.movement is not None and "Expand" not in state.movement:
        raise Refused("converters make a BROADCAST_TO of an Expand, which the target does not take")


def _check_evaluate(state: State, node: Node, used: Sequence[Value]) -> None:
    """Raise Refused if a used result is unknown before the run, or can't be written as a constant in its graph."""
    builder = state.builders[node.graph]
    if any(state.views.evaluator.array(value) is None for value in used):
        raise Refused(NOT_KNOWN)
    if any(reader.op == "Range" and value.shape.rank for value in used for reader, _ in value.reads):
        raise Refused("a Range reads it, and runtimes refuse one whose operand is a constant with axes")
    nodes = [value for value in used if not builder.holds_initializers or value in node.graph.outputs]
    if nodes and len(used) > 1:
        raise Refused("several of its results would have to be Constant nodes")
    if nodes and not builder.holds_integers and nodes[0].dtype not in ("float32", "float64"):
        raise Refused(f"opset {builder.version} has no Constant of {nodes[0].dtype}")


def _check_branch(message: NodeProto, name: str) -> None:
    """Raise Refused if the node has no body `name`, or if the body does not fit.

    The body of a branch must have no inputs and the node's number of results.
    """
    body_attribute = next((attribute for attribute in message.attribute if attribute.name == name), None)
    if body_attribute is None or body_attribute.type != AttributeProto.GRAPH or body_attribute.ref_attr_name:
        raise Refused(f"it has no body {name}")
    if len(body_attribute.g.output) != len(message.output) or body_attribute.g.input:
        raise Refused(f"its {name} returns {len(body_attribute.g.output)} results, the node {len(message.output)}")
