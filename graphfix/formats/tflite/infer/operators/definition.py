"""The record of what inference knows of one TFLite operator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

from graphfix.formats.tflite.infer.call import Call, Rule
from graphfix.results.records import dataclass
from graphfix.shapes.dim import Size

Elements: TypeAlias = tuple[Size, ...]
"""The elements of an integer tensor, in row-major order."""
ElementRule: TypeAlias = Callable[[Call], Elements | None]
"""Returns the elements of the first result, all results joined if the operator splits; None if they are not known."""


@dataclass(frozen=True, slots=True)
class Definition:
    """What inference knows of one operator."""

    shapes: Rule | None = None
    """Computes the shapes of the results; None if the row of the catalogue or the file decides them."""
    elements: ElementRule | None = None
    """Computes the elements of small results; None if they are not followed."""
    shape_operands: tuple[int, ...] = ()
    """The operands whose elements determine the shape of the result; shapes of operands alone determine any other."""
    has_data_dependent_shape: bool = False
    """Whether the shape of a result depends on elements that the operator computes with, such as WHERE's condition."""
    splits: bool = False
    """Whether the results are consecutive parts of what `elements` returns."""
    contents: Literal["operands", "sizes", "random"] = "operands"
    """What the elements of the results follow from: elements of operands, sizes of an operand alone, or chance."""
