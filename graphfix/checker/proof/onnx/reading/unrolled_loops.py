"""Read a Loop or Scan with a constant trip count as its trips: the body is read once for each trip.

A Loop has a constant trip count if the number of trips is constant and each trip returns a constant condition. A Scan
has as many trips as its scanned axis has elements. All other loops are read as loops. So are loops with nodes whose
results differ from run to run, because each trip would have other nodes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

import numpy as np
from onnx import NodeProto, helper

from graphfix.checker.files.onnx.graphs import every_graph
from graphfix.checker.proof.neutral import constant_folding

if TYPE_CHECKING:
    from collections.abc import Sequence

    from onnx import FunctionProto, GraphProto, ModelProto, ValueInfoProto

    from graphfix.checker.proof.core.sizes import Place
    from graphfix.checker.proof.core.terms import Core, ProofValue, TermTable
    from graphfix.checker.proof.neutral.explain import Notes
    from graphfix.checker.proof.onnx.closed_world.model_parts import FunctionKey
    from graphfix.checker.proof.onnx.reading.constants import FileConstants
    from graphfix.checker.proof.onnx.reading.operands import Call, Environment

MOST_NODES: Final = 1 << 14
"""The maximal number of nodes of all trips of one loop together."""
OPERANDS: Final = 2
"""How many operands of a Loop precede its states: the number of trips and the condition."""
SCANS_ALONE_SINCE: Final = 9
"""Before this version a Scan has a batch axis in front."""
AXES_ARE_READ_SINCE: Final = 13
"""Before this version the axes of an Unsqueeze are an attribute."""


class Reader(Protocol):
    """The interface of `Reading` (reader.py), which the rules of control flow use to read bodies."""

    table: TermTable
    functions: dict[FunctionKey, FunctionProto]
    effects: list[tuple[Core, Place]]
    occurrences: dict[object, int]
    notes: Notes | None
    unrolled: bool
    constants: FileConstants

    def read_nodes(self, nodes: Sequence[NodeProto], version: int, values: dict[str, ProofValue]) -> ProofValue:
        """Read nodes of the standard operator set of this version; return the result of the last node.

        The nodes read and extend `values`.
        """

    def occurrence(self, key: object) -> int:
        """Return how many nodes with this key were read before."""

    def body(
        self, graph: GraphProto, outer: Environment, parameters: Sequence[ProofValue], place: object | None, label: str
    ) -> tuple[ProofValue, ...]:
        """Read a body with the values `parameters` as its inputs; return the values of its outputs."""

    def parameter(self, owner: tuple[object, ...], index: int, sizes: tuple[object, ...] | None) -> ProofValue:
        """Return the value of input `index` of a body."""


LOOPS: Final = frozenset({b"Loop", b"Scan"})
"""The names of the loop operators. A file without these words has no loop."""


def may_contain_trips(one: ModelProto, two: ModelProto) -> bool:
    """Return whether a loop of the first file has a result that no loop of the second file has, compared by name.

    If so, the second file may contain the trips of that loop instead.
    """
    return not _loop_results(one) <= _loop_results(two)


def _loop_results(model: ModelProto) -> set[str]:
    """Return the names of all results of Loop and Scan nodes in the model, bodies included."""
    nodes = (node for graph in every_graph(model.graph) for node in graph.node)
    return {name for node in nodes if node.op_type in ("Loop", "Scan") for name in node.output}


def as_trips(reader: Reader, call: Call, environment: Environment) -> list[ProofValue] | None:
    """Return the results of a loop, computed trip by trip; None if it has to be read as a loop.

    Return None also if an operand is absent, or if a trip contains stateful nodes.
    """
    ahead = OPERANDS if call.op == "Loop" else 0
    given = [view for view in call.views[ahead:] if view is not None]
    if len(given) != len(call.attributes["body"].g.input) - ahead or len(given) != len(call.views) - ahead:
        return None
    effects, occurrences = len(reader.effects), dict(reader.occurrences)
    found = (_loop if call.op == "Loop" else _scan)(reader, call, environment, given)
    if found is not None and len(reader.effects) == effects:
        return found
    del reader.effects[effects:]
    reader.occurrences = occurrences
    return None


def _scan(reader: Reader, call: Call, environment: Environment, given: list[ProofValue]) -> list[ProofValue] | None:
    """Return the results of a Scan, computed trip by trip from slices of its scanned values.

    `given` are the initial states, then the scanned values. Return None if the number of trips is unknown, 0 or too
    large, or for a Scan before version 9.
    """
    body, count = call.attributes["body"].g, call.integer("num_scan_inputs", 0)
    states, scanned = given[: len(given) - count], given[len(given) - count :]
    stacks: list[list[ProofValue]] = [[] for _ in body.output[len(states) :]]
    axes, backwards = (_each(call, f"scan_input_{what}", len(scanned)) for what in ("axes", "directions"))
    lengths = {_length(view, axis) for view, axis in zip(scanned, axes, strict=True)}
    length = next(iter(lengths)) if len(lengths) == 1 else None
    if call.version < SCANS_ALONE_SINCE or not length or length * len(body.node) > MOST_NODES:
        return None
    for number in range(length):
        parts = []
        for view, axis, turned in zip(scanned, axes, backwards, strict=True):
            at = length - 1 - number if turned else number
            index = constant_folding.as_constant(reader.constants.shared, np.array(at, np.int64), "index")
            taken = helper.make_node("Gather", ["scanned", "index"], ["part"], axis=axis)
            parts.append(reader.read_nodes([taken], call.version, {"scanned": view, "index": index}))
        returned = reader.body(body, environment, (*states, *parts), None, f"{call.label}.body")
        states = list(returned[: len(states)])
        for stack, view in zip(stacks, returned[len(states) :], strict=True):
            stack.append(view)
    axes, backwards = (_each(call, f"scan_output_{what}", len(stacks)) for what in ("axes", "directions"))
    turns = zip(stacks, axes, backwards, strict=True)
    return [*states, *(_stacked(reader, call, each[::-1] if turned else each, axis) for each, axis, turned in turns)]


def _each(call: Call, name: str, count: int) -> tuple[int, ...]:
    """Return the attribute `name`, which has one integer for each of `count` values.

    Return zeros if the node does not have it, or if its length is not `count`.
    """
    given = call.integers(name)
    return tuple(given) if given is not None and len(given) == count else (0,) * count


def _length(view: ProofValue, axis: int) -> int | None:
    """Return the size of `view` along `axis`; None if it is not a number or the axis is out of range."""
    sizes = view.sizes
    size = sizes[axis] if sizes is not None and -len(sizes) <= axis < len(sizes) else None
    return size if isinstance(size, int) else None


def _loop(reader: Reader, call: Call, environment: Environment, states: list[ProofValue]) -> list[ProofValue] | None:
    """Return the results of a Loop, computed trip by trip until it ends. `states` are the initial states.

    Return None if the trip count or a condition is not constant, or if there are too many trips. Return None also for
    values that are stacked over 0 trips.
    """
    body, count = call.attributes["body"].g, _number(call.views[0])
    start = call.views[1]
    if (count is None and call.views[0] is not None) or (start is not None and _number(start) is None):
        return None
    stacks: list[list[ProofValue]] = [[] for _ in body.output[len(states) + 1 :]]
    condition = _made(reader, body.input[1], np.bool_(True))
    goes_on = start is None or _number(start) != 0
    for number in range(1 + MOST_NODES // max(1, len(body.node))):
        if not goes_on or (count is not None and number >= count):
            ends = [_stacked(reader, call, parts) for parts in stacks] if number else []
            return [*states, *ends] if number or not stacks else None
        own = _made(reader, body.input[0], np.int64(number))
        condition, *returned = reader.body(body, environment, (own, condition, *states), None, f"{call.label}.body")
        decision = _number(condition)
        # Without an initial condition, onnxruntime stops at a false condition, but the specification does not.
        if decision is None or (start is None and decision == 0):
            return None
        states, goes_on = returned[: len(states)], decision != 0
        for parts, view in zip(stacks, returned[len(states) :], strict=True):
            parts.append(view)
    return None


def _number(view: ProofValue | None) -> int | None:
    """Return the element of a constant with one element as an integer; None for any other value."""
    array = constant_folding.constant_array(view)
    return int(array.item()) if array is not None and array.size == 1 else None


def _made(reader: Reader, declared: ValueInfoProto, number: np.generic) -> ProofValue:
    """Return a number that the runtime creates for an input of the body, with the rank that the body declares."""
    rank = len(declared.type.tensor_type.shape.dim)
    return constant_folding.as_constant(reader.constants.shared, np.full([1] * rank, number), declared.name)


def _stacked(reader: Reader, call: Call, parts: Sequence[ProofValue], axis: int = 0) -> ProofValue:
    """Return the values of all trips, stacked along a new axis `axis`."""
    names = [f"part {at}" for at in range(len(parts))]
    values = dict(zip(names, parts, strict=True))
    version = call.version
    rows = []
    for name in names:
        row = NodeProto(op_type="Unsqueeze", input=[name], output=[f"row of {name}"])
        if version < AXES_ARE_READ_SINCE:
            row.attribute.append(helper.make_attribute("axes", [axis]))
        else:
            values["axes"] = constant_folding.as_constant(reader.constants.shared, np.array([axis]), "axes")
            row.input.append("axes")
        rows.append(row)
    joined = NodeProto(op_type="Concat", input=[row.output[0] for row in rows], output=["stack"])
    joined.attribute.append(helper.make_attribute("axis", axis))
    return reader.read_nodes([*rows, joined], version, values)
