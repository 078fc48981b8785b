"""Read the messages of a graph: its nodes, the bodies inside them, and the sizes that are declared for values."""

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
"""The sizes that a file declares for a value: a number, a symbol, or None for an unknown size."""
Holder: TypeAlias = GraphProto | FunctionProto
"""The message that contains the nodes of a scope."""
NO_NAMES: Sequence[str] = ()
INITIALIZER_ALONE_SINCE_IR = 4
"""Before this IR version every initializer is an input too, and runtimes do not let callers override it."""


Operator: TypeAlias = tuple[str, str]
"""A pair of domain and operator name. The domain of the standard operators is empty."""


@dataclass(slots=True, eq=False, repr=False)
class Step:
    """The fields of a node's message, read once, because protobuf makes a new object for each read of a field."""

    message: NodeProto
    operator: Operator
    inputs: Sequence[str]
    outputs: Sequence[str]
    bare: bool
    """Whether the node has no attributes."""
    attributes: dict[str, object] | None = None
    """The attributes that are numbers, text, or lists of these; None until they are read."""

    @property
    def op(self) -> str:
        """The operator's name."""
        return self.operator[1]

    @property
    def domain(self) -> str:
        """The operator's domain; empty for the standard operators."""
        return self.operator[0]


@dataclass(slots=True, eq=False, repr=False)
class Steps:
    """The nodes of a graph, read field by field into lists. An object for each node would double the time."""

    messages: list[NodeProto]
    names: list[str]
    operators: list[Operator]
    inputs: list[Sequence[str]]
    outputs: list[Sequence[str]]
    bare: list[bool]
    made: dict[int, Step] = field(default_factory=dict)
    """The steps that were made of nodes with attributes, by the node's index."""

    def __len__(self) -> int:
        return len(self.messages)

    def __getitem__(self, at: int) -> Step:
        """Return the step of the node with index `at`. Steps with attributes are cached."""
        step = self.made.get(at)
        if step is None:
            bare = self.bare[at]
            step = Step(self.messages[at], self.operators[at], self.inputs[at], self.outputs[at], bare)
            if not bare:
                self.made[at] = step
        return step

    def rows(self) -> Iterator[tuple[Operator, str, Sequence[str], Sequence[str], bool]]:
        """Return an iterator over the nodes.

        An item is a tuple: operator, name, names of the operands, names of the results, and whether the node has no
        attributes.
        """
        return zip(self.operators, self.names, self.inputs, self.outputs, self.bare, strict=True)

    def forget(self, at: int) -> None:
        """Drop the names that a node reads and computes, to free memory for the view that is built from them."""
        self.inputs[at] = self.outputs[at] = NO_NAMES
        self.made.pop(at, None)

    def with_attributes(self) -> Iterator[tuple[int, Step]]:
        """Yield the index and the step of each node that has attributes."""
        return ((at, self[at]) for at, bare in enumerate(self.bare) if not bare)


def is_standard(domain: str) -> bool:
    """Return whether `domain` is the domain of the standard operators: empty or `ai.onnx`."""
    return not standard(domain)


def steps(nodes: Sequence[NodeProto]) -> Steps:
    """Return the nodes of a graph, read into lists."""
    # A message object that is read for an absent list keeps 350 bytes. So these objects are released, and `messages`
    # gets new ones.
    bare = [not node.attribute for node in nodes]
    messages = list(nodes)
    seen_operators: dict[Operator, Operator] = {}  # One shared pair for each operator, because few are distinct.
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
    """Yield every body directly inside the nodes: (index of the node, name of the attribute, body).

    A body in a list attribute is named `attribute[0]`, `attribute[1]` ...
    """
    for index, node in enumerate(nodes):
        for attribute in node.attribute:
            if attribute.type == AttributeProto.GRAPH:
                yield index, attribute.name, attribute.g
            for at, body in enumerate(attribute.graphs):
                yield index, f"{attribute.name}[{at}]", body


def label(node: NodeProto, index: int) -> str:
    """Return the node's name, or `Op#index` if it has none."""
    return node.name or f"{node.op_type}#{index}"


def declared(value: ValueInfoProto) -> Dims | None:
    """Return the dims that a value_info declares; None if it declares no rank.

    A `?`, an empty symbol and a negative size are returned as None, which is an unknown size.
    """
    tensor = value.type.tensor_type
    if not tensor.HasField("shape"):
        return None
    return tuple([_declared_dim(dim) for dim in tensor.shape.dim])


def _declared_dim(dim: TensorShapeProto.Dimension) -> int | str | None:
    """Return a declared size: a number, a symbol, or None if it is unknown."""
    if dim.HasField("dim_value"):
        size = dim.dim_value
        return size if size >= 0 else None
    name = dim.dim_param  # protobuf returns bytes if the text is not UTF-8. Such a symbol is ignored.
    return name if isinstance(name, str) and names_a_size(name) else None


def holds_initializers(holder: Holder, ir_version: int) -> TypeGuard[GraphProto]:
    """Return whether a constant can be an initializer here.

    It can't be in a function, nor before IR version 4, where each initializer must also be an input.
    """
    return isinstance(holder, GraphProto) and ir_version >= INITIALIZER_ALONE_SINCE_IR


def body_of(node: NodeProto, attribute: str) -> GraphProto:
    """Return the body in an attribute of a node. `attribute` is `name`, or `name[at]` for a list of bodies."""
    name, _, at = attribute.partition("[")
    body_attribute = next(candidate for candidate in node.attribute if candidate.name == name)
    body: GraphProto = body_attribute.graphs[int(at[:-1])] if at else body_attribute.g
    return body


def write_dims(tensor: TypeProto.Tensor, dims: Sequence[int | str | None]) -> None:
    """Declare `dims` as the shape of a tensor type. None leaves a size open."""
    tensor.shape.SetInParent()
    del tensor.shape.dim[:]
    for size in dims:
        dim = tensor.shape.dim.add()
        if isinstance(size, int):
            dim.dim_value = size
        elif size is not None:
            dim.dim_param = size


def note(proto: ModelProto, key: str, text: str) -> bool:
    """Append `text` to a metadata entry of the file; return whether the entry did not contain it yet."""
    entry = next((entry for entry in proto.metadata_props if entry.key == key), None)
    if entry is None:
        entry = proto.metadata_props.add(key=key)
    if text in entry.value.split("; "):
        return False
    entry.value = f"{entry.value}; {text}" if entry.value else text
    return True
