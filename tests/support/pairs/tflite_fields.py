"""Changes of a TFLite model by reflection: every field of every table, at several other values.

A change yields each time the model stands changed, and puts it back behind that.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tests.support.pairs.tflite_file import Model

Change = Callable[[Model], Iterator[None]]
"""Yields each time that the model stands changed, and puts it back behind that."""
SCALARS = (0, 1, -1, 2, 3, 7, 32, 127, 128, 255, 2**31 - 1, -(2**31), 2**40)
REALS = (0.0, 0.5, 1.0, -1.0, 2.0, float("nan"), float("inf"))
TEXTS = (b"another", b"", None, b"a\0b", b"\xff")
UNSET = {
    "shape": [2, 3], "shapeSignature": [-1, 3], "scale": [0.5], "zeroPoint": [1], "min": [0.0], "max": [1.0],
    "inputs": [0], "outputs": [0], "mutatingVariableInputs": [True], "intermediates": [0], "customOptions": [1, 2],
    "metadataBuffer": [0], "newShape": [1, 2, 3], "squeezeDims": [0], "boundaries": [0.5],
}  # fmt: skip
"""What a vector that a table lacks is set to."""


def put(table: Model, **values: object) -> Iterator[None]:
    """The table with other values, for as long as the caller looks at it."""
    kept = {name: getattr(table, name) for name in values}
    for name, value in values.items():
        setattr(table, name, value)
    yield
    for name, value in kept.items():
        setattr(table, name, value)


def tables(model: Model) -> Iterator[Model]:
    """Every table of a model, itself first."""
    yield model
    for value in vars(model).values():
        for each in value if isinstance(value, list) else (value,):
            if hasattr(each, "Pack"):
                yield from tables(each)


def fields(table: Model) -> list[str]:
    """The fields of a table that hold no table."""
    return [name for name, value in vars(table).items() if not _holds_tables(value)]


def _holds_tables(value: object) -> bool:
    return any(hasattr(each, "Pack") for each in (value if isinstance(value, list) else (value,)))


def kind(table: Model, field: str) -> str:
    """The name of a change: the table of the schema, and its field."""
    return f"{type(table).__name__.removesuffix('T')}.{field}"


def changed(table: Model, field: str) -> Iterator[None]:
    """The field at each other value that its type suggests."""
    for value in others(field, getattr(table, field)):
        yield from put(table, **{field: value})


def others(field: str, value: Any) -> list[Any]:  # noqa: ANN401 -- a field's value
    """Other values of a field, of its type or absent."""
    if isinstance(value, bool | np.bool_):
        return [not value]
    if isinstance(value, int | np.integer):
        near = dict.fromkeys([value + 1, value - 1, *SCALARS])
        return [each for each in near if each != value]
    if isinstance(value, float | np.floating):
        return [value * 2, -value, *(each for each in REALS if each != value)]
    if isinstance(value, bytes | str) or field in ("name", "description", "signatureKey", "customCode"):
        return [each for each in TEXTS if each != value]
    if value is None or isinstance(value, list):
        return _unset(field)
    return _vectors(np.asarray(value))


def _unset(field: str) -> list[Any]:
    return [np.asarray(UNSET[field]), np.zeros(0, np.int32)] if field in UNSET else []


def _vectors(value: np.ndarray) -> list[Any]:
    found: list[Any] = [None, value[:0], value[:-1], value[1:], value[::-1].copy(), np.concatenate([value, value[-1:]])]
    for at in {0, value.size // 2, value.size - 1} if value.size else ():
        for other in _elements(value.dtype):
            changed_ = value.copy()
            changed_[at] = changed_[at] ^ other if value.dtype.kind in "bu" else changed_[at] + other
            found.append(changed_)
    far = [] if value.dtype.kind != "i" or not value.size else [-1, 0, 99, 2**31 - 1]
    for number in far:
        changed_ = value.copy()
        changed_[-1] = number
        found.append(changed_)
    return [each for each in found if each is None or not np.array_equal(each, value)]


def _elements(dtype: np.dtype[Any]) -> tuple[Any, ...]:
    if dtype.kind == "b":
        return (True,)
    if dtype.kind == "u":
        return (dtype.type(1), dtype.type(128))
    return (dtype.type(1), dtype.type(-1), dtype.type(-2))


def twin(table: Model) -> Model:
    """A copy of a table."""
    return copy.deepcopy(table)


def operators_of(model: Model) -> list[tuple[Model, Model]]:
    """Every operator, behind its subgraph."""
    return [(graph, operator) for graph in model.subgraphs for operator in graph.operators or ()]


def tensors_of(model: Model) -> list[tuple[Model, Model]]:
    """Every tensor, behind its subgraph."""
    return [(graph, tensor) for graph in model.subgraphs for tensor in graph.tensors or ()]


def array(values: Any) -> np.ndarray:  # noqa: ANN401 -- numbers
    """A vector of whole numbers, as most fields hold it."""
    return np.asarray(values, np.int32)
