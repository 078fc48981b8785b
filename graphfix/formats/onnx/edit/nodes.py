"""Whole nodes: evaluated, replaced by a few others, or taken apart because their condition is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import onnx
from onnx import NodeProto, TensorProto

from graphfix import operators
from graphfix.formats.editing import bypass, replace_node
from graphfix.formats.onnx.edit.checks import NOT_KNOWN, is_used
from graphfix.formats.onnx.edit.new_nodes import numbers
from graphfix.formats.onnx.edit.state import Decided, State
from graphfix.graph.edits import Evaluate, Fold, Inline, Made, New, Numbers, Refused, Replace, Source, Spell, Upgrade
from graphfix.graph.view import Graph, Node, Value, settle


def carry_out(state: State, node: Node, edit: Fold | Spell | Upgrade | Evaluate | Replace | Inline) -> Node:
    """Carry an edit of a whole node out, which `check` has not refused."""
    match edit:
        case Fold():
            bypass(state, node)
            return node
        case Spell():
            return _spell(state, node, edit)
        case Upgrade():
            _drop(state, node, edit.drop)
            return node
        case Evaluate():
            return _evaluate(state, node)
        case Replace():
            return _replaced(state, node, edit)
        case Inline():
            return _decide(state, node, edit.branch)


def _spell(state: State, node: Node, edit: Spell) -> Node:
    """Write the node as an Expand of its operand 0 to a static shape."""
    proto = state.message(node)
    if proto.op_type != "Expand":
        proto.op_type = "Expand"
        del proto.attribute[:]
        node = replace(node, op="Expand", attributes={})
        settle(node)
    return state.put(node, 1, state.builders[node.graph].integers(numbers(edit.to), node.index))


def _drop(state: State, node: Node, names: Sequence[str]) -> None:
    proto = state.message(node)
    for attribute in [attribute for attribute in proto.attribute if attribute.name in names]:
        proto.attribute.remove(attribute)


# --- evaluated -----------------------------------------------------------------------------------------------------


def _evaluate(state: State, node: Node) -> Node:
    """Write each result that is used as a constant of the same name; the node goes, or is that Constant."""
    state.renews = True
    builder = state.builders[node.graph]
    for value in [value for value in node.results if value is not None and is_used(state, value)]:
        array = state.views.evaluator.array(value)
        if array is None:
            raise Refused(NOT_KNOWN)
        tensor = onnx.numpy_helper.from_array(array, value.name)
        if not builder.holds_initializers or value in node.graph.outputs:
            return _as_constant(state, node, value, tensor)
        new = state.renew(value, replace(value, kind="constant", place=None))
        held = builder.keep(new, tensor)
        state.views.tensors[new] = held
    state.remove(node.graph.at(node.index))
    return node.graph.at(node.index)


def _as_constant(state: State, node: Node, value: Value, tensor: TensorProto) -> Node:
    """Make a Constant of the node, where it stands."""
    message = state.message(node)
    tensor.name = ""
    _restate(message, "Constant", "", [], {"value": tensor})
    message.output[:] = [value.name]
    new = state.renew(value, replace(value, kind="constant"))
    state.views.tensors[new] = message.attribute[0].t
    return replace_node(state, node, _node(node, "Constant", "", (), (new,), {"value": None}))


# --- replaced ------------------------------------------------------------------------------------------------------


def _replaced(state: State, node: Node, edit: Replace) -> Node:
    """Make all new nodes but the last before the node, and state the node itself as the last."""
    state.renews = True
    builder = state.builders[node.graph]
    result = node.results[0]
    stem = result.name if result is not None else node.label
    made: list[Value] = []
    for new in edit.nodes[:-1]:
        operands = _operands(state, node, new, made)
        name = f"{stem}_{new.op.lower()}"
        attributes = dict(new.attributes)
        made.append(builder.node(new.op, operands, name, new.shape, new.dtype, node.index, attributes, new.domain))
    last = edit.nodes[-1]
    operands = _operands(state, node, last, made)
    message = state.message(node)
    _restate(message, last.op, last.domain, [operand.name for operand in operands], dict(last.attributes))
    message.output[:] = message.output[:1]
    now = _node(node, last.op, last.domain, operands, node.results[:1], dict(last.attributes))
    settle(now)
    for operand in operands:
        now.graph.note(now.index, operand)
    state.dead.update(dict.fromkeys(operand for operand in node.operands if operand is not None))
    return now


def _operands(state: State, node: Node, new: New, made: Sequence[Value]) -> tuple[Value, ...]:
    return tuple(_operand(state, node, source, made) for source in new.operands)


def _operand(state: State, node: Node, source: Source, made: Sequence[Value]) -> Value:
    match source:
        case int():
            return node.operand(source)
        case Made():
            return made[source.at]
        case Numbers():
            builder = state.builders[node.graph]
            stem = (
                "shape_" + "x".join(map(str, source.elements)) if source.dtype == "int64" else f"{node.label}_constant"
            )
            return builder.numbers(source, stem, node.index)
        case Value():
            return source


def _restate(message: NodeProto, op: str, domain: str, inputs: Sequence[str], attributes: dict[str, object]) -> None:
    """Give a node another operator; its name, its results and what else it carries stay."""
    message.op_type = op
    message.domain = domain
    if not domain:
        message.ClearField("domain")
    message.input[:] = inputs
    del message.attribute[:]
    message.attribute.extend(onnx.helper.make_attribute(key, value) for key, value in attributes.items())


def _node(
    node: Node,
    op: str,
    domain: str,
    operands: tuple[Value, ...],
    results: tuple[Value | None, ...],
    attributes: dict[str, object],
) -> Node:
    version = node.version if domain == node.domain else 1
    row = operators.row(domain, op, version)
    return Node(op, domain, version, node.name, node.index, node.graph, operands, results, attributes, row)


# --- decided -------------------------------------------------------------------------------------------------------


def _decide(state: State, node: Node, branch: str) -> Node:
    """Note that the branch is to be put in the node's place; the other branches read nothing any more."""
    state.renews = True
    views = state.views
    state.decided.append(Decided(views.holders[node.graph], state.message(node), branch))
    graphs = {scope: graph for graph, scope in views.scopes.items()}
    for (index, attribute), child in views.scopes[node.graph].children.items():
        if index == node.index and attribute != branch:
            for scope in child.walk():
                _silence(state, graphs[scope])
    return replace_node(state, node, node.reading(()))


def _silence(state: State, graph: Graph) -> None:
    for node in [*graph.nodes, *graph.made]:
        replace_node(state, node, node.reading(()))
