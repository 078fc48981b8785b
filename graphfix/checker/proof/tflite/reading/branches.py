"""What an operator's results are held to, and an IF whose condition is known: those of the branch always taken."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from graphfix.checker.proof.core.result import UnprovedError
from graphfix.checker.proof.neutral.constant_folding import literal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from graphfix.checker.files.tflite.records import Operator, Subgraph
    from graphfix.checker.proof.core.sizes import Place
    from graphfix.checker.proof.core.terms import Core, View

_BRANCHES = {True: "thenSubgraphIndex", False: "elseSubgraphIndex"}


class Reader(Protocol):
    """What reads the subgraphs."""

    effects: list[tuple[Core, Place]]
    occurrences: dict[object, int]

    def run(self, index: int, given: Sequence[View], path: str) -> tuple[View, ...]:
        """Read a subgraph with these values as its inputs; return its outputs."""

    def bodies(self, operator: Operator, views: Sequence[View | None], place: str) -> tuple[object, ...] | None:
        """Read the subgraphs that an operator runs."""


def always_taken(operator: Operator, views: Sequence[View | None]) -> int | None:
    """Return the subgraph of an IF that is always run; None where the condition is not known."""
    condition = literal(views[0]) if operator.name == "IF" and views else None
    if condition is None or condition.size != 1:
        return None
    return dict(operator.bodies).get(_BRANCHES[bool(condition.all())])


def branch_taken(
    reader: Reader, operator: Operator, views: Sequence[View | None], index: int, place: str
) -> list[View]:
    """Return what the branch returns that is always taken. Raises UnprovedError.

    Both are read as branches first, as a runtime loads both: what they would do there does not count.
    """
    effects, occurrences = len(reader.effects), dict(reader.occurrences)
    reader.bodies(operator, views, place)
    del reader.effects[effects:]
    reader.occurrences = occurrences
    results = reader.run(index, [view for view in views[1:] if view is not None], place)
    if len(results) != len(operator.outputs):
        raise UnprovedError(f"{place} has {len(operator.outputs)} results, and its branch returns {len(results)}")
    return list(results)


def path_of(place: str, option: str) -> str:
    """Return `main/IF#0.then`, of the option `thenSubgraphIndex`."""
    return f"{place}.{option.partition('SubgraphIndex')[0]}"


def check_results(graph: Subgraph, operator: Operator, values: Mapping[int, View], description: str) -> None:
    """Raise UnprovedError unless each tensor has one operator that writes it, and no memory yet.

    Kernels write wherever it lies. What others read there is another value to each kernel set, also in the first file.
    """
    for at in operator.outputs:
        tensor = graph.tensors[at]
        if at in values or tensor.payload is not None or tensor.variable or tensor.odd:
            raise UnprovedError(f"{description} writes to {tensor.name!r}, which is something else")
    if len(operator.outputs) > 1 and len(set(operator.outputs)) < len(operator.outputs):
        raise UnprovedError(f"{description} writes to one tensor twice")
