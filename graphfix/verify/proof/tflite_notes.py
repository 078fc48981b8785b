"""Notes of TFLite operators: what a report says of one, and its maps with each operand as a value of its own."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from graphfix.verify.proof.meeting import met_by
from graphfix.verify.proof.notes import Note, apart
from graphfix.verify.proof.tflite_ops import UNARY
from graphfix.verify.proof.tflite_views import Step

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphfix.verify.proof.terms import Core, View
    from graphfix.verify.proof.tflite_file import Operator, Subgraph
    from graphfix.verify.proof.tflite_graphs import Reading

NO_PART = "ubgraphIndex"
"""How the names of options end that only say where a body is."""


def noted(
    reading: Reading,
    graph: Subgraph,
    operator: Operator,
    views: Sequence[View | None],
    results: Sequence[View | None],
    place: tuple[str, str],
) -> Note:
    """Note an operator of these results; `place` is the path of its subgraph and its label there."""
    path, label = place
    return Note(
        path,
        label,
        label,
        operator.name,
        (_names(graph, operator.inputs), _names(graph, operator.outputs)),
        tuple(views),
        tuple(results),
        _parts(graph, operator, results),
        _apart(reading, graph, operator, views, label),
    )


def _names(graph: Subgraph, places: Sequence[int]) -> tuple[str, ...]:
    return tuple(graph.tensors[at].name if at >= 0 else "" for at in places)


def _apart(
    reading: Reading, graph: Subgraph, operator: Operator, views: Sequence[View | None], label: str
) -> Core | None:
    """Read the operator with each operand as a value of its own; None for one that does not broadcast."""
    if operator.name in UNARY or len(operator.outputs) != 1 or not any(views):
        return None
    table, own = apart(reading.table.algebra, views)
    inputs = [graph.tensors[at] if at >= 0 else None for at in operator.inputs]
    step = Step(table, operator, own, inputs, graph.tensors[operator.outputs[0]], label)
    seen = replace(reading, table=table).read(step)
    return None if seen is None else seen.core


def _parts(graph: Subgraph, operator: Operator, results: Sequence[View | None]) -> dict[str, tuple[object, str]]:
    """Name the options, and of what type and how quantized the operands and the results are."""
    parts = {
        f"option {name!r}": (value, str(value))
        for name, value in operator.options.items()
        if not name.endswith(NO_PART)
    }
    parts["the custom options"] = operator.key[-1], "other bytes"
    if not results or results[0] is None:
        return parts
    core = results[0].core
    if core.key[0] == "whole":
        parts["version"] = operator.version, str(operator.version)
    for kind, places, compared in zip(
        ("operand", "result"), (operator.inputs, operator.outputs), _types(core), strict=True
    ):
        for index, (at, form) in enumerate(zip(places, compared, strict=False)):
            parts[f"the type or quantization of {kind} {index}"] = form, _type(graph, at)
    return parts


def _types(core: Core) -> tuple[Sequence[object], Sequence[object]]:
    """Give what a term holds of the types of operands and results."""
    key: Any = core.key
    if key[0] == "whole":
        return key[4], key[5]
    if met_by(core) is None and key[0] != "unranked":
        return (), ()
    _, read, given = key[1] if key[0] in ("each", "unranked") else key[1:4]
    return read, (given,)


def _type(graph: Subgraph, at: int) -> str:
    """`int8, scales along axis 3`: what a reader can look for."""
    if at < 0:
        return "none"
    tensor = graph.tensors[at]
    given = tensor.quantization
    if given is None:
        return tensor.dtype
    return f"{tensor.dtype}, {'one scale' if given.axis is None else f'scales along axis {given.axis}'}"
