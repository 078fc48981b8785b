"""What a file declares of values: their names and their types, each read once; the values of a file have few types."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from onnx import TypeProto

from graphfix.results.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable

    from onnx import ValueInfoProto


@dataclass(frozen=True, slots=True)
class DeclaredType:
    """A type as a file states it."""

    data: bytes
    """The message."""
    kind: int | bytes
    """The type of a tensor's elements; of anything else the whole type, without shapes and descriptions."""
    is_tensor: bool
    is_nothing: bool
    """Whether no type is stated at all."""
    dims: tuple[int, ...] | None
    """Of a tensor; -1 for a size that is open; None where no shape is stated."""
    names: tuple[tuple[int, str], ...]
    """The axes whose sizes have names."""
    below_0: tuple[int, ...]
    """The axes whose sizes are stated as numbers below 0."""


class Declared(NamedTuple):
    """A value as a file states it."""

    name: str
    type: DeclaredType


def declared(infos: Iterable[ValueInfoProto]) -> list[Declared]:
    """Read what is declared of values."""
    return [Declared(info.name, _type(info.type.SerializeToString(deterministic=True))) for info in infos]


@lru_cache(maxsize=1 << 12)
def _type(data: bytes) -> DeclaredType:
    given = TypeProto()
    given.ParseFromString(data)
    is_tensor, is_nothing = given.HasField("tensor_type"), given.WhichOneof("value") is None
    if not is_tensor or not given.tensor_type.HasField("shape"):
        return DeclaredType(data, element_type(given), is_tensor, is_nothing, None, (), ())
    sizes = given.tensor_type.shape.dim
    return DeclaredType(
        data,
        element_type(given),
        is_tensor,
        is_nothing,
        tuple([dim.dim_value if dim.HasField("dim_value") else -1 for dim in sizes]),
        tuple([(axis, dim.dim_param) for axis, dim in enumerate(sizes) if dim.dim_param]),
        tuple([axis for axis, dim in enumerate(sizes) if dim.dim_value < 0]),
    )


def element_type(given: TypeProto) -> int | bytes:
    """Return the type of a tensor's elements; of anything else the whole type, without shapes and descriptions."""
    if given.HasField("tensor_type"):
        return given.tensor_type.elem_type
    copy = TypeProto()
    copy.CopyFrom(given)
    _shapeless(copy)
    return bytes(copy.SerializeToString(deterministic=True))


def _shapeless(given: TypeProto) -> None:
    given.ClearField("denotation")
    kind = given.WhichOneof("value")
    if kind in ("tensor_type", "sparse_tensor_type"):
        getattr(given, kind).ClearField("shape")
    elif kind in ("sequence_type", "optional_type"):
        _shapeless(getattr(given, kind).elem_type)
    elif kind == "map_type":
        _shapeless(given.map_type.value_type)
