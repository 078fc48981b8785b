"""The edits of a plan, carried out on a TFLite model: all of a node's or none."""

from __future__ import annotations

from collections.abc import Sequence

from graphfix.formats.tflite.edit import nodes
from graphfix.formats.tflite.edit.checks import check
from graphfix.formats.tflite.edit.editor import Editor
from graphfix.formats.tflite.edit.operands import lift, stretch
from graphfix.graph.edits import (
    Assume,
    Edit,
    Evaluate,
    Fold,
    Inline,
    Leave,
    Lift,
    Refused,
    Replace,
    Spell,
    Stretch,
    Upgrade,
)
from graphfix.graph.view import Node


def apply(editor: Editor, node: Node, edits: Sequence[Edit]) -> Node:
    """Carry the edits of one node out, all or none. Raises Refused before anything is changed."""
    node = node.graph.at(node.index)
    for edit in edits:
        check(editor, node, edit)
    before = node
    for edit in edits:
        node = _carry_out(editor, before, node, edit)
    return node


def _carry_out(editor: Editor, before: Node, node: Node, edit: Edit) -> Node:
    match edit:
        case Lift():
            value = lift(editor, node.operand(edit.operand), edit.axes, node.index)
            return editor.put(node, edit.operand, value)
        case Stretch():
            value = stretch(editor, before, node.operand(edit.operand), edit)
            return editor.put(node, edit.operand, value)
        case Fold() | Evaluate() | Spell() | Replace():
            return _of_node(editor, node, edit)
        case Upgrade() | Inline():
            raise Refused("TFLite has no operator sets, and its bodies are subgraphs")
        case Leave() | Assume():
            return node


def _of_node(editor: Editor, node: Node, edit: Fold | Evaluate | Spell | Replace) -> Node:
    match edit:
        case Fold():
            nodes.bypass(editor, node)
        case Evaluate():
            nodes.evaluate(editor, node)
        case Spell():
            return nodes.spell(editor, node, edit.to)
        case Replace():
            return nodes.take_place(editor, node, edit)
    return node
