"""Inputs that are taken for constants: their elements as the input's type and shape have them, and what is assumed."""

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
    """Name the values for which alone two models are compared."""
    return tuple(f"{name} is {_shown(value)}, as set" for name, value in values.items())


def _shown(value: InputValue) -> str:
    if not isinstance(value, tuple):
        return str(value).lower()
    shown = [str(number).lower() for number in value[:_MOST_SHOWN]]
    return f"[{', '.join(shown)}{', ...' if len(value) > len(shown) else ''}]"


def refuse_unknown(values: Mapping[str, InputValue], inputs: Sequence[str]) -> None:
    """Raise GraphfixError for a name that no input has."""
    for name in values:
        if name not in inputs:
            raise BindingError(f"--set {name}: {no_input(name, inputs)}")


def typed(name: str, value: InputValue, dtype: np.dtype[Any] | None, dims: Sequence[int | str | None] | None) -> Array:
    """Return the value of an input that is declared so. Raises GraphfixError where it does not fit.

    Shape: `dims`, where one size that is no number follows from how many elements there are; with no dims that of the
    value.
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
    if dtype.kind == "b":
        return number in (0, 1)
    if isinstance(number, bool):
        return False
    if dtype.kind == "f":
        return not np.isfinite(number) or abs(number) <= float(np.finfo(dtype).max)
    info = np.iinfo(dtype)
    return isinstance(number, int) and info.min <= number <= info.max


def _completed(dims: Sequence[int | str | None], count: int) -> list[int] | None:
    """Return the sizes with the free one that makes them hold so many elements; None where there is none."""
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
    """Return the sizes that a value gives to the symbols of its input."""
    return {dim: size for dim, size in zip(dims or (), array.shape, strict=False) if isinstance(dim, str)}
