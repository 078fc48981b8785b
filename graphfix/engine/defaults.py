"""Free sizes of a model's inputs: which there are, what they are by default, and the options that bind them."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping

from graphfix.graph.protocols import Model
from graphfix.graph.view import Value
from graphfix.shapes.shape import Size


def free_inputs(model: Model) -> list[Value]:
    """The inputs with a size that is no number, or without a rank."""
    return [value for value in model.graphs[0].inputs if not value.shape.static]


def defaults(model: Model) -> dict[str, list[int | None]]:
    """By input: the sizes to take where nobody says any; None stays free.

    A size that the file stores beside the free one (TFLite does) is taken, else 1 for the first axis: a batch.
    """
    return {value.name: list(_by_default(model, value)) for value in free_inputs(model) if value.shape.ranked}


def _by_default(model: Model, value: Value) -> Iterator[int | None]:
    example = model.example(value)
    for axis, size in enumerate(value.shape.dims):
        if isinstance(size, int):
            yield size
        elif example is not None:
            yield example[axis]
        else:
            yield 1 if axis == 0 else None


def proposal(model: Model) -> str:
    """What is free, and the options that would bind it: `x[N,3,?,?]; bind: --shape 'x=1,3,<size>,<size>'`."""
    values = free_inputs(model)
    sizes = defaults(model)
    options = [f"--shape {shlex.quote(f'{value.name}={_text(value, sizes)}')}" for value in values]
    return f"{', '.join(map(str, values))}; bind: {' '.join(options)}"


def _text(value: Value, sizes: Mapping[str, list[int | None]]) -> str:
    if value.name not in sizes:
        return "<sizes>"
    pairs = zip(value.shape.dims, sizes[value.name], strict=True)
    return ",".join(str(number) if number is not None else f"<{_called(size)}>" for size, number in pairs)


def _called(size: Size) -> str:
    return "size" if str(size) == "?" else str(size)


def settled_inputs(model: Model) -> dict[str, list[int]]:
    """By input: the sizes of those that are all numbers."""
    return {
        value.name: [size for size in value.shape.dims if isinstance(size, int)]
        for value in model.graphs[0].inputs
        if value.shape.static
    }
