"""The inputs of a TFLite model: their declared and requested sizes, and constants that the user sets in their place."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from graphfix.checker.files.constant_bytes import stored_bytes
from graphfix.checker.files.set_values import refuse_unknown, typed
from graphfix.checker.files.tflite.names import input_names, own_names
from graphfix.checker.files.tflite.records import WIDTHS
from graphfix.checker.proof.neutral.compare import check_asked

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from graphfix.checker.files.constant_bytes import Payload
    from graphfix.checker.files.equal_sizes import EqualSizes
    from graphfix.checker.files.set_values import Array
    from graphfix.checker.files.tflite.records import Model, Tensor
    from graphfix.checker.proof.core.arithmetic import Arithmetic
    from graphfix.checker.proof.core.sizes import Size
    from graphfix.checker.proof.core.terms import ProofValue
    from graphfix.checker.proof.neutral.constants import Constants
    from graphfix.results import InputValue

InputSizes = dict[str, "tuple[int | str, ...] | None"]


def input_dims(model: Model) -> InputSizes:
    """Return the sizes of the main subgraph's inputs as labels `name[axis]`, because callers may resize every input.

    The result is None for an input of unknown rank.
    """
    return {
        name: None if tensor.dims is None else tuple(f"{name}[{axis}]" for axis in range(len(tensor.dims)))
        for name, tensor in _inputs(model)
    }


def _inputs(model: Model) -> Iterator[tuple[str, Tensor]]:
    """Yield (unique name, tensor) for each input of the main subgraph."""
    for at, name in own_names(model).items():
        yield name, model.subgraphs[0].tensors[at]


def sizes_by_name(model: Model) -> InputSizes:
    """Return the sizes of the main subgraph's inputs, by all names of each input: numbers, or labels `name[axis]`.

    The result is None for an input of unknown rank.
    """
    own = own_names(model)
    found: InputSizes = {}
    for name, at in input_names(model).items():
        dims = model.subgraphs[0].tensors[at].dims
        sizes = enumerate(dims or ())
        labels = tuple(f"{own[at]}[{axis}]" if size is None else size for axis, size in sizes)
        found[name] = None if dims is None else labels
    return found


def bound(model: Model, bindings: Mapping[str, int], shapes: Mapping[str, Sequence[int]]) -> Model:
    """Return the model with the sizes of the main inputs bound, by labels `name[axis]` or by shapes.

    Raises UnprovedError if a bound size contradicts a declared size.
    """
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
    """Yield the sizes of an input of known rank. A free size is a symbol.

    `at` is (subgraph, position of the input). In the main subgraph, sizes that the user states to be equal are one
    symbol, and a stated sum is a sum of symbols.
    """
    for axis, size in enumerate(tensor.dims or ()):
        label = f"{name}[{axis}]"
        same = None if at[0] else equal.names.get(label)
        if size is not None:
            yield size
        elif same is None and (at[0] or not any(label in total for total in equal.sums.values())):
            yield arithmetic.algebra.symbol(("input", *at, axis), label)
        else:
            label_or_number = same or label
            parts = equal.sums.get(label_or_number, (label_or_number,))
            sizes = [
                part if isinstance(part, int) else arithmetic.algebra.symbol(("input", part), part) for part in parts
            ]
            total = arithmetic.add(*sizes)
            yield arithmetic.algebra.symbol(("input", label_or_number), label_or_number) if total is None else total


# --- inputs that are set: both files' operators read a constant -------------------------------------------------------


def without_set(one: Model, two: Model, values: Mapping[str, InputValue]) -> tuple[Model, Mapping[str, InputValue]]:
    """Return the first model with constants for the set inputs that the second model lacks, and the remaining values.

    Raises BindingError for an unknown name, or for a value that does not fit.
    """
    names, found = input_names(one), set_arrays(one, values)
    own, kept = own_names(one), set(own_names(two).values())
    gone = {name: names[name] for name in values if own[names[name]] not in kept}
    if not gone:
        return one, values
    main = one.subgraphs[0]
    tensors = list(main.tensors)
    for at in gone.values():
        array = found[main.inputs.index(at)]
        tensors[at] = tensors[at]._replace(dims=array.shape, stored=array.shape, payload=_held(array))
    inputs = tuple(at for at in main.inputs if at not in gone.values())
    signatures = tuple(
        (key, index, _without(outputs_by_name, () if index else tuple(gone.values())), results)
        for key, index, outputs_by_name, results in one.signatures
    )
    main = replace(main, tensors=tuple(tensors), inputs=inputs)
    model = replace(one, subgraphs=(main, *one.subgraphs[1:]), signatures=signatures)
    return model, {name: value for name, value in values.items() if name not in gone}


def _without(entries: tuple[tuple[str, int], ...], tensors: tuple[int, ...]) -> tuple[tuple[str, int], ...]:
    """Return the entries of a signature without these tensors."""
    return tuple((name, at) for name, at in entries if at not in tensors)


def set_arrays(model: Model, values: Mapping[str, InputValue]) -> dict[int, Array]:
    """Return the values that the user sets, by position among the main inputs.

    Raises BindingError for an unknown name, or for a value that does not fit.
    """
    names = input_names(model)
    refuse_unknown(values, list(names))
    found: dict[int, Array] = {}
    for name, value in values.items():
        tensor = model.subgraphs[0].tensors[names[name]]
        dtype = np.dtype(tensor.dtype) if tensor.dtype in WIDTHS and tensor.dtype != "bfloat16" else None
        found[model.subgraphs[0].inputs.index(names[name])] = typed(name, value, dtype, tensor.dims)
    return found


def set_constant(constants: Constants, tensor: Tensor, array: Array) -> ProofValue:
    """Return the constant that replaces an input."""
    axis = None if tensor.quantization is None else tensor.quantization.axis
    return constants.view(tensor.dtype, array.shape, _held(array), WIDTHS[tensor.dtype], tensor.name, axis)


def _held(array: Array) -> Payload:
    """Return the elements of an array as little-endian bytes."""
    return stored_bytes(array.astype(array.dtype.newbyteorder("<")).tobytes())
