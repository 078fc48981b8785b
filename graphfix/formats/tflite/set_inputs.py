"""Replace inputs by constants (`--set`): each reader in the main subgraph reads a new tensor with a buffer."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from graphfix.formats.neutral.set_values import Array, array_of
from graphfix.formats.tflite.file.container import Container
from graphfix.formats.tflite.file.records import NEW
from graphfix.formats.tflite.file.schema import TENSOR_TYPES
from graphfix.formats.tflite.infer.names import FREE, declared, named_inputs
from graphfix.results import GraphfixError, InputValue
from graphfix.results.error_texts import no_input


def shapes_of(container: Container, values: Mapping[str, InputValue]) -> dict[str, list[int]]:
    """Return the shape of each value. Raises GraphfixError for an unknown input, and for a value that does not fit."""
    return {name: list(array.shape) for name, (_, array) in _arrays(container, values).items()}


def set_inputs(container: Container, values: Mapping[str, InputValue]) -> None:
    """Make every reader of these inputs read a constant with the input's value. Raises GraphfixError."""
    main = container.subgraphs[0]
    moved: dict[int, int] = {}
    names = {tensor.name for tensor in main.tensors}
    for name, (tensor, array) in _arrays(container, values).items():
        label = f"{name}_value"
        while label in names:
            label += "_"
        names.add(label)
        moved[tensor] = len(main.tensors)
        container.given[tensor] = array
        data = array.astype(array.dtype.newbyteorder("<")).tobytes()
        main.tensors.append(
            replace(
                main.tensors[tensor],
                name=label,
                shape=array.shape,
                signature=None,
                has_rank=True,
                buffer=container.add_buffer(data),
                place=NEW,
                changed=True,
            )
        )
    for operator in main.operators:
        if any(tensor in moved for tensor in operator.inputs):
            operator.inputs = tuple(moved.get(tensor, tensor) for tensor in operator.inputs)
            operator.changed = True
    main.changed = True


def drop(container: Container, values: Mapping[str, InputValue]) -> None:
    """Remove these inputs, which have no readers, from the main subgraph and from its signatures.

    Raises GraphfixError if an input is also an output.
    """
    main, parts, inputs = container.subgraphs[0], container.parts, named_inputs(container)
    dropped = {inputs[name]: name for name in values}
    for tensor in main.outputs:
        if tensor in dropped:
            why = f"the input '{dropped[tensor]}' is an output as well; leave it out"
            raise GraphfixError(f"{container.source.name}: --drop-set-inputs: {why}")
    main.inputs = tuple(tensor for tensor in main.inputs if tensor not in dropped)
    main.changed = True
    parts.kept_signatures = [
        (place, signature.subgraph, frozenset(() if signature.subgraph else dropped))
        for place, signature in zip(parts.signature_places, parts.signatures, strict=True)
    ]
    parts.signatures[:] = [
        signature if signature.subgraph else replace(signature, inputs=_without(signature.inputs, dropped))
        for signature in parts.signatures
    ]


def _without(entries: Iterable[tuple[str, int]], tensors: Collection[int]) -> tuple[tuple[str, int], ...]:
    """Return the entries (name, tensor) of a signature without these tensors."""
    return tuple((name, tensor) for name, tensor in entries if tensor not in tensors)


def _arrays(container: Container, values: Mapping[str, InputValue]) -> dict[str, tuple[int, Array]]:
    """Return, for each input name, the index of the tensor and the value as an array.

    Raises GraphfixError for an unknown name, for a value that does not fit, and if an input is set twice.
    """
    where, main, inputs = container.source.name, container.subgraphs[0], named_inputs(container)
    found = {}
    for name, value in values.items():
        if name not in inputs:
            raise GraphfixError(f"{where}: --set {name}: {no_input(name, inputs)}")
        tensor = main.tensors[inputs[name]]
        dims = [None if size == FREE else size for size in declared(tensor)] if tensor.states_rank else None
        found[name] = inputs[name], array_of(where, name, value, TENSOR_TYPES[tensor.type][0], dims)
    if len({tensor for tensor, _ in found.values()}) < len(found):
        raise GraphfixError(f"{where}: --set: {' and '.join(found)} are names of one input; set it once")
    return found
