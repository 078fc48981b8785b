"""What a graph's messages say: its nodes, read once, the bodies inside them, and the sizes that values declare."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias, TypeGuard

from graphfix.formats.onnx.file.proto import (
    AttributeProto,
    FunctionProto,
    GraphProto,
    ModelProto,
    NodeProto,
    TensorShapeProto,
    TypeProto,
    ValueInfoProto,
)
from graphfix.operators.row import standard
from graphfix.results.records import dataclass
from graphfix.shapes.dim import names_a_size

Dims = tuple[int | str | None, ...]
"""Sizes as a file declares them."""
Holder: TypeAlias = GraphProto | FunctionProto
"""The message whose nodes a scope has."""
NO_NAMES: list[str] = []
INITIALIZER_ALONE_SINCE_IR = 4
"""Before this IR version every initializer is an input too, and runtimes do not let it be overridden."""


@dataclass(slots=True, eq=False, repr=False)
class Step:
    """What is read of a node's message, once: protobuf makes a new object each time a field is read."""

    message: NodeProto
    name: str
    op: str
    domain: str
    """Empty for the standard operators."""
    inputs: list[str]
    outputs: list[str]
    bare: bool
    """Whether it has no attributes."""
    attributes: dict[str, object] | None = None
    """Those that are numbers, lists of numbers or text, once they are read."""

    def forget(self) -> None:
        """Free the names: the node of the view that is made of them takes their place in memory."""
        self.inputs = self.outputs = NO_NAMES


def is_standard(domain: str) -> bool:
    """Whether the domain is that of the standard operators."""
    return not standard(domain)


def steps(nodes: Sequence[NodeProto]) -> list[Step]:
    """Read the nodes of a graph."""
    known: dict[str, str] = {}  # one text for each operator: few are distinct
    return [
        Step(
            node,
            node.name,
            known.setdefault(op := node.op_type, op),
            standard(domain) if (domain := node.domain) else "",
            node.input[:],
            node.output[:],
            not node.attribute,
        )
        for node in nodes
    ]


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
    name = dim.dim_param
    return name if names_a_size(name) else None


def holds_initializers(holder: Holder, ir_version: int) -> TypeGuard[GraphProto]:
    """Whether a constant can be an initializer here: not in a function, nor where it would have to be an input."""
    return isinstance(holder, GraphProto) and ir_version >= INITIALIZER_ALONE_SINCE_IR


def body_of(node: NodeProto, attribute: str) -> GraphProto:
    """Return the body that an attribute holds, `name` or `name[at]`."""
    name, _, at = attribute.partition("[")
    held = next(candidate for candidate in node.attribute if candidate.name == name)
    body: GraphProto = held.graphs[int(at[:-1])] if at else held.g
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
