"""What a graph's messages say: its nodes, read once, the bodies inside them, and the sizes that values declare."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias, TypeGuard

from graphfix.operators.row import standard
from graphfix.results.onnx_messages import (
    AttributeProto,
    FunctionProto,
    GraphProto,
    ModelProto,
    NodeProto,
    TensorShapeProto,
    TypeProto,
    ValueInfoProto,
)
from graphfix.results.records import dataclass, field
from graphfix.shapes.dim import names_a_size

Dims = tuple[int | str | None, ...]
"""Sizes as a file declares them."""
Holder: TypeAlias = GraphProto | FunctionProto
"""The message whose nodes a scope has."""
NO_NAMES: Sequence[str] = ()
INITIALIZER_ALONE_SINCE_IR = 4
"""Before this IR version every initializer is an input too, and runtimes do not let it be overridden."""


Operator: TypeAlias = tuple[str, str]
"""Domain, empty for the standard operators, and operator."""


@dataclass(slots=True, eq=False, repr=False)
class Step:
    """What is read of a node's message, once: protobuf makes a new object each time a field is read."""

    message: NodeProto
    operator: Operator
    inputs: Sequence[str]
    outputs: Sequence[str]
    bare: bool
    """Whether it has no attributes."""
    attributes: dict[str, object] | None = None
    """Those that are numbers, lists of numbers or text, once they are read."""

    @property
    def op(self) -> str:
        """The operator's name."""
        return self.operator[1]

    @property
    def domain(self) -> str:
        """Empty for the standard operators."""
        return self.operator[0]


@dataclass(slots=True, eq=False, repr=False)
class Steps:
    """The nodes of a graph as they were read, field by field: to make an object for each takes as long as all else."""

    messages: list[NodeProto]
    names: list[str]
    operators: list[Operator]
    inputs: list[Sequence[str]]
    outputs: list[Sequence[str]]
    bare: list[bool]
    made: dict[int, Step] = field(default_factory=dict)
    """By place, of the nodes with attributes."""

    def __len__(self) -> int:
        return len(self.messages)

    def __getitem__(self, at: int) -> Step:
        """One node."""
        step = self.made.get(at)
        if step is None:
            bare = self.bare[at]
            step = Step(self.messages[at], self.operators[at], self.inputs[at], self.outputs[at], bare)
            if not bare:
                self.made[at] = step
        return step

    def rows(self) -> Iterator[tuple[Operator, str, Sequence[str], Sequence[str], bool]]:
        """Operator, name, operands and results of each node, and whether it is bare."""
        return zip(self.operators, self.names, self.inputs, self.outputs, self.bare, strict=True)

    def forget(self, at: int) -> None:
        """Free the names that a node reads and makes: what is made of them takes their place in memory."""
        self.inputs[at] = self.outputs[at] = NO_NAMES
        self.made.pop(at, None)

    def with_attributes(self) -> Iterator[tuple[int, Step]]:
        """The place of each node with attributes, and what is read of it."""
        return ((at, self[at]) for at, bare in enumerate(self.bare) if not bare)


def is_standard(domain: str) -> bool:
    """Whether the domain is that of the standard operators."""
    return not standard(domain)


def steps(nodes: Sequence[NodeProto]) -> Steps:
    """Read the nodes of a graph."""
    # A message that is asked for a list that it does not have keeps 350 bytes for the answer: let it go.
    bare = [not node.attribute for node in nodes]
    messages = list(nodes)
    seen_operators: dict[Operator, Operator] = {}  # one pair for each operator: few are distinct
    operators = [
        seen_operators.setdefault(
            operator := (standard(domain) if (domain := node.domain) else "", node.op_type), operator
        )
        for node in messages
    ]
    names = [node.name for node in messages]
    return Steps(
        messages, names, operators, [node.input[:] for node in messages], [node.output[:] for node in messages], bare
    )


def subgraphs(nodes: Sequence[NodeProto]) -> Iterator[tuple[int, str, GraphProto]]:
    """Yield (node's position, attribute, body) of every body directly inside."""
    for index, node in enumerate(nodes):
        for attribute in node.attribute:
            if attribute.type == AttributeProto.GRAPH:
                yield index, attribute.name, attribute.g
            for at, body in enumerate(attribute.graphs):
                yield index, f"{attribute.name}[{at}]", body


def label(node: NodeProto, index: int) -> str:
    """The node's name, or `Op#index`."""
    return node.name or f"{node.op_type}#{index}"


def declared(value: ValueInfoProto) -> Dims | None:
    """Return the dims that a value_info declares, None without a rank; `?`, no name and negative sizes are unknown."""
    tensor = value.type.tensor_type
    if not tensor.HasField("shape"):
        return None
    return tuple([_declared_dim(dim) for dim in tensor.shape.dim])


def _declared_dim(dim: TensorShapeProto.Dimension) -> int | str | None:
    if dim.HasField("dim_value"):
        size = dim.dim_value
        return size if size >= 0 else None
    name = dim.dim_param  # bytes where it is no UTF-8: it names nothing
    return name if isinstance(name, str) and names_a_size(name) else None


def holds_initializers(holder: Holder, ir_version: int) -> TypeGuard[GraphProto]:
    """Whether a constant can be an initializer here: not in a function, nor where it would have to be an input."""
    return isinstance(holder, GraphProto) and ir_version >= INITIALIZER_ALONE_SINCE_IR


def body_of(node: NodeProto, attribute: str) -> GraphProto:
    """Return the body that an attribute holds, `name` or `name[at]`."""
    name, _, at = attribute.partition("[")
    body_attribute = next(candidate for candidate in node.attribute if candidate.name == name)
    body: GraphProto = body_attribute.graphs[int(at[:-1])] if at else body_attribute.g
    return body


def write_dims(tensor: TypeProto.Tensor, dims: Sequence[int | str | None]) -> None:
    """Declare these dims."""
    tensor.shape.SetInParent()
    del tensor.shape.dim[:]
    for size in dims:
        dim = tensor.shape.dim.add()
        if isinstance(size, int):
            dim.dim_value = size
        elif size is not None:
            dim.dim_param = size


def note(proto: ModelProto, key: str, text: str) -> bool:
    """Add a text to a line of the file's metadata; return whether it was not there yet."""
    entry = next((entry for entry in proto.metadata_props if entry.key == key), None)
    if entry is None:
        entry = proto.metadata_props.add(key=key)
    if text in entry.value.split("; "):
        return False
    entry.value = f"{entry.value}; {text}" if entry.value else text
    return True
