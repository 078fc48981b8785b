"""The types and shapes that a file declares for its values, and whether those of the second file are known to be true.

Each distinct type is parsed once, because the values of a file have few types.
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
    from graphfix.checker.proof.core.terms import ProofValue, TermTable


@dataclass(frozen=True, slots=True)
class DeclaredType:
    """A type as a file declares it for a value, parsed."""

    data: bytes
    """The serialized message of the type."""
    kind: int | bytes
    """The element type of a tensor; for any other type the serialized type, without shapes and denotations."""
    is_tensor: bool
    is_nothing: bool
    """Whether the file declares no type at all for the value."""
    dims: tuple[int, ...] | None
    """The shape of a tensor, with -1 for each size that is not a number; None if no shape is declared."""
    names: tuple[tuple[int, str], ...]
    """The axes whose sizes have names, with the names."""
    below_0: tuple[int, ...]
    """The axes whose declared sizes are below 0."""


class Declared(NamedTuple):
    """The name of a value, and the type that a file declares for the value."""

    name: str
    type: DeclaredType


def declared(infos: Iterable[ValueInfoProto]) -> list[Declared]:
    """Return the names of values and their declared types."""
    return [Declared(info.name, _type(info.type.SerializeToString(deterministic=True))) for info in infos]


@lru_cache(maxsize=1 << 12)
def _type(data: bytes) -> DeclaredType:
    """Return a type, parsed from its serialized message."""
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
    """Return the element type of a tensor; for any other type the serialized type, without shapes and denotations."""
    if given.HasField("tensor_type"):
        return given.tensor_type.elem_type
    copy = TypeProto()
    copy.CopyFrom(given)
    _shapeless(copy)
    return bytes(copy.SerializeToString(deterministic=True))


def _shapeless(given: TypeProto) -> None:
    """Remove the shapes of tensors and the denotations from a type, also inside sequences, optionals and maps."""
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
    values: Mapping[str, ProofValue],
    enter_names: Callable[[Declared, ProofValue], None],
) -> None:
    """Compare the types and shapes that a file declares for values with those that are known to the proof.

    Runtimes trust declared types and shapes, and refuse some files that declare wrong ones. So the second file may
    declare only facts that a rule infers, or that the first file, which loads, declares for the same value by the same
    name. Other declarations of the second file become objections. `values` are the values by name. `enter_names` is
    called for each value with a named size or a size below 0.
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


def _check_type(table: TermTable, name: str, view: ProofValue, declared: int | bytes) -> None:
    """Compare the declared element type of a value with its known type.

    In the first file, a declared type fills an unknown one.
    """
    if declared and not table.closed:
        set_type(view.core, declared)
    if declared and declared != dtype(view.core):
        if table.closed and (view, declared) not in table.wrong_declared_types:
            table.objections.append(f"the second file declares another type of the value {name!r} than it has")
        table.wrong_declared_types.add((view, declared))


def _check_elements(table: TermTable, info: Declared, view: ProofValue) -> None:
    """Compare the declared type of a value that is no tensor, such as a sequence, with the first file's declaration.

    No rule infers the sizes of the contained tensors, so the second file may declare only the first file's sizes.
    """
    said = info.type.data
    if not table.closed:
        table.declared_content_types.add((info.name, view, said))
    elif said != info.type.kind and (info.name, view, said) not in table.declared_content_types:
        table.objections.append(f"the second file declares sizes of what {info.name!r} holds, which nothing says")


def _check_shape(table: TermTable, name: str, view: ProofValue, dims: tuple[int, ...]) -> None:
    """Compare the declared shape of a value with its known shape. The first file's shapes are only recorded."""
    if not table.closed:
        table.declared_shapes.setdefault((name, view), []).append(dims)
        return
    if view.sizes == dims:
        return
    sizes = None if view.sizes is None else result_sizes(view.sizes)
    if sizes is not None and _states(dims, sizes):
        return
    if not _agrees(dims, (sizes, *table.declared_shapes.get((name, view), ()))):
        shape = ",".join("?" if size < 0 else str(size) for size in dims)
        table.objections.append(f"the second file declares {name!r} as [{shape}], which it is not known to be")
    table.unconfirmed_shapes.add(name)


@lru_cache(maxsize=1 << 8)
def _states(dims: tuple[int, ...], sizes: Sizes) -> bool:
    """Return whether each declared number equals the known size.

    Cached, because most values have one of a few shapes.
    """
    return _agrees(dims, (sizes,))


def _agrees(dims: tuple[int, ...], derived_shapes: Sequence[Sequence[object] | None]) -> bool:
    """Return whether each declared number is the size of that axis in one of the known shapes.

    Only shapes of the same rank count, and at least one must exist. A declared size below 0 is free, so it agrees with
    every size.
    """
    shapes = [shape for shape in derived_shapes if shape is not None and len(shape) == len(dims)]
    return bool(shapes) and all(
        size < 0 or any(shape[axis] == size for shape in shapes) for axis, size in enumerate(dims)
    )
