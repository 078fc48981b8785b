"""Names of values in the view, and the labels by which callers refer to a model's inputs and free sizes: `x[0]`."""

from __future__ import annotations

from collections import Counter

from graphfix.formats.tflite.file.container import Container
from graphfix.formats.tflite.file.records import ABSENT, Operator, Subgraph, Tensor
from graphfix.formats.tflite.file.schema import CUSTOM, OPERATORS

FREE = -1
"""A size in a shape signature that the caller chooses."""


def unique_names(subgraph: Subgraph) -> list[str]:
    """Return a name for each tensor, unique in its subgraph. An empty or repeated name is replaced by `t<index>`."""
    counts = Counter(tensor.name for tensor in subgraph.tensors)
    names = []
    taken = {name for name, count in counts.items() if name and count == 1}
    for index, tensor in enumerate(subgraph.tensors):
        name = tensor.name
        if name not in taken:
            name = f"t{index}"
            while name in taken:
                name += "_"
        names.append(name)
    return names


def unknown_name(label: str, axis: int) -> str:
    """Return the symbol's name for the unknown size of one axis, such as `?x.0`."""
    return f"?{label}.{axis}"


def declared(tensor: Tensor) -> tuple[int, ...]:
    """Return the sizes that a tensor declares; a size is FREE if the stored shape and the signature differ there.

    LiteRT uses the stored size, so a signature with another number declares nothing. A signature whose length is not
    the shape's is ignored.
    """
    signature = tensor.signature
    if signature is None or len(signature) != len(tensor.shape):
        return tensor.shape
    return tuple([size if size == stored else FREE for size, stored in zip(signature, tensor.shape, strict=True)])


def named_inputs(container: Container) -> dict[str, int]:
    """Return the inputs of the main subgraph by all their names: names of tensors, then names in SignatureDefs."""
    main = container.subgraphs[0]
    names = unique_names(main)
    found = {names[tensor]: tensor for tensor in main.inputs if tensor != ABSENT}
    for signature in container.signatures:
        if signature.subgraph == 0:
            for name, tensor in signature.inputs:
                found.setdefault(name, tensor)
    return found


def free_axes(container: Container) -> dict[str, tuple[int, int]]:
    """Return (tensor, axis) of each free size of the main subgraph's inputs, by each of its labels such as `x[0]`."""
    tensors = container.subgraphs[0].tensors
    return {
        f"{name}[{axis}]": (tensor, axis)
        for name, tensor in named_inputs(container).items()
        for axis, size in enumerate(declared(tensors[tensor]))
        if size == FREE
    }


def free(container: Container) -> list[str]:
    """Return one label for each free size of the main subgraph's inputs: `x[0]`, `x[2]` ..."""
    firsts: dict[tuple[int, int], str] = {}
    for label, place in free_axes(container).items():
        firsts.setdefault(place, label)
    return list(firsts.values())


def operator_name(container: Container, operator: Operator) -> str:
    """Return the name of an operator: the schema's name of a builtin operator, the file's name of a custom one."""
    code = container.codes[operator.code]
    return code.custom if code.builtin == CUSTOM else OPERATORS[code.builtin]
