"""A model as the callers of one of its signatures see it: that signature's subgraph is the main one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from graphfix.checker.files.asked import AskedError

if TYPE_CHECKING:
    from graphfix.checker.files.tflite.records import Model


def selected(model: Model, key: str | None) -> Model:
    """Return the model of a signature alone, subgraphs in the order in which they are met; all of it for None.

    Raises AskedError for a signature that it does not have.
    """
    if key is None:
        return model
    main = next((index for name, index, _, _ in model.signatures if name == key), None)
    if main is None or not 0 <= main < len(model.subgraphs):
        known = ", ".join(name for name, *_ in model.signatures) or "none"
        raise AskedError(f"--signature {key}: no such signature; signatures: {known}")
    order = [main]
    for index in order:
        for operator in model.subgraphs[index].operators:
            for _, at in operator.bodies:
                if at not in order and 0 <= at < len(model.subgraphs):
                    order.append(at)
    numbers = {old: new for new, old in enumerate(order)}
    graphs = [model.subgraphs[index] for index in order]
    return replace(
        model,
        subgraphs=tuple(
            replace(
                graph,
                operators=tuple(
                    operator._replace(bodies=tuple((name, numbers.get(at, -1)) for name, at in operator.bodies))
                    for operator in graph.operators
                ),
            )
            for graph in graphs
        ),
        signatures=tuple(
            (name, 0, inputs, outputs) for name, index, inputs, outputs in model.signatures if index == main
        ),
    )
