"""The view of a model that rewrites read, the same for every format: graphs, their nodes and values, without weights.

`str()` of a node is the notation of tests, `show` and reports: `y[2,3] = Add(x[2,3], b[3])`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

from graphfix.operators.row import TFLITE, Row
from graphfix.results.records import dataclass, field
from graphfix.shapes.dim import Shape, Undecided


class UnrankedOperand(Undecided):
    """An operand has an unknown rank (finding code GF104)."""


class MissingOperandError(Undecided, LookupError):
    """A required operand is missing in the file; the runtime refuses such a node."""


class StaleShape(Undecided):
    """A stored shape contradicts the computed shape (finding code GF204)."""


Scalar: TypeAlias = int | float | bool | str
Kind = Literal["input", "constant", "overridable", "result"]


@dataclass(frozen=True, slots=True)
class Trips:
    """A loop whose number of trips is known before the model runs."""

    number: int
    nodes: int
    """The number of nodes of one trip, with the nodes of bodies inside; a loop inside counts once for each trip."""


@dataclass(frozen=True, slots=True)
class Repeats:
    """How the elements of a constant repeat."""

    least: Shape
    """The constant's shape, with size 1 for each axis along which all elements are equal."""
    number: Scalar | None
    """The number that all elements equal; None if they differ."""


NO_ATTRIBUTES: Mapping[str, object] = MappingProxyType({})
"""The attributes of a node that has none."""
LITERAL_LIMIT = 64
"""The most elements of a constant that `Value.literal` reads."""


RANK_OPERANDS: Mapping[str, slice] = MappingProxyType({"Reshape": slice(1, 2), "RESHAPE": slice(1, 2)})
"""For each operator, a slice of its operands: the operand whose number of elements is the rank of the result."""


@dataclass(slots=True, eq=False, repr=False)
class Value:
    """A tensor that nodes read. Its name is unique in its graph; in the model, compare values by identity.

    Only the types make it read-only, because a frozen dataclass takes three times as long to create, and big models
    have 100,000s.
    """

    name: Final[str]
    shape: Final[Shape]
    dtype: Final[str]
    """The element type by numpy's name (`float32`, `int64`, `bool` ...), or the format's own name if numpy has none."""
    kind: Final[Kind]
    graph: Final[Graph]
    stale: Final[str | None] = None
    """Why the stored shape can't be trusted: it contradicts the computed shape. None if it can."""
    place: Final[int | None] = None
    """The place of the node whose result this is (see `Graph.at`); None for inputs and constants."""
    noted: int | list[int] | None = field(default=None, init=False)
    """The places of the nodes in its graph that ever read the value: an int for one node, a list for several.

    A place may be outdated: the node there reads the value only if one of its operands is the value.
    """

    @property
    def places(self) -> Sequence[int]:
        """Return the places of the nodes in its graph that ever read the value (see `noted`), as a sequence."""
        return self.noted if isinstance(self.noted, list) else () if self.noted is None else (self.noted,)

    @property
    def producer(self) -> Node | None:
        """Return the node whose result this is; None for inputs and constants."""
        return self.graph.at(self.place) if self.place is not None else None

    @property
    def reads(self) -> Sequence[tuple[Node, int]]:
        """Return (node, operand index) of every read of the value, in its graph and in bodies inside it."""
        return [(node, at) for node in self._noted() for at, operand in enumerate(node.operands) if operand is self]

    @property
    def is_read_once(self) -> bool:
        """Return whether exactly one operand of one node reads the value; the search stops at a second read."""
        times = 0
        for node in self._noted():
            times += node.operands.count(self)
            if times > 1:
                return False
        return times == 1

    @property
    def is_read(self) -> bool:
        """Return whether any node reads the value.

        The newest readers are checked first, because edits add readers.
        """
        here = any(self in self.graph.at(place).operands for place in reversed(self.places))
        return here or any(self in body.at(place).operands for body, place in self.graph.captured.get(self, ()))

    @property
    def was_read(self) -> bool:
        """Return whether any node ever read the value, in the file or after an edit."""
        return self.noted is not None or self in self.graph.captured

    @property
    def is_used(self) -> bool:
        """Return whether any node reads the value, or its graph returns it."""
        return self.is_read or self in self.graph.outputs

    def _noted(self) -> Iterator[Node]:
        """Yield every node that ever read the value, as it is now."""
        graph = self.graph
        for place in dict.fromkeys(self.places):
            yield graph.at(place)
        for body, place in dict.fromkeys(graph.captured.get(self, ())):
            yield body.at(place)

    @property
    def literal(self) -> tuple[Scalar, ...] | None:
        """Return the elements of a small constant in row-major order; None for any other value."""
        if self.kind != "constant":
            return None
        return self.graph.read_literal(self)

    @property
    def repeats(self) -> Repeats | None:
        """Return how the elements of a constant repeat; None for any other value, and if the constant can't be read."""
        return self.graph.read_repeats(self) if self.kind == "constant" else None

    @property
    def number(self) -> Scalar | None:
        """Return the number that all elements of a constant equal, bit for bit; None if there is none."""
        repeats = self.repeats
        return repeats.number if repeats is not None else None

    @property
    def computed_elements(self) -> tuple[Scalar, ...] | None:
        """Return the elements of a node's result if they follow from constants and numeric sizes; otherwise None."""
        if self.kind == "constant" or not self.shape.static:
            return None
        return self.graph.read_known(self)

    @property
    def known(self) -> tuple[Scalar, ...] | None:
        """The old name of `computed_elements`. Deprecated: the next minor version removes it."""
        return self.computed_elements

    @property
    def elements(self) -> tuple[Scalar, ...] | None:
        """Return the elements that are known before the model runs, of a constant or a result; otherwise None."""
        return self.literal if self.kind == "constant" else self.computed_elements

    @property
    def bounds(self) -> tuple[int, int] | None:
        """Return the least and the greatest possible element of an integer value; None if there are no bounds."""
        return self.graph.read_bounds(self)

    @property
    def scales(self) -> int:
        """Return the number of scales that quantize the value; several scales belong to indices of an axis (TFLite)."""
        return self.graph.read_scales(self)

    @property
    def quantization(self) -> tuple[float, int] | None:
        """Return the scale and the zero point that quantize the value; None if there are none or several (TFLite)."""
        return self.graph.read_quantization(self)

    @property
    def content(self) -> Shape | None:
        """Return the shape whose sizes an integer vector contains, as far as it is known.

        Example: the result of `Shape(x)` contains the shape of x.
        """
        return self.graph.read_content(self)

    @property
    def ranked(self) -> Shape:
        """Return the shape, if its rank is known. Raises UnrankedOperand or StaleShape with the value's name."""
        if self.stale is not None:
            raise StaleShape(self.stale)
        if not self.shape.ranked:
            raise UnrankedOperand(f"the rank of '{self.name}' is not known{self._cause()}")
        return self.shape

    def _cause(self) -> str:
        """Return a text about the first node whose result has an unknown rank, or about the input without a rank.

        The text is in parentheses; it is empty if the value itself is that input.
        """
        value, node = self, self.producer
        while node is not None:
            operands = node.operands[RANK_OPERANDS.get(node.op, slice(None))]
            before = next((each for each in operands if each is not None and not each.shape.ranked), None)
            if before is None:
                read = ", ".join(str(each) for each in node.operands if each is not None)
                # For a standard operator, the sizes of inputs may decide the rank instead.
                how = f"; the file may store the shape of '{value.name}'" if node.domain not in ("", TFLITE) else ""
                return f" ({node.op} '{node.label}'{' of ' * bool(read)}{read} has a result of unknown rank{how})"
            value, node = before, before.producer
        return "" if value is self else f" (the rank of '{value.name}' is not known)"

    def __repr__(self) -> str:
        return f"{self.name}{str(self.shape).replace(', ', ',')}"


@dataclass(slots=True, eq=False, repr=False)
class Node:
    """One operator at its place in a graph.

    By its types it is read-only, except that edits change its operands in place.
    """

    op: Final[str]
    domain: Final[str]
    version: Final[int]
    """The opset version of `domain` that the model imports; in TFLite, the version of the operator."""
    name: Final[str]
    index: Final[int]
    """The position in the graph's original order of execution; negative for a new node of an edit (see `Graph.at`)."""
    graph: Final[Graph]
    operands: tuple[Value | None, ...]
    results: Final[tuple[Value | None, ...]]
    attributes: Final[Mapping[str, object]]
    row: Final[Row | None]

    @property
    def label(self) -> str:
        """Return the node's name, or `Op#index` if the file has no name."""
        return self.name or f"{self.op}#{self.index}"

    def reading(self, operands: tuple[Value | None, ...]) -> Node:
        """Return a copy of the node with other operands."""
        return Node(
            self.op, self.domain, self.version, self.name, self.index, self.graph, operands, self.results,
            self.attributes, self.row,
        )  # fmt: skip

    @property
    def trips(self) -> Trips | None:
        """Return how often a loop runs its body, if that is known before the model runs; otherwise None."""
        return self.graph.read_trips(self)

    def operand(self, index: int) -> Value:
        """Return the value that is operand `index`. Raises MissingOperandError if the operand is absent."""
        value = self.operands[index] if index < len(self.operands) else None
        if value is None:
            raise MissingOperandError(f"{self.op} '{self.label}' has no operand {index}")
        return value

    def __repr__(self) -> str:
        results = ", ".join(str(value) for value in self.results if value is not None)
        operands = ", ".join("" if value is None else str(value) for value in self.operands)
        return f"{results} = {self.op}({operands})"


@dataclass(slots=True, eq=False, repr=False)
class Graph:
    """One graph (the main graph, a body or a function), which links values and nodes.

    Formats own it and keep it correct; rewrites only read it.
    """

    path: str
    """`main`, `main/<node>.<attribute>` for a body, `function <domain>.<name>` for a function."""
    outer: Graph | None = None
    nodes: list[Node] = field(default_factory=list)
    outputs: set[Value] = field(default_factory=set)
    inputs: list[Value] = field(default_factory=list)
    made: list[Node] = field(default_factory=list)
    """The new nodes of edits."""
    captured: dict[Value, list[tuple[Graph, int]]] = field(default_factory=dict)
    """For each value of this graph, the (graph, place) of nodes in bodies inside this graph that ever read it."""
    metadata: Sequence[str] = ()
    """The names of a TFLite file's metadata entries; only the main graph has them."""
    without_rank: Collection[Value] = ()
    """Results for which a TFLite file states no rank: their tensors have neither sizes nor `has_rank`."""
    misstated: Mapping[Value, str] = field(default_factory=dict)
    """The values with a wrong stored shape, each with a sentence that states the contradiction."""
    read_literal: Callable[[Value], tuple[Scalar, ...] | None] = lambda _: None
    read_content: Callable[[Value], Shape | None] = lambda _: None
    read_scales: Callable[[Value], int] = lambda _: 0
    read_quantization: Callable[[Value], tuple[float, int] | None] = lambda _: None
    read_repeats: Callable[[Value], Repeats | None] = lambda _: None
    read_known: Callable[[Value], tuple[Scalar, ...] | None] = lambda _: None
    read_bounds: Callable[[Value], tuple[int, int] | None] = lambda _: None
    read_trips: Callable[[Node], Trips | None] = lambda _: None

    def at(self, place: int) -> Node:
        """Return the node at a place, as it is now: the file's nodes count from 0 up, new nodes from -1 down."""
        return self.nodes[place] if place >= 0 else self.made[-1 - place]

    def note(self, place: int, value: Value) -> None:
        """Note that the node at a place of this graph reads a value."""
        noted = value.noted
        if value.graph is not self:
            value.graph.captured.setdefault(value, []).append((self, place))
        elif noted is None:
            value.noted = place
        elif isinstance(noted, list):
            noted.append(place)
        else:
            value.noted = [noted, place]

    def restate(self, old: Value, new: Value) -> None:
        """Move the notes about readers from the value `old` to the value `new`."""
        new.noted, old.noted = old.noted if old.noted is not None else [], None
        if old in self.captured:
            self.captured[new] = self.captured.pop(old)


def optional_operand(node: Node, index: int) -> Value | None:
    """Return the value that a node reads as operand `index`; None if the operand is absent."""
    return node.operands[index] if index < len(node.operands) else None


def set_node(node: Node) -> None:
    """Replace the node at a place of its graph by this node."""
    if node.index >= 0:
        node.graph.nodes[node.index] = node
    else:
        node.graph.made[-1 - node.index] = node
