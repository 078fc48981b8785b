"""What callers name the inputs of a TFLite model: unique names of the main subgraph's tensors, and its signatures'."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from graphfix.checker.files.tflite.records import Model, Subgraph


def unique_names(graph: Subgraph) -> list[str]:
    """Name each tensor; an empty name, or one that another tensor has too, is replaced by `t<index>`."""
    counts = Counter(tensor.name for tensor in graph.tensors)
    names: list[str] = []
    for index, tensor in enumerate(graph.tensors):
        name = tensor.name
        if not name or counts[name] > 1:
            name = f"t{index}"
            while counts[name] == 1:
                name += "_"
        names.append(name)
    return names


def input_names(model: Model) -> dict[str, int]:
    """Return the tensors of the main subgraph's inputs by every name: their own, then what SignatureDefs call them."""
    if not model.subgraphs:
        return {}
    main = model.subgraphs[0]
    names = unique_names(main)
    found = {names[at]: at for at in main.inputs if at >= 0}
    for _, subgraph, inputs, _ in model.signatures:
        for name, at in inputs if subgraph == 0 else ():
            if at in main.inputs:
                found.setdefault(name, at)
    return found
