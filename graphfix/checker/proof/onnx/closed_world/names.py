"""The names of an ONNX file that runtimes look at: of nodes, of values across graphs, and of sizes."""

from __future__ import annotations

from collections import Counter
from itertools import chain
from typing import TYPE_CHECKING, Protocol, TypeAlias

from graphfix.checker.proof.core.sizes import result_sizes
from graphfix.results.records import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from onnx import GraphProto, NodeProto

    from graphfix.checker.proof.core.terms import View
    from graphfix.checker.proof.onnx.closed_world.declared import Declared
    from graphfix.checker.proof.onnx.reading.operands import Environment


class Oddities(Protocol):
    """Takes what is odd of the first file; of the second it says what the first has not."""

    closed: bool

    def odd(self, key: object, reason: str) -> None:
        """Enter something that a runtime may refuse."""


INLINED = b"_inlfunc_"
"""What the names that runtimes make begin with."""
Place: TypeAlias = "tuple[str, str, View, int]"
"""A graph, a name in it, the value that has it, and an axis."""


def enter_node_names(world: Oddities, graph: str, nodes: Sequence[NodeProto], *, inlined: bool) -> None:
    """Enter names that two nodes of a graph have. Constants do not count: onnxruntime makes initializers of them.

    `inlined` says that the file has some name as runtimes make them.
    """
    names = [name for node in nodes if (name := node.name)]
    if inlined:
        _enter_made(world, names)
    if len(set(names)) == len(names):
        return
    for name, count in Counter(node.name for node in nodes if node.op_type != "Constant").items():
        if name and count > 1:
            world.odd(("nodes", graph, name), f"{count} nodes of the second file have the name {name!r}")


def enter_devices(world: Oddities, graph: str, node: NodeProto) -> None:
    """Enter the devices that a node names, if it does."""
    held = tuple([each.SerializeToString(deterministic=True) for each in node.device_configurations])
    if held:
        world.odd(("devices", graph, held), f"a node of the second file names devices: {node.name!r}")


def _enter_made(world: Oddities, names: Iterable[str]) -> None:
    """Enter names as onnxruntime makes them for the nodes and values of functions, without looking who has them."""
    for name in names:
        if INLINED.decode() in str(name):
            world.odd(("inlined", name), f"the second file has a name as runtimes make them: {name!r}")


def enter_body_names(world: Oddities, graph: GraphProto, outer: Environment) -> None:
    """Enter the names of a body that mean something around it already, and what else a body may not have."""
    if not graph.name:
        world.odd("a body without a name", "a body of the second file has no name")
    inputs, initializers = {info.name for info in graph.input}, _initializers(graph)
    made = {"input": inputs, "constant": initializers, "result": [name for node in graph.node for name in node.output]}
    for kind, name in ((kind, name) for kind, names in made.items() for name in names):
        if name and outer.knows(name):  # an input may be one where no result may
            reason = f"a body of the second file has {name!r} anew, which is around it"
            world.odd(("shadows", kind, graph.name, name), reason)
    for name in inputs.intersection(initializers):
        world.odd(("held", graph.name, name), f"the input {name!r} of a body of the second file is a constant as well")


def enter_graph_names(
    world: Oddities,
    graph: GraphProto,
    infos: tuple[Sequence[Declared], Sequence[Declared]],
    values: Mapping[str, View],
    *,
    body: bool,
    inlined: bool,
) -> None:
    """Enter the values of a graph that have no name, and declarations of values that are not there.

    `infos` are its inputs and outputs, and the other values of which something is declared.
    """
    named = [*(info.name for info in (*graph.input, *graph.output)), *_initializers(graph)]
    if inlined:
        _enter_made(world, values)
    if not all(named):
        world.odd(("nameless", graph.name), "an input, an output or a constant of the second file has no name")
    if body:
        outputs = Counter(info.name for info in graph.output)
        for name in (name for name, count in outputs.items() if count > 1):
            world.odd(("twice", graph.name, name), f"a body of the second file returns {name!r} twice")
    untyped = [name for name, kind in chain(*infos) if not kind.kind and (kind.is_tensor or (body and kind.is_nothing))]
    for name in untyped:
        world.odd(("untyped", graph.name, name), f"the second file does not say the type of {name!r}")
    for name in [name for name, _ in infos[1] if name not in values]:
        world.odd(("value info", graph.name, name), f"the second file declares {name!r}, which is no value")


def own_names(graph: GraphProto) -> list[str]:
    """Return the names of the values that a graph has before its nodes are executed."""
    return [*(info.name for info in graph.input), *_initializers(graph)]


def _initializers(graph: GraphProto) -> list[str]:
    return [*(each.name for each in graph.initializer), *(each.values.name for each in graph.sparse_initializer)]


@dataclass(slots=True, eq=False)
class SizeNames:
    """Which sizes the two files give one name: onnxruntime lays out memory by names, wherever they are declared."""

    first: dict[tuple[str, str], dict[tuple[View, int], str | None]] = field(default_factory=dict)
    """By graph and name of a value; None where the file has several such places, of different names."""
    second: dict[str, list[tuple[Place, object]]] = field(default_factory=dict)
    """By name the places, and what the proof knows of the size there."""
    _met: set[tuple[object, ...]] = field(default_factory=set)

    def enter(self, world: Oddities, graph: str, info: Declared, view: View) -> None:
        """Enter the names that a graph declares of the sizes of a value."""
        value, kind = info
        for axis in kind.below_0:
            world.odd(("negative", graph, value, axis), f"the second file says a size below 0 of {value!r}")
        if not world.closed:
            first = self.first.setdefault((graph, value), {})
            for axis, name in kind.names:
                first[view, axis] = name if first.get((view, axis), name) == name else None
            return
        sizes = () if view.sizes is None else result_sizes(view.sizes)
        known = self.first.get((graph, value))
        for axis, name in kind.names:
            size = sizes[axis] if axis < len(sizes) else None
            mark = name, size, None if known is None else known.get((view, axis))
            # Places of one size are joined: of those with one name in the first file the first stands for all.
            if size is None or mark not in self._met:
                self._met.add(mark)
                self.second.setdefault(name, []).append(((graph, value, view, axis), size))

    def _in_first(self, place: Place) -> str | None:
        graph, value, view, axis = place
        return self.first.get((graph, value), {}).get((view, axis))

    def unknown(self) -> str | None:
        """Say which name the second file gives to two sizes that may differ, and the first does not."""
        several = ((name, places) for name, places in self.second.items() if not _are_one(places))
        return next(filter(None, (self._apart(name, places) for name, places in several)), None)

    def _apart(self, name: str, places: Sequence[tuple[Place, object]]) -> str | None:
        """Join places of one size, and places that have one name in the first file: all of them have to be joined."""
        above: dict[object, object] = {}

        def top(mark: object) -> object:
            while (parent := above.get(mark, mark)) != mark:
                mark = parent
            return mark

        for place, size in places:
            for mark in (("size", size) if size is not None else None, self._in_first(place)):
                if mark is not None and top(mark) != top(place):
                    above[top(place)] = top(mark)
        whole = top(places[0][0])
        for place, _ in places:
            if top(place) != whole:
                at = f"axis {place[3]} of {place[1]!r}"
                return f"the second file calls two sizes {name!r} that are not known to be one: one is {at}"
        return None


def _are_one(places: Sequence[tuple[Place, object]]) -> bool:
    """Whether all places have the same known size, as nearly always."""
    return places[0][1] is not None and len({size for _, size in places}) == 1
