"""Carry out edits of whole nodes: evaluate a node, replace it by others, or inline one of its bodies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from graphfix import operators
from graphfix.formats.neutral.editing import NOT_KNOWN, NewNodes, NodeEdit, bypass, replace_node
from graphfix.formats.onnx.edit.checks import is_used
from graphfix.formats.onnx.edit.state import Decided, State
from graphfix.formats.onnx.file.tensors import attribute_of
from graphfix.graph.edits import Canonicalize, Evaluate, Fold, Inline, Refused, Replace
from graphfix.graph.view import NO_ATTRIBUTES, Graph, Node, Value, set_node
from graphfix.results.onnx_messages import NodeProto, TensorProto


def carry_out(state: State, node: Node, edit: NodeEdit) -> Node:
    """Carry out an edit of a whole node, and return the node as it is afterwards.

    `check` must have accepted the edit.
    """
    match edit:
        case Fold():
            bypass(state, node, edit.operand)
            return node
        case Canonicalize():
            return _canonicalize(state, node, edit)
        case Evaluate():
            return _evaluate(state, node)
        case Replace():
            return _replaced(state, node, edit)
        case Inline():
            return _decide(state, node, edit) if edit.trips is None else _unroll(state, node, edit)


def _canonicalize(state: State, node: Node, edit: Canonicalize) -> Node:
    """Write the node as an Expand of its operand 0 to a static shape."""
    proto = state.message(node)
    if proto.op_type != "Expand":
        proto.op_type = "Expand"
        del proto.attribute[:]
        node = replace(node, op="Expand", attributes=NO_ATTRIBUTES)
        set_node(node)
    return state.put(node, 1, state.builders[node.graph].integers(edit.to.numbers, node.index))


# --- evaluated -----------------------------------------------------------------------------------------------------


def _evaluate(state: State, node: Node) -> Node:
    """Write each used result of the node as a constant with the same name, and remove the node.

    If the graph can't have an initializer for the result, the node becomes a Constant node instead.
    """
    from onnx.numpy_helper import from_array  # The array may have any element type, so `tensor_of` is not enough.

    state.renews = True
    builder = state.builders[node.graph]
    for value in [value for value in node.results if value is not None and is_used(state, value)]:
        array = state.views.evaluator.array(value)
        if array is None:
            raise Refused(NOT_KNOWN)
        tensor = from_array(array, value.name)
        if not builder.holds_initializers or value in node.graph.outputs:
            return _as_constant(state, node, value, tensor)
        new = state.renew(value, replace(value, kind="constant", place=None))
        kept_value = builder.keep(new, tensor)
        state.views.tensors[new] = kept_value
    state.remove(node.graph.at(node.index))
    return node.graph.at(node.index)


def _as_constant(state: State, node: Node, value: Value, tensor: TensorProto) -> Node:
    """Turn the node into a Constant node at the same place."""
    message = state.message(node)
    tensor.name = ""
    _rewrite(message, "Constant", "", [], {"value": tensor})
    message.output[:] = [value.name]
    new = state.renew(value, replace(value, kind="constant"))
    state.views.tensors[new] = message.attribute[0].t
    return replace_node(state, node, _node(node, "Constant", "", (), (new,), {"value": None}))


# --- replaced ------------------------------------------------------------------------------------------------------


def _replaced(state: State, node: Node, edit: Replace) -> Node:
    """Turn the node into the edit's new node, in place. Other new nodes that it reads are added before the node.

    A new node that computes another result is also added before the node, and that result keeps its name.
    """
    state.renews = state.quantizes = True  # A new node may quantize.
    last, builder = edit.node, state.builders[node.graph]
    made = NewNodes(builder, node)
    operands = made.operands(last)
    for at, other in edit.others:
        old = node.results[at]
        if old is not None:
            state.renew(old, builder.under_the_name(old, other, made.operands(other), node))
            node = node.graph.at(node.index)
    message = state.message(node)
    _rewrite(message, last.op, last.domain, [operand.name for operand in operands], dict(last.attributes))
    message.output[:] = message.output[:1]
    now = _node(node, last.op, last.domain, operands, node.results[:1], dict(last.attributes))
    return replace_node(state, node, now)


def _rewrite(message: NodeProto, op: str, domain: str, inputs: Sequence[str], attributes: dict[str, object]) -> None:
    """Change the operator, operands and attributes of a node's message. Its name, results and other fields stay."""
    message.op_type = op
    message.domain = domain
    if not domain:
        message.ClearField("domain")
    message.input[:] = inputs
    del message.attribute[:]
    message.attribute.extend(attribute_of(key, value) for key, value in attributes.items())


def _node(
    node: Node,
    op: str,
    domain: str,
    operands: tuple[Value, ...],
    results: tuple[Value | None, ...],
    attributes: dict[str, object],
) -> Node:
    """Return a node that replaces `node` in the view: the same name, index and graph, with another operator."""
    version = node.version if domain == node.domain else 1
    row = operators.row(domain, op, version)
    return Node(op, domain, version, node.name, node.index, node.graph, operands, results, attributes, row)


# --- decided -------------------------------------------------------------------------------------------------------


def _unroll(state: State, node: Node, edit: Inline) -> Node:
    """Record that the trips of a loop replace it. A Loop no longer reads its trip count and its condition.

    The replacement is made after all other edits.
    """
    state.renews = True
    holder, version = state.views.holders[node.graph], state.builders[node.graph].version
    unused = frozenset(value.name for value in node.results if value is not None and not is_used(state, value))
    state.decided.append(Decided(holder, state.message(node), edit.branch, edit.trips, version, unused))
    return replace_node(
        state, node, node.reading((None, None, *node.operands[2:]) if node.op == "Loop" else node.operands)
    )


def _decide(state: State, node: Node, edit: Inline) -> Node:
    """Record that the branch `edit.branch` replaces the node, after all other edits.

    The nodes of the other branches no longer read anything.
    """
    state.renews = True
    views = state.views
    state.decided.append(Decided(views.holders[node.graph], state.message(node), edit.branch))
    graphs = {scope: graph for graph, scope in views.scopes.items()}
    for (index, attribute), child in views.scopes[node.graph].children.items():
        if index == node.index and attribute != edit.branch:
            for scope in child.walk():
                _silence(state, graphs[scope])
    return replace_node(state, node, node.reading(()))


def _silence(state: State, graph: Graph) -> None:
    """Remove the operands of all nodes of a graph, so that its nodes no longer count as readers."""
    for node in [*graph.nodes, *graph.made]:
        replace_node(state, node, node.reading(()))
