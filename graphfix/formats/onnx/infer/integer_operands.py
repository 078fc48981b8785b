"""The elements of a node's integer operands, in their shapes and broadcast to each other."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from graphfix.formats.onnx.infer.operands import Call
from graphfix.shapes.shape import Size, broadcast, of

LIMIT = 64
"""Integer tensors of more elements are no shapes."""
Elements: TypeAlias = Sequence[Size]
Array: TypeAlias = NDArray[Any]
"""Sizes, or places of them, in the shape of a tensor."""


def listed(call: Call, index: int) -> tuple[Elements, list[int]] | None:
    """The elements of an operand and its shape, None where one of both is not known."""
    elements, dims = call.elements(index), call.dims(index)
    if elements is None or dims is None:
        return None
    shape = [size for size in dims if isinstance(size, int)]
    return (elements, shape) if len(shape) == len(dims) and prod(shape) == len(elements) else None


def operand(call: Call, index: int) -> Array | None:
    """The elements of an operand in its shape, None where one of both is not known."""
    held = listed(call, index)
    return None if held is None else _array(*held)


def _array(elements: Elements, shape: Sequence[int]) -> Array:
    found = np.empty(len(elements), object)
    found[:] = elements
    return found.reshape(shape)


def flat(array: Array) -> Elements:
    """The elements of an array in their order."""
    return list(np.asarray(array, object).reshape(-1))


def columns(call: Call, count: int) -> list[tuple[Size, ...]] | None:
    """What the operands have at each element of the result."""
    if len(call.inputs) != count:
        return None
    operands = [held for index in range(count) if (held := listed(call, index)) is not None]
    if len(operands) < count:
        return None
    whole = broadcast(*[of(*shape) for _, shape in operands]).numbers
    if prod(whole) > LIMIT:
        return None
    return list(zip(*[stretched(elements, shape, whole) for elements, shape in operands], strict=True))


def stretched(elements: Elements, shape: Sequence[int], whole: tuple[int, ...]) -> Elements:
    """The elements of a tensor that is broadcast to a shape."""
    count = prod(whole)
    if len(elements) == count:
        return elements
    return [elements[0]] * count if len(elements) == 1 else flat(np.broadcast_to(_array(elements, shape), whole))
