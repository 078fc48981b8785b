"""All operators of this package, by domain and name."""

from __future__ import annotations

from collections.abc import Mapping

from graphfix.formats.onnx.infer.contrib import (
    attention,
    classical,
    elementwise,
    generation,
    moves,
    normalizations,
    products,
    recurrence,
    windows,
)
from graphfix.formats.onnx.infer.contrib.operator import Operator

_SUBJECTS = (elementwise, normalizations, products, windows, moves, attention, recurrence, generation, classical)
OPERATORS: Mapping[tuple[str, str], Operator] = {
    key: operator for subject in _SUBJECTS for key, operator in subject.OPERATORS.items()
}
