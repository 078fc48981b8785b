"""The element types of ONNX values, by TensorProto's numbers, and sizes for which runtimes infer no number."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from onnx import TensorProto

from graphfix.checker.proof.core.sizes import Symbol
from graphfix.checker.proof.core.terms import CONSTANTS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from graphfix.checker.proof.core.terms import Core, View

KNOWN_TYPES = frozenset(TensorProto.DataType.values())
"""Types of elements that onnx knows."""
_FREE = frozenset({"declared", "input"})
"""The kinds of symbols of sizes that an input may have freely."""
NAMES = {"float": "float32", "double": "float64"}
"""Types that onnx and numpy name differently."""


def is_free(size: object) -> bool:
    """Return whether an input may have a size freely, so that no runtime infers a number for it."""
    return isinstance(size, Symbol) and size.key[0] in _FREE


def is_uninferred(size: object) -> bool:
    """Return whether runtimes infer no number for a size that is free, or made of free sizes by a Loop or broadcast."""
    if not isinstance(size, Symbol) or is_free(size) or size.is_uninferred:
        return isinstance(size, Symbol)
    return size.key[0] == "broadcast" and all(map(is_uninferred, size.key[1:]))


@cache
def type_name(data_type: int) -> str:
    """Return the numpy name of a TensorProto type, such as `float32`."""
    name: str = TensorProto.DataType.Name(data_type).lower() if data_type in KNOWN_TYPES else "no type"
    return NAMES.get(name, name)


def dtype(core: Core) -> int | bytes | None:
    """Return the type of a value; None if it is unknown."""
    if core.dtype is not None or core.key[0] not in _CONSTANTS or not isinstance(core.key[1], str):
        return core.dtype
    core.dtype = _NUMBERS.get(core.key[1])
    return core.dtype


def type_of(view: View | None) -> int | bytes | None:
    """Return the type of a value; None if it is unknown, or if there is no value."""
    return None if view is None else dtype(view.core)


def set_type(core: Core, kind: int | bytes | None) -> None:
    """Enter the type of a value, if it is unknown."""
    if dtype(core) is None:
        core.dtype = kind


_CONSTANTS = CONSTANTS | {"nothing"}
"""The kinds of the terms of constants: their key states the element type next, unless they are stored in an odd way."""
_NUMBERS: Mapping[str, int] = {type_name(number): number for number in TensorProto.DataType.values()}
