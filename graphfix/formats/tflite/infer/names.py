"""The names that values have in the view, and what callers name a model's inputs and their free sizes: `x[0]`."""

from __future__ import annotations

from collections import Counter

from graphfix.formats.tflite.file.container import Container
from graphfix.formats.tflite.file.records import ABSENT, Operator, Subgraph, Tensor
from graphfix.formats.tflite.file.schema import CUSTOM, OPERATORS

FREE = -1
"""A size of a signature that the caller chooses."""


def unique_names(subgraph: Subgraph) -> list[str]:
    """One name a tensor, unique in its subgraph. An empty or repeated name is replaced by `t<index>`."""
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
    """What names the free size of one axis."""
    return f"?{label}.{axis}"


def declared(tensor: Tensor) -> tuple[int, ...]:
    """The declared dims, FREE where the signature has it: it is read first where it is as long as the shape.

    LiteRT goes by the stored dim, so a signature with another number says nothing: the size is free then, too.
    """
    signature = tensor.signature
    if signature is None or len(signature) != len(tensor.shape):
        return tensor.shape
    return tuple([size if size == stored else FREE for size, stored in zip(signature, tensor.shape, strict=True)])


def named_inputs(container: Container) -> dict[str, int]:
    """The inputs of the main subgraph by every name they have: their tensors', then what SignatureDefs call them."""
    main = container.subgraphs[0]
    names = unique_names(main)
    found = {names[tensor]: tensor for tensor in main.inputs if tensor != ABSENT}
    for signature in container.signatures:
        if signature.subgraph == 0:
            for name, tensor in signature.inputs:
                found.setdefault(name, tensor)
    return found


def free_axes(container: Container) -> dict[str, tuple[int, int]]:
    """(tensor, axis) of every free size of the main subgraph's inputs, by every label that it has."""
    tensors = container.subgraphs[0].tensors
    return {
        f"{name}[{axis}]": (tensor, axis)
        for name, tensor in named_inputs(container).items()
        for axis, size in enumerate(declared(tensors[tensor]))
        if size == FREE
    }


def free(container: Container) -> list[str]:
    """The labels of the free sizes, one each: `x[0]`, `x[2]` ..."""
    firsts: dict[tuple[int, int], str] = {}
    for label, place in free_axes(container).items():
        firsts.setdefault(place, label)
    return list(firsts.values())


def operator_name(container: Container, operator: Operator) -> str:
    """The name of the operator: a builtin's by its code, a custom one's as the file has it."""
    code = container.codes[operator.code]
    return code.custom if code.builtin == CUSTOM else OPERATORS[code.builtin]
