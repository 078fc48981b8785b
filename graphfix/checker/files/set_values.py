"""Inputs that the user sets to constants (`--set`): the constant as an array of the input's type and shape."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from graphfix.checker.files.binding_error import BindingError
from graphfix.results.error_texts import no_input

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from graphfix.results import InputNumber, InputValue

Array: TypeAlias = "np.ndarray[Any, Any]"
_MOST_SHOWN = 8


def assumed(values: Mapping[str, InputValue]) -> tuple[str, ...]:
    """Return a line for each input that is set to a constant, as the assumption that the proof reports."""
    return tuple(f"{name} is {_shown(value)}, as set" for name, value in values.items())


def _shown(value: InputValue) -> str:
    """Return a value as text. Only the first 8 elements of a longer tuple are included."""
    if not isinstance(value, tuple):
        return str(value).lower()
    shown = [str(number).lower() for number in value[:_MOST_SHOWN]]
    return f"[{', '.join(shown)}{', ...' if len(value) > len(shown) else ''}]"


def refuse_unknown(values: Mapping[str, InputValue], inputs: Sequence[str]) -> None:
    """Raise BindingError if a value is set for a name that no input has."""
    for name in values:
        if name not in inputs:
            raise BindingError(f"--set {name}: {no_input(name, inputs)}")


def typed(name: str, value: InputValue, dtype: np.dtype[Any] | None, dims: Sequence[int | str | None] | None) -> Array:
    """Return the value of an input as an array of the input's `dtype` and shape.

    Raises BindingError if it does not fit.

    The shape is `dims`. If exactly one size of `dims` is not a number, that size follows from the number of elements.
    If `dims` is None, a single number becomes a scalar, and a tuple becomes a vector.
    """
    numbers = value if isinstance(value, tuple) else (value,)
    if dtype is None or dtype.kind not in "biuf":
        kind = "another type" if dtype is None else dtype.name
        raise BindingError(f"--set {name}: the input holds {kind}; only numbers and truth values can be set")
    if not all(_fits(number, dtype) for number in numbers):
        raise BindingError(f"--set {name}: {_shown(value)} does not fit {dtype.name}; give values of that type")
    shape: list[int] | None = [len(numbers)] if isinstance(value, tuple) else []
    if dims is not None:
        shape = _completed(dims, len(numbers))
    if shape is None:
        given = f"{len(numbers)} elements do not fill {list(dims or ())}"
        raise BindingError(f"--set {name}: {given}; give as many as the input has, and bind its sizes")
    return np.array(numbers, dtype).reshape(shape)


def _fits(number: InputNumber, dtype: np.dtype[Any]) -> bool:
    """Return whether a number fits `dtype`: 0 and 1 fit bool; a bool fits only bool; a float does not fit integers.

    The number must also be in the range of the type.
    """
    if dtype.kind == "b":
        return number in (0, 1)
    if isinstance(number, bool):
        return False
    if dtype.kind == "f":
        return not np.isfinite(number) or abs(number) <= float(np.finfo(dtype).max)
    info = np.iinfo(dtype)
    return isinstance(number, int) and info.min <= number <= info.max


def _completed(dims: Sequence[int | str | None], count: int) -> list[int] | None:
    """Return `dims` with the only unknown size computed from `count`, the number of elements.

    Returns None if more than one size is unknown, or if no size makes the shape contain `count` elements.
    """
    known_product = prod(size for size in dims if isinstance(size, int))
    free = sum(not isinstance(size, int) for size in dims)
    if (
        free > 1
        or (free == 1 and (not known_product or count % known_product))
        or (free == 0 and known_product != count)
    ):
        return None
    return [size if isinstance(size, int) else count // known_product for size in dims]


def named_sizes(dims: Sequence[int | str | None] | None, array: Array) -> dict[str, int]:
    """Return the size of each symbol in `dims`, read from the shape of the array that the input is set to."""
    return {dim: size for dim, size in zip(dims or (), array.shape, strict=False) if isinstance(dim, str)}
