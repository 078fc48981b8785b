"""Convert an outcome to JSON and back without loss; data of any other shape is refused."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, get_args, get_origin

from graphfix.results.excerpt import JsonShape

if TYPE_CHECKING:
    from cattrs import Converter

DIMS = frozenset({int, str, type(None)})
TAGS = frozenset({"float", "tuple", "map"})
"""Keys of objects that stand for values without a JSON form. Such an object has one of these as its only key."""


@cache
def converter() -> Converter:
    """Return a converter between records and plain data, by the types of the records' fields.

    Plain data are objects, lists, texts and finite numbers. A field with its default value is omitted. Unlike cattrs,
    the converter never converts a value to another type (`int("3")`): data of another shape raises an exception of
    cattrs or of Python. A value without a JSON form raises TypeError.
    """
    from cattrs import Converter

    made = Converter(omit_if_default=True, forbid_extra_keys=True, detailed_validation=False)
    made.register_structure_hook(float, _float)
    made.register_unstructure_hook(float, _plain_float)
    for kind in (int, str, bool):
        made.register_structure_hook(kind, _exactly(kind))
    made.register_structure_hook(JsonShape, _shape)
    made.register_unstructure_hook(JsonShape, lambda shape: shape if shape is None else list(shape))
    made.register_structure_hook_func(_is_any, lambda data, _: _value(data))
    made.register_unstructure_hook_func(_is_any, _plain)
    made.register_structure_hook_factory(_is_sequence, _tuples)
    return made


def _exactly(kind: type) -> Callable[[object, object], object]:
    def structure(data: object, _: object) -> object:
        if type(data) is not kind:
            raise TypeError(f"{data!r} is no {kind.__name__}")
        return data

    return structure


def _shape(data: object, _: object) -> JsonShape:
    """Return a shape.

    A site has two, so shapes are converted in one step, which saves a third of the time of a large record.
    """
    if data is None:
        return None
    if not isinstance(data, list) or not DIMS.issuperset(map(type, data)):
        raise TypeError(f"{data!r} is no shape")
    return tuple(data)


def _is_any(kind: object) -> bool:
    """Return whether a type allows any value, so that the value is converted as a whole."""
    return kind is Any or kind == Mapping[str, Any]


def _is_sequence(kind: object) -> bool:
    return get_origin(kind) is Sequence


def _tuples(kind: Any, made: Converter) -> Callable[[object, object], object]:  # noqa: ANN401 -- a type's form
    """Return a reader of sequences, which makes tuples, as in the original records."""
    (item,) = get_args(kind)
    read = made.get_structure_hook(item)

    def structure(data: object, _: object) -> object:
        if not isinstance(data, list):
            raise TypeError(f"{data!r} is no list")
        return tuple(read(each, item) for each in data)

    return structure


def _float(data: object, _: object) -> float:
    if isinstance(data, dict):
        data = _value(data)
    if type(data) not in (int, float):
        raise TypeError(f"{data!r} is no number")
    return data  # type: ignore[return-value]  # an int where a float is declared is equal to it, and stays


def _plain_float(value: float) -> object:
    """Return a number; infinities and NaN become an object with the tag `float`, because JSON has no such numbers."""
    return value if math.isfinite(value) else {"float": str(float(value))}


def _plain(value: object) -> object:
    """Return the JSON form of a value without a declared type."""
    if value is None or type(value) in (bool, int, str):
        return value
    if isinstance(value, float):
        return _plain_float(float(value))
    if isinstance(value, tuple):
        return {"tuple": [_plain(each) for each in value]}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if isinstance(value, Mapping):
        if all(type(key) is str for key in value) and not (len(value) == 1 and TAGS & set(value)):
            return {key: _plain(each) for key, each in value.items()}
        return {"map": [[_plain(key), _plain(each)] for key, each in value.items()]}
    raise TypeError(f"{type(value).__name__}: no form of it as JSON is known")


def _value(data: Any) -> Any:  # noqa: ANN401 -- anything
    """Return the value of a JSON form that `_plain` made. Raises an exception for any other data."""
    if isinstance(data, list):
        return [_value(each) for each in data]
    if not isinstance(data, dict):
        return data
    if len(data) != 1 or not TAGS & set(data):
        return {key: _value(each) for key, each in data.items()}
    ((tag, inner),) = data.items()
    if tag == "float":
        return float(_exactly(str)(inner, str))  # type: ignore[arg-type]  # it is a str
    if not isinstance(inner, list):
        raise TypeError(f"{inner!r} is no list")
    if tag == "tuple":
        return tuple(_value(each) for each in inner)
    return {_value(key): _value(each) for key, each in inner}
