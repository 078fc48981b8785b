"""What is known of a TFLite model's tensors: shapes and small contents, computed in the order of execution.

Stored shapes are claims. `shape_signature` is read before `shape`; a size that is free is a named unknown, `?x.0` for
axis 0 of the input x, so that it is provably equal to itself wherever the rules carry it. What the rules compute goes
before what is stored; where they can't tell, the stored shape is assumed, and `assumes` lists it.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from graphfix.formats.neutral.equal_sizes import NO_SUMS, Sum
from graphfix.formats.tflite.file.container import Container
from graphfix.formats.tflite.infer.names import free_axes, operator_name, unique_names, unknown_name
from graphfix.formats.tflite.infer.scope import GraphScope
from graphfix.formats.tflite.infer.subgraphs import Analysis
from graphfix.results import StoredShape, assumptions
from graphfix.results.records import dataclass, field
from graphfix.shapes.shape import Dim, Shape, Size
from graphfix.shapes.terms import Terms

NONE_EQUAL: Mapping[str, str] = MappingProxyType({})


@dataclass(slots=True)
class Facts:
    """All that is known of one subgraph."""

    shapes: list[Shape]
    """By tensor."""
    misstated: dict[int, str] = field(default_factory=dict)
    """The tensors with a wrong stored shape, each with a sentence that says so."""
    stale: dict[int, str] = field(default_factory=dict)
    """Why a tensor's stored shape can't be trusted; completes "left alone because"."""
    contents: dict[int, tuple[Size, ...]] = field(default_factory=dict)
    """The elements of small integer vectors and scalars; they may be negative."""
    assumes: list[str] = field(default_factory=list)
    """What the rules take for granted, and the stored shapes that nothing else determines."""
    leaning: list[int] = field(default_factory=list)
    """The tensors that have such a shape, or one that follows from it."""


def analyse(
    container: Container,
    ranges: Mapping[str, Size],
    equal: Mapping[str, str] = NONE_EQUAL,
    sums: Mapping[str, Sum] = NO_SUMS,
    *,
    own_only: bool = False,
) -> list[Facts]:
    """Infer the shapes of every tensor, one Facts a subgraph. With `own_only` no stored shape of a result is assumed.

    `ranges` narrows free sizes of the main subgraph's inputs, by label: {"x[0]": symbol("n", 2, 64)}, or a number.
    `equal`: by label, the one whose size it is; `sums`: what is a sum of others.
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
