"""Compare the names of an ONNX file that runtimes read: of nodes, values, sizes and functions."""

from __future__ import annotations

from collections import Counter
from itertools import chain
from typing import TYPE_CHECKING, Protocol, TypeAlias

from graphfix.checker.files.onnx.graphs import every_node
from graphfix.checker.proof.core.sizes import result_sizes
from graphfix.checker.proof.onnx.closed_world.model_parts import key_of
from graphfix.checker.proof.onnx.reading.operands import domain_of
from graphfix.results.records import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from onnx import FunctionProto, GraphProto, ModelProto, NodeProto

    from graphfix.checker.proof.core.terms import ProofValue
    from graphfix.checker.proof.onnx.closed_world.declared import Declared
    from graphfix.checker.proof.onnx.closed_world.model_parts import FunctionKey
    from graphfix.checker.proof.onnx.reading.operands import Environment


class Oddities(Protocol):
    """A collector of unusual parts of the first file, which finds those of the second file that the first file lacks.

    `closed` is True once the first file has been read.
    """

    closed: bool

    def require_in_first(self, key: object, reason: str) -> None:
        """Record an unusual part that a runtime may refuse.

        `key` identifies it, and `reason` is reported for the second file.
        """


INLINED = b"_inlfunc_"
"""The beginning of the names that runtimes generate."""
Place: TypeAlias = "tuple[str, str, ProofValue, int]"
"""A graph's name, a value's name, the value, and an axis of it."""


def enter_node_names(world: Oddities, graph: str, nodes: Sequence[NodeProto], *, inlined: bool) -> None:
    """Record in `world` names that several nodes of a graph share.

    Constant nodes are ignored, because onnxruntime makes them initializers. If `inlined`, the file contains a name that
    looks like one that runtimes generate. Names of nodes that look so are then recorded too.
    """
    names = [name for node in nodes if (name := node.name)]
    if inlined:
        _enter_made(world, names)
    if len(set(names)) == len(names):
        return
    for name, count in Counter(node.name for node in nodes if node.op_type != "Constant").items():
        if name and count > 1:
            world.require_in_first(("nodes", graph, name), f"{count} nodes of the second file have the name {name!r}")


def enter_devices(world: Oddities, graph: str, node: NodeProto) -> None:
    """Record in `world` the devices that a node names, if there are any."""
    configurations = tuple([each.SerializeToString(deterministic=True) for each in node.device_configurations])
    if configurations:
        world.require_in_first(
            ("devices", graph, configurations), f"a node of the second file names devices: {node.name!r}"
        )


def _enter_made(world: Oddities, names: Iterable[str]) -> None:
    """Record in `world` names that contain `_inlfunc_`, as names that onnxruntime generates for functions do."""
    for name in names:
        if INLINED.decode() in str(name):
            world.require_in_first(("inlined", name), f"the second file has a name as runtimes make them: {name!r}")


def enter_body_names(world: Oddities, graph: GraphProto, outer: Environment) -> None:
    """Record in `world` the names of a body that shadow a name outside the body, and other unusual names of a body."""
    if not graph.name:
        world.require_in_first("a body without a name", "a body of the second file has no name")
    inputs, initializers = {info.name for info in graph.input}, _initializers(graph)
    made = {"input": inputs, "constant": initializers, "result": [name for node in graph.node for name in node.output]}
    for kind, name in ((kind, name) for kind, names in made.items() for name in names):
        # the kind is in the key, because a runtime may accept a shadowing input but not a shadowing result
        if name and outer.has_value(name):
            reason = f"a body of the second file has {name!r} anew, which is around it"
            world.require_in_first(("shadows", kind, graph.name, name), reason)
    for name in inputs.intersection(initializers):
        world.require_in_first(
            ("held", graph.name, name), f"the input {name!r} of a body of the second file is a constant as well"
        )


def enter_graph_names(
    world: Oddities,
    graph: GraphProto,
    infos: tuple[Sequence[Declared], Sequence[Declared]],
    values: Mapping[str, ProofValue],
    *,
    body: bool,
    inlined: bool,
) -> None:
    """Record in `world` values of a graph without a name or type, and declarations of values that do not exist.

    In a body, an output that is returned twice is recorded too.

    `infos` are the declarations of the inputs and outputs, and those of the other values. `body` is True if the graph
    is a body. If `inlined`, names of values that look like names that runtimes generate are recorded too.
    """
    value_names = [*(info.name for info in (*graph.input, *graph.output)), *_initializers(graph)]
    if inlined:
        _enter_made(world, values)
    if not all(value_names):
        world.require_in_first(
            ("nameless", graph.name), "an input, an output or a constant of the second file has no name"
        )
    if body:
        outputs = Counter(info.name for info in graph.output)
        for name in (name for name, count in outputs.items() if count > 1):
            world.require_in_first(("twice", graph.name, name), f"a body of the second file returns {name!r} twice")
    untyped = [name for name, kind in chain(*infos) if not kind.kind and (kind.is_tensor or (body and kind.is_nothing))]
    for name in untyped:
        world.require_in_first(("untyped", graph.name, name), f"the second file does not say the type of {name!r}")
    for name in [name for name, _ in infos[1] if name not in values]:
        world.require_in_first(
            ("value info", graph.name, name), f"the second file declares {name!r}, which is not a value"
        )


def own_names(graph: GraphProto) -> list[str]:
    """Return the names of the values that a graph has before its nodes are executed: inputs and initializers."""
    return [*(info.name for info in graph.input), *_initializers(graph)]


def _initializers(graph: GraphProto) -> list[str]:
    return [*(each.name for each in graph.initializer), *(each.values.name for each in graph.sparse_initializer)]


@dataclass(slots=True, eq=False)
class SizeNames:
    """The names that both files declare for sizes (`dim_param`).

    onnxruntime plans memory by these names, in all graphs.
    """

    first: dict[tuple[str, str], dict[tuple[ProofValue, int], str | None]] = field(default_factory=dict)
    """The first file's name for the size of each axis, by graph and value name, or None if it declares several names.
    """
    second: dict[str, list[tuple[Place, object]]] = field(default_factory=dict)
    """The axes of values in the second file, each with its size as a term, by the name of the size."""
    _met: set[tuple[object, ...]] = field(default_factory=set)

    def enter(self, world: Oddities, graph: str, info: Declared, view: ProofValue) -> None:
        """Record the names that a graph declares for the sizes of a value, and any declared size below 0."""
        value, kind = info
        for axis in kind.below_0:
            world.require_in_first(
                ("negative", graph, value, axis), f"the second file says a size below 0 of {value!r}"
            )
        if not world.closed:
            first = self.first.setdefault((graph, value), {})
            for axis, name in kind.names:
                first[view, axis] = name if first.get((view, axis), name) == name else None
            return
        sizes = () if view.sizes is None else result_sizes(view.sizes)
        first_name = self.first.get((graph, value))
        for axis, name in kind.names:
            size = sizes[axis] if axis < len(sizes) else None
            mark = name, size, None if first_name is None else first_name.get((view, axis))
            # Places of one known size and one name in the first file are equal, so the first place represents them.
            if size is None or mark not in self._met:
                self._met.add(mark)
                self.second.setdefault(name, []).append(((graph, value, view, axis), size))

    def _in_first(self, place: Place) -> str | None:
        """Return the first file's name for the size of a value's axis; None unless there is exactly one.

        `place` contains the graph, the value's name, the value and the axis.
        """
        graph, value, view, axis = place
        return self.first.get((graph, value), {}).get((view, axis))

    def unknown(self) -> str | None:
        """Return that a name in the second file has two sizes that may differ, as a sentence; None without such a name.

        A name of the first file counts as correct.
        """
        several = ((name, places) for name, places in self.second.items() if not _are_one(places))
        return next(filter(None, (self._apart(name, places) for name, places in several)), None)

    def _apart(self, name: str, places: Sequence[tuple[Place, object]]) -> str | None:
        """Return a sentence about two axes whose sizes have one name but may differ; None if all sizes are equal.

        `places` are the axes whose size has the name `name`, each with the size as a term.

        Two axes have equal sizes if their sizes are one term, or if the first file declares one name for both.
        """
        above: dict[object, object] = {}

        def top(mark: object) -> object:
            while (parent := above.get(mark, mark)) != mark:
                mark = parent
            return mark

        for place, size in places:
            for mark in (("size", size) if size is not None else None, self._in_first(place)):
                if mark is not None and top(mark) != top(place):
                    above[top(place)] = top(mark)
        outer_scope = top(places[0][0])
        for place, _ in places:
            if top(place) != outer_scope:
                at = f"axis {place[3]} of {place[1]!r}"
                return f"the second file calls two sizes {name!r} that are not known to be one: one is {at}"
        return None


def _are_one(places: Sequence[tuple[Place, object]]) -> bool:
    """Return whether all axes in `places` have the same known size. Nearly always they do."""
    return places[0][1] is not None and len({size for _, size in places}) == 1


# --- functions ------------------------------------------------------------------------------------------------------


def shared_function_name(one: ModelProto, two: ModelProto) -> str | None:
    """Return why onnxruntime may confuse functions of the second model; None if it can't.

    Return None also if onnxruntime confuses the same functions of the first model.

    onnxruntime joins the domain, the name and the overload with colons. The functions "f:a" and "f" with overload "a"
    of one domain therefore have the same joined name. A model with both does not load, or a node calls the wrong
    function.
    """
    if not two.functions:
        return None
    theirs, ours = _functions_and_calls(two), _functions_and_calls(one)
    before, after = _functions_by_name(one.functions), _functions_by_name(two.functions)
    for name, keys in theirs.items():
        if name in after and len(keys) > 1 and (keys != ours.get(name) or before.get(name) != after[name]):
            return f"onnxruntime does not tell apart the functions and calls {sorted(keys)} of the second file"
    return None


def _functions_and_calls(model: ModelProto) -> Mapping[str, set[FunctionKey]]:
    """Return the keys of a model's functions and of its nodes' operators, by joined name."""
    found: dict[str, set[FunctionKey]] = {}
    called = ((domain_of(node.domain), node.op_type, node.overload) for node in every_node(model))
    for key in (*map(key_of, model.functions), *called):
        found.setdefault(_joined_name(key), set()).add(key)
    return found


def _functions_by_name(functions: Iterable[FunctionProto]) -> Mapping[str, list[bytes]]:
    """Return the serialized functions by joined name, in the order of the file."""
    found: dict[str, list[bytes]] = {}
    for function in functions:
        found.setdefault(_joined_name(key_of(function)), []).append(function.SerializeToString(deterministic=True))
    return found


def _joined_name(key: FunctionKey) -> str:
    """Return the name by which onnxruntime finds a function: domain, name and, unless it is empty, overload."""
    domain, name, overload = key
    return f"{domain}:{name}:{overload}" if overload else f"{domain}:{name}"
