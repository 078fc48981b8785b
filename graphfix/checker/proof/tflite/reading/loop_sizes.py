"""Find sizes of a loop's state that are equal before each iteration.

Two sizes are equal if the caller passes equal sizes, and if an iteration with equal sizes returns equal sizes. To find
this out, the body is read once more, with new terms as its inputs and in a separate table of terms.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeAlias

from graphfix.checker.proof.core.result import UnprovedError
from graphfix.checker.proof.core.sizes import Algebra
from graphfix.checker.proof.core.terms import TermTable
from graphfix.checker.proof.neutral.constants import Constants
from graphfix.checker.proof.tflite.closed_world.known_operators import Known

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from graphfix.checker.files.tflite.records import Model, Operator, Subgraph
    from graphfix.checker.proof.core.terms import ProofValue

BODY = "bodySubgraphIndex"
Spot: TypeAlias = tuple[int, int]
"""A size of the state: (input of the body, axis)."""
Classes: TypeAlias = "Mapping[Spot, object]"
"""For each undeclared size, a key that equal sizes share."""


class Reading(Protocol):
    """The reader of the model, which calls this module."""

    __dataclass_fields__: ClassVar[dict[str, Any]]
    table: TermTable
    model: Model

    def parameter(
        self, graph: Subgraph, owner: tuple[object, ...], place: int, same: Mapping[Spot, Spot] = ...
    ) -> ProofValue:
        """Return an input of a body, as a new value. `same` maps a size to the earlier size that it equals."""
        ...

    def run(self, index: int, given: Sequence[ProofValue], path: str) -> tuple[ProofValue, ...]:
        """Read a subgraph, and return its outputs."""
        ...


def alike(reading: Reading, operator: Operator, operands: Sequence[ProofValue | None]) -> Mapping[Spot, Spot]:
    """Return, for each undeclared size of a WHILE's state, the first size that always equals it.

    Returns {} if no two sizes are equal, and for other operators.
    """
    at = dict(operator.bodies).get(BODY, -1)
    if operator.name != "WHILE" or not 0 <= at < len(reading.model.subgraphs):
        return {}
    graph = reading.model.subgraphs[at]
    classes = _split(dict.fromkeys(_open(graph)), operands)
    while len(set(classes.values())) < len(classes):
        results = _turn(reading, at, _firsts(classes))
        finer = _split(classes, results)
        if len(set(finer.values())) == len(set(classes.values())):
            return _firsts(classes)
        classes = finer
    return {}


def _open(graph: Subgraph) -> list[Spot]:
    """Return the sizes of a body's inputs that the file does not declare."""
    dims = [graph.tensors[tensor].dims for tensor in graph.inputs]
    return [(at, axis) for at, each in enumerate(dims) for axis, size in enumerate(each or ()) if size is None]


def _split(classes: Classes, views: Sequence[ProofValue | None]) -> dict[Spot, object]:
    """Return `classes` with those classes split whose sizes differ in the values `views`."""
    found: dict[Spot, object] = {}
    for spot, size_class in classes.items():
        view = views[spot[0]] if spot[0] < len(views) else None
        sizes = view.sizes if view is not None else None
        found[spot] = spot if sizes is None or spot[1] >= len(sizes) else (size_class, sizes[spot[1]])
    return found


def _firsts(classes: Classes) -> Mapping[Spot, Spot]:
    """Return, for each size, the first size of its class."""
    first: dict[object, Spot] = {}
    return {spot: first.setdefault(size_class, spot) for spot, size_class in classes.items()}


def _turn(reading: Reading, at: int, same: Mapping[Spot, Spot]) -> Sequence[ProofValue | None]:
    """Return the results of one iteration in which the sizes in `same` are equal; () if the body can't be read."""
    table = TermTable(Algebra(), budget=reading.table.budget)
    scratch = replace(
        reading, table=table, constants=Constants(table), inventory=Known([]), effects=[], occurrences={}, notes=None
    )
    graph = reading.model.subgraphs[at]
    try:
        given = [scratch.parameter(graph, ("a turn",), index, same) for index in range(len(graph.inputs))]
        results = scratch.run(at, given, "")
    except UnprovedError:
        return ()
    reading.table.assumptions.update(table.assumptions)
    return results if len(results) == len(graph.outputs) == len(given) else ()
