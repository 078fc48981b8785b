"""Stretched constants: their bytes are those of numpy's broadcast."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphfix.formats.tflite.edit.operands import repeated

AXES = st.lists(st.tuples(st.integers(0, 4), st.booleans()), max_size=5)


@given(AXES, st.sampled_from([1, 2, 4, 8, 16]))
def test_repeated_bytes_are_those_of_a_broadcast(axes: list[tuple[int, bool]], item: int) -> None:
    to = [size for size, _ in axes]
    shape = [1 if stretched else size for size, stretched in axes]
    elements = np.arange(item * int(np.prod(shape))).astype(np.uint8).view(np.dtype((np.void, item))).reshape(shape)
    assert repeated(elements.tobytes(), shape, to, item) == np.broadcast_to(elements, to).tobytes()


@pytest.mark.parametrize(
    ("data", "shape", "to", "item", "expected"),
    [
        (b"ab", (2,), (2, 2), 1, b"abab"),
        (b"ab", (2,), (3, 2), 1, b"ababab"),
        (b"ab", (2, 1), (2, 3), 1, b"aaabbb"),
        (b"abcd", (2, 1), (2, 2), 2, b"ababcdcd"),
        (b"abcd", (1, 2), (2, 2), 2, b"abcdabcd"),
        (b"a", (), (2, 2), 1, b"aaaa"),
        (b"ab", (2,), (2,), 1, b"ab"),
        (b"ab", (1, 2, 1), (2, 2, 2), 1, b"aabbaabb"),
        (b"", (0, 1), (0, 2), 1, b""),
        (b"a", (1,), (0,), 1, b""),
        (b"abc", (), (), 3, b"abc"),
    ],
)
def test_bytes_are_repeated_along_axes_of_size_1(
    data: bytes, shape: tuple[int, ...], to: tuple[int, ...], item: int, expected: bytes
) -> None:
    assert repeated(data, shape, to, item) == expected
