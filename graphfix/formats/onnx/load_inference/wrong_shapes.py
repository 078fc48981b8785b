"""Find values for which onnx's shape inference, which onnxruntime runs at load, contradicts graphfix's rules.

onnxruntime plans buffers by inferred shapes. A wrong shape is harmless until a value of the same shape may share the
buffer. Then the run ends with "Shape mismatch attempting to re-use buffer". An If or a Scan allocates its results by
their inferred shapes. `edit_checks` refuses edits that could make a wrong shape matter.

A stored shape does not correct a wrong one, because onnxruntime infers the sizes again after each optimization. So the
stored shapes of suspect values are dropped before the inference.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeAlias

from graphfix.formats.onnx.load_inference.inferred_shapes import MAIN, Names, Told, ToldShapes, inferred_shapes
from graphfix.formats.onnx.load_inference.suspects import FUNCTION
from graphfix.formats.onnx.view import Views
from graphfix.graph.view import Graph, Node, Value
from graphfix.results.onnx_messages import ModelProto
from graphfix.results.records import dataclass, field
from graphfix.runtimes.onnx.shape_inference import InferenceError
from graphfix.shapes.dim import Shape

ALLOCATING: Final = ("If", "Scan")
"""Operators whose results onnxruntime allocates by the inferred shapes of the results of their bodies."""


CROWDED: Final = "another value may get its buffer"


@dataclass(frozen=True, slots=True)
class Claim:
    """A shape that onnx infers for a value, although the value does not have it, or may not have it."""

    name: str
    inferred: Told
    shape: Shape
    """The shape by graphfix's rules."""
    of_output: bool = False
    """Whether the value is an output of the main graph. Then no other value shares its buffer."""

    def __str__(self) -> str:
        """Return the clause for a report."""
        right = _notation(tuple(self.shape.json)) if self.shape.json is not None else "of unknown rank"
        return f"onnx's inference at load takes {_notation(self.inferred)} for '{self.name}', which is {right}"

    @property
    def is_certain(self) -> bool:
        """Whether the value certainly has another rank or another constant size than the inferred one."""
        right = self.shape.json
        if right is None or len(right) != len(self.inferred):
            return right is not None
        pairs = zip(self.inferred, right, strict=True)
        return any(isinstance(one, int) and isinstance(other, int) and one != other for one, other in pairs)

    @property
    def shares(self) -> bool:
        """Whether onnx infers all sizes. onnxruntime shares no buffer of an unknown size."""
        return None not in self.inferred


@dataclass(slots=True, eq=False, repr=False)
class LoadInference:
    """The shapes of a model that onnx infers wrongly at load."""

    wrong: Mapping[Graph, Mapping[str, Claim]]
    """Wrong shapes by graph and value name.

    Wrong shapes in a function are listed for every graph, because onnxruntime inlines the function at its calls.
    """
    hidden: Mapping[Graph, Mapping[str, Claim]]
    """Shapes that onnx infers wrongly only after more sizes are written into the file.

    These are the sizes and small constants that graphfix's rules compute.
    """
    above: Names
    """The values from which values with hidden wrong shapes are computed."""
    inside: Mapping[tuple[Graph, int], list[Graph]]
    """The bodies of each node, by its graph and index."""
    failure: str = ""
    """The reason why onnx's inference failed, or empty. After a failure the wrong shapes are unknown."""
    crowded: dict[Graph, Claim] = field(default_factory=dict)
    """For each graph in which another value has the same sizes as a wrong shape: the wrong shape.

    The two values may share a buffer.
    """

    def __post_init__(self) -> None:
        """Find the graphs in which a value of another real shape has the same inferred shape as a wrong one."""
        for graph, claims in self.wrong.items():
            beside = _planned_shapes(graph, claims)
            for claim in sorted(claims.values(), key=lambda claim: claim.is_certain):
                if any(dims != claim.shape.json for dims in beside.get(claim.inferred, ())):
                    self.crowded[graph] = claim

    @property
    def danger(self) -> str | None:
        """The reason why onnxruntime may fail on the unchanged file; None if no wrong shape can matter."""
        for (graph, index), bodies in self.inside.items():
            op = graph.nodes[index].op
            for body in bodies if op in ALLOCATING else ():
                returned = {value.name for value in body.outputs}
                for claim in self.wrong.get(body, {}).values():
                    if claim.name in returned and claim.shares and claim.is_certain:
                        return f"{claim}: the {op} allocates its result by it"
        surely = (claim for claim in self.crowded.values() if claim.is_certain)
        return next((f"{claim}: {CROWDED}" for claim in surely), None)


def _planned_shapes(graph: Graph, claims: Mapping[str, Claim]) -> Mapping[Told, list[object]]:
    """Return the real shapes of the values that may share buffers, by the shape that is inferred for them."""
    found: dict[Told, list[object]] = {}
    for node in graph.nodes:
        for value in node.results:
            if value is None or value in graph.outputs or value.kind == "constant":
                continue
            claim, dims = claims.get(value.name), value.shape.json
            inferred = claim.inferred if claim is not None else None if dims is None else tuple(dims)
            if inferred is not None and None not in inferred:
                found.setdefault(inferred, []).append(dims)
    return found


def examine(proto: ModelProto, views: Views, suspects: Sequence[Node]) -> LoadInference:
    """Return the wrong inferred shapes of a model, for results of `suspects` and values computed from them."""
    sources = {value for node in suspects for value in node.results if value is not None}
    inside = views.bodies
    flows = list(_flows(views))
    found = _closure(sources, flows)
    results = [value for graph in views.graphs for node in graph.nodes for value in node.results if value is not None]
    reached, visible = (
        [value for value in results if value in found],
        [value for value in results if value not in found],
    )
    doubtful = _names(found)
    try:
        wrong = _claims(inferred_shapes(proto, doubtful), reached)
        hidden = _claims(inferred_shapes(proto, doubtful, visible, suspects), reached)
    except InferenceError as error:
        return LoadInference({}, {}, frozenset(), inside, failure=str(error))
    if any(node.domain for graph in views.graphs for node in graph.nodes) or any(it.graph.outer for it in sources):
        # onnxruntime infers more than onnx, because it supports other operators and reads constants around a body.
        wrong, hidden = _merged(hidden, wrong), {}
    hidden = {graph: {name: it for name, it in claims.items() if it != wrong.get(graph, {}).get(name)}
              for graph, claims in hidden.items()}  # fmt: skip
    late = {value for value in reached if value.name in hidden.get(value.graph, {})}
    above = _closure(late, [(results, operands) for operands, results in reversed(flows)]) if late else set()
    return LoadInference(_everywhere(wrong, views), hidden, _names(above), inside)


Claims: TypeAlias = dict[Graph, dict[str, Claim]]


def _merged(one: Claims, other: Claims) -> Claims:
    """Return the claims of both. If both have a claim for a value, the claim of `other` is used."""
    return {graph: one.get(graph, {}) | other.get(graph, {}) for graph in (*one, *other)}


def _everywhere(claims: Claims, views: Views) -> Claims:
    """Return the claims by graph, in which the claims of functions are added to every graph."""
    inlined: dict[str, Claim] = {}
    for graph in claims:
        if graph.path.startswith(FUNCTION):
            inlined |= claims[graph]
    return {graph: {**inlined, **claims.get(graph, {})} for graph in (views.graphs if inlined else claims)}


def _names(values: Iterable[Value]) -> Names:
    return frozenset((value.graph.path, value.name) for value in values)


Flow: TypeAlias = tuple[Collection[Value | None], Collection[Value | None]]
"""A pair of values: sources, and values that are computed from them."""


def _flows(views: Views) -> Iterator[Flow]:
    """Yield pairs (sources, values computed from them) for each node, and through bodies and functions."""
    functions = {graph.path: graph for graph in views.graphs if graph.path.startswith(FUNCTION)}
    for graph in views.graphs:
        for node in graph.nodes:
            yield node.operands, node.results
            called = functions.get(f"{FUNCTION}{node.domain}.{node.op}")
            for body in (*views.bodies.get((graph, node.index), ()), *([called] if called is not None else ())):
                yield node.operands, body.inputs
                yield body.outputs, node.results
                yield body.outputs, body.inputs  # The next trip reads the results of the trip before it.


def _closure(values: Collection[Value], flows: Collection[Flow]) -> set[Value]:
    """Return the values, and all values that are computed from them directly or indirectly."""
    found, size = set(values), -1
    while len(found) > size:
        size = len(found)
        for sources, targets in flows:
            if not found.isdisjoint(sources):
                found.update(value for value in targets if value is not None)
    return found


def _claims(inferred_shapes: ToldShapes, reached: Sequence[Value]) -> Claims:
    """Return the inferred shapes of the values `reached` that contradict the rules, or that no rule confirms."""
    found: Claims = {}
    for value in reached:
        every = inferred_shapes.get((value.graph.path, value.name), ())
        dims = next((dims for dims in sorted(every, key=repr) if _differs(dims, value.shape)), None)
        if dims is not None:
            of_output = value.graph.path == MAIN and value in value.graph.outputs
            found.setdefault(value.graph, {})[value.name] = Claim(value.name, dims, value.shape, of_output)
    return found


def _differs(inferred: Told, shape: Shape) -> bool:
    """Return whether an inferred shape has a rank, a number or a symbol that the real shape does not have.

    An inferred symbol does not contradict a real number.
    """
    dims = shape.json
    if dims is None:
        return any(size is not None for size in inferred)
    if len(inferred) != len(dims):
        return True
    pairs = zip(inferred, dims, strict=True)
    return any(
        size not in (None, right) and not (isinstance(size, str) and isinstance(right, int)) for size, right in pairs
    )


def _notation(dims: Told) -> str:
    return f"[{','.join('?' if dim is None else str(dim) for dim in dims)}]"
