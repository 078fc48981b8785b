"""The types and shapes that a file declares of its values, and whether the second file declares only known ones.

Each distinct type is read once, because the values of a file have few types.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from onnx import TypeProto

from graphfix.checker.proof.core.sizes import result_sizes
from graphfix.checker.proof.onnx.reading.types import dtype, set_type
from graphfix.results.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from onnx import ValueInfoProto

    from graphfix.checker.proof.core.sizes import Sizes
    from graphfix.checker.proof.core.terms import TermTable, View


@dataclass(frozen=True, slots=True)
class DeclaredType:
    """A type as a file declares it."""

    data: bytes
    """The serialized message."""
    kind: int | bytes
    """The type of a tensor's elements; for other types the whole type, without shapes and descriptions."""
    is_tensor: bool
    is_nothing: bool
    """Whether the file declares no type at all."""
    dims: tuple[int, ...] | None
    """The shape of a tensor, -1 for each size that is no number; None if no shape is declared."""
    names: tuple[tuple[int, str], ...]
    """The axes whose sizes have names."""
    below_0: tuple[int, ...]
    """The axes whose declared sizes are below 0."""


class Declared(NamedTuple):
    """The name of a value, and the type that a file declares for it."""

    name: str
    type: DeclaredType


def declared(infos: Iterable[ValueInfoProto]) -> list[Declared]:
    """Return the declared names and types of values."""
    return [Declared(info.name, _type(info.type.SerializeToString(deterministic=True))) for info in infos]


@lru_cache(maxsize=1 << 12)
def _type(data: bytes) -> DeclaredType:
    given = TypeProto()
    given.ParseFromString(data)
    is_tensor, is_nothing = given.HasField("tensor_type"), given.WhichOneof("value") is None
    sizes = given.tensor_type.shape.dim
    dims = tuple([dim.dim_value if dim.HasField("dim_value") else -1 for dim in sizes])
    return DeclaredType(
        data,
        element_type(given),
        is_tensor,
        is_nothing,
        dims if given.tensor_type.HasField("shape") else None,
        tuple([(axis, dim.dim_param) for axis, dim in enumerate(sizes) if dim.dim_param]),
        tuple([axis for axis, dim in enumerate(sizes) if dim.dim_value < 0]),
    )


def element_type(given: TypeProto) -> int | bytes:
    """Return the type of a tensor's elements; for other types the whole type, without shapes and descriptions."""
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


# --- what the second file may declare -------------------------------------------------------------------------------


def check_values(
    table: TermTable,
    infos: Iterable[Declared],
    values: Mapping[str, View],
    enter_names: Callable[[Declared, View], None],
) -> None:
    """Compare the types and sizes that a file declares of values with the known ones; enter where they differ.

    Runtimes believe declared types and sizes, and refuse some files that declare wrong ones. So the second file may
    declare only what a rule derives, or what the first file, which loads, declares of the same value by the same name.
    `enter_names` is called with each value that has a size with a name, or a size below 0.
    """
    for info in infos:
        name, kind = info
        view = values.get(name)
        if view is None:
            continue
        _check_type(table, name, view, kind.kind)
        if not kind.is_tensor:
            _check_elements(table, info, view)
        elif kind.dims is not None:
            if kind.names or kind.below_0:
                enter_names(info, view)
            _check_shape(table, name, view, kind.dims)


def _check_type(table: TermTable, name: str, view: View, declared: int | bytes) -> None:
    if declared and not table.closed:
        set_type(view.core, declared)
    if declared and declared != dtype(view.core):
        if table.closed and (view, declared) not in table.misdeclared:
            table.objections.append(f"the second file declares another type of the value {name!r} than it has")
        table.misdeclared.add((view, declared))


def _check_elements(table: TermTable, info: Declared, view: View) -> None:
    """Compare the declared sizes of a sequence's elements with those of the first file: no rule derives them."""
    said = info.type.data
    if not table.closed:
        table.elements.add((info.name, view, said))
    elif said != info.type.kind and (info.name, view, said) not in table.elements:
        table.objections.append(f"the second file declares sizes of what {info.name!r} holds, which nothing says")


def _check_shape(table: TermTable, name: str, view: View, dims: tuple[int, ...]) -> None:
    if not table.closed:
        table.declared.setdefault((name, view), []).append(dims)
        return
    if view.sizes == dims:
        return
    sizes = None if view.sizes is None else result_sizes(view.sizes)
    if sizes is not None and _states(dims, sizes):
        return
    if not _agrees(dims, (sizes, *table.declared.get((name, view), ()))):
        shape = ",".join("?" if size < 0 else str(size) for size in dims)
        table.objections.append(f"the second file declares {name!r} as [{shape}], which it is not known to be")
    table.unsupported.add(name)


@lru_cache(maxsize=1 << 8)
def _states(dims: tuple[int, ...], sizes: Sizes) -> bool:
    """Return whether each declared number is the size. It has a cache because most values have one of a few shapes."""
    return _agrees(dims, (sizes,))


def _agrees(dims: tuple[int, ...], known: Sequence[Sequence[object] | None]) -> bool:
    """Return whether each declared number is a size of one of the shapes, and one of the shapes has the same rank."""
    shapes = [shape for shape in known if shape is not None and len(shape) == len(dims)]
    return bool(shapes) and all(
        size < 0 or any(shape[axis] == size for shape in shapes) for axis, size in enumerate(dims)
    )
