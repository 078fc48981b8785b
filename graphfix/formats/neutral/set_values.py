"""The value of an input that is taken for a constant (`--set`): its elements as the input's type and shape have them.

The same for both formats. A scalar is the value of an input with one element, and a flat list holds the elements of an
input of any rank in their order.
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
"""Element types whose values can be written down."""
LONGEST = 60
"""A value is not written out in more letters."""


def text(value: InputValue) -> str:
    """A value as a line of a report shows it."""
    numbers = value if isinstance(value, tuple) else (value,)
    shown = ", ".join(str(number).lower() for number in numbers)
    shown = shown if len(shown) <= LONGEST else f"{shown[:LONGEST]}..."
    return f"[{shown}]" if isinstance(value, tuple) else shown


def assumed(name: str, value: InputValue) -> str:
    """The line of a report that says what holds for this value alone."""
    return f"{name} is {text(value)}, as set"


def array_of(where: str, name: str, value: InputValue, dtype: str, dims: Sequence[int | str | None] | None) -> Array:
    """The value of an input that is declared with these sizes. Raises GraphfixError where it does not fit."""
    import numpy as np

    where = f"{where}: --set {name}={text(value)}"
    if dtype not in TYPES:
        raise GraphfixError(f"{where}: the input holds {dtype}; only numbers and truth values can be set")
    numbers = value if isinstance(value, tuple) else (value,)
    for number in numbers:
        _check(where, number, np.dtype(dtype))
    return np.array(numbers, dtype).reshape(_sizes(where, value, len(numbers), dims))


def _check(where: str, number: InputNumber, dtype: np.dtype[Any]) -> None:
    """Raise GraphfixError where the type does not hold a number; a float may be rounded."""
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
    """The shape: as declared, where one free size follows from how many elements there are."""
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
