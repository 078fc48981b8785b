"""One graph of a file while its shapes are inferred: its nodes, and what is known of its values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from onnx import GraphProto, NodeProto

from graphfix.formats.onnx.file.messages import Dims, Step, body_of, declared, label, steps, subgraphs
from graphfix.shapes.shape import UNKNOWN, Dim, Shape, Size, same


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
