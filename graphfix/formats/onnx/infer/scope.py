"""One graph of a file while its shapes are inferred: its nodes, read once, and what is known of its values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import onnx
from onnx import AttributeProto, GraphProto, NodeProto, TypeProto, ValueInfoProto

from graphfix.shapes.shape import UNKNOWN, Dim, Shape, Size, same

Dims = tuple[int | str | None, ...]
"""Sizes as a file declares them."""


@dataclass(slots=True, eq=False, repr=False)
class Step:
    """What is read of a node's message, once: protobuf makes a new object each time a field is read."""

    message: NodeProto
    op: str
    domain: str
    """Empty for the standard operators."""
    inputs: list[str]
    outputs: list[str]
    bare: bool
    """Whether it has no attributes."""


def standard(domain: str) -> str:
    """Return the domain, empty for the standard operators under either of their names."""
    return "" if domain == "ai.onnx" else domain


def is_standard(domain: str) -> bool:
    """Whether the domain is that of the standard operators."""
    return not standard(domain)


def steps(nodes: Sequence[NodeProto]) -> list[Step]:
    """Read the nodes of a graph."""
    return [
        Step(
            node,
            node.op_type,
            standard(domain) if (domain := node.domain) else "",
            node.input[:],
            node.output[:],
            not node.attribute,
        )
        for node in nodes
    ]


@dataclass(slots=True, eq=False, repr=False)
class GraphScope:
    """One graph of the file with what is known of its values."""

    path: str
    steps: Sequence[Step]
    graph: GraphProto | None
    """None for a function's body."""
    outer: GraphScope | None = None
    versions: Mapping[str, int] = field(default_factory=dict)
    shapes: dict[str, Shape] = field(default_factory=dict)
    dtypes: dict[str, int] = field(default_factory=dict)
    elements: dict[str, tuple[Size, ...]] = field(default_factory=dict)
    """The elements of small integer vectors and scalars, as far as they are known; they may be negative."""
    unranked: dict[str, Shape] = field(default_factory=dict)
    """Vectors that hold the shape of a value whose rank is not known."""
    claims: dict[str, Dims] = field(default_factory=dict)
    """The stored shapes."""
    stale: dict[str, str] = field(default_factory=dict)
    """Why a stored shape can't be trusted."""
    assumed: set[str] = field(default_factory=set)
    """Values whose rank is the stored one, for it could not be computed."""
    children: dict[tuple[int, str], GraphScope] = field(default_factory=dict)

    @property
    def nodes(self) -> Sequence[NodeProto]:
        """The messages of the nodes."""
        return [step.message for step in self.steps]

    def find(self, name: str) -> GraphScope | None:
        """Return the innermost scope that defines the name."""
        scope: GraphScope | None = self
        while scope is not None and name not in scope.shapes:
            scope = scope.outer
        return scope

    def shape(self, name: str) -> Shape:
        """Return the shape of a visible value; unranked, named after the value, where nothing is known."""
        scope = self.find(name)
        return scope.shapes[name] if scope is not None else Shape(None, (f"?{name}",))

    def vector(self, name: str) -> tuple[Size, ...] | None:
        """Return the elements of a visible integer vector or scalar; they may be negative."""
        at = self.find(name) if name else None
        return at.elements.get(name) if at is not None else None

    def content(self, name: str) -> Shape | None:
        """Return the shape that a visible vector holds: `Shape(x)` holds x's."""
        elements = self.vector(name)
        if elements is None:
            at = self.find(name) if name else None
            return at.unranked.get(name) if at is not None else None
        return None if any(isinstance(size, int) and size < 0 for size in elements) else Shape(elements)

    def ints(self, name: str) -> tuple[int, ...] | None:
        """Return the elements of a visible vector where all are numbers."""
        elements = self.vector(name)
        ints = tuple(size for size in elements or () if isinstance(size, int))
        return ints if elements is not None and len(ints) == len(elements) else None

    def dtype(self, name: str) -> int:
        """Return the element type of a visible value, 0 where it is not known."""
        at: GraphScope | None = self
        while at is not None and name not in at.dtypes:
            at = at.outer
        return at.dtypes[name] if at is not None else 0

    def walk(self) -> Iterator[GraphScope]:
        """Yield this scope and those inside it, outer before inner."""
        yield self
        for child in self.children.values():
            yield from child.walk()


@dataclass(slots=True)
class SizeNames:
    """What the names of sizes mean in the graph that onnx infers."""

    symbols: Mapping[str, Size]
    """The symbols of the graph's inputs, with the user's ranges."""
    written: dict[str, Size] = field(default_factory=dict)
    """The names that were written into the graph."""
    generated: dict[str, Size] = field(default_factory=dict)
    """The names that onnx generated, each with the term of its first holder; valid for one run of onnx."""

    def text(self, size: Size) -> int | str | None:
        """Return a size as it is written into the graph that onnx infers; never a name that onnx could generate."""
        if isinstance(size, int):
            return size
        if not size.parts:
            return None
        name = (
            f"{{{','.join(size.parts)}}}" if len(size.parts) > 1 or size.parts[0].startswith("unk__") else size.parts[0]
        )
        self.written.setdefault(name, size)
        return name

    def size(self, name: str) -> Size | None:
        """Return what a name means, None when it is seen for the first time."""
        return self.written.get(name) or self.generated.get(name)


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
    return tuple(_declared_dim(dim) for dim in tensor.shape.dim)


def _declared_dim(dim: onnx.TensorShapeProto.Dimension) -> int | str | None:
    if dim.HasField("dim_value"):
        return dim.dim_value if dim.dim_value >= 0 else None
    return dim.dim_param if dim.dim_param not in ("", "?") else None


def scope_of(
    graph: GraphProto,
    path: str,
    outer: GraphScope | None,
    versions: Mapping[str, int],
    nodes: Sequence[Step] | None = None,
) -> GraphScope:
    """Make the scope of a graph and of the bodies inside it, nothing inferred; `nodes` where they were read before."""
    scope = GraphScope(path, steps(graph.node) if nodes is None else nodes, graph, outer, versions)
    claims = (*graph.value_info, *graph.output, *(graph.input if outer is not None else ()))
    scope.claims = {value.name: dims for value in claims if (dims := declared(value)) is not None}
    enter_bodies(scope)
    return scope


def enter_bodies(scope: GraphScope) -> None:
    """Make the scopes of the bodies inside a scope's nodes."""
    for index, step in enumerate(scope.steps):
        if not step.bare:
            for _, attribute, body in subgraphs([step.message]):
                child = f"{scope.path}/{label(step.message, index)}.{attribute}"
                scope.children[index, attribute] = scope_of(body, child, scope, scope.versions)


def bodies_of(nodes: Sequence[NodeProto], scope: GraphScope) -> Iterator[tuple[GraphProto, GraphScope]]:
    """Yield the bodies directly inside the nodes of a copy of the scope's graph, each with its scope."""
    for (index, attribute), child in scope.children.items():
        yield body_of(nodes[index], attribute), child


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


def input_shape(name: str, dims: Dims, symbols: Mapping[str, Size]) -> Shape:
    """Return an input's declared dims as terms: an unknown one is named after its axis."""
    return Shape(
        tuple(
            size if isinstance(size, int) else Dim((f"?{name}.{axis}",)) if size is None else symbols[size]
            for axis, size in enumerate(dims)
        )
    )


def agreed(shapes: Sequence[Shape | None]) -> Shape | None:
    """Return what all shapes have, None where their ranks differ or one is not known: [2,N], [2,M] -> [2,?]."""
    known = [shape for shape in shapes if shape is not None and shape.axes is not None]
    if len(known) != len(shapes) or len({shape.rank for shape in known}) != 1:
        return None
    columns = zip(*(shape.dims for shape in known), strict=True)
    return Shape(tuple(column[0] if all(same(column[0], other) for other in column) else UNKNOWN for column in columns))
