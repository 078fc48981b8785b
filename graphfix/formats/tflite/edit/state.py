"""The state that all edits of a TFLite model share, and an index of a subgraph's constants by their bytes."""

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
"""The element type, the dims and the quantization of a constant."""


@dataclass(slots=True, eq=False, repr=False)
class HeldConstants:
    """An index of a subgraph's constants of static shape by their bytes; each constant is read at most once.

    Constants that are added after this object was created are not included.
    """

    subgraph: SubgraphView
    data: Callable[[int], bytes]
    """Returns the bytes of a buffer."""
    _unread: dict[Key, list[Value]] = field(default_factory=dict)
    _read: dict[Key, dict[bytes, Value]] = field(default_factory=dict)
    """For each key and digest, the first constant with these bytes."""

    def __post_init__(self) -> None:
        for value in self.subgraph.values:
            if value.kind == "constant" and value.shape.static:
                tensor = self.subgraph.tensor(value)
                if not (tensor.sparse or tensor.external or tensor.variable):
                    key = value.dtype, value.shape.numbers, tensor.quantization
                    self._unread.setdefault(key, []).append(value)

    def first(self, like: Value, shape: Shape, data: bytes) -> Value | None:
        """Return the first constant with these bytes and this shape, and with the type and quantization of `like`.

        Return None if there is no such constant.
        """
        key = like.dtype, shape.numbers, self.subgraph.tensor(like).quantization
        read = self._read.setdefault(key, {})
        for value in self._unread.pop(key, ()):
            read.setdefault(_digest(self.data(self.subgraph.tensor(value).buffer)), value)
        return read.get(_digest(data)) if read else None


def _digest(data: bytes) -> bytes:
    from hashlib import sha256  # The module is imported here because few models have such constants.

    return sha256(data).digest()


@dataclass(slots=True, eq=False, repr=False)
class State:
    """The state of one model while it is edited."""

    container: Container
    builders: dict[object, NodeBuilder]
    """The builder of each graph."""
    expand_limit: int
    """Maximal bytes of one materialized constant; a larger stretch is written as an operator."""
    evaluator: Evaluator
    movement: Collection[str] | None = None
    """The operators that lifts and stretches may use; None if all are allowed."""
    added: int = 0
    """Bytes of the constants that edits have added."""
    dead: dict[Value, None] = field(default_factory=dict)
    """Values that lost a reader; after the last edit, those without any reader are removed."""
    decided: list[Decided] = field(default_factory=list)
    """The IFs and WHILEs that are replaced by their bodies after all other edits."""
    renews: bool = False
    """Whether an edit wrote a node whose operands are all constants; a new view then computes the node's results."""
    fixed: dict[Value, None] = field(default_factory=dict)
    """The operands of nodes that have an operand stretched to fixed sizes: callers can't resize them any more."""
    constants_by_graph: dict[Graph, HeldConstants] = field(default_factory=dict)
    """For each graph, the index of its constants by bytes, created when it is first needed."""
    quantizes: bool = True
    """Whether operands may be quantized or stored differently in nodes that otherwise look alike.

    If true, each node is checked separately.
    """

    def held_constants(self, subgraph: SubgraphView) -> HeldConstants:
        """Return the index of a subgraph's constants by their bytes; it is created once."""
        if subgraph.graph not in self.constants_by_graph:
            self.constants_by_graph[subgraph.graph] = HeldConstants(subgraph, self.container.data)
        return self.constants_by_graph[subgraph.graph]

    def put(self, node: Node, index: int, value: Value) -> Node:
        """Make the node read `value` as operand `index`, in the file and in the view; return the node as it is now."""
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
        """Do nothing, because in TFLite no operator repeats the shape of a bypassed value.

        Quantization is stored in the tensors.
        """

    def is_gone(self, node: Node) -> bool:
        """Return whether a node was removed."""
        return node.index in self.builders[node.graph].order.gone

    def remove(self, node: Node) -> None:
        """Remove a node whose results are not read any more."""
        node = node.graph.at(node.index)
        self.dead.update(dict.fromkeys(value for value in node.operands if value is not None))
        set_node(node.reading(()))
        builder = self.builders[node.graph]
        builder.order.gone.add(node.index)
        builder.subgraph.record.changed = True

    def is_known(self, node: Node) -> bool:
        """Return whether all results of the node follow from constants and numeric sizes.

        If true, the node also has no side effect.

        Only nodes of the main subgraph are known.
        """
        subgraph = self.builders[node.graph].subgraph
        return subgraph.index == 0 and all(
            self.evaluator.knows(subgraph.tensors[it]) for it in node.results if it is not None
        )

    def fixed_inputs(self, main: Graph) -> list[str]:
        """Return a line for each input of the main subgraph that callers can't resize any more.

        Its sizes reach a node with an operand that was stretched to stored sizes, and this operand does not follow
        other sizes.
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
