"""Find the operator of XNNPACK's that selected another operand: XNNPACK itself shows no inner tensor."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from graphfix.checker.runs.exceptions import XNNPACK_NAN, may_be_excused
from graphfix.checker.runs.first_difference import Place
from graphfix.runtimes.session import RefusedError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from graphfix.checker.files.tflite.graphs import Graph
    from graphfix.checker.runs.difference import Difference
    from graphfix.checker.runs.first_difference import ExposingOpener


def selecting_place(
    exposing: ExposingOpener, graph: Graph, feeds: Mapping[str, object], differences: Mapping[str, Difference]
) -> Place | None:
    """Find the first MAXIMUM or MINIMUM before the outputs that differ which is given a NaN or a zero.

    None where a number differs from a number, or no such operator stands there.
    """
    if not all(may_be_excused(found, "XNNPACK") for found in differences.values()):
        return None
    index = {name: at for at, name in enumerate(graph.names)}
    behind = ancestors(graph, [index[name] for name in differences if name in index])
    first = next(iter(differences.values()))
    wanted = np.isnan if any(found.one_sided_nan for found in differences.values()) else _is_zero
    for at in sorted(behind):
        op = graph.ops[at]
        if op.name not in XNNPACK_NAN.operators:
            continue
        if any(map(np.any, map(wanted, _operands(exposing, graph, op.inputs, feeds)))):
            return Place(graph.names[op.outputs[0]], op.name, f"{op.name}#{at}", first)
    return None


def _is_zero(value: np.ndarray) -> np.ndarray:
    return np.asarray(value == 0)


def _operands(
    exposing: ExposingOpener, graph: Graph, tensors: Sequence[int], feeds: Mapping[str, object]
) -> list[np.ndarray]:
    try:
        session = exposing([graph.names[tensor] for tensor in tensors])
        values = session.run(feeds)[-len(tensors) :]
    except RefusedError:
        return []  # the builtin kernels do not run it: nothing is known of its operands
    return [value for value in map(np.asarray, values) if value.dtype.kind == "f"]


def ancestors(graph: Graph, tensors: list[int]) -> set[int]:
    """Return the places of the operators that tensors come from."""
    found: set[int] = set()
    while tensors:
        maker = graph.makers.get(tensors.pop())
        if maker is not None and maker not in found:
            found.add(maker)
            tensors.extend(graph.ops[maker].inputs)
    return found
