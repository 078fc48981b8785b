"""Operators on constants, out of their contracts: operands of other types, ranks, values and numbers, other options."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tests.support.pairs.tflite_fold import Array, Fold

EXTREMES = (2**31 - 1, -(2**31))
"""For operators whose result is no greater than their operands."""
SAME_SIZE = frozenset(
    "ADD SUB MUL DIV FLOOR_DIV FLOOR_MOD MAXIMUM MINIMUM POW SQUARED_DIFFERENCE BITWISE_XOR RIGHT_SHIFT".split()
)


def _with(fold: Fold, at: int, operand: Array) -> Fold:
    return replace(fold, operands=(*fold.operands[:at], operand, *fold.operands[at + 1 :]))


def as_it_is(fold: Fold) -> Iterator[Fold]:
    yield fold
    yield replace(fold, table="", options=fold.options) if fold.table else fold


def operand_of_another_type(fold: Fold) -> Iterator[Fold]:
    for at, operand in enumerate(fold.operands):
        for dtype in ("int64", "int32", "int16", "uint8", "float32", "bool"):
            if dtype != operand.dtype.name:
                yield _with(fold, at, operand.astype(dtype))


def all_of_another_type(fold: Fold) -> Iterator[Fold]:
    for dtype in ("int64", "int16", "uint8", "float32", "int8", "bool"):
        with np.errstate(invalid="ignore"):
            other = replace(fold, operands=tuple(each.astype(dtype) for each in fold.operands))
        yield other
        yield replace(other, result=dtype)


def result_of_another_type(fold: Fold) -> Iterator[Fold]:
    for dtype in ("int64", "uint8", "bool", "float32", "int32"):
        if dtype != fold.result:
            yield replace(fold, result=dtype)


def operand_of_another_rank(fold: Fold) -> Iterator[Fold]:
    for at, operand in enumerate(fold.operands):
        yield _with(fold, at, operand[None])
        yield _with(fold, at, operand[..., None])
        yield _with(fold, at, operand.ravel())
        if operand.size:
            yield _with(fold, at, operand.ravel()[0])


def operand_with_other_values(fold: Fold) -> Iterator[Fold]:
    for at, operand in enumerate(fold.operands):
        if operand.dtype.kind not in "if" or not operand.size:
            continue
        for place in {0, operand.size - 1}:
            for value in (-1, -2, 0, 1, 2, 3, 7, -7, 100, *(EXTREMES if fold.op in SAME_SIZE else ())):
                if (
                    operand.dtype.kind == "i"
                    and not np.iinfo(operand.dtype).min <= value <= np.iinfo(operand.dtype).max
                ):
                    continue
                other = operand.copy()
                other.reshape(-1)[place] = value
                yield _with(fold, at, other)


def operand_longer(fold: Fold) -> Iterator[Fold]:
    for at, operand in enumerate(fold.operands):
        if operand.ndim:
            yield _with(fold, at, np.concatenate([operand, operand[-1:]]))
            yield _with(fold, at, operand[:-1])
            yield _with(fold, at, operand[:0])


def operand_more(fold: Fold) -> Iterator[Fold]:
    for operand in fold.operands:
        yield replace(fold, operands=(*fold.operands, operand))
    generous = tuple(lambda *given, rule=rule, **more: rule(*given[:-1], **more) for rule in fold.computes)
    yield replace(fold, operands=(*fold.operands, fold.operands[-1]), computes=generous)


def operand_less(fold: Fold) -> Iterator[Fold]:
    kept = fold.operands
    for at in range(len(kept)):
        generous = tuple(
            lambda *given, at=at, rule=rule, **more: rule(*given[:at], kept[at], *given[at:], **more)
            for rule in fold.computes
        )
        yield replace(fold, operands=kept[:at] + kept[at + 1 :], computes=(*fold.computes, *generous))


def options_changed(fold: Fold) -> Iterator[Fold]:
    for name, value in fold.options.items():
        others: Sequence[Any] = (
            [not value]
            if isinstance(value, bool)
            else [None, value[:-1], value + 1]
            if isinstance(value, Array)
            else (-1, -2, 0, 1, 2, 3, 4, 5, 9, 100)
        )
        for other in others:
            yield replace(fold, options={**fold.options, name: other})
            generous = tuple(
                lambda *given, rule=rule, name=name, value=value, **more: rule(*given, **{**more, name: value})
                for rule in fold.computes
            )
            yield replace(fold, options={**fold.options, name: other}, computes=generous)


def of_a_shape(fold: Fold) -> Iterator[Fold]:
    """Operand 0 is the SHAPE of an input: values that a reader knows without a constant."""
    for dtype in ("int32", "int64"):
        for values in ((2, 3), (300, 1), (1,), (2, 3, 4)):
            yield replace(_with(fold, 0, np.asarray(values, dtype)), shape=True)
            yield replace(_with(fold, 0, np.asarray(values, dtype)), shape=True, result=dtype)


DEVIATIONS: Mapping[str, Callable[[Fold], Iterator[Fold]]] = {
    f"folded_{change.__name__}": change
    for change in (
        as_it_is, operand_of_another_type, all_of_another_type, result_of_another_type, operand_of_another_rank,
        operand_with_other_values, operand_longer, operand_more, operand_less, options_changed, of_a_shape,
    )
}  # fmt: skip
