"""A Loop or Scan as one body without inputs: what each trip makes, on what the one before it returns."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Final

from graphfix.formats.onnx.file.messages import declared, subgraphs
from graphfix.formats.onnx.file.tensors import attribute_of
from graphfix.graph.edits import Refused
from graphfix.results.onnx_messages import AttributeProto, GraphProto, NodeProto, TensorProto
from graphfix.results.records import dataclass, field

AXES_ARE_READ_SINCE: Final = 13
"""Before it the axes of an Unsqueeze are an attribute."""
LOOP_OPERANDS: Final = 2
"""The trip count and the condition."""
RANDOM: Final = frozenset(
    "RandomNormal RandomUniform RandomNormalLike RandomUniformLike Multinomial Bernoulli Dropout".split()
)
"""Operators of which several return something else than one that runs several times (a Dropout where it trains)."""
KNOWN_DOMAINS: Final = frozenset({"", "ai.onnx", "ai.onnx.ml"})
"""In others an operator may keep a state."""


def check_loop(node: NodeProto, trips: int) -> None:
    """Raise Refused where the trips of a Loop can't take its place."""
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
    """How many of the operands, the last ones, a Scan reads part by part."""
    return next((attribute.i for attribute in node.attribute if attribute.name == "num_scan_inputs"), 0)


def each_number(node: NodeProto, name: str, count: int) -> list[int]:
    """An attribute that has a number for each of so many values, 0 where it is not given."""
    given = next((list(attribute.ints) for attribute in node.attribute if attribute.name == name), [])
    return given if len(given) == count else [0] * count


def every_node(nodes: Sequence[NodeProto]) -> Iterator[NodeProto]:
    """The nodes and those of bodies inside them."""
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
    """Return the trips of a Loop as a body that returns the results that are wanted. Every new name is `fresh`."""
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
    """The body that is being made."""

    body: GraphProto
    fresh: Callable[[str], str]
    rename: Callable[[Iterable[NodeProto], dict[str, str]], None]
    result_graph: GraphProto = field(default_factory=GraphProto)
    made: set[str] = field(default_factory=set)
    """What the body's nodes make anew in each trip."""

    def __post_init__(self) -> None:
        """Take over what all trips read: the constants."""
        self.result_graph.name = self.body.name
        self.result_graph.initializer.extend(self.body.initializer)
        self.result_graph.node.extend(node for node in self.body.node if node.op_type == "Constant")
        self.made = {name for node in self.body.node if node.op_type != "Constant" for name in node.output if name}

    def trip(self, number: int, condition: str, states: Sequence[str]) -> list[str]:
        """Add the nodes of a trip; return the names of what it returns: the condition, the states, what is stacked."""
        first, second, *_ = self.body.input
        own = self._constant(first.name, number, TensorProto.INT64, declared(first))
        going = condition or self._constant(second.name, True, TensorProto.BOOL, declared(second))
        return self._copied(number, [own, going, *states])

    def scanned_trip(self, node: NodeProto, number: int, length: int, states: Sequence[str]) -> list[str]:
        """Add the nodes of a Scan's trip, on the parts of what it scans."""
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
        """Add the nodes of the body on what it is given; return the names of what it returns."""
        names = dict(zip((value.name for value in self.body.input), given, strict=True))
        if number:  # the first trip has the names of the body
            names.update((name, self.fresh(name)) for name in sorted(self.made))
        nodes = GraphProto(node=[node for node in self.body.node if node.op_type != "Constant"]).node
        for node in nodes if number else ():
            if node.name:
                node.name = self.fresh(node.name)
        self.rename(nodes, names)
        self.result_graph.node.extend(nodes)
        return [names.get(value.name, value.name) for value in self.body.output]

    def _constant(self, stem: str, number: int, kind: int, dims: Sequence[object] | None) -> str:
        """A number that the runtime makes, of the rank that the body declares."""
        from onnx.helper import make_tensor  # few loops are unrolled

        name = self.fresh(stem)
        self.result_graph.initializer.append(make_tensor(name, kind, [1] * len(dims or ()), [number]))
        return name

    def stacked(self, parts: Sequence[str], version: int, axis: int) -> str:
        """Add the nodes that stack what the trips return; return the name of the stack."""
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
    """Drop what only told the loop whether to go on, and numbers that nobody reads."""
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
    """What nodes read, also in their bodies."""
    for node in nodes:
        yield from node.input
    for _, _, body in subgraphs(nodes):
        yield from names_read(body.node)
        yield from (value.name for value in body.output)
