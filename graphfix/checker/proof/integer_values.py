"""Arithmetic on integers that are all known: what shapes are computed from."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from graphfix.checker.proof.terms import TermTable, View

_LIMITS = {"int32": 1 << 31, "int64": 1 << 63}


def _small(*numbers: int) -> bool:
    """Whether all are of 32 bits: of larger ones onnxruntime's Max and Min look at the lower half."""
    return all(abs(number) < _LIMITS["int32"] for number in numbers)


RULES: Mapping[str, Callable[[int, int], int | None]] = {
    "add": lambda one, two: one + two,
    "sub": lambda one, two: one - two,
    "mul": lambda one, two: one * two,
    "max": lambda one, two: max(one, two) if _small(one, two) else None,
    "min": lambda one, two: min(one, two) if _small(one, two) else None,
    # Rounding differs between operators for negative numbers: sizes are none.
    "div": lambda one, two: one // two if one >= 0 and two > 0 else None,
    "mod": lambda one, two: one % two if one >= 0 and two > 0 else None,
}


def computed(table: TermTable, rule: str, views: Sequence[View | None], dtype: str | None) -> View | None:
    """Return the result for two scalars or vectors of known integers; None where one is not, or a number is too big."""
    if len(views) != 2 or dtype not in _LIMITS:  # noqa: PLR2004 - two operands
        return None
    one, two = views
    if one is None or two is None or one.content is None or two.content is None:
        return None
    length = max(len(one.content), len(two.content))
    if min(len(one.content), len(two.content)) not in (1, length):
        return None
    numbers = []
    for a, b in zip(_repeated(one, length), _repeated(two, length), strict=True):
        number = RULES[rule](a, b) if isinstance(a, int) and isinstance(b, int) else None
        if number is None or not -_LIMITS[dtype] <= number < _LIMITS[dtype]:
            return None
        numbers.append(number)
    return table.integers(tuple(numbers), dtype, scalar=one.sizes == () and two.sizes == ())


def _repeated(view: View, length: int) -> Sequence[object]:
    content = view.content or ()
    return content if len(content) == length else content * length


def span(start: int, limit: int, step: int) -> int | None:
    """Return how many numbers a range holds; None for a step of 0."""
    return max(-((start - limit) // step), 0) if step else None


def cut(size: int, start: int, end: int, step: int) -> range | None:
    """Return the places that a Slice takes of an axis, its bounds cut off at both ends; None where runtimes differ.

    That is where it counts down from in front of the axis: by ONNX's text it starts at the first element, as in
    onnxruntime; in Python, and in onnx's reference, it takes none. And where it counts down to the largest number,
    which for onnxruntime is the beginning.
    """
    if not step or (step < 0 and (start < -size or end >= _LIMITS["int32"] - 1)):
        return None
    return range(*slice(start, end, step).indices(size))
