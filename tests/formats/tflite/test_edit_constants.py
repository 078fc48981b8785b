"""Stretched constants: their bytes are those of numpy's broadcast."""

from __future__ import annotations

import numpy as np
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
