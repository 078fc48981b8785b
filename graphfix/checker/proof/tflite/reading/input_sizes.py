"""The sizes of a TFLite model's inputs: as declared, as asked for, and one symbol for those that are equal."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from graphfix.checker.files.tflite.names import input_names, own_names
from graphfix.checker.proof.neutral.compare import check_asked

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from graphfix.checker.files.equal_sizes import EqualSizes
    from graphfix.checker.files.tflite.records import Model, Tensor
    from graphfix.checker.proof.core.arithmetic import Arithmetic
    from graphfix.checker.proof.core.sizes import Size

InputSizes = dict[str, "tuple[int | str, ...] | None"]


def input_dims(model: Model) -> InputSizes:
    """Return the dims of the main subgraph's inputs; each may be resized, so that none is a number."""
    return {
        name: None if tensor.dims is None else tuple(f"{name}[{axis}]" for axis in range(len(tensor.dims)))
        for name, tensor in _inputs(model)
    }


def _inputs(model: Model) -> Iterator[tuple[str, Tensor]]:
    """Yield the main subgraph's inputs, each with its own name."""
    for at, name in own_names(model).items():
        yield name, model.subgraphs[0].tensors[at]


def sizes_by_name(model: Model) -> InputSizes:
    """Return the sizes of the main subgraph's inputs, by each name that an input has: numbers, or `name[axis]`."""
    own = own_names(model)
    found: InputSizes = {}
    for name, at in input_names(model).items():
        dims = model.subgraphs[0].tensors[at].dims
        labels = None if dims is None else [f"{own[at]}[{axis}]" for axis in range(len(dims))]
        found[name] = (
            None
            if dims is None or labels is None
            else tuple(label if size is None else size for label, size in zip(labels, dims, strict=True))
        )
    return found


def bound(model: Model, bindings: Mapping[str, int], shapes: Mapping[str, Sequence[int]]) -> Model:
    """Return the model whose main subgraph's inputs have the sizes that were asked for: `name[axis]`, or a shape."""
    if not model.subgraphs or not (bindings or shapes):
        return model
    main = model.subgraphs[0]
    tensors = list(main.tensors)
    for at, name in own_names(model).items():
        tensor = tensors[at]
        sizes = shapes.get(name, tensor.dims)
        if sizes is not None:
            dims = tuple(bindings.get(f"{name}[{axis}]", size) for axis, size in enumerate(sizes))
            check_asked(name, tensor.dims, dims)
            stored = tuple(old if size is None else size for size, old in zip(dims, tensor.stored, strict=False))
            tensors[at] = tensor._replace(dims=dims, stored=stored if len(dims) == len(tensor.stored) else ())
    return replace(model, subgraphs=(replace(main, tensors=tuple(tensors)), *model.subgraphs[1:]))


def sizes_of(
    arithmetic: Arithmetic, name: str, tensor: Tensor, at: tuple[int, int], equal: EqualSizes
) -> Iterator[Size]:
    """Yield the sizes of an input of a known rank, the input `at` of a subgraph; a free size is a symbol.

    Those of the main subgraph's that are stated to be equal are one, and what is stated to be a sum is one.
    """
    for axis, size in enumerate(tensor.dims or ()):
        label = f"{name}[{axis}]"
        same = None if at[0] else equal.names.get(label)
        if size is not None:
            yield size
        elif same is None and (at[0] or not any(label in total for total in equal.sums.values())):
            yield arithmetic.algebra.symbol(("input", *at, axis), label)
        else:
            whole = same or label
            parts = equal.sums.get(whole, (whole,))
            sizes = [
                part if isinstance(part, int) else arithmetic.algebra.symbol(("input", part), part) for part in parts
            ]
            total = arithmetic.add(*sizes)
            yield arithmetic.algebra.symbol(("input", whole), whole) if total is None else total
