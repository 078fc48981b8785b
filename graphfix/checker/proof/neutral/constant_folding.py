"""Small constants as arrays, and constant folding: only of operators that every runtime computes to the same bits."""

from __future__ import annotations

import math
from math import prod
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from graphfix.checker.files import constant_bytes
from graphfix.checker.proof.core.sizes import numbers
from graphfix.checker.proof.core.terms import CONSTANTS
from graphfix.results.runtime_facts import MOST_AXES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from graphfix.checker.proof.core.terms import ProofValue
    from graphfix.checker.proof.neutral.constants import Constants

Array: TypeAlias = NDArray[Any]

MOST: Final = 1 << 16
"""The most elements of a constant that is read as an array, or computed."""
MOST_BYTES = 1 << 56
"""The limit of a numpy array in bytes. For an array with a size of 0 numpy checks the product of the other sizes."""
TYPES: Final = frozenset("bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64".split())


def is_constant(view: ProofValue) -> bool:
    """Return whether a value is a constant with elements, or a vector of integers that are known as terms."""
    return view.core.key[0] in CONSTANTS


def constant_array(view: ProofValue | None) -> Array | None:
    """Return the elements of a small constant as an array of the value's shape; None for any other value.

    A constant of more than MOST elements, or of axes in another order than its core's, is not read.
    """
    if view is None or view.axes is None or view.sizes is None or not is_constant(view):
        return None
    sizes = numbers(view.sizes)
    if sizes is None or len(sizes) > MOST_AXES or prod(sizes) > MOST:
        return None
    array = _core(view)
    followed = [axis for axis in view.axes if axis is not None]
    if array is None or followed != list(range(array.ndim)):
        return None
    shape = [1 if axis is None else array.shape[axis] for axis in view.axes]
    return np.broadcast_to(array.reshape(shape), sizes)


def is_number(view: ProofValue, number: int) -> bool:
    """Return whether a value is a constant of one element that equals `number`, of any rank."""
    array = constant_array(view) if view.sizes is not None and set(view.sizes) <= {1} else None
    return array is not None and bool((array == number).all())


def _core(view: ProofValue) -> Array | None:
    """Return the elements of a constant's core as an array; None if they are not known numbers of a type in TYPES."""
    core = view.core
    if core.content is not None:
        content = numbers(core.content)
        if content is None:
            return None
        return np.array(content, str(core.key[1])).reshape([] if core.sizes == () else [len(content)])
    if core.payload is None or core.key[1] not in TYPES or core.sizes is None:
        return None
    dtype, native = np.dtype(str(core.key[1])).newbyteorder("<"), str(core.key[1])
    sizes = [size for size in core.sizes if isinstance(size, int)]
    if len(sizes) > MOST_AXES or core.payload.length != prod(sizes) * dtype.itemsize:
        return None
    data = core.payload.read(0, core.payload.length)
    if native == "bool" and data.strip(b"\0\1"):
        return None  # kernels disagree on a bool that is neither 0 nor 1
    return np.frombuffer(data, dtype).reshape(sizes).astype(native)


def may_broadcast(arrays: Sequence[Array | None]) -> bool:
    """Return whether the broadcast of the arrays has at most MOST elements; True also if their shapes do not fit."""
    try:
        return small(*(array for array in arrays if array is not None))
    except ValueError:
        return True


def as_constant(constants: Constants, array: Array, description: str) -> ProofValue:
    """Return an array as a constant of the proof, equal to one that a file stores.

    Raises TooLargeError beyond the budget.
    """
    constants.table.budget.fold(array.nbytes, description)
    data = array.astype(array.dtype.newbyteorder("<")).tobytes()
    return constants.view(
        array.dtype.name, array.shape, constant_bytes.stored_bytes(data), array.dtype.itemsize, description
    )


# --- operators that all compute the same bits ---------------------------------------------------------------------


def reproducible(array: Array) -> bool:
    """Return whether every runtime computes the same with these elements: no NaN, no infinity and no -0.0."""
    if array.dtype.kind != "f":
        return True
    return bool(np.isfinite(array).all()) and not bool((np.signbit(array) & (array == 0)).any())


def _integral(rule: Callable[[Array, Array], Array]) -> Callable[[Array, Array], Array | None]:
    """Return a rule that computes integers exactly and returns None if a result is out of the type's range.

    For floats, the rule rounds once, as IEEE 754 defines one operation.
    """

    def computed(one: Array, two: Array) -> Array | None:
        if one.dtype.kind == "f":
            return rule(one, two)
        return _in_range(np.asarray(rule(one.astype(object), two.astype(object))), one.dtype)

    return computed


def _in_range(full: Array, dtype: np.dtype[Any]) -> Array | None:
    """Return integers converted to `dtype`; None if an integer is out of the type's range."""
    least, most = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    return full.astype(dtype) if not full.size or least <= full.min() <= full.max() <= most else None


def _quotient(one: Array, two: Array) -> Array | None:
    """Return the quotient of floats, or of integers rounded down; None for a negative integer or a divisor 0.

    Runtimes round negative integers in two ways, and an integer divided by 0 is undefined. A float divided by 0 is not
    finite, so `paired` drops it.
    """
    if one.dtype.kind == "f":
        return np.asarray(np.true_divide(one, two))
    return np.asarray(one // two) if (one >= 0).all() and (two > 0).all() else None


def _rest(one: Array, two: Array) -> Array | None:
    """Return the remainder of integers; None for floats, for a negative dividend, or for a divisor below 1."""
    if one.dtype.kind == "f" or not ((one >= 0).all() and (two > 0).all()):
        return None
    return np.asarray(one % two)


PAIRS: Mapping[str, Callable[[Array, Array], Array | None]] = {
    "add": _integral(np.add), "sub": _integral(np.subtract), "mul": _integral(np.multiply),
    "div": _quotient, "mod": _rest, "min": np.minimum, "max": np.maximum,
    "equal": np.equal, "not equal": np.not_equal, "less": np.less, "greater": np.greater,
    "less or equal": np.less_equal, "greater or equal": np.greater_equal,
    "and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor,
}  # fmt: skip
SINGLE: Mapping[str, Callable[[Array], Array]] = {
    "neg": np.negative, "abs": np.abs, "sign": np.sign, "floor": np.floor, "ceil": np.ceil, "sqrt": np.sqrt,
    "not": np.logical_not,
}  # fmt: skip
REDUCTIONS: Mapping[str, Callable[..., Array]] = {"prod": np.prod, "sum": np.sum, "min": np.min, "max": np.max}


def small(*arrays: Array) -> bool:
    """Return whether the broadcast of the arrays has at most MOST elements.

    Raises ValueError if their shapes do not fit.
    """
    return prod(np.broadcast_shapes(*(array.shape for array in arrays))) <= MOST


def paired(rule: str, one: Array, two: Array) -> Array | None:
    """Return the result of an operator of two operands, with numpy's broadcasting; None if runtimes may disagree on it.

    `rule` is a key of PAIRS. Return None also if the types differ or the result is too large. Raises ValueError if the
    shapes do not fit.
    """
    if one.dtype != two.dtype or not (reproducible(one) and reproducible(two)) or not small(one, two):
        return None
    if rule in ("min", "max") and not (_within_32_bits(one) and _within_32_bits(two)):
        return None
    with np.errstate(all="ignore"):
        found = PAIRS[rule](one, two)
        if found is not None and found.dtype == np.float16 and not _exact(rule, one, two, found):
            return None  # onnxruntime computes a chain of float16 operators in float32, and rounds once at its end
    # A zero in the result has the sign that IEEE 754 defines.
    return found if found is not None and np.isfinite(found).all() else None


def _exact(rule: str, one: Array, two: Array, found: Array) -> bool:
    """Return whether float16 computes the result without rounding: `found` equals the float32 result."""
    wider = PAIRS[rule](one.astype(np.float32), two.astype(np.float32))
    return wider is not None and bool((found.astype(np.float32) == wider).all())


def single(rule: str, array: Array) -> Array | None:
    """Return the result of an operator of one operand; None if runtimes may disagree on it.

    `rule` is a key of SINGLE.
    """
    if not reproducible(array) or (rule in ("neg", "abs") and array.dtype.kind == "i" and _has_least(array)):
        return None
    if rule == "sqrt" and (array.dtype.name not in ("float32", "float64") or bool((array < 0).any())):
        return None  # not every runtime rounds a float16 square root only once
    if rule == "sign" and not _within_32_bits(array):
        return None
    found = SINGLE[rule](array)
    return found.astype(array.dtype) if reproducible(found) else None


def _has_least(array: Array) -> bool:
    """Return whether an integer is the least of its type, whose negative does not fit the type."""
    return bool((array == np.iinfo(array.dtype).min).any())


def _within_32_bits(array: Array) -> bool:
    """Return whether all integers fit in 32 bits with a sign, -2**31 excluded; True for floats.

    For larger integers onnxruntime's Max, Min, Sign and reductions return wrong numbers.
    """
    return array.dtype.kind not in "iu" or all(-(1 << 31) < number < 1 << 31 for number in array.ravel().tolist())


def reduced(rule: str, array: Array, axes: tuple[int, ...] | None, *, keep: bool) -> Array | None:
    """Return an array reduced over `axes` (None for all axes); None if runtimes may disagree on the result.

    An array without elements returns None. Sums and products are computed for integers only, and only if they fit their
    type and 32 bits. `rule` is a key of REDUCTIONS, and `keep` keeps reduced axes with size 1.
    """
    if not array.size or not reproducible(array) or not _within_32_bits(array):
        return None
    if rule in ("min", "max"):
        return np.asarray(REDUCTIONS[rule](array, axis=axes, keepdims=keep))
    if array.dtype.kind not in "iu":
        return None
    found = _in_range(np.asarray(REDUCTIONS[rule](array.astype(object), axis=axes, keepdims=keep)), array.dtype)
    return found if found is not None and _within_32_bits(found) else None


_ROUNDED = frozenset({"float32", "float64"})


def converted(array: Array, to: str) -> Array | None:
    """Return elements converted to the type `to`; None if an element does not fit, or if runtimes may disagree.

    A float is truncated to an integer. A conversion to float32 or float64 rounds once, to the nearest number. A
    conversion to float16 must be exact, because some kernels round twice.
    """
    if to not in TYPES or not reproducible(array):
        return None
    if to == "bool":
        return np.asarray(array != 0)
    truncated = np.trunc(array) if array.dtype.kind == "f" and np.dtype(to).kind in "iu" else array
    with np.errstate(all="ignore"):
        made = truncated.astype(to)
    if to in _ROUNDED:
        return made if reproducible(made) else None
    return made if made.tolist() == truncated.tolist() else None


_EXACT_UNTIL = 1 << 22
"""Below this, float32 represents integers, their differences, and the number of steps between two exactly."""

_LONGEST, _EXACT_AS_DOUBLE = 1 << 31, 1 << 53
"""From these numbers on, the difference of a range's ends may overflow its type, and the ends are inexact in float64.
"""


def _counts(number: float) -> bool:
    """Return whether a number is an integer of less than `_EXACT_UNTIL`, and not -0.0."""
    return abs(number) < _EXACT_UNTIL and number == int(number) and (number != 0 or math.copysign(1, number) > 0)


def ranged(start: Array, limit: Array, step: Array) -> Array | None:
    """Return the numbers from `start` to before `limit` in steps of `step`, all three arrays of one element.

    Return None for a step of 0. Return None also if runtimes may disagree, or if the result has more than MOST
    elements. Floats must be integers for which every sum is exact.
    """
    ends = [start.item(), limit.item(), step.item()]
    if start.dtype.name in _ROUNDED and all(map(_counts, ends)):
        ends = [int(end) for end in ends]
    elif start.dtype.kind not in "iu":
        return None
    if not ends[2] or abs(ends[1] - ends[0]) >= _LONGEST or any(abs(end) >= _EXACT_AS_DOUBLE for end in ends):
        return None
    counted = range(*ends)
    return np.array(counted, start.dtype) if len(counted) <= MOST else None
