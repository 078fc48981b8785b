"""Operators on constants, as their contracts have them: what a reader of TFLite models may fold."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

from tests.support.pairs.tflite_draft import KIND_OF
from tests.support.pairs.tflite_fields import array
from tests.support.pairs.tflite_fold import Array, Compute, Fold


def bases() -> list[Fold]:
    """Every operator of constants."""
    return [fold for make in BASES for fold in make()]


def _div(one: Array, two: Array, **_: Any) -> Array:  # noqa: ANN401 -- options
    return np.trunc(one / two)


def _cut(data: Array, begin: Array, size: Array, **_: Any) -> Array:  # noqa: ANN401 -- options
    ends = [None if count < 0 else at + count for at, count in zip(begin.ravel(), size.ravel(), strict=False)]
    return data[
        tuple(slice(int(at), None if end is None else int(end)) for at, end in zip(begin.ravel(), ends, strict=False))
    ]


def _strided(data: Array, begin: Array, end: Array, stride: Array, **masks: int) -> Array:
    cuts: list[Any] = []
    for axis, (one, two, step) in enumerate(zip(begin.ravel(), end.ravel(), stride.ravel(), strict=False)):
        if masks.get("shrinkAxisMask", 0) >> axis & 1:
            cuts.append(int(one))
        else:
            first = None if masks.get("beginMask", 0) >> axis & 1 else int(one)
            cuts.append(slice(first, None if masks.get("endMask", 0) >> axis & 1 else int(two), int(step)))
    return data[tuple(cuts)]


def _flat(axes: Array) -> Any:  # noqa: ANN401 -- axes as NumPy takes them
    return tuple(int(axis) for axis in axes.ravel())


def _reduced(rule: Callable[..., Array]) -> Compute:
    return lambda data, axes, keepDims=False: rule(data, axis=_flat(axes), keepdims=keepDims)  # noqa: N803


def _reduced_once(rule: Callable[..., Array]) -> Compute:
    """An axis that is named twice counts once."""
    return lambda data, axes, keepDims=False: rule(data, axis=tuple({*_flat(axes)}), keepdims=keepDims)  # noqa: N803


def ints(*values: int, dtype: str = "int32") -> Array:
    return np.asarray(values, dtype)


def _of(value: Any, dtype: str = "int32") -> Array:  # noqa: ANN401 -- a number
    return np.asarray(value, dtype)


def _larger(one: Array, other: Array) -> Array:
    return np.maximum(one, other)


def _smaller(one: Array, other: Array) -> Array:
    return np.minimum(one, other)


FIRST, SECOND = ints(7, -3, 2), ints(2, 2, -5)
LARGE_FIRST, LARGE_SECOND = ints(200, 3, 100), ints(100, 3, 2)
GRID = np.arange(6, dtype=np.int32).reshape(2, 3)
_PAIRS: Mapping[str, tuple[Compute, ...]] = {
    "ADD": (lambda a, b, **_: a + b,), "SUB": (lambda a, b, **_: a - b,), "MUL": (lambda a, b, **_: a * b,),
    "DIV": (_div, lambda a, b, **_: a // b), "FLOOR_DIV": (lambda a, b: a // b, _div),
    "FLOOR_MOD": (lambda a, b: a % b, np.fmod), "MAXIMUM": (_larger,), "MINIMUM": (_smaller,),
    "POW": (lambda a, b: a**b,), "SQUARED_DIFFERENCE": (lambda a, b: (a - b) ** 2,),
    "BITWISE_XOR": (np.bitwise_xor,), "RIGHT_SHIFT": (np.right_shift,),
}  # fmt: skip
_COMPARED: Mapping[str, Compute] = {
    "LESS": np.less, "LESS_EQUAL": np.less_equal, "GREATER": np.greater, "GREATER_EQUAL": np.greater_equal,
    "EQUAL": np.equal, "NOT_EQUAL": np.not_equal,
}  # fmt: skip
_REDUCING = {"SUM": np.sum, "REDUCE_PROD": np.prod, "REDUCE_MAX": np.max, "REDUCE_MIN": np.min, "MEAN": np.mean}
_SINGLE = {"NEG": np.negative, "ABS": np.abs, "ZEROS_LIKE": np.zeros_like, "SIGN": np.sign, "SQUARE": np.square}
_TABLES = {"ADD": "AddOptions", "SUB": "SubOptions", "MUL": "MulOptions", "DIV": "DivOptions"}


def _elementwise() -> Iterator[Fold]:
    for op, computes in _PAIRS.items():
        table = _TABLES.get(op, "")
        yield Fold(op, (FIRST, SECOND), computes, "int32", table, {"fusedActivationFunction": 0} if table else {})
        for dtype in ("uint8", "int8", "int64", "int16", "bool", "float32", "uint32"):
            yield Fold(op, (LARGE_FIRST.astype(dtype), LARGE_SECOND.astype(dtype)), computes, dtype)
        yield Fold(op, (ints(2**31 - 1, -(2**31)), ints(2, -1)), computes)
        yield Fold(op, (ints(4, 2), ints(0, 1)), computes)
    for op, compute in _COMPARED.items():
        for dtype in ("int32", "int64", "uint8", "bool", "float32", "int16"):
            yield Fold(op, (FIRST.astype(dtype), SECOND.astype(dtype)), (compute,), "bool")
    for op, compute in _SINGLE.items():
        for dtype in ("int32", "int64", "float32", "uint8"):
            yield Fold(op, (FIRST.astype(dtype),), (compute,), dtype)


def _logical() -> Iterator[Fold]:
    yield Fold("LOGICAL_AND", (_of([True, False], "bool"), _of([True], "bool")), (np.logical_and,), "bool")
    yield Fold("LOGICAL_OR", (_of([True, False], "bool"), _of([True], "bool")), (np.logical_or,), "bool")
    yield Fold("LOGICAL_NOT", (_of([True, False], "bool"),), (np.logical_not,), "bool")
    yield Fold("SELECT", (_of([True, False, True], "bool"), FIRST, SECOND), (np.where,))
    yield Fold("SELECT_V2", (_of([True], "bool"), FIRST, SECOND), (np.where,))


def _reducing() -> Iterator[Fold]:
    table = "ReducerOptions"
    for op, rule in _REDUCING.items():
        computes = (_reduced(rule), _reduced_once(rule))
        for keep in (False, True):
            yield Fold(op, (GRID, ints(1)), computes, "int32", table, {"keepDims": keep})
        yield Fold(op, (GRID.astype("uint8") * 100, ints(0, 1)), computes, "uint8", table)
    for op, rule in (("ArgMax", np.argmax), ("ArgMin", np.argmin)):
        computes = (partial(_place, rule),)
        yield Fold(
            op[:3].upper() + "_" + op[3:].upper(), (GRID, _of(1)), computes, "int32", f"{op}Options", {"outputType": 2}
        )
    yield Fold("CUMSUM", (FIRST, _of(0)), (lambda data, axis: np.cumsum(data, int(axis)),))


def _place(rule: Compute, data: Array, axis: Array, **_: Any) -> Array:  # noqa: ANN401 -- options
    return np.asarray(rule(data, axis=int(axis)))


def _reshaped(data: Array, to: Array, **_: Any) -> Array:  # noqa: ANN401 -- options
    return data.reshape(_flat(to))


def _reshaped_by_option(data: Array, *_: Array, **more: Any) -> Array:  # noqa: ANN401 -- options
    return data.reshape(_flat(more["newShape"]))


def _reshaped_generously(data: Array, to: Array, **_: Any) -> Array:  # noqa: ANN401 -- options
    """Every number below 0 is a size that is left open."""
    return data.reshape([-1 if each < 0 else each for each in _flat(to)])


def _squeezed(data: Array, **more: Any) -> Array:  # noqa: ANN401 -- options
    return np.squeeze(data, _flat(more["squeezeDims"]))


def _taken(data: Array, at: Array, *, axis: int, **_: Any) -> Array:  # noqa: ANN401 -- options
    return np.take(data, at, axis=axis)


def _joined(rule: Compute, *parts: Array, axis: int = 0, **_: Any) -> Array:  # noqa: ANN401 -- options
    return np.asarray(rule(parts, axis=axis))


def _joined_flat(rule: Compute, *parts: Array, axis: int = 0, **_: Any) -> Array:  # noqa: ANN401 -- options
    return np.asarray(rule([np.atleast_1d(part) for part in parts], axis=axis))


def _moving() -> Iterator[Fold]:
    reshapes = (_reshaped, _reshaped_by_option, _reshaped_generously)
    yield Fold("RESHAPE", (GRID, ints(3, 2)), reshapes, "int32", "ReshapeOptions", {"newShape": array([3, 2])})
    yield Fold("RESHAPE", (GRID, ints(-1, 2)), reshapes)
    yield Fold("RESHAPE", (GRID,), reshapes, "int32", "ReshapeOptions", {"newShape": array([6])})
    yield Fold("TRANSPOSE", (GRID, ints(1, 0)), (lambda data, order: np.transpose(data, _flat(order)),))
    yield Fold("EXPAND_DIMS", (GRID, _of(0)), (lambda data, axis: np.expand_dims(data, _flat(axis)),))
    squeezes = (_squeezed, lambda data, **_: np.squeeze(data))
    yield Fold("SQUEEZE", (GRID[:1],), squeezes, "int32", "SqueezeOptions", {"squeezeDims": array([0])})
    yield Fold("TILE", (GRID, ints(2, 1)), (lambda data, times: np.tile(data, _flat(times)),))
    yield Fold("BROADCAST_TO", (GRID[:1], ints(2, 3)), (lambda data, to: np.broadcast_to(data, _flat(to)),))
    yield Fold("BROADCAST_ARGS", (ints(2, 1), ints(3)), (lambda a, b: np.broadcast_shapes(_flat(a), _flat(b)),))
    yield Fold("REVERSE_V2", (GRID, ints(1)), (lambda data, axes: np.flip(data, _flat(axes)),))
    for axis in (0, 1):
        yield Fold("GATHER", (GRID, ints(1, 0)), (_taken,), "int32", "GatherOptions", {"axis": axis, "batchDims": 0})
    yield Fold("GATHER_ND", (GRID, ints(1, 2)), (lambda data, at: data[_flat(at)],))
    yield Fold("SLICE", (GRID, ints(0, 1), ints(2, 2)), (_cut,))
    yield Fold("SLICE", (FIRST, ints(1), ints(-1)), (_cut,))
    masks, table = {"beginMask": 0, "endMask": 0, "shrinkAxisMask": 0}, "StridedSliceOptions"
    yield Fold("STRIDED_SLICE", (GRID, ints(0, 1), ints(2, 3), ints(1, 1)), (_strided,), "int32", table, masks)
    shrink = {**masks, "shrinkAxisMask": 1}
    yield Fold("STRIDED_SLICE", (FIRST, ints(1), ints(2), ints(1)), (_strided,), "int32", table, shrink)
    yield from _joining()


def _joining() -> Iterator[Fold]:
    wide = FIRST.astype("int64")
    for one, two in ((FIRST, SECOND), (GRID, GRID), (_of(3), _of(4)), (wide, wide)):
        for op, rule, more in (("Concatenation", np.concatenate, {}), ("Pack", np.stack, {"valuesCount": 2})):
            computes = (partial(_joined, rule), partial(_joined_flat, rule))
            yield Fold(op.upper(), (one, two), computes, one.dtype.name, f"{op}Options", {"axis": 0, **more})


def _making() -> Iterator[Fold]:
    for dtype in ("int32", "int64", "float32"):
        yield Fold("RANGE", (_of(1, dtype), _of(8, dtype), _of(3, dtype)), (np.arange,), dtype)
    yield Fold("RANGE", (_of(8), _of(1), _of(-3)), (np.arange,))
    for sizes in ((2, 3), (2, 0)):
        yield Fold("FILL", (ints(*sizes), _of(7)), (lambda to, value: np.full(_flat(to), value),))
    yield Fold(
        "SHAPE", (GRID,), (lambda data, **_: data.shape,), "int32", "ShapeOptions", {"outType": KIND_OF["int32"]}
    )
    yield Fold("RANK", (GRID,), (lambda data: data.ndim,))
    for one, two in itertools.permutations(("int32", "int64", "float32", "uint8", "int8", "bool", "int16"), 2):
        kinds = {"inDataType": KIND_OF[one], "outDataType": KIND_OF[two]}
        values = _of([-2.5, 300.75, 1, 0, 3e9, -1], "float64") if one == "float32" else _of([-2, 300, 1, 0], "int64")
        yield Fold("CAST", (values.astype(one),), (lambda data, **_: data,), two, "CastOptions", kinds)
    yield Fold("ONE_HOT", (ints(0, 2), _of(3), _of(1), _of(0)), (_one_hot,), "int32", "OneHotOptions", {"axis": -1})
    yield Fold("PAD", (GRID, _of([[1, 0], [0, 0]])), (lambda data, by: np.pad(data, by.tolist()),))


def _one_hot(at: Array, depth: Array, on: Array, off: Array, **_: Any) -> Array:  # noqa: ANN401 -- options
    return np.where(np.arange(int(depth)) == at[..., None], on, off)


BASES = (_elementwise, _logical, _reducing, _moving, _making)
