"""A WHILE of known trip count: its results are those of its body, read as often as it runs.

The count is found by reading: the condition on what a trip is given is a constant, or the loop is read as a loop. In
LiteRT a trip is given what the one before returns, copied one by one into the body's inputs; so no body is read here
that returns an input at another place. Operators with a state would not be the same ones in each trip.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final, Protocol

from graphfix.checker.proof.neutral.constant_folding import literal

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from graphfix.checker.files.tflite.records import Model, Operator, Subgraph
    from graphfix.checker.proof.core.sizes import Place
    from graphfix.checker.proof.core.terms import Core, View

TEST, BODY = "condSubgraphIndex", "bodySubgraphIndex"
MOST_OPERATORS: Final = 1 << 14
"""Of the trips of one loop."""


class Reader(Protocol):
    """What reads the subgraphs."""

    model: Model
    effects: list[tuple[Core, Place]]
    occurrences: dict[object, int]
    unrolled: frozenset[int]

    def run(self, index: int, given: Sequence[View], path: str) -> tuple[View, ...]:
        """Read a subgraph with these values as its inputs; return its outputs."""


def fewer(one: Model, two: Model, reached: Sequence[Collection[int]]) -> frozenset[int]:
    """Return the bodies that fewer loops of the second file run: those are read as they run, in both files."""
    ours, theirs = (
        Counter(
            dict(operator.bodies).get(BODY, -1)
            for index in found
            for operator in model.subgraphs[index].operators
            if operator.name == "WHILE"
        )
        for model, found in zip((one, two), reached, strict=True)
    )
    return frozenset(ours - theirs)


def as_trips(
    reader: Reader,
    graph: Subgraph,
    operator: Operator,
    views: Sequence[View | None],
    place: str,
    as_loop: Callable[[], object],
) -> list[View] | None:
    """Return what a loop of known trip count returns; None for what is read as a loop.

    It is read as one too, as a runtime loads it: what it would do there does not count.
    """
    found = dict(operator.bodies)
    test, body = found.get(TEST, -1), found.get(BODY, -1)
    if operator.name != "WHILE" or body not in reader.unrolled or not _carries(reader.model, graph, operator):
        return None
    effects, occurrences = len(reader.effects), dict(reader.occurrences)
    as_loop()
    del reader.effects[effects:]
    reader.occurrences = dict(occurrences)
    values = [view for view in views if view is not None]
    count = len(reader.model.subgraphs[body].operators)
    for _ in range(1 + MOST_OPERATORS // max(1, count)):
        (decision,) = map(literal, reader.run(test, values, f"{place}.cond"))
        if decision is None or decision.size != 1 or len(reader.effects) > effects:
            break
        if not decision.all():
            return values
        values = list(reader.run(body, values, f"{place}.body"))
    del reader.effects[effects:]
    reader.occurrences = occurrences
    return None


def _carries(model: Model, graph: Subgraph, operator: Operator) -> bool:
    """Whether the loop hands its values on as they are: as many everywhere, of one type, none in another's memory."""
    found = dict(operator.bodies)
    if not all(0 < found.get(key, -1) < len(model.subgraphs) for key in (TEST, BODY)):
        return False
    test, body = (model.subgraphs[found[key]] for key in (TEST, BODY))
    ends = [(graph, operator.inputs), (graph, operator.outputs), (body, body.inputs), (body, body.outputs)]
    ends.append((test, test.inputs))
    kinds = [tuple(where.tensors[at].dtype if at >= 0 else None for at in tensors) for where, tensors in ends]
    if len(set(kinds)) > 1 or None in kinds[0] or [test.tensors[at].dtype for at in test.outputs] != ["bool"]:
        return False
    if any(where.tensors[at].payload is not None for where in (test, body) for at in where.inputs):
        return False  # LiteRT writes over the constant whose memory that is
    made = {tensor for each in body.operators for tensor in each.outputs}
    places = enumerate(zip(body.inputs, body.outputs, strict=True))
    own = all(given in made or given == taken for _, (taken, given) in places)
    return own and len(set(body.outputs)) == len(body.outputs) and len(set(body.inputs)) == len(body.inputs)
