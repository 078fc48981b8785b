"""The element types of ONNX values: what a file says of them, and what a runtime takes."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import TYPE_CHECKING

from onnx import TensorProto

from graphfix.checker.proof.core.sizes import Symbol, result_sizes
from graphfix.checker.proof.core.terms import CONSTANTS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from graphfix.checker.proof.core.sizes import Sizes
    from graphfix.checker.proof.core.terms import Core, TermTable, View
    from graphfix.checker.proof.onnx.closed_world.declared import Declared

KNOWN_TYPES = frozenset(TensorProto.DataType.values())
"""Types of elements that onnx knows."""
_FREE = frozenset({"declared", "input"})
"""What names a size that an input may have freely."""
NAMES = {"float": "float32", "double": "float64"}
"""Types that onnx calls by other names than numpy."""


def is_free(size: object) -> bool:
    """Whether a size is one that an input may have freely: no runtime infers a number for it."""
    return isinstance(size, Symbol) and size.key[0] in _FREE


def is_uninferred(size: object) -> bool:
    """Return whether runtimes infer no number for a size that is free, or made of free sizes by a Loop or broadcast."""
    if not isinstance(size, Symbol) or is_free(size) or size.is_uninferred:
        return isinstance(size, Symbol)
    return size.key[0] == "broadcast" and all(map(is_uninferred, size.key[1:]))


@cache
def type_name(data_type: int) -> str:
    """Return the name of a TensorProto type as constants are entered by: `float32`."""
    name: str = TensorProto.DataType.Name(data_type).lower() if data_type in KNOWN_TYPES else "no type"
    return NAMES.get(name, name)


def dtype(core: Core) -> int | bytes | None:
    """Return the type of a value; None where it is not known."""
    if core.dtype is not None or core.key[0] not in _CONSTANTS or not isinstance(core.key[1], str):
        return core.dtype
    core.dtype = _NUMBERS.get(core.key[1])
    return core.dtype


def set_type(core: Core, kind: int | bytes | None) -> None:
    """Enter the type of a value where it is not known."""
    if dtype(core) is None:
        core.dtype = kind


_CONSTANTS = CONSTANTS | {"nothing"}
"""The terms of constants: their element type comes next, unless they are stored in an odd way."""
_NUMBERS: Mapping[str, int] = {type_name(number): number for number in TensorProto.DataType.values()}


def check_values(
    table: TermTable,
    infos: Iterable[Declared],
    values: Mapping[str, View],
    enter_names: Callable[[Declared, View], None],
) -> None:
    """Compare the types and sizes that a file declares of values with what they are; enter where they differ.

    Runtimes believe them, and refuse some files that declare others. So the second file says nothing that no rule
    derives, unless the first one, which loads, says it of the same value by the same name. `enter_names` takes each
    value with a size that is not a number.
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
    """Of the sizes of a sequence's elements no rule knows: the first file says the same."""
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
    """Whether each number that is declared is the size: most values have one of a few shapes."""
    return _agrees(dims, (sizes,))


def _agrees(dims: tuple[int, ...], known: Sequence[Sequence[object] | None]) -> bool:
    """Whether each number that is declared stands in one of these shapes, and one of them has its rank."""
    shapes = [shape for shape in known if shape is not None and len(shape) == len(dims)]
    return bool(shapes) and all(
        size < 0 or any(shape[axis] == size for shape in shapes) for axis, size in enumerate(dims)
    )
