"""The edits of a plan, carried out on a TFLite model: all of a node's or none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from graphfix.formats import editing
from graphfix.formats.tflite.edit import nodes
from graphfix.formats.tflite.edit.checks import check
from graphfix.formats.tflite.edit.operands import lift, stretch
from graphfix.formats.tflite.edit.state import State
from graphfix.graph.edits import Assume, Edit, Leave, Lift, Stretch
from graphfix.graph.view import Node


@dataclass(slots=True, eq=False, repr=False)
class Editor:
    """Carries edits out on the views and records of one model."""

    state: State

    def apply(self, node: Node, edits: Sequence[Edit]) -> Node:
        """Carry the edits of one node out, all or none. Raises Refused before anything is changed."""
        return editing.apply(node, edits, partial(check, self.state), self._carry_out)

    def _carry_out(self, before: Node, node: Node, edit: Edit) -> Node:
        state = self.state
        match edit:
            case Lift():
                value = lift(state, node.operand(edit.operand), edit.axes, node.index)
                return state.put(node, edit.operand, value)
            case Stretch():
                value = stretch(state, before, node.operand(edit.operand), edit)
                return state.put(node, edit.operand, value)
            case Leave() | Assume():
                return node
            case _:
                return nodes.carry_out(state, node, edit)
