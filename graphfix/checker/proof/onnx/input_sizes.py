"""The sizes of an ONNX model's inputs: as declared, as asked for, and one symbol for those that are equal."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from graphfix.checker.proof.compare import check_asked

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from onnx import TensorShapeProto, ValueInfoProto

    from graphfix.checker.files.equal_sizes import EqualSizes
    from graphfix.checker.proof.sizes import Algebra, Size


@dataclass(frozen=True, slots=True)
class FreeSizes:
    """What the free sizes of a file's inputs are: numbers that are asked for, else symbols, one for equal sizes."""

    algebra: Algebra
    equal: EqualSizes
    bindings: Mapping[str, int]
    keys: dict[str, tuple[object, ...]] = field(default_factory=dict)
    """By the label that stands for equal sizes: the key of their symbol."""

    def shape(self, info: ValueInfoProto, shapes: Mapping[str, Sequence[int]]) -> tuple[Size, ...] | None:
        """Return the shape of an input; None where the rank is not known. Raises UnprovedError."""
        if info.name in shapes:
            check_asked(info.name, declared_dims(info), shapes[info.name])
            return tuple(shapes[info.name])
        kind = info.type.tensor_type
        if not info.type.HasField("tensor_type") or not kind.HasField("shape"):
            return None
        return tuple(
            dim.dim_value if dim.HasField("dim_value") and dim.dim_value >= 0 else self._size(info, axis, dim.dim_param)
            for axis, dim in enumerate(kind.shape.dim)
        )

    def _size(self, info: ValueInfoProto, axis: int, name: str) -> Size:
        """Return the size of an axis that is declared with a name, or with none."""
        place = f"{info.name}[{axis}]"
        own = name if is_named(name) else place
        if own in self.bindings or place in self.bindings:
            return self.bindings[own if own in self.bindings else place]
        label = self.equal.names.get(own, own)
        key = self.keys.setdefault(label, ("declared", name) if is_named(name) else ("input", info.name, axis))
        # a name that is no UTF-8 comes as bytes
        return self.algebra.symbol(key, str(label))


def is_named(name: str) -> bool:
    """Whether a name of a size means something: some exporters write `?` for any size."""
    return bool(name) and name != "?"


def declared_dims(info: ValueInfoProto) -> list[int | None] | None:
    """Return the shape that a value is declared with."""
    kind = info.type.tensor_type
    return list(map(_size, kind.shape.dim)) if kind.HasField("shape") else None


def _size(dim: TensorShapeProto.Dimension) -> int | None:
    return dim.dim_value if dim.HasField("dim_value") and dim.dim_value >= 0 else None
