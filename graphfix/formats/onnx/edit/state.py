"""What the edits of an ONNX model share: its views and builders, and how an operand or a value is replaced."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from graphfix.formats.onnx.edit.dequantized import DequantizedConstants
from graphfix.formats.onnx.edit.new_nodes import NodeBuilder
from graphfix.formats.onnx.file.messages import Holder
from graphfix.formats.onnx.view import Views
from graphfix.graph.redundant_nodes import is_carrier, of_scales
from graphfix.graph.view import Graph, Node, Value, set_node
from graphfix.results.onnx_messages import NodeProto
from graphfix.results.records import dataclass, field
from graphfix.shapes.dim import Shape

QUANTIZING = frozenset({"QuantizeLinear", "DequantizeLinear"})


@dataclass(frozen=True, slots=True)
class Decided:
    """A node whose body takes its place when all other edits are carried out."""

    holder: Holder
    """Of the node."""
    message: NodeProto
    branch: str
    trips: int | None = None
    """How often a Loop runs it; None for an If."""
    version: int = 0
    """The standard operator set there."""
    unused: frozenset[str] = frozenset()
    """The results of a Loop that nobody reads."""

    @property
    def results(self) -> list[str]:
        """The names of the node's results; of a Loop's those that somebody reads."""
        names = self.message.output
        return [name for name in names if self.trips is None or (name and name not in self.unused)]


@dataclass(slots=True, eq=False, repr=False)
class State:
    """One model while it is edited."""

    views: Views
    builders: dict[object, NodeBuilder]
    """By graph."""
    movement: Collection[str] | None = None
    """The operators by which lifts and stretches are written; None: all of them."""
    dead: dict[Value, None] = field(default_factory=dict)
    """Values that lost a reader: those that nobody reads in the end are removed."""
    removed: dict[Graph, set[str]] = field(default_factory=dict)
    """Results of nodes that were removed: no stored shape may be left of them."""
    decided: list[Decided] = field(default_factory=list)
    """Branches to be put in the place of their nodes, an outer one before those inside it."""
    dequantized: dict[Graph, DequantizedConstants] = field(default_factory=dict)
    """What DequantizeLinear nodes make of constants, by graph: looked through once anything is asked for."""
    quantizes: bool = field(init=False)
    """Whether any node quantizes: else nothing that edits look for stands in front of an operand."""
    renews: bool = False
    """Whether more may be known of the model after what was done: the view is to be built anew."""

    def __post_init__(self) -> None:
        """Look whether anything quantizes."""
        self.quantizes = any(node.op in QUANTIZING for graph in self.views.graphs for node in graph.nodes)

    def message(self, node: Node) -> NodeProto:
        """Return the node in the file, or what a made one is a copy of."""
        if node.index >= 0:
            return self.views.protos[node.graph][node.index]
        return self.builders[node.graph].templates[node.index]

    def enter(self, node: Node) -> None:
        """Put a node in its place, instead of the one that is there."""
        set_node(node)
        self._has_changed(node)

    def _has_changed(self, node: Node) -> None:
        if node.index >= 0 and node.graph in self.dequantized:
            self.dequantized[node.graph].changed.add(node.index)

    def constants_of(self, graph: Graph) -> DequantizedConstants:
        """Return what the DequantizeLinear nodes of a graph make of constants."""
        if graph not in self.dequantized:
            self.dequantized[graph] = DequantizedConstants(graph, self.views)
        return self.dequantized[graph]

    def put(self, node: Node, index: int, value: Value) -> Node:
        """Let the node read `value` as operand `index`."""
        graph, place = node.graph, node.index
        if place >= 0:
            node = graph.nodes[place]
            self.views.protos[graph][place].input[index] = value.name
        else:
            node = graph.at(place)
        operands = [*node.operands]
        old = operands[index]
        if old is value:
            return node
        operands[index] = value
        node.operands = tuple(operands)
        if self.dequantized:
            self._has_changed(node)
        made = value.place
        if old is not None and (made is None or old not in value.graph.at(made).operands):
            self.dead[old] = None
        graph.note(place, value)
        return node

    def reshape(self, value: Value, shape: Shape) -> Value:
        """Replace a value by one with its name and another shape; whoever read it reads that one."""
        return self.renew(value, replace(value, shape=shape))

    def renew(self, value: Value, new: Value) -> Value:
        """Replace a value by one with its name; whoever read it reads that one."""
        graph = value.graph
        for reader, _ in value.reads:
            reader.operands = tuple(new if it is value else it for it in reader.operands)
            self._has_changed(reader)
        graph.restate(value, new)
        if value in graph.outputs:
            graph.outputs.remove(value)
            graph.outputs.add(new)
        producer = value.producer
        if producer is not None:
            self.enter(replace(producer, results=tuple(new if it is value else it for it in producer.results)))
        self.dead.pop(value, None)
        self.builders[graph].reshaped.discard(value)
        self.builders[graph].reshaped.add(new)
        return new

    def carry(self, node: Node) -> None:
        """Give the results of a carrier, and of those behind it, the shape of what it reads now.

        Where the file has the same carrier of the same value already, that one is read.
        """
        pending = [node]
        while pending:
            node = pending.pop()
            node = node.graph.at(node.index)
            result = node.results[0] if is_carrier(node) else None
            if result is None:
                continue
            twin = self._twin(node)
            if twin is not None:
                pending += [self.put(reader, at, twin) for reader, at in result.reads]
            elif result.shape != node.operand(0).shape:
                pending += [reader for reader, _ in self.reshape(result, node.operand(0).shape).reads]

    def _twin(self, node: Node) -> Value | None:
        """What another node before it makes of the same operands in the same way."""
        alike = (node.domain, node.op, node.operands, of_scales(node))
        for other, _ in node.operand(0).reads:
            before = other.graph is node.graph and 0 <= other.index < node.index
            if before and (other.domain, other.op, other.operands, of_scales(other)) == alike:
                return other.results[0]
        return None

    def is_gone(self, node: Node) -> bool:
        """Whether a node was removed."""
        return node.index in self.builders[node.graph].order.gone

    def remove(self, node: Node) -> None:
        """Remove a node whose results nobody reads any more."""
        node = node.graph.at(node.index)
        self.dead.update(dict.fromkeys(value for value in node.operands if value is not None))
        self.removed.setdefault(node.graph, set()).update(value.name for value in node.results if value is not None)
        self.enter(node.reading(()))
        self.builders[node.graph].order.gone.add(node.index)
