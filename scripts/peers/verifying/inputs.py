"""What the zoo's models are run on: the sizes that they are used at, and inputs that choose between branches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Inputs:
    """The usual shapes of a model's inputs, and values of some; of others any number will do."""

    shapes: Mapping[str, Sequence[int]] = field(default_factory=dict)
    values: Mapping[str, int] = field(default_factory=dict)
    page: str = ""
    """The input that takes a page of print."""


def of(name: str) -> Inputs:
    """Return those of a model of the zoo; a size that is not said is 1."""
    # Here, since it needs numpy, which the process that measures peaks has no room for.
    from tosa_tables.zoo import ONNX, Case

    case = ONNX.get(name, Case())
    shapes = {each: [int(size) for size in said.split(",")] for each, said in case.shapes.items()}
    return Inputs(shapes, {each: int(value) for each, value in case.values.items()}, case.page)
