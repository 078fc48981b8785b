"""Whether shapes that LiteRT gives are instances of shapes that were inferred: numbers equal, one name one size.

Independent of the house but for its records of a shape; LiteRT runs in a child process, as its kernels abort.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from graphfix.shapes.dim import Dim, Shape
from tests.support import child

Real = Sequence[Sequence[int] | None]
"""By tensor; None for one that LiteRT has no shape of."""


def run(path: Path, every: Sequence[Mapping[int, Sequence[int]]]) -> list[Real | str]:
    """The shapes of the main subgraph's tensors for each set of inputs, or why there are none."""
    found: list[Real | str] = child.asked(__name__, [(str(path), dict(each)) for each in every])
    return found


def serve(requests: Sequence[tuple[str, Mapping[int, Sequence[int]]]]) -> list[Real | str]:
    """The same in the other process: what aborts ends a fork of it."""
    return [
        f"LiteRT aborts the process ({ended})" if answer is None else answer
        for answer, ended in child.in_forks(requests, _sizes)
    ]


def _sizes(request: tuple[str, Mapping[int, Sequence[int]]]) -> Real | str:
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    path, inputs = request
    try:
        made = Interpreter(
            model_path=path,
            experimental_op_resolver_type=OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES,
            experimental_preserve_all_tensors=True,
        )
        for tensor, shape in inputs.items():
            made.resize_tensor_input(tensor, list(shape))
        made.allocate_tensors()
        for detail in made.get_input_details():
            if not np.dtype(detail["dtype"]).hasobject:  # what stood in the memory before may be no size
                made.set_tensor(detail["index"], np.zeros(detail["shape"], detail["dtype"]))
        made.invoke()
        return [_size(made, at) for at in range(made._interpreter.NumTensors(0))]
    except (RuntimeError, ValueError) as error:
        return str(error)


def _size(made: Any, tensor: int) -> list[int] | None:  # noqa: ANN401 -- LiteRT has no types
    try:
        return [int(n) for n in made._interpreter.TensorSize(tensor, 0)]
    except ValueError:  # "Tensor with no shape found"
        return None


def violations(inferred: Sequence[Shape], real: Real) -> Iterator[str]:
    """Every tensor whose shape is no instance of what was inferred; LiteRT's own tensors stand behind the file's."""
    sizes: dict[tuple[str, ...], int] = {}
    for tensor, (shape, got) in enumerate(zip(inferred, real, strict=False)):
        if got is None or shape.axes is None:
            continue
        if len(shape.axes) != len(got):
            yield f"tensor {tensor}: inferred {shape}, LiteRT has {list(got)}"
            continue
        for axis, (size, number) in enumerate(zip(shape.axes, got, strict=True)):
            if not _holds(size, number, sizes):
                known = sizes.get(size.parts) if isinstance(size, Dim) else None
                yield f"tensor {tensor} axis {axis}: inferred {size!r} (elsewhere {known}), LiteRT has {number}"
    for parts, number in sizes.items():
        alone = [sizes.get((name,)) for name in parts]
        if len(parts) > 1 and None not in alone and number not in np.broadcast_shapes(*[(one or 0,) for one in alone]):
            yield f"the broadcast of {parts} is {number}, and those are {alone}"


def _holds(size: int | Dim, number: int, sizes: dict[tuple[str, ...], int]) -> bool:
    if isinstance(size, int):
        return size == number
    if number < size.lo or (size.hi is not None and number > size.hi):
        return False
    return not size.parts or sizes.setdefault(size.parts, number) == number


def choices(
    free: Sequence[tuple[int, int]], stored: Mapping[int, Sequence[int]], sizes: Sequence[int]
) -> list[dict[int, list[int]]]:
    """Inputs with each of their free axes, (tensor, axis), at each of these sizes: all combinations, at most 30."""
    found = []
    for numbers in itertools.islice(itertools.product(sizes, repeat=len(free)), 30):
        shapes = {tensor: list(shape) for tensor, shape in stored.items()}
        for (tensor, axis), number in zip(free, numbers, strict=True):
            shapes[tensor][axis] = number
        found.append(shapes)
    return found
