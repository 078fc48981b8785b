"""Sizes in the shape of a tensor, moved as numpy moves the elements of an array."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest

from graphfix.formats.onnx.infer.operators.integers import Tensor, concatenated

SHAPES = [(), (1,), (4,), (2, 3), (1, 3), (3, 1), (2, 1, 3), (0,), (0, 2), (2, 0, 3)]


def pair(shape: tuple[int, ...], start: int = 0) -> tuple[Tensor, np.ndarray]:
    array = np.arange(start, start + int(np.prod(shape))).reshape(shape)
    return Tensor(tuple(array.reshape(-1).tolist()), shape), array


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_axes_change_their_order(shape: tuple[int, ...]) -> None:
    tensor, array = pair(shape)
    for order in permutations(range(len(shape))):
        assert list(tensor.transposed(order)) == array.transpose(order).reshape(-1).tolist()


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_places_of_an_axis_are_taken(shape: tuple[int, ...]) -> None:
    tensor, array = pair(shape)
    seen = 0
    for axis in range(-len(shape), len(shape)):
        size = shape[axis]
        lists = [[], *([at] for at in range(-size, size)), list(range(size)) * 2, list(range(-1, -size - 1, -1))]
        for places in lists:
            taken, wanted = tensor.take(axis, places), np.take(array, np.asarray(places, int), axis)
            assert (list(taken.elements), taken.shape) == (wanted.reshape(-1).tolist(), wanted.shape)
            seen += 1
    assert bool(seen) == bool(shape)


@pytest.mark.parametrize(("shape", "whole"), [pair for pair in product(SHAPES, SHAPES) if len(pair[0]) <= len(pair[1])])
def test_a_tensor_is_broadcast(shape: tuple[int, ...], whole: tuple[int, ...]) -> None:
    tensor, array = pair(shape)
    try:
        wanted = np.broadcast_to(array, whole)
    except ValueError:
        return  # no shape that it broadcasts to
    assert list(tensor.stretched(whole)) == wanted.reshape(-1).tolist()


@pytest.mark.parametrize("axis", [0, 1, -1, -2])
def test_tensors_are_joined(axis: int) -> None:
    shapes = [(2, 3), (2, 3)] if axis in (0, -2) else [(2, 1), (2, 3), (2, 2)]
    pairs = [pair(shape, 100 * at) for at, shape in enumerate(shapes)]
    wanted = np.concatenate([array for _, array in pairs], axis).reshape(-1).tolist()
    assert list(concatenated([tensor for tensor, _ in pairs], axis)) == wanted


def test_a_huge_size_beside_a_0_costs_nothing() -> None:
    tensor = Tensor((), (1 << 40, 0))
    assert [
        *tensor.transposed((0, 1)),
        *tensor.stretched((1 << 40, 0)),
        *Tensor((5,), (1,)).stretched((1 << 40, 0)),
    ] == []
    assert tensor.take(1, [0]) == Tensor([], (1 << 40, 1))
    assert tensor.take(0, range(1 << 39)).shape == (1 << 39, 0)
