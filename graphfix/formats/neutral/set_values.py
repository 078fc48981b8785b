"""Convert the value that the user sets for an input (`--set`) into an array of the input's type and shape.

Both formats use this module. A scalar is the value of an input with one element. A flat list contains the elements of
an input of any rank, in row-major order.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

from graphfix.results import GraphfixError, InputNumber, InputValue

if TYPE_CHECKING:
    import numpy as np

Array: TypeAlias = "np.ndarray[Any, Any]"
TYPES = frozenset("bool float16 float32 float64 int8 int16 int32 int64 uint8 uint16 uint32 uint64".split())
"""Element types whose values can be set."""
LONGEST = 60
"""The largest number of characters of a value in a message. A longer value is cut."""


def text(value: InputValue) -> str:
    """Return a value as a report shows it: `3`, `true` or `[1, 2, 3]`, cut after LONGEST characters."""
    numbers = value if isinstance(value, tuple) else (value,)
    shown = ", ".join(str(number).lower() for number in numbers)
    shown = shown if len(shown) <= LONGEST else f"{shown[:LONGEST]}..."
    return f"[{shown}]" if isinstance(value, tuple) else shown


def assumed(name: str, value: InputValue) -> str:
    """Return the report's line which states that the result is valid for this value of the input only."""
    return f"{name} is {text(value)}, as set"


def array_of(where: str, name: str, value: InputValue, dtype: str, dims: Sequence[int | str | None] | None) -> Array:
    """Return the value of an input as an array of the type `dtype` and the declared sizes `dims`.

    `dims` is None if the rank is unknown; a free size in it is a symbol or None. Raises GraphfixError if the value does
    not fit the type or the sizes. `where` begins the message.
    """
    import numpy as np

    where = f"{where}: --set {name}={text(value)}"
    if dtype not in TYPES:
        raise GraphfixError(f"{where}: the input holds {dtype}; only numbers and truth values can be set")
    numbers = value if isinstance(value, tuple) else (value,)
    for number in numbers:
        _check(where, number, np.dtype(dtype))
    return np.array(numbers, dtype).reshape(_sizes(where, value, len(numbers), dims))


def _check(where: str, number: InputNumber, dtype: np.dtype[Any]) -> None:
    """Raise GraphfixError if the type can't represent the number. A float may be rounded."""
    import numpy as np

    if dtype.kind == "b":
        if number not in (0, 1):
            _refuse(where, number, "the input holds bool; give true or false")
    elif isinstance(number, bool):
        _refuse(where, number, f"the input holds {dtype}; give a number")
    elif dtype.kind in "iu":
        info = np.iinfo(dtype)
        if not isinstance(number, int) or not info.min <= number <= info.max:
            _refuse(where, number, f"the input holds {dtype}; give whole numbers from {info.min} to {info.max}")
    elif np.isfinite(number) and abs(number) > float(np.finfo(dtype).max):
        _refuse(where, number, f"the input holds {dtype}, which is at most {np.finfo(dtype).max:g}")


def _refuse(where: str, number: InputNumber, why: str) -> NoReturn:
    raise GraphfixError(f"{where}: {str(number).lower()} does not fit: {why}")


def _sizes(where: str, value: InputValue, count: int, dims: Sequence[int | str | None] | None) -> list[int]:
    """Return the array's shape: the declared sizes, in which one free size is computed from the number of elements.

    If `dims` is None, a list is a vector and a number is a scalar. Raises GraphfixError if the number of elements does
    not fit, or if several sizes are free.
    """
    if dims is None:
        return [count] if isinstance(value, tuple) else []
    shape = ",".join("?" if size is None else str(size) for size in dims)
    numbers: list[int] = [size for size in dims if isinstance(size, int)]
    free, least = len(dims) - len(numbers), prod(numbers)
    if free == 0 and least == count:
        return numbers
    if free == 1 and least and count % least == 0:
        return [size if isinstance(size, int) else count // least for size in dims]
    if free > 1:
        raise GraphfixError(f"{where}: the input is [{shape}]; bind its sizes too, by --shape")
    wanted = f"{least} elements" if free == 0 else f"a multiple of {least} elements"
    raise GraphfixError(f"{where}: {count} given, the input [{shape}] has {wanted}")
