"""Sizes of an ONNX model's inputs, and inputs that the caller sets to constants.

A size is a declared number, a number that the caller states, or a symbol. Equal sizes share one symbol. Nodes read an
input that is set as a constant, so the second file may lack that input.
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
    """Sizes of inputs that a file does not declare as numbers: numbers that the caller states, or symbols.

    A label identifies a size: its declared name, or `input[axis]` if it has no name. `equal` contains the labels that
    the caller states to be equal, and `pair` all statements of the caller about both files.
    """

    arithmetic: Arithmetic
    equal: EqualSizes
    pair: Pair
    bindings: Mapping[str, int]
    """The number of a size, by its label or by `input[axis]`.

    The caller states the number, or it follows from equal sizes.
    """
    keys: Mapping[str, tuple[object, ...]]
    """The key of the symbol of a size, by its label."""

    @classmethod
    def of(cls, arithmetic: Arithmetic, equal: EqualSizes, pair: Pair, inputs: Sequence[ValueInfoProto]) -> FreeSizes:
        """Return the `FreeSizes` for these inputs, with a symbol's key for every label that the inputs declare."""
        keys: dict[str, tuple[object, ...]] = {}
        for info in inputs:
            for axis, dim in enumerate(info.type.tensor_type.shape.dim):
                label, key = _named(info, axis, dim.dim_param)
                keys.setdefault(label, key)
        return cls(arithmetic, equal, pair, {**pair.bindings, **equal.numbers}, keys)

    def shape(self, info: ValueInfoProto) -> tuple[Size, ...] | None:
        """Return the shape of an input, as sizes of the proof; None if the rank is unknown.

        If the caller states a shape for this input, return that shape. Raises UnprovedError if the stated shape
        contradicts the declared one.
        """
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
        """Return the size of axis `axis`, which is declared without a number. `name` is its declared name, or empty.

        The result is a number or sum that the caller's statements determine, or else a symbol. If the caller states a
        range for the size, the range is recorded for the symbol.
        """
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
        """Return a summand of a size that the caller states as a sum: a number, or the symbol of a label."""
        return part if isinstance(part, int) else self._symbol(part, ("input", part))

    def _symbol(self, label: str, key: tuple[object, ...]) -> Symbol:
        """Return the symbol of a label. `key` identifies the symbol if the inputs do not declare the label.

        A label that is not valid UTF-8 is a bytes object.
        """
        return self.arithmetic.algebra.symbol(self.keys.get(label, key), str(label))


def _named(info: ValueInfoProto, axis: int, name: str) -> tuple[str, tuple[object, ...]]:
    """Return the label of an axis, and the key of its symbol. Without a name, the label is `input[axis]`."""
    return (name, ("declared", name)) if is_named(name) else (f"{info.name}[{axis}]", ("input", info.name, axis))


def is_named(name: str) -> bool:
    """Return whether the declared name of a size identifies it. Some exporters write `?` for any unknown size."""
    return bool(name) and name != "?"


def declared_dims(info: ValueInfoProto) -> list[int | None] | None:
    """Return the declared shape of a value, with None for each size that is not a number.

    Return None if no shape is declared.
    """
    kind = info.type.tensor_type
    return list(map(_size, kind.shape.dim)) if kind.HasField("shape") else None


def _size(dim: TensorShapeProto.Dimension) -> int | None:
    """Return the declared number of a size; None if it has a name, has no number, or is negative."""
    return dim.dim_value if dim.HasField("dim_value") and dim.dim_value >= 0 else None


def constant_inputs(infos: Sequence[ValueInfoProto], dims: InputDims, pair: Pair) -> tuple[Arrays, dict[str, int]]:
    """Return the inputs that the caller sets, as arrays by name, and sizes that these arrays determine.

    The second part maps the name of a declared size to its number, without sizes that the caller binds anyway. `infos`
    are the inputs of the first file, and `dims` their declared shapes by name. Raises GraphfixError for the name of an
    unknown input, and for an array that does not fit the declared type or shape. Raises BindingError if two arrays
    contradict each other on a size.
    """
    declared = {info.name: info for info in infos}
    refuse_unknown(pair.values, list(declared))
    found: Arrays = {}
    sizes: dict[str, int] = {}
    for name, value in pair.values.items():
        kind = declared[name].type.tensor_type.elem_type
        dtype = np.dtype(helper.tensor_dtype_to_np_dtype(kind)) if kind else None
        own = dims[name] if name not in pair.shapes else tuple(pair.shapes[name])
        constants = (
            None if own is None else [pair.bindings.get(size, size) if isinstance(size, str) else size for size in own]
        )
        found[name] = typed(name, value, dtype, constants)
        for symbol, size in named_sizes(dims[name], found[name]).items():
            if sizes.setdefault(symbol, size) != size:
                raise BindingError(
                    f"--set {name}: it gives {symbol} as {size}, another one as {sizes[symbol]}; let them agree"
                )
    return found, {name: size for name, size in sizes.items() if name not in pair.bindings}


def constant_of(info: ValueInfoProto, array: Array) -> TensorProto:
    """Return an input that the caller sets, as a constant tensor.

    Raises UnprovedError if the array's shape contradicts the shape that the file declares.
    """
    check_asked(info.name, declared_dims(info), array.shape)
    return numpy_helper.from_array(array, info.name)
