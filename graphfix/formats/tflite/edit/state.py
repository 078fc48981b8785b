"""The state that all edits of a TFLite model share, and the constants of a subgraph by their bytes."""

from __future__ import annotations

from collections.abc import Callable, Collection

from graphfix.formats.tflite.edit.inline import Decided
from graphfix.formats.tflite.edit.new_nodes import NodeBuilder
from graphfix.formats.tflite.file.container import Container
from graphfix.formats.tflite.file.records import Quantization
from graphfix.formats.tflite.folding import Evaluator
from graphfix.formats.tflite.view import SubgraphView
from graphfix.graph.view import Graph, Node, Value, set_node
from graphfix.results.records import dataclass, field
from graphfix.shapes.dim import Shape

Key = tuple[str, tuple[int, ...], Quantization | None]
"""The element type, the dims and the quantization."""


@dataclass(slots=True, eq=False, repr=False)
class HeldConstants:
    """The constants of static shape in a subgraph, by their bytes; each constant is read at most once.

    Constants that are added after the creation of this object are not included.
    """

    subgraph: SubgraphView
    data: Callable[[int], bytes]
    """Returns the bytes of a buffer."""
    _unread: dict[Key, list[Value]] = field(default_factory=dict)
    _read: dict[Key, dict[bytes, Value]] = field(default_factory=dict)
    """By key and digest: the first constant with these bytes."""

    def __post_init__(self) -> None:
        for value in self.subgraph.values:
            if value.kind == "constant" and value.shape.static:
                tensor = self.subgraph.tensor(value)
                if not (tensor.sparse or tensor.external or tensor.variable):
                    key = value.dtype, value.shape.numbers, tensor.quantization
                    self._unread.setdefault(key, []).append(value)

    def first(self, like: Value, shape: Shape, data: bytes) -> Value | None:
        """Return the first constant with these bytes and this shape, and with the type and quantization of `like`."""
        key = like.dtype, shape.numbers, self.subgraph.tensor(like).quantization
        read = self._read.setdefault(key, {})
        for value in self._unread.pop(key, ()):
            read.setdefault(_digest(self.data(self.subgraph.tensor(value).buffer)), value)
        return read.get(_digest(data)) if read else None


def _digest(data: bytes) -> bytes:
    from hashlib import sha256  # few models have such constants

    return sha256(data).digest()


@dataclass(slots=True, eq=False, repr=False)
class State:
    """One model while it is edited."""

    container: Container
    builders: dict[object, NodeBuilder]
    """By graph."""
    expand_limit: int
    """Bytes that one materialized constant may take; above it a stretch is an operator."""
    evaluator: Evaluator
    movement: Collection[str] | None = None
    """The operators by which lifts and stretches are written; None: all of them."""
    added: int = 0
    """Bytes of constants that edits have added."""
    dead: dict[Value, None] = field(default_factory=dict)
    """Values that lost a reader: those that nobody reads in the end are removed."""
    decided: list[Decided] = field(default_factory=list)
    """Branches to be put in the place of their operators when the other edits are in the file."""
    renews: bool = False
    """Whether an edit wrote a node whose operands are all constants; a new view then computes the node's results."""
    fixed: dict[Value, None] = field(default_factory=dict)
    """What nodes read with an operand that was stretched to stored sizes: it follows no other ones."""
    constants_by_graph: dict[Graph, HeldConstants] = field(default_factory=dict)
    """The constants of each graph by what they hold: looked through once anything is asked for."""
    quantizes: bool = True
    """Whether an operand may be quantized, or held as no other is: the looks of a node do not say it."""

    def held_constants(self, subgraph: SubgraphView) -> HeldConstants:
        """Return the constants of a subgraph by what they hold."""
        if subgraph.graph not in self.constants_by_graph:
            self.constants_by_graph[subgraph.graph] = HeldConstants(subgraph, self.container.data)
        return self.constants_by_graph[subgraph.graph]

    def put(self, node: Node, index: int, value: Value) -> Node:
        """Let the node read `value` as operand `index`."""
        node = node.graph.at(node.index)
        old = node.operands[index]
        if old is value:
            return node
        subgraph = self.builders[node.graph].subgraph
        record = subgraph.operator(node.index)
        tensor = subgraph.tensors[value]
        record.inputs = (*record.inputs[:index], tensor, *record.inputs[index + 1 :])
        record.changed = subgraph.record.changed = True
        node.operands = (*node.operands[:index], value, *node.operands[index + 1 :])
        if old is not None:
            self.dead[old] = None
        node.graph.note(node.index, value)
        return node

    def carry(self, node: Node) -> None:
        """TFLite quantizes by tensors: no operator carries the shape of what another one is bypassed for."""

    def is_gone(self, node: Node) -> bool:
        """Whether a node was removed."""
        return node.index in self.builders[node.graph].order.gone

    def remove(self, node: Node) -> None:
        """Remove a node whose results nobody reads any more."""
        node = node.graph.at(node.index)
        self.dead.update(dict.fromkeys(value for value in node.operands if value is not None))
        set_node(node.reading(()))
        builder = self.builders[node.graph]
        builder.order.gone.add(node.index)
        builder.subgraph.record.changed = True

    def is_known(self, node: Node) -> bool:
        """Whether all results of the node follow from constants and sizes: it has no side effect."""
        subgraph = self.builders[node.graph].subgraph
        return subgraph.index == 0 and all(
            self.evaluator.knows(subgraph.tensors[it]) for it in node.results if it is not None
        )

    def fixed_inputs(self, main: Graph) -> list[str]:
        """A line for each input of the main subgraph that can't be resized any more.

        Its sizes reach a node with an operand that was stretched to stored sizes: that one follows no others.
        """
        pending = [value for value in self.fixed if value.graph is main]
        seen: set[Value] = set()
        while pending:
            value = pending.pop()
            if value in seen:
                continue
            seen.add(value)
            producer = value.producer
            pending += [operand for operand in producer.operands if operand is not None] if producer is not None else []
        return [
            f"callers leave the input {value} at its stored sizes: a stretched operand follows no others"
            for value in main.inputs
            if value in seen and any(isinstance(size, int) for size in value.shape.axes or ())
        ]
