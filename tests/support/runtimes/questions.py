"""The question to the installed runtime for each fact that differs between versions (`results.runtime_facts`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from graphfix.results.runtime_facts import (
    ATTENTION_STRETCHES_MASKS,
    RANGE_COUNTED_IN_FLOAT64,
    RANGE_DIVIDED_IN_FLOAT64,
    SIZE_0_KEEPS_AXES,
)
from tests.support.runtimes.one_node import Refused, run

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def keeps_axes_of_nothing() -> bool:
    """Return whether a reduction along -1 without keepdims keeps the axis where there are no elements."""
    nothing = np.zeros((0, 2, 3, 8), dtype=np.float32)
    (result,) = run("ReduceSum", nothing, np.array([-1]), opset=13, keepdims=0)
    return result.shape == nothing.shape


def stretches_masks() -> bool:
    """Return whether Attention of operator set 25 takes a mask of one row."""
    query, key = np.ones((2, 4, 3, 8), dtype=np.float32), np.ones((2, 4, 5, 8), dtype=np.float32)
    try:
        run("Attention", query, key, key, np.ones((1, 5), dtype=np.float32), opset=25)
    except Refused:
        return False
    return True


def divides_in_float64() -> bool:
    """Return whether the length of a Range of int64 is a quotient of float64."""
    start, limit, step = (np.array(number, dtype=np.int64) for number in (0, (1 << 53) + 1, 1 << 53))
    (result,) = run("Range", start, limit, step, opset=11)
    return result.size == 1


def counts_in_float64() -> bool:
    """Return whether a Range of three numbers beyond 2**53 has another number of elements."""
    far = -31584960600202078
    start, limit, step = (np.array(number, dtype=np.int64) for number in (far, far + 3, 1))
    (result,) = run("Range", start, limit, step, opset=11)
    return result.size != 3


QUESTIONS: Mapping[str, Callable[[], bool]] = {
    SIZE_0_KEEPS_AXES.name: keeps_axes_of_nothing,
    ATTENTION_STRETCHES_MASKS.name: stretches_masks,
    RANGE_DIVIDED_IN_FLOAT64.name: divides_in_float64,
    RANGE_COUNTED_IN_FLOAT64.name: counts_in_float64,
}
"""By the name of a fact: whether the installed runtime does what it says."""
