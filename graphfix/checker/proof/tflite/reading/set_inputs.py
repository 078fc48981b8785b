"""Inputs of a TFLite model that are taken for constants: both files' operators read the constant."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from graphfix.checker.files.constant_bytes import held
from graphfix.checker.files.set_values import refuse_unknown, typed
from graphfix.checker.files.tflite.names import input_names, own_names
from graphfix.checker.files.tflite.records import WIDTHS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from graphfix.checker.files.constant_bytes import Payload
    from graphfix.checker.files.set_values import Array
    from graphfix.checker.files.tflite.records import Model, Tensor
    from graphfix.checker.proof.core.terms import View
    from graphfix.checker.proof.neutral.constants import Constants
    from graphfix.results import InputValue


def dropped(one: Model, two: Model, values: Mapping[str, InputValue]) -> tuple[Model, Mapping[str, InputValue]]:
    """Return the first model with constants for the set inputs that the second lacks, and the values of the others.

    Raises GraphfixError for an unknown name, and for a value that does not fit.
    """
    names, found = input_names(one), arrays(one, values)
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
        (key, index, _without(named, () if index else tuple(gone.values())), results)
        for key, index, named, results in one.signatures
    )
    main = replace(main, tensors=tuple(tensors), inputs=inputs)
    model = replace(one, subgraphs=(main, *one.subgraphs[1:]), signatures=signatures)
    return model, {name: value for name, value in values.items() if name not in gone}


def _without(named: tuple[tuple[str, int], ...], tensors: tuple[int, ...]) -> tuple[tuple[str, int], ...]:
    return tuple((name, at) for name, at in named if at not in tensors)


def arrays(model: Model, values: Mapping[str, InputValue]) -> dict[int, Array]:
    """Return the values by place among the main subgraph's inputs. Raises GraphfixError for what does not fit."""
    names = input_names(model)
    refuse_unknown(values, list(names))
    found: dict[int, Array] = {}
    for name, value in values.items():
        tensor = model.subgraphs[0].tensors[names[name]]
        dtype = np.dtype(tensor.dtype) if tensor.dtype in WIDTHS and tensor.dtype != "bfloat16" else None
        found[model.subgraphs[0].inputs.index(names[name])] = typed(name, value, dtype, tensor.dims)
    return found


def constant(constants: Constants, tensor: Tensor, array: Array) -> View:
    """See the constant that an input is taken for."""
    axis = None if tensor.quantization is None else tensor.quantization.axis
    return constants.view(tensor.dtype, array.shape, _held(array), WIDTHS[tensor.dtype], tensor.name, axis)


def _held(array: Array) -> Payload:
    return held(array.astype(array.dtype.newbyteorder("<")).tobytes())
