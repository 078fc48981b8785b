"""One graph of a file during shape inference: its nodes, and the facts about its values."""

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
"""The greatest number of elements of a constant of scales that is read."""


@dataclass(frozen=True, slots=True)
class Known:
    """The facts about a value that enters a scope."""

    shape: Shape | None
    """The shape; None if nothing is known of it."""
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
    """The shape and element type of a value. Results of equal nodes share one object."""

    shape: Final[Shape]
    dtype: Final[int]
    """The element type as a number of TensorProto; 0 if it is unknown."""


ABSENT = TensorType(UNRANKED, 0)
"""The type of an operand that is left out."""


@dataclass(slots=True, eq=False, repr=False)
class GraphScope:
    """One graph of the file, with the facts about its values."""

    path: str
    steps: Steps
    graph: GraphProto | None
    """The message of the graph; None if the scope belongs to a function."""
    outer: GraphScope | None = None
    versions: Mapping[str, int] = field(default_factory=dict)
    types: dict[str, TensorType] = field(default_factory=dict)
    elements: dict[str, tuple[Size, ...]] = field(default_factory=dict)
    """The elements of small integer vectors and scalars, as far as they are known; they may be negative."""
    unranked: dict[str, Shape] = field(default_factory=dict)
    """By the name of an integer vector: the unranked shape whose sizes it contains."""
    sequences: dict[str, tuple[Shape, ...]] = field(default_factory=dict)
    """By the name of a sequence: the shapes of its tensors, if their number is known."""
    claims: dict[str, Dims] = field(default_factory=dict)
    """By value: its stored shape; the last one if the file stores several."""
    other_claims: Sequence[tuple[str, Dims]] = ()
    """More stored shapes as pairs of value and dims.

    In a graph: those that differ from the last one. In a function: all of them, because no shape is inferred from
    these.
    """
    function: FunctionProto | None = None
    """The message of the function; None if the scope belongs to a graph."""
    tensors: dict[str, TensorProto] = field(default_factory=dict)
    """The constants: initializers that no caller can override, and the tensors of Constant nodes."""
    stale: dict[str, str] = field(default_factory=dict)
    """By value: the reason why its stored shape can't be trusted."""
    misstated: dict[str, Restated] = field(default_factory=dict)
    """The wrong stored shapes: those of `stale`, wrong names, and numbers in place of sizes that vary."""
    assumed: set[str] = field(default_factory=set)
    """Values with the stored rank, because no rank could be computed."""
    leaning: set[str] = field(default_factory=set)
    """Values whose rank or sizes depend on a stored shape, directly or through operands."""
    bindings: Mapping[str, AttributeProto | None] | None = None
    """The attributes that the calls of a function set; None for an attribute on which the calls differ."""
    children: dict[tuple[int, str], GraphScope] = field(default_factory=dict)
    readings: int = 0
    """How often the scope was inferred.

    A body is inferred again each time the types of its loop-carried values are widened.
    """
    terms: Terms = field(default_factory=Terms)
    """The arithmetic of sizes. All scopes of a model share one object during inference."""
    assumes: dict[str, None] = field(default_factory=dict)
    """The assumptions about sizes, without duplicates. All scopes of a model share one object."""

    def stored(self) -> Iterator[ValueInfoProto]:
        """Yield the messages that declare the shapes of computed values, and those of a body's inputs."""
        if self.graph is not None:
            yield from self.graph.value_info
            yield from self.graph.output
            yield from self.graph.input if self.outer is not None else ()
        elif self.function is not None:
            yield from self.function.value_info

    def stored_shapes(self) -> list[tuple[str, Dims]]:
        """Return pairs of name and dims of the values that `stored` declares with a rank."""
        return [(value.name, dims) for value in self.stored() if (dims := declared(value)) is not None]

    def find(self, name: str) -> GraphScope | None:
        """Return the innermost scope that defines the name; None if no scope does."""
        scope: GraphScope | None = self
        while scope is not None and name not in scope.types:
            scope = scope.outer
        return scope

    def shape(self, name: str) -> Shape:
        """Return the shape of a visible value. If nothing is known, it is unranked and named after the value."""
        scope = self.find(name)
        return scope.types[name].shape if scope is not None else Shape(None, (f"?{name}",))

    def own_shape(self, name: str) -> Shape | None:
        """Return the shape of a value of this graph; None if this graph has no value of that name."""
        own_type = self.types.get(name)
        return own_type.shape if own_type is not None else None

    def type_of(self, name: str) -> TensorType:
        """Return the type of an operand; ABSENT for the empty name."""
        if not name:
            return ABSENT
        at = self.find(name)
        value_type = at.types[name] if at is not None else None
        if at is not None and value_type is not None and (value_type.dtype or at.outer is None):
            return value_type
        return TensorType(self.shape(name), self.dtype(name))

    def vector(self, name: str) -> tuple[Size, ...] | None:
        """Return the elements of a visible integer vector or scalar, or None. They may be negative."""
        at = self.find(name) if name else None
        return (at if at is not None else self).elements.get(name)  # a vector that an edit made has no type

    def content(self, name: str) -> Shape | None:
        """Return the shape whose sizes a visible vector contains, or None.

        For the result of `Shape(x)` this is the shape of x.
        """
        elements = self.vector(name)
        if elements is None:
            at = self.find(name) if name else None
            return at.unranked.get(name) if at is not None else None
        return None if any(isinstance(size, int) and size < 0 for size in elements) else Shape(elements)

    def ints(self, name: str) -> tuple[int, ...] | None:
        """Return the elements of a visible vector if all of them are numbers, or None."""
        elements = self.vector(name)
        ints = tuple(size for size in elements or () if isinstance(size, int))
        return ints if elements is not None and len(ints) == len(elements) else None

    def tensor(self, name: str) -> TensorProto | None:
        """Return the tensor of a visible constant, or None."""
        at = self.find(name) if name else None
        return at.tensors.get(name) if at is not None else None

    def floats(self, name: str) -> tuple[float, ...] | None:
        """Return the elements of a visible constant that is a small float32 vector, or None."""
        tensor = self.tensor(name)
        if tensor is None or tensor.data_type != TensorProto.FLOAT or len(tensor.dims) != 1:
            return None
        if tensor.dims[0] > FLOATS_LIMIT or tensor.data_location == TensorProto.EXTERNAL:
            return None
        return elements_of(tensor)

    def leans(self, name: str) -> bool:
        """Return whether the facts about a visible value depend on a stored shape."""
        at = self.find(name) if name else None
        return at is not None and name in at.leaning

    def bound(self, name: str) -> AttributeProto | None:
        """Return the attribute of the enclosing function with this name; None if it is unknown."""
        scope: GraphScope | None = self
        while scope is not None and scope.bindings is None:
            scope = scope.outer
        return scope.bindings.get(name) if scope is not None and scope.bindings is not None else None

    def resolved(self, node: NodeProto) -> NodeProto | None:
        """Return the node with attribute references replaced by their values; None if a value is unknown."""
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
        """Remove all facts about values."""
        facts = self.types, self.elements, self.unranked, self.sequences, self.tensors
        for each in (*facts, self.stale, self.misstated):
            each.clear()
        self.assumed.clear()
        self.leaning.clear()

    def dtype(self, name: str) -> int:
        """Return the element type of a visible value; 0 if it is unknown."""
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
"""The function that infers a scope from the facts about its inputs."""


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
    """Make the scopes of a graph and of its bodies, without inference.

    `nodes` are the graph's nodes if they were read before.
    """
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
    """Return an input's declared dims as terms. An unknown dim is named after its axis.

    `unnamed` has terms for unknown dims, by `input[axis]`, which are used in place of that name.
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
    """Return the name of the size of an axis for which the file has no symbol."""
    return f"?{name}.{axis}"


def agreed(shapes: Sequence[Shape | None]) -> Shape | None:
    """Return the shape on which all shapes agree: `[2,N]` and `[2,M]` give `[2,?]`.

    Return None if the ranks differ, or if one of them is unknown.
    """
    ranked_shapes = [shape for shape in shapes if shape is not None and shape.axes is not None]
    if len(ranked_shapes) != len(shapes) or len({shape.rank for shape in ranked_shapes}) != 1:
        return None
    columns = zip(*(shape.dims for shape in ranked_shapes), strict=True)
    return Shape(tuple(column[0] if all(same(column[0], other) for other in column) else UNKNOWN for column in columns))
