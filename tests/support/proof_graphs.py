"""Small graphs as text, and constants for them: what the tests of the proof for target tosa are made of."""

from __future__ import annotations

import numpy as np

IMAGE = "[1,1,2,2]"
WIDE = "[1,1,4,4]"
RESIZE = 'y = Resize <mode="nearest", coordinate_transformation_mode="{}", nearest_mode="{}"> (x, , s)'


def ints(*numbers: int) -> np.ndarray:
    return np.array(numbers, np.int64)


def floats(*numbers: float) -> np.ndarray:
    return np.array(numbers, np.float32)


def unary(node: str, result: str = "[N]", shape: str = "[2,3,4]") -> str:
    """A graph of one input, whose last node is `y`."""
    return f"g (float{shape} x) => (float{result} y) {{ {node} }}"
