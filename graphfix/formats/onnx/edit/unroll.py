"""Unroll a Loop or Scan to one body without inputs. Each trip reads the results of the trip before it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Final

from graphfix.formats.onnx.file.messages import declared, subgraphs
from graphfix.formats.onnx.file.tensors import attribute_of
from graphfix.graph.edits import Refused
from graphfix.results.onnx_messages import AttributeProto, GraphProto, NodeProto, TensorProto
from graphfix.results.records import dataclass, field

AXES_ARE_READ_SINCE: Final = 13
"""Before this opset the axes of an Unsqueeze are an attribute."""
LOOP_OPERANDS: Final = 2
"""The number of a Loop's first operands: the trip count and the condition."""
RANDOM: Final = frozenset(
    "RandomNormal RandomUniform RandomNormalLike RandomUniformLike Multinomial Bernoulli Dropout".split()
)
"""Operators whose copies would return other random numbers than one node that runs several times.

A Dropout is random only when it trains.
"""
KNOWN_DOMAINS: Final = frozenset({"", "ai.onnx", "ai.onnx.ml"})
"""Domains whose operators keep no state. In other domains an operator may keep a state between trips."""


def check_loop(node: NodeProto, trips: int) -> None:
    """Raise Refused if a Loop or Scan can't be replaced by its trips.

    Examples are a body that does not fit the node, random operators, and operators that may keep a state.
    """
    body = next(
        (
            attribute.g
            for attribute in node.attribute
            if attribute.name == "body" and attribute.type == AttributeProto.GRAPH
        ),
        None,
    )
    if body is None:
        raise Refused("it has no body")
    ahead = LOOP_OPERANDS if node.op_type == "Loop" else 0
    states = len(node.input) - ahead - scanned(node)
    if states < 0 or len(body.input) != len(node.input) or not all(node.input[ahead:]):
        raise Refused(f"its body takes {len(body.input)} values, the node {len(node.input)}")
    if len(body.output) != len(node.output) + (node.op_type == "Loop") or len(node.output) < states:
        raise Refused(f"its body returns {len(body.output)} results, the node {len(node.output)}")
    if not trips and len(node.output) > states:
        raise Refused("it stacks nothing: it does not run")
    if body.sparse_initializer or body.quantization_annotation:
        raise Refused("its body holds sparse constants, or notes of quantization")
    for each in every_node(body.node):
        if each.op_type in RANDOM or each.domain not in KNOWN_DOMAINS:
            raise Refused(f"its body has a {each.op_type}, which may return something else each time it runs")


def scanned(node: NodeProto) -> int:
    """Return the number of a Scan's last operands of which each trip reads one part; 0 for a Loop."""
    return next((attribute.i for attribute in node.attribute if attribute.name == "num_scan_inputs"), 0)


def each_number(node: NodeProto, name: str, count: int) -> list[int]:
    """Return the integers of a list attribute with `count` entries.

    If the attribute is absent or has another length, `count` zeros are returned.
    """
    given = next((list(attribute.ints) for attribute in node.attribute if attribute.name == name), [])
    return given if len(given) == count else [0] * count


def every_node(nodes: Sequence[NodeProto]) -> Iterator[NodeProto]:
    """Yield the nodes, and the nodes of bodies inside them."""
    yield from nodes
    for _, _, body in subgraphs(nodes):
        yield from every_node(body.node)


def unrolled(
    node: NodeProto,
    trips: int,
    version: int,
    wanted: Collection[str],
    fresh: Callable[[str], str],
    rename: Callable[[Iterable[NodeProto], dict[str, str]], None],
) -> GraphProto:
    """Return the trips of a Loop or Scan as one body, which returns the results in `wanted`.

    `version` is the opset version. `fresh` returns an unused name for a stem, and `rename` renames the values of nodes.
    """
    body = next(attribute.g for attribute in node.attribute if attribute.name == "body")
    unrolling = _Unrolling(body, fresh, rename)
    count, scans = scanned(node), node.op_type == "Scan"
    states = list(node.input[: len(node.input) - count] if scans else node.input[LOOP_OPERANDS:])
    stacks: list[list[str]] = [[] for _ in node.output[len(states) :]]
    condition = ""
    for trip in range(trips):
        if scans:
            returned = unrolling.scanned_trip(node, trip, trips, states)
        else:
            condition, *returned = unrolling.trip(trip, condition, states)
        states, stacked = returned[: len(states)], returned[len(states) :]
        for stack, name in zip(stacks, stacked, strict=True):
            stack.append(name)
    axes, backwards = (each_number(node, f"scan_output_{what}", len(stacks)) for what in ("axes", "directions"))
    result_graph = unrolling.result_graph
    for at, result in enumerate(node.output):
        if result in wanted and at < len(states):
            result_graph.output.add(name=states[at])
        elif result in wanted:
            place = at - len(states)
            parts = stacks[place][::-1] if backwards[place] else stacks[place]
            result_graph.output.add(name=unrolling.stacked(parts, version, axes[place]))
    _prune(result_graph)
    return result_graph


@dataclass(slots=True)
class _Unrolling:
    """The body that is being built from copies of the loop's body."""

    body: GraphProto
    fresh: Callable[[str], str]
    rename: Callable[[Iterable[NodeProto], dict[str, str]], None]
    result_graph: GraphProto = field(default_factory=GraphProto)
    made: set[str] = field(default_factory=set)
    """The names of the values that each trip computes anew. Constants are not among them."""

    def __post_init__(self) -> None:
        """Copy the constants of the loop's body, which all trips read."""
        self.result_graph.name = self.body.name
        self.result_graph.initializer.extend(self.body.initializer)
        self.result_graph.node.extend(node for node in self.body.node if node.op_type == "Constant")
        self.made = {name for node in self.body.node if node.op_type != "Constant" for name in node.output if name}

    def trip(self, number: int, condition: str, states: Sequence[str]) -> list[str]:
        """Add the nodes of one trip of a Loop, and return the names of its results.

        `condition` is the name of the condition, or empty in the first trip, where it is true. The results are the
        condition, the loop-carried states, and the values to be stacked.
        """
        first, second, *_ = self.body.input
        own = self._constant(first.name, number, TensorProto.INT64, declared(first))
        going = condition or self._constant(second.name, True, TensorProto.BOOL, declared(second))
        return self._copied(number, [own, going, *states])

    def scanned_trip(self, node: NodeProto, number: int, length: int, states: Sequence[str]) -> list[str]:
        """Add the nodes of one trip of a Scan, and return the names of its results.

        The results are the states, then the values to be stacked.

        A Gather selects the part of each scanned operand that the trip reads. `length` is the number of trips.
        """
        operands = node.input[len(states) :]
        axes, backwards = (each_number(node, f"scan_input_{what}", len(operands)) for what in ("axes", "directions"))
        parts = []
        for name, axis, turned in zip(operands, axes, backwards, strict=True):
            index = self._constant("index", length - 1 - number if turned else number, TensorProto.INT64, ())
            part = self.fresh(name)
            taken = NodeProto(op_type="Gather", input=[name, index], output=[part], name=self.fresh(part))
            taken.attribute.append(attribute_of("axis", axis))
            self.result_graph.node.append(taken)
            parts.append(part)
        return self._copied(number, [*states, *parts])

    def _copied(self, number: int, given: Sequence[str]) -> list[str]:
        """Add a copy of the body's nodes that reads `given` as its inputs.

        Return the names of the body's results in this copy.
        """
        names = dict(zip((value.name for value in self.body.input), given, strict=True))
        if number:  # The first trip uses the names of the body.
            names.update((name, self.fresh(name)) for name in sorted(self.made))
        nodes = GraphProto(node=[node for node in self.body.node if node.op_type != "Constant"]).node
        for node in nodes if number else ():
            if node.name:
                node.name = self.fresh(node.name)
        self.rename(nodes, names)
        self.result_graph.node.extend(nodes)
        return [names.get(value.name, value.name) for value in self.body.output]

    def _constant(self, stem: str, number: int, kind: int, dims: Sequence[object] | None) -> str:
        """Add a constant with one element, of the rank that the body declares, and return its name.

        It replaces a number that the runtime makes, such as the trip number.
        """
        from onnx.helper import make_tensor  # Imported here, because few loops are unrolled.

        name = self.fresh(stem)
        self.result_graph.initializer.append(make_tensor(name, kind, [1] * len(dims or ()), [number]))
        return name

    def stacked(self, parts: Sequence[str], version: int, axis: int) -> str:
        """Add nodes that stack the values `parts` along a new axis, one from each trip.

        Return the name of the stack.
        """
        rows = []
        for part in parts:
            row = NodeProto(op_type="Unsqueeze", input=[part], output=[self.fresh(part)])
            if version < AXES_ARE_READ_SINCE:
                row.attribute.append(attribute_of("axes", [axis]))
            else:
                row.input.append(self._constant("axes", axis, TensorProto.INT64, (1,)))
            rows.append(row)
        names = [row.output[0] for row in rows]
        name = self.fresh(parts[0])
        joined = NodeProto(op_type="Concat", input=names, output=[name], attribute=[attribute_of("axis", axis)])
        for row in (*rows, joined):
            row.name = self.fresh(row.output[0])
        self.result_graph.node.extend([*rows, joined])
        return name


def _prune(graph: GraphProto) -> None:
    """Remove nodes and constants on which no output of the graph depends, such as the loop's condition."""
    wanted = {value.name for value in graph.output}
    kept = []
    for node in reversed(graph.node):
        if not wanted.isdisjoint(node.output):
            kept.append(node)
            wanted.update(names_read([node]))
    nodes = [*reversed(kept)]
    initializers = [tensor for tensor in graph.initializer if tensor.name in wanted]
    copy = GraphProto(node=nodes, initializer=initializers)
    del graph.node[:], graph.initializer[:]
    graph.MergeFrom(copy)


def names_read(nodes: Sequence[NodeProto]) -> Iterator[str]:
    """Yield the names that nodes read, also in their bodies. The names of a body's outputs are included."""
    for node in nodes:
        yield from node.input
    for _, _, body in subgraphs(nodes):
        yield from names_read(body.node)
        yield from (value.name for value in body.output)
