"""Inputs of an ONNX model that are taken for constants: readers see the constant, and the second file may lack them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from onnx import helper, numpy_helper

from graphfix.checker.files.asked import AskedError
from graphfix.checker.files.set_values import named_sizes, refuse_unknown, typed
from graphfix.checker.proof.neutral.compare import check_asked
from graphfix.checker.proof.onnx.reading.input_sizes import declared_dims

if TYPE_CHECKING:
    from collections.abc import Sequence

    from onnx import TensorProto, ValueInfoProto

    from graphfix.checker.files.pair import Pair
    from graphfix.checker.files.set_values import Array
    from graphfix.checker.proof.neutral.compare import InputDims

Arrays = dict[str, "Array"]


def arrays(infos: Sequence[ValueInfoProto], dims: InputDims, pair: Pair) -> tuple[Arrays, dict[str, int]]:
    """Return the constants that inputs are, as the first file declares it, and the sizes that they give to symbols.

    Raises GraphfixError for an unknown name, and for a value that does not fit.
    """
    declared = {info.name: info for info in infos}
    refuse_unknown(pair.values, list(declared))
    found: Arrays = {}
    sizes: dict[str, int] = {}
    for name, value in pair.values.items():
        kind = declared[name].type.tensor_type.elem_type
        dtype = np.dtype(helper.tensor_dtype_to_np_dtype(kind)) if kind else None
        own = dims[name] if name not in pair.shapes else tuple(pair.shapes[name])
        known = (
            None if own is None else [pair.bindings.get(size, size) if isinstance(size, str) else size for size in own]
        )
        found[name] = typed(name, value, dtype, known)
        for symbol, size in named_sizes(dims[name], found[name]).items():
            if sizes.setdefault(symbol, size) != size:
                raise AskedError(
                    f"--set {name}: it gives {symbol} as {size}, another one as {sizes[symbol]}; let them agree"
                )
    return found, {name: size for name, size in sizes.items() if name not in pair.bindings}


def tensor_of(info: ValueInfoProto, array: Array) -> TensorProto:
    """Return the constant that a file's input is taken for. Raises UnprovedError where it declares other sizes."""
    check_asked(info.name, declared_dims(info), array.shape)
    return numpy_helper.from_array(array, info.name)
