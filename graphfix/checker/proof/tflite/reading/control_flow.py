"""Read an IF with a known condition, and a WHILE with a known trip count, as the subgraphs that really run.

A condition is known if it is a constant when the IF or WHILE is read. A trip count is found by reading trips. If the
condition of a trip is not a constant, the loop is read as a loop. Two kinds of bodies are not unrolled:

- Bodies that return an input at another position. LiteRT copies the results of a trip one by one into the inputs for
  the next trip, and so overwrites an input that is still needed.
- Bodies with operators that keep a state. These operators differ from trip to trip.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final, Protocol

from graphfix.checker.proof.core.result import UnprovedError
from graphfix.checker.proof.neutral.constant_folding import constant_array

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from graphfix.checker.files.tflite.records import Model, Operator, Subgraph
    from graphfix.checker.proof.core.sizes import Place
    from graphfix.checker.proof.core.terms import Core, ProofValue

_BRANCHES: Final = {True: "thenSubgraphIndex", False: "elseSubgraphIndex"}
_TEST, _BODY = "condSubgraphIndex", "bodySubgraphIndex"
_MOST_OPERATORS: Final = 1 << 14
"""The most operators that are read for the trips of one loop."""


class Reader(Protocol):
    """The reader of subgraphs, which calls this module."""

    model: Model
    effects: list[tuple[Core, Place]]
    occurrences: dict[object, int]
    unrolled: frozenset[int]

    def run(self, index: int, given: Sequence[ProofValue], path: str) -> tuple[ProofValue, ...]:
        """Read a subgraph with the values `given` as its inputs. Return its outputs."""

    def bodies(self, operator: Operator, views: Sequence[ProofValue | None], place: str) -> tuple[object, ...] | None:
        """Read the subgraphs that an operator runs.

        Return a part of the operator's key, or None if it runs no subgraph.
        """


def path_of(place: str, option: str) -> str:
    """Return the path of a body: `main/IF#0.then` for the place `main/IF#0` and the option `thenSubgraphIndex`."""
    return f"{place}.{option.partition('SubgraphIndex')[0]}"


# --- IF ---------------------------------------------------------------------------------------------------------------


def always_taken(operator: Operator, views: Sequence[ProofValue | None]) -> int | None:
    """Return the subgraph of an IF that always runs; None if the condition is unknown, or for other operators."""
    condition = constant_array(views[0]) if operator.name == "IF" and views else None
    if condition is None or condition.size != 1:
        return None
    return dict(operator.bodies).get(_BRANCHES[bool(condition.all())])


def branch_taken(
    reader: Reader, operator: Operator, views: Sequence[ProofValue | None], index: int, place: str
) -> list[ProofValue]:
    """Return the results of the branch that an IF always runs. Raises UnprovedError.

    `index` is the branch's subgraph. Both branches are read first, because a runtime loads both. Effects of that
    reading are dropped.
    """
    effects, occurrences = len(reader.effects), dict(reader.occurrences)
    reader.bodies(operator, views, place)
    del reader.effects[effects:]
    reader.occurrences = occurrences
    results = reader.run(index, [view for view in views[1:] if view is not None], place)
    if len(results) != len(operator.outputs):
        raise UnprovedError(f"{place} has {len(operator.outputs)} results, and its branch returns {len(results)}")
    return list(results)


# --- WHILE ------------------------------------------------------------------------------------------------------------


def fewer(one: Model, two: Model, reached: Sequence[Collection[int]]) -> frozenset[int]:
    """Return the loop bodies that fewer loops run in the second file than in the first.

    They are unrolled in both files.

    `reached` contains for each file the subgraphs that may run.
    """
    ours, theirs = (
        Counter(
            dict(operator.bodies).get(_BODY, -1)
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
    views: Sequence[ProofValue | None],
    place: str,
    as_loop: Callable[[], object],
) -> list[ProofValue] | None:
    """Return the results of a WHILE by reading its trips; None if the trip count is unknown, or for other operators.

    `as_loop` reads the WHILE as a loop. It is called first, because a runtime loads the loop. Effects of that reading
    are dropped.
    """
    found = dict(operator.bodies)
    test, body = found.get(_TEST, -1), found.get(_BODY, -1)
    if operator.name != "WHILE" or body not in reader.unrolled or not _carries(reader.model, graph, operator):
        return None
    effects, occurrences = len(reader.effects), dict(reader.occurrences)
    as_loop()
    del reader.effects[effects:]
    reader.occurrences = dict(occurrences)
    values = [view for view in views if view is not None]
    count = len(reader.model.subgraphs[body].operators)
    for _ in range(1 + _MOST_OPERATORS // max(1, count)):
        (decision,) = map(constant_array, reader.run(test, values, f"{place}.cond"))
        if decision is None or decision.size != 1 or len(reader.effects) > effects:
            break
        if not decision.all():
            return values
        values = list(reader.run(body, values, f"{place}.body"))
    del reader.effects[effects:]
    reader.occurrences = occurrences
    return None


def _carries(model: Model, graph: Subgraph, operator: Operator) -> bool:
    """Return whether each trip of a WHILE passes its results on unchanged to the next trip.

    The numbers and types of values must be equal everywhere, and inputs must not be constants. Each result of the body
    must be computed in the body, or be the input at the same position.
    """
    found = dict(operator.bodies)
    if not all(0 < found.get(key, -1) < len(model.subgraphs) for key in (_TEST, _BODY)):
        return False
    test, body = (model.subgraphs[found[key]] for key in (_TEST, _BODY))
    ends = [(graph, operator.inputs), (graph, operator.outputs), (body, body.inputs), (body, body.outputs)]
    ends.append((test, test.inputs))
    kinds = [tuple(where.tensors[at].dtype if at >= 0 else None for at in tensors) for where, tensors in ends]
    if len(set(kinds)) > 1 or None in kinds[0] or [test.tensors[at].dtype for at in test.outputs] != ["bool"]:
        return False
    if any(where.tensors[at].payload is not None for where in (test, body) for at in where.inputs):
        return False  # LiteRT writes over a constant that is an input.
    made = {tensor for each in body.operators for tensor in each.outputs}
    own = all(given in made or given == taken for taken, given in zip(body.inputs, body.outputs, strict=True))
    return own and len(set(body.outputs)) == len(body.outputs) and len(set(body.inputs)) == len(body.inputs)
