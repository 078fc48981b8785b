"""The state that all edits of an ONNX model share, and the functions that replace an operand or a value."""

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
    """A node that is replaced by its body after all other edits are carried out."""

    holder: Holder
    """The graph or function that contains the node."""
    message: NodeProto
    branch: str
    trips: int | None = None
    """How often a Loop or Scan runs the body; None for an If."""
    version: int = 0
    """The opset version of the standard operators in this scope."""
    unused: frozenset[str] = frozenset()
    """The names of the results of a Loop or Scan that are not used."""

    @property
    def results(self) -> list[str]:
        """The names of the node's results. For a Loop or Scan, only the used ones are returned."""
        names = self.message.output
        return [name for name in names if self.trips is None or (name and name not in self.unused)]


@dataclass(slots=True, eq=False, repr=False)
class State:
    """One model while it is edited."""

    views: Views
    builders: dict[object, NodeBuilder]
    """The node builder of each graph."""
    movement: Collection[str] | None = None
    """The operators that may be used for lifts and stretches; None if all of them may be used."""
    dead: dict[Value, None] = field(default_factory=dict)
    """Values that lost a reader. In the end, those that no node reads are removed with their producers."""
    removed: dict[Graph, set[str]] = field(default_factory=dict)
    """For each graph, the names of results of removed nodes. Their stored shapes must be removed too."""
    decided: list[Decided] = field(default_factory=list)
    """Bodies that will replace their nodes. An outer body precedes those inside it."""
    dequantized: dict[Graph, DequantizedConstants] = field(default_factory=dict)
    """For each graph, the index of its DequantizeLinear nodes of constants. It is built when it is first needed."""
    quantizes: bool = field(init=False)
    """Whether any node quantizes or dequantizes. If not, edits need not look for such nodes in front of an operand."""
    renews: bool = False
    """Whether the edits may make more facts about the model constant, so the view must be built again."""

    def __post_init__(self) -> None:
        """Determine whether any node quantizes or dequantizes."""
        self.quantizes = any(node.op in QUANTIZING for graph in self.views.graphs for node in graph.nodes)

    def message(self, node: Node) -> NodeProto:
        """Return the message of a node of the file. For a new node, return the message of which it is a copy."""
        if node.index >= 0:
            return self.views.protos[node.graph][node.index]
        return self.builders[node.graph].templates[node.index]

    def enter(self, node: Node) -> None:
        """Put a node in the place of the present node with the same index."""
        set_node(node)
        self._has_changed(node)

    def _has_changed(self, node: Node) -> None:
        if node.index >= 0 and node.graph in self.dequantized:
            self.dequantized[node.graph].changed.add(node.index)

    def constants_of(self, graph: Graph) -> DequantizedConstants:
        """Return the index of the DequantizeLinear nodes of a graph that read constants."""
        if graph not in self.dequantized:
            self.dequantized[graph] = DequantizedConstants(graph, self.views)
        return self.dequantized[graph]

    def put(self, node: Node, index: int, value: Value) -> Node:
        """Make the node read `value` as operand `index`, and return the node as it is now."""
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
        """Replace a value by one with the same name and another shape, for all readers. Return the new value."""
        return self.renew(value, replace(value, shape=shape))

    def renew(self, value: Value, new: Value) -> Value:
        """Replace a value by `new`, which has the same name, for all readers. Return `new`."""
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
        """Copy the shape of the node's operand 0 to its result, if the node quantizes or dequantizes (a carrier).

        Carriers that read this result are updated too. If an earlier node of the file is the same carrier of the same
        value, all readers read its result instead.
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
        """Return the result of an earlier node with the same operator, operands and attributes; else None."""
        alike = (node.domain, node.op, node.operands, of_scales(node))
        for other, _ in node.operand(0).reads:
            before = other.graph is node.graph and 0 <= other.index < node.index
            if before and (other.domain, other.op, other.operands, of_scales(other)) == alike:
                return other.results[0]
        return None

    def is_gone(self, node: Node) -> bool:
        """Return whether the node was removed."""
        return node.index in self.builders[node.graph].order.gone

    def remove(self, node: Node) -> None:
        """Remove a node whose results no node reads any more."""
        node = node.graph.at(node.index)
        self.dead.update(dict.fromkeys(value for value in node.operands if value is not None))
        self.removed.setdefault(node.graph, set()).update(value.name for value in node.results if value is not None)
        self.enter(node.reading(()))
        self.builders[node.graph].order.gone.add(node.index)
