"""The names in a user's request: names of the main subgraph's inputs, names in SignatureDefs, and SignatureDef keys."""

from __future__ import annotations

import re
from collections import Counter
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from graphfix.checker.files.binding_error import BindingError
from graphfix.checker.files.tflite.file import read
from graphfix.checker.files.tflite.schema import UnsupportedFieldError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from graphfix.checker.files.tflite.records import Model, Operator, Subgraph

Bound = TypeVar("Bound")
"""The value that a size is bound to: a number, or a pair of the smallest and the largest number."""
_PLACE = re.compile(r"(.+)\[(\d+)\]", re.DOTALL)


def unique_names(graph: Subgraph) -> list[str]:
    """Return the name of each tensor as LiteRT sessions (`graphfix.runtimes.litert.interpreter`) report it.

    An empty name, or one that several tensors have, is replaced by `t<index>`. Underscores are added if another tensor
    has that name.
    """
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


def own_names(model: Model) -> dict[int, str]:
    """Return the unique name of each input of the main subgraph, by tensor index."""
    if not model.subgraphs:
        return {}
    main = model.subgraphs[0]
    names = unique_names(main)
    return {at: names[at] for at in main.inputs if at >= 0}


def input_names(model: Model) -> dict[str, int]:
    """Return the tensor of each input of the main subgraph, by all names of the input.

    These are the input's unique name, and the names that SignatureDefs use for it. A unique name takes precedence over
    an equal name in a SignatureDef.
    """
    found = {name: at for at, name in own_names(model).items()}
    own = set(found.values())
    for _, subgraph, inputs, _ in model.signatures:
        for name, at in inputs if subgraph == 0 else ():
            if at in own:
                found.setdefault(name, at)
    return found


def renamed(
    path: Path, bindings: Mapping[str, Bound], shapes: Mapping[str, Sequence[int]], signature: str | None
) -> tuple[Mapping[str, Bound], Mapping[str, Sequence[int]]]:
    """Return `bindings` and `shapes` with names from SignatureDefs replaced by the unique names of the inputs.

    Both are returned unchanged if the schema lacks a field of the file. Raises GraphfixError if the file is not a
    model, or if it does not have the signature.
    """
    if not (bindings or shapes or signature):
        return bindings, shapes
    with ExitStack() as stack:
        try:
            model, _ = read(path, stack)
        except UnsupportedFieldError:
            return bindings, shapes
    model = selected(model, signature)
    own = own_names(model)
    names = {name: own[at] for name, at in input_names(model).items()}
    places = {label: _PLACE.fullmatch(label) for label in bindings}
    return (
        {
            f"{names.get(at[1], at[1])}[{at[2]}]" if (at := places[label]) else label: size
            for label, size in bindings.items()
        },
        {names.get(name, name): shape for name, shape in shapes.items()},
    )


def selected(model: Model, key: str | None) -> Model:
    """Return the model as callers of one SignatureDef see it: the signature's subgraph is the main subgraph.

    Only subgraphs that this one runs are kept, in the order in which operators refer to them. If `key` is None, the
    model is returned unchanged. Raises BindingError if the model does not have the signature.
    """
    if key is None:
        return model
    main = next((index for name, index, _, _ in model.signatures if name == key), None)
    if main is None or not 0 <= main < len(model.subgraphs):
        signature_names = ", ".join(name for name, *_ in model.signatures) or "none"
        raise BindingError(f"--signature {key}: no such signature; signatures: {signature_names}")
    order = [main]
    for index in order:
        for operator in model.subgraphs[index].operators:
            for _, at in operator.bodies:
                if at not in order and 0 <= at < len(model.subgraphs):
                    order.append(at)
    numbers = {old: new for new, old in enumerate(order)}

    def renumbered(operator: Operator) -> Operator:
        return operator._replace(bodies=tuple((name, numbers.get(at, -1)) for name, at in operator.bodies))

    graphs = [model.subgraphs[index] for index in order]
    graphs = [replace(graph, operators=tuple(map(renumbered, graph.operators))) for graph in graphs]
    signatures = ((name, 0, inputs, outputs) for name, index, inputs, outputs in model.signatures if index == main)
    return replace(model, subgraphs=tuple(graphs), signatures=tuple(signatures))
