"""The element types of ONNX values, as numbers of TensorProto, and sizes for which runtimes infer no number."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from onnx import TensorProto

from graphfix.checker.proof.core.sizes import Symbol
from graphfix.checker.proof.core.terms import CONSTANTS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from graphfix.checker.proof.core.terms import Core, ProofValue

KNOWN_TYPES = frozenset(TensorProto.DataType.values())
"""Element types that onnx defines."""
_FREE = frozenset({"declared", "input"})
"""The kinds of symbols for sizes of inputs that the file does not fix."""
NAMES = {"float": "float32", "double": "float64"}
"""Numpy's names of the types that onnx calls otherwise."""


def is_free(size: object) -> bool:
    """Return whether a size is a symbol for an input's size that the file does not fix.

    No runtime infers a number for such a size.
    """
    return isinstance(size, Symbol) and size.key[0] in _FREE


def is_uninferred(size: object) -> bool:
    """Return whether runtimes infer no number for a size.

    Such a size is a symbol for an input's size that the file does not fix, or a size of a Loop that was marked so. A
    broadcast of only such sizes is another one.
    """
    if not isinstance(size, Symbol) or is_free(size) or size.is_uninferred:
        return isinstance(size, Symbol)
    return size.key[0] == "broadcast" and all(map(is_uninferred, size.key[1:]))


@cache
def type_name(data_type: int) -> str:
    """Return the numpy name of a TensorProto type, such as `float32`.

    Return `no type` for a number that onnx does not define.
    """
    name: str = TensorProto.DataType.Name(data_type).lower() if data_type in KNOWN_TYPES else "no type"
    return NAMES.get(name, name)


def dtype(core: Core) -> int | bytes | None:
    """Return the type of a core as a number of TensorProto, or as bytes for a value that is no tensor; None if unknown.

    The type of a constant is read from its key, and cached.
    """
    if core.dtype is not None or core.key[0] not in _CONSTANTS or not isinstance(core.key[1], str):
        return core.dtype
    core.dtype = _NUMBERS.get(core.key[1])
    return core.dtype


def type_of(view: ProofValue | None) -> int | bytes | None:
    """Return the type of a value; None if it is unknown, or if there is no value."""
    return None if view is None else dtype(view.core)


def set_type(core: Core, kind: int | bytes | None) -> None:
    """Set the type of a core, if it is unknown so far."""
    if dtype(core) is None:
        core.dtype = kind


_CONSTANTS = CONSTANTS | {"nothing"}
"""The kinds of constants' keys.

The element type follows in the key, unless the constant is stored in an unusual way.
"""
_NUMBERS: Mapping[str, int] = {type_name(number): number for number in TensorProto.DataType.values()}
