"""What the edits of a TFLite model share: its desks, what they added, and how an operand is put in place."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod

from graphfix.formats.tflite.edit.constants import item_bytes
from graphfix.formats.tflite.edit.made import numbers
from graphfix.formats.tflite.edit.new_nodes import Desk
from graphfix.formats.tflite.file.container import Container
from graphfix.formats.tflite.folding import Evaluator
from graphfix.graph.view import Node, Value, settle
from graphfix.shapes.shape import Shape

DEQUANTIZE = "DEQUANTIZE"
LARGEST_TOTAL = 2
"""All materialized constants together take at most this many times the file's size."""


@dataclass(slots=True, eq=False, repr=False)
class State:
    """One model while it is edited."""

    container: Container
    desks: dict[object, Desk]
    """By graph."""
    expand_limit: int
    """Bytes that one materialized constant may take; above it a stretch is an operator."""
    evaluator: Evaluator
    added: int = 0
    """Bytes of constants that edits have added."""
    unread: dict[Value, None] = field(default_factory=dict)
    """Values that lost a reader: those that nobody reads in the end go."""
    pinned: dict[Node, None] = field(default_factory=dict)
    """Nodes with an operand that was stretched to stored sizes: it follows no other ones."""

    def put(self, node: Node, index: int, value: Value) -> Node:
        """Let the node read `value` as operand `index`."""
        node = node.graph.at(node.index)
        old = node.operands[index]
        if old is value:
            return node
        scope = self.desks[node.graph].scope
        record = scope.operator(node.index)
        tensor = scope.tensors[value]
        record.inputs = (*record.inputs[:index], tensor, *record.inputs[index + 1 :])
        record.changed = scope.record.changed = True
        new = node.reading((*node.operands[:index], value, *node.operands[index + 1 :]))
        settle(new)
        if old is not None:
            self.unread[old] = None
        new.graph.note(new.index, value)
        return new

    def remove(self, node: Node) -> None:
        """Take a node out that nobody reads any more."""
        self.unread.update(dict.fromkeys(value for value in node.operands if value is not None))
        settle(node.reading(()))
        desk = self.desks[node.graph]
        desk.order.gone.add(node.index)
        desk.scope.record.changed = True

    def is_known(self, node: Node) -> bool:
        """Whether all that the node gives follows from constants and sizes: it has no side effect."""
        scope = self.desks[node.graph].scope
        return scope.index == 0 and all(
            self.evaluator.knows(scope.tensors[it]) for it in node.results if it is not None
        )

    def source(self, desk: Desk, value: Value, to: Shape) -> Value | None:
        """The constant to write out in full, where there is one and the limits allow it."""
        source = value if value.kind == "constant" else dequantized(value)
        if source is None or not to.static or not source.shape.static or source.dtype == "string":
            return None
        if source is not value and 0 in to.dims:  # a DEQUANTIZE of several scales ends the process where it is empty
            return None
        if ("stretch", source, to) in desk.order.made:
            return source
        record = desk.scope.tensor(source)
        item = item_bytes(record)
        size, total = prod(numbers(to)) * item, LARGEST_TOTAL * len(self.container.source.data)
        if record.sparse or record.external or size > self.expand_limit or self.added + size > total:
            return None
        return source if self.container.size(record.buffer) == prod(numbers(source.shape)) * item else None


def dequantized(value: Value) -> Value | None:
    """The constant that a DEQUANTIZE reads whose result this is: it is edited there."""
    producer = value.producer
    if producer is None or producer.op != DEQUANTIZE:
        return None
    source = producer.operands[0] if producer.operands else None
    return source if source is not None and source.kind == "constant" else None
