"""Write one signature of a model as a separate file.

The signature's subgraph becomes the main subgraph, and subgraphs that it does not run are dropped.
"""

from __future__ import annotations

from pathlib import Path

from graphfix.formats.tflite.edit.cleanup import drop_codes
from graphfix.formats.tflite.file.container import DEPENDENCIES, Container, read
from graphfix.formats.tflite.file.options import BODIES, LAYOUTS
from graphfix.formats.tflite.file.records import Operator, Options
from graphfix.formats.tflite.file.schema import OPERATOR
from graphfix.results import GraphfixError


def extract(source: Path, key: str, to: Path) -> None:
    """Write the signature `key` of the model `source` as a separate model to the file `to`. Raises GraphfixError."""
    container = read(source)
    main = _subgraph(container, key)
    _refuse(container, key)
    order = _reached(container, main)
    numbers = {old: new for new, old in enumerate(order)}
    parts = container.parts
    for index in order:
        graph = container.subgraphs[index]
        for operator in graph.operators:
            bodies = _bodies(container, operator)
            if any(numbers[old] != old for old in bodies.values()):
                operator.options = _renumbered(container, operator, bodies, numbers)
                operator.changed = graph.changed = True
    parts.kept_signatures = [
        (place, numbers[signature.subgraph], frozenset())
        for place, signature in zip(parts.signature_places, parts.signatures, strict=True)
        if signature.subgraph == main
    ]
    parts.subgraphs[:] = [container.subgraphs[index] for index in order]
    drop_codes(container)
    container.save(to)


def keys(source: Path) -> dict[str, int]:
    """Return the index of each signature's subgraph, by the signature's key. Raises GraphfixError."""
    return {signature.key: signature.subgraph for signature in read(source).signatures}


def _subgraph(container: Container, key: str) -> int:
    """Return the index of a signature's subgraph. Raises GraphfixError if the model has no such signature."""
    for signature in container.signatures:
        if signature.key == key:
            return signature.subgraph
    signature_names = ", ".join(signature.key for signature in container.signatures) or "none"
    raise GraphfixError(f"{container.source.name}: --signature {key}: no such signature; signatures: {signature_names}")


def _refuse(container: Container, key: str) -> None:
    """Raise GraphfixError if a part of the file contains indices that would change."""
    where = f"{container.source.name}: --signature {key}"
    if any(name == DEPENDENCIES for name, _ in container.metadata):
        raise GraphfixError(f"{where}: the metadata {DEPENDENCIES!r} counts subgraphs, which change; remove it")
    if container.parts.external:
        raise GraphfixError(f"{where}: the model has buffers in other files; export the signature alone")


def _reached(container: Container, main: int) -> list[int]:
    """Return the subgraph and all subgraphs that it runs, directly or not, in the order in which they are found."""
    found = [main]
    for index in found:
        for operator in container.subgraphs[index].operators:
            found += [at for at in dict.fromkeys(_bodies(container, operator).values()) if at not in found]
    return found


def _bodies(container: Container, operator: Operator) -> dict[str, int]:
    """Return the subgraphs that an operator runs, by option.

    Raises GraphfixError for an operator of StableHLO, whose options can't be renumbered.
    """
    options = container.options(operator)
    body_options = {name: value for name, value in options.items() if name in BODIES}
    found = {name: number for name, number in body_options.items() if isinstance(number, int)}
    if "decomposition_subgraph_index" in found or len(found) < len(body_options):
        why = "an operator of StableHLO names subgraphs; export the signature alone"
        raise GraphfixError(f"{container.source.name}: --signature: {why}")
    return found


def _renumbered(container: Container, operator: Operator, bodies: dict[str, int], numbers: dict[int, int]) -> Options:
    """Return an operator's options with the new indices of subgraphs; `numbers` maps old indices to new ones."""
    kind = container.flat.fields(operator.place, OPERATOR)["builtin_options_type"]
    form = LAYOUTS["builtin_options", int(kind)]
    slots = {name: (slot, form.formats[slot]) for slot, name in enumerate(form.names)}
    return Options(int(kind), tuple((*slots[name], numbers[old]) for name, old in bodies.items()))
