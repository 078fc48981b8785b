"""Whether shapes that LiteRT gives are instances of shapes that were inferred: numbers equal, one name one size.

Independent of the house but for its records of a shape; LiteRT runs in a child process, as its kernels abort.
"""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from graphfix.shapes.shape import Dim, Shape

Real = Sequence[Sequence[int] | None]
"""By tensor; None for one that LiteRT has no shape of."""

CHILD = """
import json, sys
import numpy as np
from ai_edge_litert.interpreter import Interpreter, OpResolverType


def size(made, tensor):
    try:
        return [int(n) for n in made.TensorSize(tensor, 0)]
    except ValueError:  # "Tensor with no shape found"
        return None


for line in sys.stdin:
    path, inputs = json.loads(line)
    try:
        made = Interpreter(
            model_path=path,
            experimental_op_resolver_type=OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES,
            experimental_preserve_all_tensors=True,
        )
        for tensor, shape in inputs:
            made.resize_tensor_input(tensor, shape)
        made.allocate_tensors()
        made.invoke()
        answer = [size(made._interpreter, at) for at in range(made._interpreter.NumTensors(0))]
    except (RuntimeError, ValueError) as error:
        answer = str(error)
    print(json.dumps(answer), flush=True)
"""


def run(path: Path, every: Sequence[Mapping[int, Sequence[int]]]) -> list[Real | str]:
    """The shapes of the main subgraph's tensors for each set of inputs, or why there are none."""
    requests = [json.dumps([str(path), [[tensor, list(shape)] for tensor, shape in each.items()]]) for each in every]
    answers: list[Real | str] = []
    while len(answers) < len(requests):
        text = "\n".join(requests[len(answers) :])
        done = subprocess.run([sys.executable, "-c", CHILD], input=text, capture_output=True, text=True, check=False)
        answers += [json.loads(line) for line in done.stdout.splitlines() if line.startswith(("[", '"'))]
        if done.returncode:
            answers.append(f"LiteRT aborts the process ({done.returncode})")
    return answers


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
