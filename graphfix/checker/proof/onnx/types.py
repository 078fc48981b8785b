"""The element types of ONNX values: what a file says of them, and what a runtime takes."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import TYPE_CHECKING

import onnx
from onnx import TensorProto, TypeProto

from graphfix.checker.proof.sizes import Symbol, result_sizes
from graphfix.checker.proof.terms import CONSTANTS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from onnx import ModelProto, ValueInfoProto

    from graphfix.checker.proof.terms import Core, TermTable, View

KNOWN_TYPES = frozenset(TensorProto.DataType.values())
"""Types of elements that onnx knows."""
_FREE = frozenset({"declared", "input"})
"""What names a size that an input may have freely."""
NAMES = {"float": "float32", "double": "float64"}
"""Types that onnx calls by other names than numpy."""


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


def is_free(size: object) -> bool:
    """Whether a size is one that an input may have freely: no runtime infers a number for it."""
    return isinstance(size, Symbol) and size.key[0] in _FREE


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


def check_value_infos(
    table: TermTable,
    infos: Iterable[ValueInfoProto],
    values: Mapping[str, View],
    enter_names: Callable[[ValueInfoProto, View], None],
    *,
    run: bool,
) -> None:
    """Compare the types and sizes that a file declares of values with what they are; enter where they differ.

    Runtimes refuse some files that declare others. The first file is believed where no rule is known. What the
    inputs and outputs of bodies are declared to be is compared when they `run`: a rule has to know such sizes.
    `enter_names` takes each value with a size that is not a number.
    """
    for info in infos:
        name, kind = info.name, info.type
        view = values.get(name)
        if view is None:
            continue
        tensor = kind.tensor_type if kind.HasField("tensor_type") else None
        declared = element_type(kind) if tensor is None else tensor.elem_type
        if declared and not table.closed:
            set_type(view.core, declared)
        if declared and declared != dtype(view.core):
            if table.closed and (view, declared) not in table.misdeclared:
                table.objections.append(f"the second file declares another type of the value {name!r} than it has")
            table.misdeclared.add((view, declared))
        if tensor is not None and tensor.HasField("shape"):
            dims = tuple([dim.dim_value if dim.HasField("dim_value") else -1 for dim in tensor.shape.dim])
            if min(dims, default=0) < 0:
                enter_names(info, view)
            _check_shape(table, name, view, dims, run)


def _check_shape(table: TermTable, name: str, view: View, dims: tuple[int, ...], run: bool) -> None:
    if not table.closed:
        table.declared.setdefault(view, []).append(dims)
        return
    if view.sizes == dims:
        return
    sizes = None if view.sizes is None else result_sizes(view.sizes)
    if _agrees(sizes, dims) or any(_agrees(other, dims) for other in table.declared.get(view, ())):
        return
    free = (
        None
        if sizes is None
        else tuple(None if isinstance(size, Symbol) and not is_free(size) else size for size in sizes)
    )
    if run or not _agrees(free, dims):
        shape = ",".join("?" if size < 0 else str(size) for size in dims)
        table.objections.append(f"the second file declares {name!r} as [{shape}], which it is not known to be")
    else:
        table.claims[name] = None


@lru_cache(maxsize=1 << 8)
def _agrees(known: tuple[object, ...] | None, dims: tuple[int, ...]) -> bool:
    """Whether a shape has each of the declared numbers, or None there."""
    if known is None or len(known) != len(dims):
        return False
    for declared, size in zip(dims, known, strict=True):
        if declared >= 0 and size is not None and size != declared:
            return False
    return True


def consistent(model: ModelProto) -> bool:
    """Whether no size that a file declares contradicts what onnx's inference finds.

    It is asked where the second file declares sizes that no rule knows: it can only take a proof away.
    """
    try:
        onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True, data_prop=True)
    except (onnx.shape_inference.InferenceError, ValueError):
        return False
    return True
