"""Generate the inputs of a run from a seed, with the declared types and within the limits that operators require."""

from __future__ import annotations

import math
import zlib
from typing import TYPE_CHECKING, Any

import numpy as np

from graphfix.checker.runs.sizes.free_sizes import shape_of
from graphfix.results.records import dataclass, field
from graphfix.results.runtime_facts import MOST_AXES
from graphfix.runtimes.session import RefusedError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from graphfix.checker.runs.comparing.difference import Array
    from graphfix.checker.runs.inputs.input_limits import Interval, Limits
    from graphfix.checker.runs.inputs.interface import Interface, TensorSpec

_WORDS = ("a", "bc", "def", "", "graph", "10", "-1.5")
_SEQUENCE_LENGTH = 3
_SMALL = 10
MOST_ELEMENTS = 1 << 28
"""The largest number of elements of one input. As float64, in which values are drawn, they use 2 GiB."""
_SOFTNESSES = 3


class UnfedError(RefusedError):
    """Raised if no values are generated for an input, because it is too large."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One of several ways to choose input values, because a model may refuse some values.

    - `turn`: which of the constants that the model compares an input with is used; one turn uses no constant.
    - `most`: the largest integer that is drawn for an input without limits.
    - `softness`: the power of ten by which floats are smaller than normally distributed ones.
    """

    turn: int = 0
    most: int = _SMALL
    softness: int = 0


@dataclass(frozen=True, slots=True)
class Case:
    """The inputs of one run (`feeds`), the sizes of free dims, and the outputs that a test_data_set expects."""

    sizes: Mapping[str, int]
    feeds: Mapping[str, object] = field(repr=False)
    expected: Mapping[str, object] = field(default_factory=dict, repr=False)


def choices(interface: Interface, limits: Limits, number: int) -> Iterator[Choice]:
    """Yield the choices of values for run `number`, best first.

    The first ones differ in the compared constant. If integers without limits exist, the last choice has smaller
    integers.
    """
    specs = {spec.name: spec for spec in interface.inputs}
    turns = max((len(limits.compared[name]) + 1 for name in limits.compared if name in specs), default=1)
    loose = any(_integer(spec) and spec.name not in limits.intervals for spec in interface.inputs)
    softness = number % _SOFTNESSES
    for turn in range(min(turns, 4)):
        yield Choice(number + turn, softness=softness)
    if loose:
        yield Choice(number, 1, softness)


def seeded(
    interface: Interface, sizes: Mapping[str, int], limits: Limits, choice: Choice, seed: tuple[int, int]
) -> Case:
    """Generate the inputs of a run. `seed` is the pair (the user's seed, the number of the run).

    Raise UnfedError for an input of more than MOST_ELEMENTS elements or MOST_AXES axes, before memory is allocated.
    """
    for spec in interface.inputs:
        _refuse_huge(spec.name, shape_of(spec, sizes))
    feeds: dict[str, object] = {**interface.constant_feeds}
    for spec in interface.inputs:
        # the name is part of the seed, so an input keeps its values if another input is added or removed
        source = np.random.default_rng([*seed, zlib.crc32(spec.name.encode())])
        try:
            feeds[spec.name] = _value(spec, shape_of(spec, sizes), limits, choice, source)
        except MemoryError:
            raise UnfedError(f"there is no memory for input {spec.name!r}") from None
    return Case(sizes, feeds)


def _refuse_huge(name: str, shape: tuple[int, ...]) -> None:
    """Raise UnfedError for a shape with too many axes for numpy, or too many elements for memory."""
    if len(shape) > MOST_AXES:
        raise UnfedError(f"input {name!r} has {len(shape)} axes: no values are made for more than {MOST_AXES}")
    if math.prod(shape) > MOST_ELEMENTS:
        raise UnfedError(f"input {name!r} has more than {MOST_ELEMENTS} elements: no values are made for it")


def _value(
    spec: TensorSpec, shape: tuple[int, ...], limits: Limits, choice: Choice, source: np.random.Generator
) -> object:
    """Return a tensor, or a list or map of values, according to the kind of the input."""
    if spec.kind == "map":
        return {word: float(source.normal()) for word in _WORDS[:3]}
    if spec.kind in ("sequence", "optional sequence"):
        return [_tensor(spec, shape, limits, choice, source) for _ in range(_SEQUENCE_LENGTH)]
    return _tensor(spec, shape, limits, choice, source)


def _tensor(
    spec: TensorSpec, shape: tuple[int, ...], limits: Limits, choice: Choice, source: np.random.Generator
) -> Array:
    """Return one tensor of this shape, with the type of `spec`."""
    dtype = np.dtype(np.float32) if spec.dtype is None else spec.dtype
    if dtype == np.object_:
        return np.array(_WORDS, object)[np.atleast_1d(source.integers(0, len(_WORDS), shape))].reshape(shape)
    if dtype == np.bool_:
        return np.asarray(source.random(shape) < 0.5)  # noqa: PLR2004 - a fair coin
    given = limits.given.get(spec.name)
    if given is not None and len(given) == math.prod(shape):
        return np.asarray(given, dtype).reshape(shape)
    interval = limits.intervals.get(spec.name)
    if interval is not None:
        low, high = _typed_interval(interval, dtype)
        values = _between(low, high, shape, source).astype(dtype)
    else:
        values = _whole(dtype, shape, source) if spec.quantization else _free(dtype, shape, choice, source)
    compared = limits.compared.get(spec.name)
    turn = choice.turn % (len(compared) + 1) if compared else 0
    if not compared or turn == len(compared) or dtype.kind not in "iuf":
        return values
    # a scalar is the constant (a sampling rate, a mode); in a tensor, a quarter of the elements is (padding)
    constant = compared[turn] if interval is None else np.clip(compared[turn], low, high)
    return np.where(source.random(shape) < (1 if values.size <= 1 else 0.25), constant, values).astype(dtype)


def _free(dtype: np.dtype[Any], shape: tuple[int, ...], choice: Choice, source: np.random.Generator) -> Array:
    """Return small integers or normally distributed floats. One NaN would hide all other values, so no NaN is drawn."""
    if dtype.kind == "c":
        return np.asarray(source.normal(size=shape) + 1j * source.normal(size=shape)).astype(dtype)
    if dtype.kind in "iu" or "int" in dtype.name:
        return np.asarray(source.integers(0, choice.most, shape, endpoint=True) & _mask(dtype)).astype(dtype)
    values = source.normal(size=shape) * _amplitudes(shape, choice.softness)
    # float8_e8m0 has an exponent only, and no sign
    return np.asarray(np.abs(values) if dtype.name.startswith("float8_e8m0") else values).astype(dtype)


def _whole(dtype: np.dtype[Any], shape: tuple[int, ...], source: np.random.Generator) -> Array:
    """Return integers from the full range of the type, for a quantized tensor, in which all numbers are valid."""
    info = np.iinfo(dtype)
    return np.asarray(source.integers(info.min, info.max, shape, dtype, endpoint=True)).reshape(shape)


def _amplitudes(shape: tuple[int, ...], softness: int) -> Array:
    """Return the factors 1, 0.1, 0.01 in turn along axis 0, so that an operator does not saturate for all rows."""
    rows = shape[0] if len(shape) > 1 else 1
    powers = (softness + np.arange(rows)) % _SOFTNESSES
    return np.asarray(10.0**-powers).reshape((-1,) + (1,) * (len(shape) - 1) if shape else ())


def _mask(dtype: np.dtype[Any]) -> int:
    """Return a bit mask that keeps small integers in the range of a type: 7 for int4, 3 for uint2, 1 for int2."""
    return {"int4": 7, "uint2": 3, "int2": 1}.get(dtype.name, 15)


def _between(low: float, high: float, shape: tuple[int, ...], source: np.random.Generator) -> Array:
    """Return random integers if both ends are of type int, else floats, so that a later rounding yields each index."""
    if isinstance(low, int) and isinstance(high, int):
        return np.asarray(source.integers(low, high, shape, endpoint=True))
    return np.asarray(source.uniform(low, high, shape))


def _typed_interval(interval: Interval, dtype: np.dtype[Any]) -> Interval:
    """Return the interval restricted to the range of an element type; integer ends for an integer type."""
    low, high = interval
    if dtype.kind in "iu" or "int" in dtype.name:
        low, high = math.ceil(low), math.floor(high)
    if dtype.kind == "u":
        low = max(low, 0)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        low, high = max(low, int(info.min)), min(high, int(info.max))
    return low, max(low, high)


def _integer(spec: TensorSpec) -> bool:
    return spec.dtype is not None and spec.dtype.kind in "iu"
