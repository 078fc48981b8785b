"""Reads TFLite files by LiteRT's object API, which shares nothing with graphfix, and tells where two parts differ."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import ai_edge_litert.schema_py_generated as schema
import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

Tree: TypeAlias = Any
"""A part of LiteRT's object API, which has no types."""

NAMES = {number: name for name, number in vars(schema.BuiltinOperator).items() if isinstance(number, int)}


def tree(data: bytes) -> Tree:
    """Read a file."""
    return schema.ModelT.InitFromObj(schema.Model.GetRootAs(data, 0))


def operator_name(model: Tree, operator: Tree) -> str:
    """`ADD`, or the name of a custom operator."""
    code = model.operatorCodes[operator.opcodeIndex]
    name = NAMES[max(code.builtinCode, code.deprecatedBuiltinCode)]
    return text(code.customCode) if name == "CUSTOM" else name


def text(name: bytes | str | None) -> str:
    """The object API gives names as bytes."""
    return name.decode() if isinstance(name, bytes) else name or ""


def payload(data: bytes, buffer: Tree) -> bytes:
    """The bytes of a Buffer: its own, or those that stand behind the model's tables."""
    if buffer.offset > 1:
        return data[buffer.offset : buffer.offset + buffer.size]
    return b"" if buffer.data is None else bytes(bytearray(buffer.data))


def differing(before: object, after: object, skip: frozenset[str] = frozenset()) -> Iterator[str]:
    """The fields in which two parts differ, by their paths."""
    if type(before) is not type(after):
        yield f": {_short(before)} became {_short(after)}"
    elif isinstance(before, list):
        yield from _differing_parts("[{}]", dict(enumerate(before)), dict(enumerate(after)))  # type: ignore[arg-type]  # see above
    elif hasattr(before, "__dict__"):
        kept = [{key: value for key, value in vars(each).items() if key not in skip} for each in (before, after)]
        yield from _differing_parts(".{}", *kept)
    elif not np.array_equal(before, after):  # type: ignore[arg-type]  # arrays, numbers, bytes, None
        yield f": {_short(before)} became {_short(after)}"


def _differing_parts(form: str, before: Mapping[Any, object], after: Mapping[Any, object]) -> Iterator[str]:
    if before.keys() != after.keys():
        yield f": {len(before)} parts became {len(after)}"
        return
    for key, value in before.items():
        yield from (f"{form.format(key)}{path}" for path in differing(value, after[key]))


def _short(value: object) -> str:
    return repr(value)[:80]
