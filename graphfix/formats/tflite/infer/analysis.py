"""Infer shapes and small contents of a TFLite model's tensors, in the order of execution.

A stored shape is only a claim. `shape_signature` is read before `shape`. A free size becomes a symbol, `?x.0` for axis
0 of the input x, so it is provably equal to itself wherever the rules repeat it. A shape that the rules compute
replaces the stored shape. If the rules can't compute a shape, the stored shape is assumed, and `assumes` lists this
assumption.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from graphfix.formats.neutral.equal_sizes import NO_SUMS, Sum
from graphfix.formats.tflite.file.container import Container
from graphfix.formats.tflite.file.records import Operator
from graphfix.formats.tflite.infer.names import free_axes, operator_name, unique_names, unknown_name
from graphfix.formats.tflite.infer.scope import INTEGER_TYPES, GraphScope
from graphfix.formats.tflite.infer.subgraphs import Analysis, Known
from graphfix.graph.view import Node, Trips, Value
from graphfix.results.claims import StoredShape, assumptions
from graphfix.results.records import dataclass, field
from graphfix.shapes.dim import UNRANKED, Dim, Shape, Size
from graphfix.shapes.terms import Terms

NONE_EQUAL: Mapping[str, str] = MappingProxyType({})


MOST_OPERATORS: Final = 1 << 14
"""The most operators that are evaluated in all trips of a loop together."""
UNKNOWN_TRIPS: Final = 1 << 6
"""The number of trips that is assumed for a loop inside another loop.

The real number is known when the outer loop is unrolled.
"""


@dataclass(slots=True)
class Facts:
    """The inferred facts about the tensors of one subgraph; tensors are indices."""

    shapes: list[Shape]
    """The shape of each tensor."""
    misstated: dict[int, str] = field(default_factory=dict)
    """The tensors with a wrong stored shape, each with a sentence that states the contradiction."""
    stale: dict[int, str] = field(default_factory=dict)
    """The reason why a tensor's stored shape can't be trusted; completes "left alone because"."""
    contents: dict[int, tuple[Size, ...]] = field(default_factory=dict)
    """The elements of small integer vectors and scalars; elements may be negative."""
    assumes: list[str] = field(default_factory=list)
    """Assumptions: those of the rules, and stored shapes that nothing else determines."""
    leaning: list[int] = field(default_factory=list)
    """The tensors whose shape is an assumed stored shape or follows from one."""


def analyse(
    container: Container,
    ranges: Mapping[str, Size],
    equal: Mapping[str, str] = NONE_EQUAL,
    sums: Mapping[str, Sum] = NO_SUMS,
    *,
    own_only: bool = False,
) -> list[Facts]:
    """Infer the shapes of all tensors; return one Facts for each subgraph.

    If `own_only`, no stored shape of a result is assumed. The other arguments describe free sizes of the main
    subgraph's inputs, by label (`x[0]`):

    - `ranges`: a number or a range, such as {"x[0]": symbol("n", 2, 64)}
    - `equal`: the label whose size is the size of this label too
    - `sums`: the sum of other sizes that this size is
    """
    axes, terms = free_axes(container), Terms()
    names = unique_names(container.subgraphs[0]) if ranges or equal or sums else ()

    def size_of(label: str) -> Size:
        tensor, axis = axes[equal.get(label, label)]
        size = ranges.get(label, Dim())
        return size if isinstance(size, int) else Dim((unknown_name(names[tensor], axis),), size.lo, size.hi)

    narrowed = {axes[label]: size_of(label) for label in {**ranges, **equal} if label in axes}
    narrowed |= {axes[label]: total.size(terms, size_of) for label, total in sums.items()}
    scopes = Analysis(container, narrowed, own_only, terms).run()
    return [_facts(scope) for scope in scopes]


def _facts(scope: GraphScope) -> Facts:
    """Return the facts of one inferred subgraph."""
    vectors = {tensor: sizes for tensor, sizes in scope.contents().items() if len(scope.shapes[tensor].axes or ()) <= 1}
    where = f" in subgraph {scope.index}" if scope.index else ""
    stored: list[StoredShape] = []
    if scope.assumed:
        for operator in scope.container.subgraphs[scope.index].operators:
            name = operator_name(scope.container, operator)
            believed = (tensor for tensor in operator.outputs if tensor in scope.assumed)
            stored += [StoredShape(scope.names[tensor], name, ()) for tensor in believed]
    assumes = [f"{text}{where}" for text in assumptions(stored)]
    misstated = scope.misstated
    return Facts(
        scope.shapes,
        misstated,
        scope.stale,
        vectors,
        [*scope.assumes, *assumes],
        sorted(scope.assumed | scope.doubtful),
    )


def trips(container: Container, node: Node, operator: Operator) -> Trips | None:
    """Return how often a WHILE runs its body; None for another operator, and if a condition is not known.

    The condition and the body are evaluated trip by trip, on the shapes and the integers of the previous trip.
    """
    options = container.options(operator)
    bodies = [options.get(name) for name in ("cond_subgraph_index", "body_subgraph_index")]
    test, body = (at if isinstance(at, int) and 0 < at < len(container.subgraphs) else None for at in bodies)
    if test is None or body is None:
        return None
    nodes = _weight(container, body, {})
    analysis, values = Analysis(container, {}), [_shape_and_elements(value) for value in node.operands]
    for count in range(1 + MOST_OPERATORS // max(1, nodes)):
        decisions = [elements for _, elements in analysis.evaluated(test, values)]
        if decisions not in ([(0,)], [(1,)]):
            return None
        if decisions == [(0,)]:
            return Trips(count, nodes)
        values = analysis.evaluated(body, values)
    return None


def _weight(container: Container, index: int, weights: dict[int, int]) -> int:
    """Return the number of nodes in one trip of the loop whose body is subgraph `index`.

    Loops inside are counted as unrolled. `weights` caches the results by subgraph.
    """
    if index not in weights:
        operators = container.subgraphs[index].operators
        weights[index] = len(operators) + sum(_weight_inside(container, each, weights) for each in operators)
    return weights[index]


def _weight_inside(container: Container, operator: Operator, weights: dict[int, int]) -> int:
    """Return the number of nodes that a WHILE inside a loop adds when it is unrolled; 0 for any other operator."""
    body = container.options(operator).get("body_subgraph_index")
    if not isinstance(body, int) or not 0 < body < len(container.subgraphs):
        return 0
    return UNKNOWN_TRIPS * _weight(container, body, weights)


def _shape_and_elements(value: Value | None) -> Known:
    """Return a value's shape, and its elements if they are integers and known before the run (otherwise None)."""
    if value is None:
        return UNRANKED, None
    elements = value.elements if value.dtype in INTEGER_TYPES else None
    return value.shape, tuple(map(int, elements)) if elements is not None else None
