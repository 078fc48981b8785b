"""Inputs of a TFLite model that are taken for constants: both files' operators read the constant."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from graphfix.checker.files.constant_bytes import held
from graphfix.checker.files.set_values import refuse_unknown, typed
from graphfix.checker.files.tflite.names import input_names
from graphfix.checker.files.tflite.records import WIDTHS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from graphfix.checker.files.set_values import Array
    from graphfix.checker.files.tflite.records import Model, Tensor
    from graphfix.checker.proof.constants import Constants
    from graphfix.checker.proof.terms import View
    from graphfix.results import InputValue


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
    data = array.astype(array.dtype.newbyteorder("<")).tobytes()
    return constants.view(tensor.dtype, array.shape, held(data), WIDTHS[tensor.dtype], tensor.name, axis)
