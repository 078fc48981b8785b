"""Compute the trip count of a Loop or Scan, if constants and constant sizes determine it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from graphfix.formats.onnx.constants.folding import Array, Evaluator
from graphfix.formats.onnx.edit.unroll import names_read
from graphfix.formats.onnx.file.messages import declared
from graphfix.graph.view import Graph, Node, Trips, Value
from graphfix.results.onnx_messages import GraphProto
from graphfix.results.records import dataclass, field

MOST: Final = 1 << 14
"""The trip count with which a loop without one is followed.

If its condition is still true then, the count is unknown.
"""
MOST_FOLLOWED: Final = 256
"""The largest number of trips for which a condition that changes is computed, trip by trip."""
UNKNOWN_TRIPS: Final = 1 << 10
"""The trip count that is assumed for an inner loop. It may become constant once the outer loop is unrolled."""
NUMBER, CONDITION = 0, 1
SCANS_ALONE_SINCE: Final = 9
"""Before this opset version the operands of a Scan have a batch axis in front."""


@dataclass(slots=True)
class Body:
    """The body of a Loop or Scan."""

    message: GraphProto
    graph: Graph
    evaluator: Evaluator
    """The evaluator of the view. It does not evaluate single trips."""
    weight: int
    """The number of nodes of one trip, in which inner loops count as unrolled."""
    values: Mapping[str, Value] = field(init=False)
    """The values that the body reads or computes, by name."""

    def __post_init__(self) -> None:
        """Collect the values of the body by name."""
        nodes = self.graph.nodes
        values = [value for node in nodes for value in (*node.operands, *node.results) if value is not None]
        self.values = {value.name: value for value in (*values, *self.graph.inputs)}

    def needed(self) -> set[int]:
        """Return the positions of the body's inputs on which the loop's condition depends.

        It may depend on them directly or through earlier trips.
        """
        makers = {name: node for node in self.message.node for name in node.output if name}
        places = {value.name: at for at, value in enumerate(self.message.input)}
        pending, seen = [self.message.output[0].name], set[str]()
        while pending:
            name = pending.pop()
            if name in seen:
                continue
            seen.add(name)
            if name in makers:
                pending += names_read([makers[name]])
            elif places.get(name, 0) > CONDITION:
                pending.append(self.message.output[places[name] - 1].name)
        return {at for name, at in places.items() if name in seen}

    def run(self, given: Mapping[int, Array]) -> dict[int, Array] | None:
        """Return the results of one trip, by the position of the input that the next trip reads them from.

        `given` contains the array of each needed input, by position. Returns None if the condition or a needed result
        is unknown.
        """
        names = [value.name for value in self.message.input]
        arrays: dict[Value, Array | None] = {self.values[names[at]]: array for at, array in given.items()}
        evaluator = Evaluator(self.evaluator.message, self.evaluator.tensor, arrays)
        found: dict[int, Array] = {}
        for at in {CONDITION, *given} - {NUMBER}:
            value = self.values.get(self.message.output[at - 1].name)
            array = evaluator.array(value) if value is not None else None
            if array is None:
                return None
            found[at] = array
        return found


def trips(node: Node, body: Body) -> Trips | None:
    """Return the trip count of a Loop or Scan with the number of nodes of a trip; None if the count is unknown."""
    nodes = body.weight
    if node.op == "Scan":
        return _scanned(node, nodes)
    operands = [*node.operands, None, None]
    arrays = [body.evaluator.array(value) if value is not None else None for value in operands[:2]]
    if len(body.message.input) < len(operands[:2]) or any(
        (array is None) != (value is None) or (array is not None and array.size != 1)
        for value, array in zip(operands, arrays, strict=False)
    ):
        return None
    count, start = (None if array is None else int(array.item()) for array in arrays)
    if start == 0 or (count is not None and count <= 0):
        return Trips(0, nodes)
    number = _followed(node, body, min(MOST if count is None else count, MOST), stated=start is not None)
    if number is None or (number == MOST and count != MOST):
        return None if count is None or number is None else Trips(count, nodes)
    return Trips(number, nodes)


def _scanned(node: Node, nodes: int) -> Trips | None:
    """Return the trip count of a Scan: the size of the first scanned axis. Return None if it is unknown or 0."""
    count = node.attributes.get("num_scan_inputs")
    if not isinstance(count, int) or not 0 < count <= len(node.operands) or node.version < SCANS_ALONE_SINCE:
        return None
    axes = node.attributes.get("scan_input_axes")
    axis = axes[0] if isinstance(axes, tuple) and axes else 0
    sizes = node.operand(len(node.operands) - count).shape.axes
    size = sizes[axis] if sizes is not None and -len(sizes) <= axis < len(sizes) else None
    return Trips(size, nodes + count) if isinstance(size, int) and size else None


def _followed(node: Node, body: Body, most: int, *, stated: bool) -> int | None:
    """Return the number of trips until the condition is false, at most `most`; None if a condition is unknown.

    `stated` is whether the Loop has an initial condition. If it has none, the specification ignores the condition that
    the body returns, but onnxruntime does not. Then each condition must be true, or None is returned.
    """
    needed = body.needed()
    given = {at: body.evaluator.array(node.operand(at)) for at in needed if at > CONDITION}
    if any(array is None for array in given.values()):
        return None
    values: dict[int, Array] = {at: array for at, array in given.items() if array is not None}
    for at, kind in ((NUMBER, np.int64), (CONDITION, np.bool_)):
        if at in needed:
            values[at] = np.full([1] * len(declared(body.message.input[at]) or ()), at, kind)
    constant = needed <= {CONDITION}
    for done in range(1, min(most, 1 if constant else MOST_FOLLOWED) + 1):
        returned = body.run(values)
        decision = None if returned is None else returned[CONDITION]
        if returned is None or decision is None or decision.size != 1:
            return None
        if not decision.item():
            return done if stated else None
        number = {NUMBER: values[NUMBER] + 1} if NUMBER in values else {}
        values = {at: returned[at] for at in values if at != NUMBER} | number
    return most if constant or most <= MOST_FOLLOWED else None
