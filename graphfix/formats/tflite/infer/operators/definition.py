"""The record of one TFLite operator's inference rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

from graphfix.formats.tflite.infer.call import Call, Rule
from graphfix.results.records import dataclass
from graphfix.shapes.dim import Size

Elements: TypeAlias = tuple[Size, ...]
"""The elements of an integer tensor, in row-major order."""
ElementRule: TypeAlias = Callable[[Call], Elements | None]
"""Returns the elements of the first result (of all results, joined, if the operator splits); None if unknown."""


@dataclass(frozen=True, slots=True)
class Definition:
    """The inference rules of one operator."""

    shapes: Rule | None = None
    """Computes the shapes of the results.

    If it is None, the catalogue's rule for the operator is used, or the stored shape.
    """
    elements: ElementRule | None = None
    """Computes the elements of small results; if it is None, elements are not inferred."""
    shape_operands: tuple[int, ...] = ()
    """The operands whose elements determine the result's shape. If empty, only the operands' shapes determine it."""
    has_data_dependent_shape: bool = False
    """Whether the shape of a result depends on elements that the operator computes with, such as WHERE's condition."""
    splits: bool = False
    """Whether the results are consecutive parts of the elements that `elements` returns."""
    contents: Literal["operands", "sizes", "random"] = "operands"
    """The source of the results' elements: elements of operands, only sizes of an operand, or random numbers."""
