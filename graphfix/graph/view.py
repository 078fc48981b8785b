"""The frozen view of a model that rewrites read: values, nodes and the graphs that hold them, for every format.

The view holds no weights. `str()` of a node is the notation of tests, `show` and reports: `y[2,3] = Add(x[2,3], b[3])`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

from graphfix.operators.row import TFLITE, Row
from graphfix.results.records import dataclass, field
from graphfix.shapes.dim import Shape, Undecided


class UnrankedOperand(Undecided):
    """An operand whose rank is not known (finding code GF104)."""


class MissingOperandError(Undecided, LookupError):
    """A required operand is missing in the file; the runtime refuses such a node."""


class StaleShape(Undecided):
    """A stored shape that the computed one contradicts (finding code GF204)."""


Scalar: TypeAlias = int | float | bool | str
Kind = Literal["input", "constant", "overridable", "result"]


@dataclass(frozen=True, slots=True)
class Trips:
    """A loop whose trip count is known before the model runs."""

    number: int
    nodes: int
    """Of one trip, those of bodies inside it with them: of a loop inside it as often as that runs."""


@dataclass(frozen=True, slots=True)
class Repeats:
    """What a constant says more than once."""

    least: Shape
    """Its shape, with 1 for each axis along which nothing changes."""
    number: Scalar | None
    """What all of its elements are; None where they differ."""


NO_ATTRIBUTES: Mapping[str, object] = MappingProxyType({})
"""The attributes of a node that has none."""
LITERAL_LIMIT = 64
"""`Value.literal` reads a constant of at most this many elements."""


RANK_OPERANDS: Mapping[str, slice] = MappingProxyType({"Reshape": slice(1, 2), "RESHAPE": slice(1, 2)})
"""By operator: the operand whose number of elements is the rank of the result."""


@dataclass(slots=True, eq=False, repr=False)
class Value:
    """A tensor that nodes read: its name is unique in its graph, its identity in the model.

    Read-only by type: a frozen dataclass costs three times as much to make, and big models have 100,000s.
    """

    name: Final[str]
    shape: Final[Shape]
    dtype: Final[str]
    """The element type by numpy's name (`float32`, `int64`, `bool` ...), or the format's own where numpy has none."""
    kind: Final[Kind]
    graph: Final[Graph]
    stale: Final[str | None] = None
    """Why the stored shape can't be trusted: it contradicts the computed one."""
    place: Final[int | None] = None
    """The place of the node whose result this is (see `Graph.at`), None for inputs and constants."""
    noted: int | list[int] | None = field(default=None, init=False)
    """The places in its graph of whoever ever read it, a list from the second on: true while an operand there is it."""

    @property
    def places(self) -> Sequence[int]:
        """The same as a list."""
        return self.noted if isinstance(self.noted, list) else () if self.noted is None else (self.noted,)

    @property
    def producer(self) -> Node | None:
        """The node whose result this is, None for inputs and constants."""
        return self.graph.at(self.place) if self.place is not None else None

    @property
    def reads(self) -> Sequence[tuple[Node, int]]:
        """(node, operand) of everything that reads it, in this graph and in bodies inside it."""
        return [(node, at) for node in self._noted() for at, operand in enumerate(node.operands) if operand is self]

    @property
    def is_read_once(self) -> bool:
        """Whether one operand of one node is all that reads it; many notes are not looked through for that."""
        times = 0
        for node in self._noted():
            times += node.operands.count(self)
            if times > 1:
                return False
        return times == 1

    @property
    def is_read(self) -> bool:
        """Whether anything reads it; who was made last is asked first, for edits give it new readers."""
        here = any(self in self.graph.at(place).operands for place in reversed(self.places))
        return here or any(self in body.at(place).operands for body, place in self.graph.captured.get(self, ()))

    @property
    def was_read(self) -> bool:
        """Whether anything ever read it, in the file or since."""
        return self.noted is not None or self in self.graph.captured

    @property
    def is_used(self) -> bool:
        """Whether anything reads it, or its graph returns it."""
        return self.is_read or self in self.graph.outputs

    def _noted(self) -> Iterator[Node]:
        """Every node that ever read it, as it is now."""
        graph = self.graph
        for place in dict.fromkeys(self.places):
            yield graph.at(place)
        for body, place in dict.fromkeys(graph.captured.get(self, ())):
            yield body.at(place)

    @property
    def literal(self) -> tuple[Scalar, ...] | None:
        """The elements of a small constant in row-major order; None for anything else."""
        if self.kind != "constant":
            return None
        return self.graph.read_literal(self)

    @property
    def repeats(self) -> Repeats | None:
        """The axes along which nothing changes in a constant; None for anything else, and for one that is not read."""
        return self.graph.read_repeats(self) if self.kind == "constant" else None

    @property
    def number(self) -> Scalar | None:
        """The number that all elements of a constant are, bit for bit."""
        repeats = self.repeats
        return repeats.number if repeats is not None else None

    @property
    def computed_elements(self) -> tuple[Scalar, ...] | None:
        """The elements of what a node computes, where they follow from constants and sizes that are numbers."""
        if self.kind == "constant" or not self.shape.static:
            return None
        return self.graph.read_known(self)

    @property
    def known(self) -> tuple[Scalar, ...] | None:
        """The old name of `computed_elements`. Deprecated: the next minor version removes it."""
        return self.computed_elements

    @property
    def elements(self) -> tuple[Scalar, ...] | None:
        """The elements as far as they are known before the model runs: those of a constant, or of what is computed."""
        return self.literal if self.kind == "constant" else self.computed_elements

    @property
    def bounds(self) -> tuple[int, int] | None:
        """The least and the largest that its whole numbers can be, as far as is known before the model runs."""
        return self.graph.read_bounds(self)

    @property
    def scales(self) -> int:
        """How many scales the file quantizes it by: more than one is one for each index of an axis (TFLite)."""
        return self.graph.read_scales(self)

    @property
    def quantization(self) -> tuple[float, int] | None:
        """The one scale and zero point that the file quantizes it by, None where it has none or several (TFLite)."""
        return self.graph.read_quantization(self)

    @property
    def content(self) -> Shape | None:
        """The shape that an integer vector of the file holds, as far as it can be followed: `Shape(x)` holds x's."""
        return self.graph.read_content(self)

    @property
    def ranked(self) -> Shape:
        """The shape, known to have a rank. Raises UnrankedOperand or StaleShape with the value's name."""
        if self.stale is not None:
            raise StaleShape(self.stale)
        if not self.shape.ranked:
            raise UnrankedOperand(f"the rank of '{self.name}' is not known{self._cause()}")
        return self.shape

    def _cause(self) -> str:
        """Return, in parentheses, the first node whose result lost the rank, or the input that has no rank."""
        value, node = self, self.producer
        while node is not None:
            operands = node.operands[RANK_OPERANDS.get(node.op, slice(None))]
            before = next((each for each in operands if each is not None and not each.shape.ranked), None)
            if before is None:
                read = ", ".join(str(each) for each in node.operands if each is not None)
                # of a standard operator the sizes of inputs may decide it
                how = f"; the file may store the shape of '{value.name}'" if node.domain not in ("", TFLITE) else ""
                return f" ({node.op} '{node.label}'{' of ' * bool(read)}{read} has a result of unknown rank{how})"
            value, node = before, before.producer
        return "" if value is self else f" (the rank of '{value.name}' is not known)"

    def __repr__(self) -> str:
        return f"{self.name}{str(self.shape).replace(', ', ',')}"


@dataclass(slots=True, eq=False, repr=False)
class Node:
    """One operator at its place; read-only by type, but that edits let it read other operands, in place."""

    op: Final[str]
    domain: Final[str]
    version: Final[int]
    """The opset version of `domain` that the model imports."""
    name: Final[str]
    index: Final[int]
    """Position in the graph's original order of execution; negative for a node that an edit made (see `Graph.at`)."""
    graph: Final[Graph]
    operands: tuple[Value | None, ...]
    results: Final[tuple[Value | None, ...]]
    attributes: Final[Mapping[str, object]]
    row: Final[Row | None]

    @property
    def label(self) -> str:
        """The name, or `Op#index` where the file has none."""
        return self.name or f"{self.op}#{self.index}"

    def reading(self, operands: tuple[Value | None, ...]) -> Node:
        """The same node with other operands."""
        return Node(
            self.op, self.domain, self.version, self.name, self.index, self.graph, operands, self.results,
            self.attributes, self.row,
        )  # fmt: skip

    @property
    def trips(self) -> Trips | None:
        """How often a loop runs its body, where that is known before the model runs."""
        return self.graph.read_trips(self)

    def operand(self, index: int) -> Value:
        """The value read as operand `index`. Raises MissingOperandError when the operand is absent."""
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
    """One scope (the main graph, a body, a function): the ledger that links values and nodes.

    Formats own it and keep it true; rewrites only read.
    """

    path: str
    """`main`, `main/<node>.<attribute>` for a body, `function <domain>.<name>` for a function."""
    outer: Graph | None = None
    nodes: list[Node] = field(default_factory=list)
    outputs: set[Value] = field(default_factory=set)
    inputs: list[Value] = field(default_factory=list)
    made: list[Node] = field(default_factory=list)
    """The nodes that edits made."""
    captured: dict[Value, list[tuple[Graph, int]]] = field(default_factory=dict)
    """What `Value.noted` is, for readers in bodies inside this graph."""
    metadata: Sequence[str] = ()
    """The names of a TFLite file's metadata entries; only the main graph has them."""
    without_rank: Collection[Value] = ()
    """Results for which a TFLite file states no rank: their tensors have neither sizes nor `has_rank`."""
    misstated: Mapping[Value, str] = field(default_factory=dict)
    """The values of which the file stores a wrong shape, each with a sentence that says so."""
    read_literal: Callable[[Value], tuple[Scalar, ...] | None] = lambda _: None
    read_content: Callable[[Value], Shape | None] = lambda _: None
    read_scales: Callable[[Value], int] = lambda _: 0
    read_quantization: Callable[[Value], tuple[float, int] | None] = lambda _: None
    read_repeats: Callable[[Value], Repeats | None] = lambda _: None
    read_known: Callable[[Value], tuple[Scalar, ...] | None] = lambda _: None
    read_bounds: Callable[[Value], tuple[int, int] | None] = lambda _: None
    read_trips: Callable[[Node], Trips | None] = lambda _: None

    def at(self, place: int) -> Node:
        """The node at a place, as it is now: the file's nodes count from 0, made ones from -1 down."""
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
        """Let the notes of one value be those of another."""
        new.noted, old.noted = old.noted if old.noted is not None else [], None
        if old in self.captured:
            self.captured[new] = self.captured.pop(old)


def optional_operand(node: Node, index: int) -> Value | None:
    """Return the value that a node reads as operand `index`, None where the operand is absent."""
    return node.operands[index] if index < len(node.operands) else None


def set_node(node: Node) -> None:
    """Put a node in its place, instead of the one that is there."""
    if node.index >= 0:
        node.graph.nodes[node.index] = node
    else:
        node.graph.made[-1 - node.index] = node
