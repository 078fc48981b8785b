"""Whole nodes: evaluated, replaced by a few others, or taken apart because their condition is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import onnx
from onnx import AttributeProto, NodeProto, TensorProto

from graphfix import operators
from graphfix.formats.onnx.edit.new_nodes import numbers
from graphfix.formats.onnx.view import Holder
from graphfix.graph.edits import Canonicalize, Evaluate, Fold, Inline, New, Numbers, Refused, Replace, Source
from graphfix.graph.view import Graph, Node, Value, settle

if TYPE_CHECKING:
    from graphfix.formats.onnx.edit.editor import Editor


NOT_KNOWN = "what it computes is not known before the model runs"


@dataclass(frozen=True, slots=True)
class Decided:
    """A node whose branch takes its place when all other edits are carried out."""

    holder: Holder
    """Of the node."""
    message: NodeProto
    branch: str


def carry_out(editor: Editor, node: Node, edit: Fold | Canonicalize | Evaluate | Replace | Inline) -> Node:
    """Carry an edit of a whole node out, which `check` has not refused."""
    match edit:
        case Fold():
            _bypass(editor, node)
            return node
        case Canonicalize():
            return _canonicalize(editor, node, edit)
        case Evaluate():
            return _evaluate(editor, node)
        case Replace():
            return _replaced(editor, node, edit)
        case Inline():
            return _taken(editor, node, edit.branch)


def check(editor: Editor, node: Node, edit: Evaluate | Replace | Inline) -> None:
    """Raise Refused for what can't be carried out."""
    used = [value for value in node.results if value is not None and _is_used(editor, value)]
    match edit:
        case Evaluate():
            _check_evaluate(editor, node, used)
        case Replace():
            if any(value is not node.results[0] for value in used):
                raise Refused("more than its first result is read")
            editor.desks[node.graph].version  # noqa: B018 -- refuses where no standard operator can be added
        case Inline():
            _branch(editor.message(node), edit.branch)


def _check_evaluate(editor: Editor, node: Node, used: Sequence[Value]) -> None:
    desk = editor.desks[node.graph]
    if any(editor.views.known.array(value) is None for value in used):
        raise Refused(NOT_KNOWN)
    if any(reader.op == "Range" and value.shape.rank for value in used for reader, _ in value.reads):
        raise Refused("a Range reads it, and runtimes refuse one whose operand is a constant with axes")
    nodes = [value for value in used if not desk.holds_initializers or value in node.graph.outputs]
    if nodes and len(used) > 1:
        raise Refused("several of its results would have to be Constant nodes")
    if nodes and not desk.holds_integers and nodes[0].dtype not in ("float32", "float64"):
        raise Refused(f"opset {desk.version} has no Constant of {nodes[0].dtype}")


def _is_used(editor: Editor, value: Value) -> bool:
    """Whether anything reads it, or some graph gives it."""
    return value.is_read or any(value in graph.outputs for graph in editor.views.graphs)


def _bypass(editor: Editor, node: Node) -> None:
    """Let everyone who reads the node's result read its operand 0, and take the node out."""
    source, result = node.operand(0), node.results[0]
    for reader, at in result.reads if result is not None else ():
        editor.put(editor.current(reader), at, source)
    editor.remove(editor.current(node))


def _canonicalize(editor: Editor, node: Node, edit: Canonicalize) -> Node:
    """State the node as an Expand of its operand 0 to a static shape."""
    proto = editor.message(node)
    if proto.op_type != "Expand":
        proto.op_type = "Expand"
        del proto.attribute[:]
        node = replace(node, op="Expand", attributes={})
        settle(node)
    return editor.put(node, 1, editor.desks[node.graph].integers(numbers(edit.to), node.index))


def _evaluate(editor: Editor, node: Node) -> Node:
    """Write each result that is used as a constant of the same name; the node goes, or is that Constant."""
    editor.renews = True
    desk = editor.desks[node.graph]
    for value in [value for value in node.results if value is not None and _is_used(editor, value)]:
        array = editor.views.known.array(value)
        if array is None:
            raise Refused(NOT_KNOWN)
        tensor = onnx.numpy_helper.from_array(array, value.name)
        if not desk.holds_initializers or value in node.graph.outputs:
            return _stated(editor, node, value, tensor)
        new = editor.renew(value, replace(value, kind="constant", place=None))
        held = desk.keep(new, tensor)
        editor.views.tensors[new] = held
    editor.remove(editor.current(node))
    return editor.current(node)


def _stated(editor: Editor, node: Node, value: Value, tensor: TensorProto) -> Node:
    """The node becomes a Constant, where it stands."""
    message = editor.message(node)
    tensor.name = ""
    _restate(message, "Constant", "", [], {"value": tensor})
    message.output[:] = [value.name]
    new = editor.renew(value, replace(value, kind="constant"))
    editor.views.tensors[new] = message.attribute[0].t
    editor.unread.update(dict.fromkeys(operand for operand in node.operands if operand is not None))
    now = _node(node, "Constant", "", (), (new,), {"value": None})
    settle(now)
    return now


# --- replaced ------------------------------------------------------------------------------------------------------


def _replaced(editor: Editor, node: Node, edit: Replace) -> Node:
    """Make the new nodes that the last one reads before the node, and state the node itself as the last."""
    editor.renews = True
    last = edit.node
    operands = _operands(editor, node, last, {})
    message = editor.message(node)
    _restate(message, last.op, last.domain, [operand.name for operand in operands], dict(last.attributes))
    message.output[:] = message.output[:1]
    now = _node(node, last.op, last.domain, operands, node.results[:1], dict(last.attributes))
    settle(now)
    for operand in operands:
        now.graph.note(now.index, operand)
    editor.unread.update(dict.fromkeys(operand for operand in node.operands if operand is not None))
    return now


def _operands(editor: Editor, node: Node, new: New, made: dict[int, Value]) -> tuple[Value, ...]:
    """The values that a new node reads; `made` holds by identity what is made already."""
    return tuple(_operand(editor, node, source, made) for source in new.operands)


def _operand(editor: Editor, node: Node, source: Source, made: dict[int, Value]) -> Value:
    desk = editor.desks[node.graph]
    match source:
        case int():
            return node.operand(source)
        case New():
            if id(source) not in made:
                result = node.results[0]
                name = f"{result.name if result is not None else node.label}_{source.op.lower()}"
                operands = _operands(editor, node, source, made)
                attributes = dict(source.attributes)
                made[id(source)] = desk.node(
                    source.op, operands, name, source.shape, source.dtype, node.index, attributes, source.domain
                )
            return made[id(source)]
        case Numbers():
            stem = (
                "shape_" + "x".join(map(str, source.elements)) if source.dtype == "int64" else f"{node.label}_constant"
            )
            return desk.numbers(source, stem, node.index)
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


def _taken(editor: Editor, node: Node, branch: str) -> Node:
    """Note that the branch takes the node's place; the other branches read nothing any more."""
    editor.renews = True
    views = editor.views
    editor.decided.append(Decided(views.holders[node.graph], editor.message(node), branch))
    graphs = {scope: graph for graph, scope in views.scopes.items()}
    for (index, attribute), child in views.scopes[node.graph].children.items():
        if index == node.index and attribute != branch:
            for scope in child.walk():
                _silence(editor, graphs[scope])
    editor.unread.update(dict.fromkeys(operand for operand in node.operands if operand is not None))
    now = node.reading(())
    settle(now)
    return now


def _silence(editor: Editor, graph: Graph) -> None:
    for node in [*graph.nodes, *graph.made]:
        editor.unread.update(dict.fromkeys(operand for operand in node.operands if operand is not None))
        settle(node.reading(()))


def _branch(message: NodeProto, name: str) -> None:
    """Raise Refused where the branch is not there, or gives another number of results than the node."""
    held = next((attribute for attribute in message.attribute if attribute.name == name), None)
    if held is None or held.type != AttributeProto.GRAPH or held.ref_attr_name:
        raise Refused(f"it has no body {name}")
    if len(held.g.output) != len(message.output) or held.g.input:
        raise Refused(f"its {name} gives {len(held.g.output)} results, the node {len(message.output)}")
