"""One graph of a file while its shapes are inferred: its nodes, and what is known of its values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

from graphfix.formats.onnx.file.messages import Dims, Steps, body_of, declared, label, steps, subgraphs
from graphfix.formats.onnx.file.tensors import elements_of
from graphfix.operators.row import standard
from graphfix.results.onnx_messages import (
    AttributeProto,
    FunctionProto,
    GraphProto,
    NodeProto,
    OperatorSetIdProto,
    TensorProto,
    ValueInfoProto,
)
from graphfix.results.records import dataclass, field
from graphfix.shapes.dim import UNKNOWN, UNRANKED, Dim, Shape, Size, same
from graphfix.shapes.terms import Terms

INTEGERS = (TensorProto.INT64, TensorProto.INT32)
FLOATS_LIMIT = 16
"""Scales are read of a constant of at most this many elements."""


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of a value that comes into a scope."""

    shape: Shape | None
    """None where nothing is known."""
    dtype: int
    elements: tuple[Size, ...] | None = None
    leans: bool = False


NOTHING_KNOWN = Known(None, 0)


class Restated(NamedTuple):
    """A stored shape that is wrong, and the shape to store in its place."""

    why: str
    """How the stored shape is wrong: a sentence for the report."""
    dims: Dims | None
    """The dims to store instead; None: no shape is stored."""


@dataclass(slots=True, eq=False, repr=False)
class TensorType:
    """What is known of a value: one object for all results of nodes that look alike."""

    shape: Final[Shape]
    dtype: Final[int]
    """The element type, 0 where it is not known."""


ABSENT = TensorType(UNRANKED, 0)
"""Of an operand that is left out."""


@dataclass(slots=True, eq=False, repr=False)
class GraphScope:
    """One graph of the file with what is known of its values."""

    path: str
    steps: Steps
    graph: GraphProto | None
    """The graph's message; None where the scope is that of a function."""
    outer: GraphScope | None = None
    versions: Mapping[str, int] = field(default_factory=dict)
    types: dict[str, TensorType] = field(default_factory=dict)
    elements: dict[str, tuple[Size, ...]] = field(default_factory=dict)
    """The elements of small integer vectors and scalars, as far as they are known; they may be negative."""
    unranked: dict[str, Shape] = field(default_factory=dict)
    """Vectors that hold the shape of a value whose rank is not known."""
    sequences: dict[str, tuple[Shape, ...]] = field(default_factory=dict)
    """What sequences hold, where it is known how many tensors there are."""
    claims: dict[str, Dims] = field(default_factory=dict)
    """By value: its stored shape; the last one where the file stores several."""
    other_claims: Sequence[tuple[str, Dims]] = ()
    """Further stored shapes, each with its value: those that differ from the last one, and all of a function, because
    nothing is inferred from these."""
    function: FunctionProto | None = None
    """The function's message; None where the scope is that of a graph."""
    tensors: dict[str, TensorProto] = field(default_factory=dict)
    """The constants: initializers that no caller overrides, and what Constant nodes hold."""
    stale: dict[str, str] = field(default_factory=dict)
    """Why a stored shape can't be trusted."""
    misstated: dict[str, Restated] = field(default_factory=dict)
    """The wrong stored shapes: those of `stale`, wrong names, and numbers in the place of sizes that vary."""
    assumed: set[str] = field(default_factory=set)
    """Values whose rank is the stored one, for it could not be computed."""
    leaning: set[str] = field(default_factory=set)
    """Values of which rank or sizes lean, themselves or through operands, on a stored shape."""
    bindings: Mapping[str, AttributeProto | None] | None = None
    """Of a function: the attributes that its calls give it, None for one that they do not agree on."""
    children: dict[tuple[int, str], GraphScope] = field(default_factory=dict)
    readings: int = 0
    """How often it was inferred: a body is again where what its node carries was widened."""
    terms: Terms = field(default_factory=Terms)
    """Arithmetic with sizes: one for all scopes of a model, while they are read."""
    assumes: dict[str, None] = field(default_factory=dict)
    """What is assumed of sizes, each once: likewise one for all scopes."""

    def stored(self) -> Iterator[ValueInfoProto]:
        """Yield what states the shapes of computed values, and those of a body's inputs."""
        if self.graph is not None:
            yield from self.graph.value_info
            yield from self.graph.output
            yield from self.graph.input if self.outer is not None else ()
        elif self.function is not None:
            yield from self.function.value_info

    def stored_shapes(self) -> list[tuple[str, Dims]]:
        """Return what `stored` states of ranked values, by name."""
        return [(value.name, dims) for value in self.stored() if (dims := declared(value)) is not None]

    def find(self, name: str) -> GraphScope | None:
        """Return the innermost scope that defines the name."""
        scope: GraphScope | None = self
        while scope is not None and name not in scope.types:
            scope = scope.outer
        return scope

    def shape(self, name: str) -> Shape:
        """Return the shape of a visible value; unranked, named after the value, where nothing is known."""
        scope = self.find(name)
        return scope.types[name].shape if scope is not None else Shape(None, (f"?{name}",))

    def own_shape(self, name: str) -> Shape | None:
        """Return the shape of a value of this graph, None where it has none of that name."""
        own_type = self.types.get(name)
        return own_type.shape if own_type is not None else None

    def type_of(self, name: str) -> TensorType:
        """Return what is known of an operand."""
        if not name:
            return ABSENT
        at = self.find(name)
        value_type = at.types[name] if at is not None else None
        if at is not None and value_type is not None and (value_type.dtype or at.outer is None):
            return value_type
        return TensorType(self.shape(name), self.dtype(name))

    def vector(self, name: str) -> tuple[Size, ...] | None:
        """Return the elements of a visible integer vector or scalar; they may be negative."""
        at = self.find(name) if name else None
        return (at if at is not None else self).elements.get(name)  # a vector that an edit made has no type

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

    def tensor(self, name: str) -> TensorProto | None:
        """Return the tensor of a visible constant."""
        at = self.find(name) if name else None
        return at.tensors.get(name) if at is not None else None

    def floats(self, name: str) -> tuple[float, ...] | None:
        """Return the elements of a visible constant that is a small float32 vector."""
        tensor = self.tensor(name)
        if tensor is None or tensor.data_type != TensorProto.FLOAT or len(tensor.dims) != 1:
            return None
        if tensor.dims[0] > FLOATS_LIMIT or tensor.data_location == TensorProto.EXTERNAL:
            return None
        return elements_of(tensor)

    def leans(self, name: str) -> bool:
        """Whether what is known of a visible value leans on a stored shape."""
        at = self.find(name) if name else None
        return at is not None and name in at.leaning

    def bound(self, name: str) -> AttributeProto | None:
        """Return the attribute of the function around that a reference names, None where it is not known."""
        scope: GraphScope | None = self
        while scope is not None and scope.bindings is None:
            scope = scope.outer
        return scope.bindings.get(name) if scope is not None and scope.bindings is not None else None

    def resolved(self, node: NodeProto) -> NodeProto | None:
        """Return the node with the attributes that it refers to in their places; None where one is not known."""
        if not any(attribute.ref_attr_name for attribute in node.attribute):
            return node
        copy = NodeProto()
        copy.CopyFrom(node)
        for attribute in copy.attribute:
            if attribute.ref_attr_name:
                given = self.bound(attribute.ref_attr_name)
                if given is None:
                    return None
                name = attribute.name
                attribute.CopyFrom(given)
                attribute.name = name
        return copy

    def clear(self) -> None:
        """Forget what is known of the values."""
        facts = self.types, self.elements, self.unranked, self.sequences, self.tensors
        for each in (*facts, self.stale, self.misstated):
            each.clear()
        self.assumed.clear()
        self.leaning.clear()

    def dtype(self, name: str) -> int:
        """Return the element type of a visible value, 0 where it is not known."""
        at: GraphScope | None = self
        while at is not None:
            value_type = at.types.get(name)
            if value_type is not None and value_type.dtype:
                return value_type.dtype
            at = at.outer
        return 0

    def walk(self) -> Iterator[GraphScope]:
        """Yield this scope and those inside it, outer before inner."""
        yield self
        for child in self.children.values():
            yield from child.walk()


Read: TypeAlias = Callable[[GraphScope, Mapping[str, Known]], None]
"""Infers a scope of whose inputs this is known."""


def versions_of(imports: Iterable[OperatorSetIdProto]) -> dict[str, int]:
    """Return the version of each operator set by its domain, "" for the standard one."""
    return {standard(entry.domain): entry.version for entry in imports}


def scope_of(
    graph: GraphProto,
    path: str,
    outer: GraphScope | None,
    versions: Mapping[str, int],
    nodes: Steps | None = None,
) -> GraphScope:
    """Make the scope of a graph and of the bodies inside it, nothing inferred; `nodes` where they were read before."""
    scope = GraphScope(path, steps(graph.node) if nodes is None else nodes, graph, outer, versions)
    stored = scope.stored_shapes()
    scope.claims = dict(stored)
    if len(scope.claims) < len(stored):
        scope.other_claims = [(name, dims) for name, dims in stored if dims != scope.claims[name]]
    enter_bodies(scope)
    return scope


def enter_bodies(scope: GraphScope) -> None:
    """Make the scopes of the bodies inside a scope's nodes."""
    for index, step in scope.steps.with_attributes():
        for _, attribute, body in subgraphs([step.message]):
            child = f"{scope.path}/{label(step.message, index)}.{attribute}"
            scope.children[index, attribute] = scope_of(body, child, scope, scope.versions)


def bodies_of(nodes: Sequence[NodeProto], scope: GraphScope) -> Iterator[tuple[GraphProto, GraphScope]]:
    """Yield the bodies directly inside the nodes of a copy of the scope's graph, each with its scope."""
    for (index, attribute), child in scope.children.items():
        yield body_of(nodes[index], attribute), child


def input_shape(name: str, dims: Dims, symbols: Mapping[str, Size], unnamed: Mapping[str, Size]) -> Shape:
    """Return an input's declared dims as terms: an unknown one is named after its axis.

    `unnamed`: by `input[axis]`, what an unknown one is instead.
    """
    return Shape(
        tuple(
            size
            if isinstance(size, int)
            else unnamed.get(f"{name}[{axis}]", Dim((unknown_name(name, axis),)))
            if size is None
            else symbols[size]
            for axis, size in enumerate(dims)
        )
    )


def unknown_name(name: str, axis: int) -> str:
    """What names the size of an axis for which the file has no symbol."""
    return f"?{name}.{axis}"


def agreed(shapes: Sequence[Shape | None]) -> Shape | None:
    """Return what all shapes have, None where their ranks differ or one is not known: [2,N], [2,M] -> [2,?]."""
    ranked_shapes = [shape for shape in shapes if shape is not None and shape.axes is not None]
    if len(ranked_shapes) != len(shapes) or len({shape.rank for shape in ranked_shapes}) != 1:
        return None
    columns = zip(*(shape.dims for shape in ranked_shapes), strict=True)
    return Shape(tuple(column[0] if all(same(column[0], other) for other in column) else UNKNOWN for column in columns))
