"""Compare two values bit by bit, classify and measure their differences, and find outputs that contain only NaN."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from graphfix.results.records import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from graphfix.checker.task import Criterion

Array = np.ndarray[Any, Any]

QUANTIZED = tuple(map(np.dtype, ("int8", "uint8", "int16")))


@dataclass(frozen=True, slots=True)
class Difference:
    """The difference between two values: the place of one differing element, and counts of differing elements by class.

    `counts` maps a class to its number of elements. The class `value` always means "different". The table of exceptions
    may excuse the other classes:

    - `nan-payload`: both elements are NaN, but their bits differ.
    - `signed-zero`: both elements are zero, but their signs differ.
    - `tolerance`: the elements are within the requested tolerance.

    `index` is the place of the first element of class `value`, or of the first differing element if no element has that
    class. `before` and `after` are the elements at that place.
    """

    index: tuple[int | str, ...]
    before: object
    after: object
    counts: Mapping[str, int] = field(default_factory=dict)
    largest: float | None = None
    """The largest |a - b| of the differing elements, inf if exactly one of a and b is NaN or infinite.

    None if not numeric.
    """

    @property
    def count(self) -> int:
        """The number of elements that differ."""
        return sum(self.counts.values())


def difference(before: object, after: object, criterion: Criterion) -> Difference | None:
    """Return the difference of two tensors, sequences, maps or optionals; None if they are equal bit for bit.

    Another shape, element type, length or set of keys is one difference of class `value`.
    """
    if isinstance(before, list | tuple) and isinstance(after, list | tuple):
        if len(before) != len(after):
            return _structure(f"{len(before)} elements", f"{len(after)} elements")
        return _first_of({i: (a, b) for i, (a, b) in enumerate(zip(before, after, strict=True))}, criterion)
    if isinstance(before, dict) and isinstance(after, dict):
        if before.keys() != after.keys():
            return _structure(sorted(map(str, before)), sorted(map(str, after)))
        return _first_of({key: (before[key], after[key]) for key in before}, criterion)
    if before is None or after is None:
        return None if before is after else _structure(_described(before), _described(after))
    return _arrays(np.asarray(before), np.asarray(after), criterion)


def _first_of(pairs: Mapping[Any, tuple[object, object]], criterion: Criterion) -> Difference | None:
    """Return one difference for all items of two sequences or maps; None if all items are equal.

    The counts of all items are added up. The place is that of the first item with a difference of class `value`, if
    any.
    """
    found = [(key, d) for key, (a, b) in pairs.items() if (d := difference(a, b, criterion)) is not None]
    if not found:
        return None
    key, first = next(((k, d) for k, d in found if "value" in d.counts), found[0])
    counts: dict[str, int] = {}
    for _, each in found:
        for name, count in each.counts.items():
            counts[name] = counts.get(name, 0) + count
    largest = [d.largest for _, d in found if d.largest is not None]
    return Difference((key, *first.index), first.before, first.after, counts, max(largest, default=None))


def _arrays(a: Array, b: Array, criterion: Criterion) -> Difference | None:
    if "c" in (a.dtype.kind, b.dtype.kind):
        a, b = _halves(a), _halves(b)
    if a.dtype.kind != b.dtype.kind and {a.dtype.kind, b.dtype.kind} <= {"O", "U", "S"}:
        a, b = a.astype(object), b.astype(object)
    if a.shape != b.shape or a.dtype != b.dtype:
        return _structure(_described(a), _described(b))
    bits_a, bits_b = _bits(a), _bits(b)
    if np.array_equal(bits_a, bits_b):
        return None
    differs = np.asarray(bits_a != bits_b)
    classes = _classes(a, b, differs, criterion)
    counts = {name: n for name, mask in classes.items() if (n := int(np.count_nonzero(mask)))}
    where = classes["value"] if "value" in counts else differs
    index = tuple(int(axis[0]) for axis in np.nonzero(np.atleast_1d(where)))[: a.ndim]
    return Difference(index, plain(a[index]), plain(b[index]), counts, _largest(a[differs], b[differs]))


def _halves(array: Array) -> Array:
    """Return complex numbers with a new last axis for real and imaginary parts: [3] -> [3,2]."""
    return np.stack([array.real, array.imag], axis=-1)


def _bits(array: Array) -> Array:
    """Return the bits of floats as unsigned integers, so that NaN equals itself and -0 differs from 0.

    Return an array of another type unchanged.
    """
    if not is_float(array):
        return array
    return np.ascontiguousarray(array).view(np.dtype(f"u{array.dtype.itemsize}")).reshape(array.shape)


def _classes(a: Array, b: Array, differs: Array, criterion: Criterion) -> dict[str, Array]:
    """Return, for each class of differences, a mask of its elements.

    `differs` is the mask of all differing elements.
    """
    if not is_float(a):
        step = criterion.of_largest is not None and a.dtype in QUANTIZED
        near: Array = np.asarray(differs & (np.abs(a.astype(np.int64) - b.astype(np.int64)) <= 1)) if step else ~differs
        return {"value": differs & ~near, "tolerance": differs & near}
    nan: Array = np.asarray(differs & np.isnan(a) & np.isnan(b))
    zero: Array = np.asarray(differs & (a == 0) & (b == 0))
    rest: Array = np.asarray(differs & ~nan & ~zero)
    if criterion.exact:
        return {"value": rest, "nan-payload": nan, "signed-zero": zero}
    wide_a, wide_b = a.astype(np.float64), b.astype(np.float64)
    atol = (criterion.atol or 0) + (criterion.of_largest or 0) * largest_magnitude(wide_a)
    with np.errstate(all="ignore"):
        near = np.isclose(wide_a, wide_b, rtol=criterion.rtol or 0, atol=atol)
    return {"value": rest & ~near, "nan-payload": nan, "tolerance": zero | (rest & near)}


def largest_magnitude(array: Array) -> float:
    """Return the largest finite |a|; 0 if there is no finite element."""
    return float(np.abs(array[np.isfinite(array)]).max(initial=0.0))


def _largest(a: Array, b: Array) -> float | None:
    """Return the largest |a - b|; None for bool, strings and objects.

    Two NaN count as equal. The difference between a NaN and a number counts as infinite.
    """
    if a.dtype.kind in "OUSb":
        return None
    with np.errstate(all="ignore"):
        gap = np.abs(a.astype(np.float64) - b.astype(np.float64))
    both = np.isnan(a.astype(np.float64)) & np.isnan(b.astype(np.float64))
    gap = np.where(both, 0.0, np.where(np.isnan(gap), np.inf, gap))
    return float(gap.max(initial=0.0))


def is_float(array: Array) -> bool:
    """Return whether the elements are floats, including types of ml_dtypes such as bfloat16."""
    # ml_dtypes registers bfloat16 and float8 types with numpy kind "V". Its int4 types have this kind, too.
    return array.dtype.kind == "f" or (array.dtype.kind == "V" and "float" in array.dtype.name)


def _structure(before: object, after: object) -> Difference:
    """Return the difference of two values that differ in shape, type, length or keys."""
    return Difference((), before, after, {"value": 1}, math.inf)


def _described(value: object) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.dtype.name}{list(value.shape)}"
    return "absent" if value is None else type(value).__name__


def plain(value: object) -> object:
    """Return a scalar in a form that JSON can contain: a finite number unchanged, NaN and infinity as text."""
    if isinstance(value, np.generic) and value.dtype.kind == "V":
        value = float(value)
    if isinstance(value, np.generic | np.ndarray):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value if isinstance(value, int | float | str | bool) else str(value)


# --- outputs that contain only NaN, which would equal those of any other computation that results in NaN --------------


def has_number(value: object) -> bool | None:
    """Return whether an output has an element that is not NaN; None if the output has no elements.

    Return True for an output that is no array.
    """
    if not isinstance(value, np.ndarray):
        return True
    if not value.size:
        return None
    return not is_float(value) or not (_is_nan(value.reshape(-1)[:1]) and _is_nan(value))


def _is_nan(value: Array) -> bool:
    return bool(np.isnan(value.astype(np.float64)).all())


def only_nan(runs: Iterable[Mapping[str, bool | None]]) -> list[str]:
    """Return the names of outputs that have elements, but no number in any run.

    For each run, `runs` contains a map from output name to the result of `has_number`.
    """
    seen: dict[str, bool] = {}
    for numbers in runs:
        for name, number in numbers.items():
            if number is not None:
                seen[name] = seen.get(name, False) or number
    return [name for name, known in seen.items() if not known]


def nothing_compared(names: Iterable[str]) -> str:
    """Return the reason in a verdict for outputs (`names`) that are NaN in every run."""
    return f"in every run NaN throughout, so that nothing was compared: {', '.join(names)}"
