"""The inputs of an ONNX model: their sizes, and those that the caller sets to constants.

A size is a declared number, a number that the caller states, or a symbol, one for sizes that are equal. A reader sees
an input that is set as a constant, and the second file may lack that input.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from onnx import helper, numpy_helper

from graphfix.checker.files.binding_error import BindingError
from graphfix.checker.files.set_values import named_sizes, refuse_unknown, typed
from graphfix.checker.proof.neutral.compare import check_asked
from graphfix.results.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from onnx import TensorProto, TensorShapeProto, ValueInfoProto

    from graphfix.checker.files.equal_sizes import EqualSizes
    from graphfix.checker.files.pair import Pair
    from graphfix.checker.files.set_values import Array
    from graphfix.checker.proof.core.arithmetic import Arithmetic
    from graphfix.checker.proof.core.sizes import Size, Symbol
    from graphfix.checker.proof.neutral.compare import InputDims

Arrays = dict[str, "Array"]


@dataclass(frozen=True, slots=True)
class FreeSizes:
    """The sizes of inputs that a file does not declare as numbers: stated numbers, or symbols, one for equal sizes."""

    arithmetic: Arithmetic
    equal: EqualSizes
    pair: Pair
    bindings: Mapping[str, int]
    """By label the size that the caller states, or that follows from sizes that are stated to be equal."""
    keys: Mapping[str, tuple[object, ...]]
    """By label: the key of its symbol."""

    @classmethod
    def of(cls, arithmetic: Arithmetic, equal: EqualSizes, pair: Pair, inputs: Sequence[ValueInfoProto]) -> FreeSizes:
        """Return the sizes of these inputs."""
        keys: dict[str, tuple[object, ...]] = {}
        for info in inputs:
            for axis, dim in enumerate(info.type.tensor_type.shape.dim):
                label, key = _named(info, axis, dim.dim_param)
                keys.setdefault(label, key)
        return cls(arithmetic, equal, pair, {**pair.bindings, **equal.numbers}, keys)

    def shape(self, info: ValueInfoProto) -> tuple[Size, ...] | None:
        """Return the shape of an input; None if the rank is unknown. Raises UnprovedError."""
        if info.name in self.pair.shapes:
            check_asked(info.name, declared_dims(info), self.pair.shapes[info.name])
            return tuple(self.pair.shapes[info.name])
        kind = info.type.tensor_type
        if not kind.HasField("shape"):
            return None
        return tuple(
            dim.dim_value if dim.HasField("dim_value") and dim.dim_value >= 0 else self._size(info, axis, dim.dim_param)
            for axis, dim in enumerate(kind.shape.dim)
        )

    def _size(self, info: ValueInfoProto, axis: int, name: str) -> Size:
        """Return the size of an axis that is declared without a number, with a name or without."""
        place = f"{info.name}[{axis}]"
        own, key = _named(info, axis, name)
        if own in self.bindings or place in self.bindings:
            return self.bindings[own if own in self.bindings else place]
        label = self.equal.names.get(own, own)
        parts = self.equal.sums.get(label)
        total = self.arithmetic.add(*(self._part(part) for part in parts)) if parts is not None else None
        if total is not None:
            return total
        size = self._symbol(label, key)
        asked = self.pair.ranges.get(own, self.pair.ranges.get(place))
        if asked is not None:
            self.arithmetic.algebra.ranges[size] = asked
        return size

    def _part(self, part: int | str) -> Size:
        return part if isinstance(part, int) else self._symbol(part, ("input", part))

    def _symbol(self, label: str, key: tuple[object, ...]) -> Symbol:
        # a name that is no UTF-8 comes as bytes
        return self.arithmetic.algebra.symbol(self.keys.get(label, key), str(label))


def _named(info: ValueInfoProto, axis: int, name: str) -> tuple[str, tuple[object, ...]]:
    """Return the label of an axis, and the key of its symbol."""
    return (name, ("declared", name)) if is_named(name) else (f"{info.name}[{axis}]", ("input", info.name, axis))


def is_named(name: str) -> bool:
    """Return whether the name of a size has a meaning: some exporters write `?` for any size."""
    return bool(name) and name != "?"


def declared_dims(info: ValueInfoProto) -> list[int | None] | None:
    """Return the declared shape of a value, None for each size that is no number; None if no shape is declared."""
    kind = info.type.tensor_type
    return list(map(_size, kind.shape.dim)) if kind.HasField("shape") else None


def _size(dim: TensorShapeProto.Dimension) -> int | None:
    return dim.dim_value if dim.HasField("dim_value") and dim.dim_value >= 0 else None


def constant_inputs(infos: Sequence[ValueInfoProto], dims: InputDims, pair: Pair) -> tuple[Arrays, dict[str, int]]:
    """Return the inputs that the caller sets, as constants, and the sizes that they give to symbols.

    Raises GraphfixError for an unknown name, and for a value that does not fit what the first file declares.
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
                raise BindingError(
                    f"--set {name}: it gives {symbol} as {size}, another one as {sizes[symbol]}; let them agree"
                )
    return found, {name: size for name, size in sizes.items() if name not in pair.bindings}


def constant_of(info: ValueInfoProto, array: Array) -> TensorProto:
    """Return an input that is set, as a constant. Raises UnprovedError if the file declares other sizes."""
    check_asked(info.name, declared_dims(info), array.shape)
    return numpy_helper.from_array(array, info.name)
