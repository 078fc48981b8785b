"""Evaluate a TFLite model with LiteRT: the shapes of its tensors after a run, and their elements.

LiteRT's kernels abort the process on some models (on an ADD of rank 9, for example), so LiteRT runs in a child process
only, with the sessions of `graphfix.runtimes.process`.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

from graphfix.results.records import dataclass
from graphfix.runtimes.process import Child
from graphfix.runtimes.session import RefusedError
from graphfix.runtimes.sessions import LONGEST_SECONDS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import numpy as np

KERNELS = ("reference", "builtin", "xnnpack")
"""LiteRT's kernel sets: the reference ones, the optimized ones without any delegate, and those with XNNPACK."""

Given: TypeAlias = "Mapping[int, np.ndarray[Any, Any]]"
"""The values of inputs of subgraph 0, by tensor."""
NOTHING_GIVEN: Given = MappingProxyType({})
Shapes = tuple[tuple[tuple[int, ...], ...], ...]
"""By subgraph, by tensor index: the sizes of the axes."""


@dataclass(frozen=True, slots=True)
class RunShapes:
    """The shapes after a resize and a run on zeros."""

    invoked: Shapes | None
    """None if the model does not run."""
    reason: str | None = None
    """Why the model does not run."""


def shapes(
    model: Path | bytes,
    inputs: Mapping[int, Sequence[int]],
    given: Given = NOTHING_GIVEN,
    *,
    seconds: float = LONGEST_SECONDS,
) -> RunShapes:
    """Return the shape of every tensor, from a run with the builtin kernels and no delegate in a child process.

    `inputs` maps inputs of subgraph 0, by tensor index, to their shapes; other inputs keep their stored shapes.
    `given` has the values of inputs; all others are zeros.
    Raises RefusedError if the model does not load or its tensors can't be allocated.
    """
    with Child(seconds) as child:
        session = child.load_tflite(model, "preserving")
        child.ask(session.request, "allocate", {at: tuple(shape) for at, shape in inputs.items()})
        try:
            return RunShapes(child.ask(session.request, "invoke_on_zeros", dict(given)))
        except RefusedError as error:
            return RunShapes(None, str(error))


def elements(
    model: Path | bytes,
    inputs: Mapping[int, Sequence[int]],
    tensors: Sequence[int],
    given: Given = NOTHING_GIVEN,
    *,
    seconds: float = LONGEST_SECONDS,
) -> dict[int, bytes]:
    """Return the bytes of tensors of subgraph 0 after a run at these shapes of the inputs, with the given values.

    Inputs without a value are zeros, so only results that do not depend on them are meaningful. Raises RefusedError if
    the model does not run.
    """
    with Child(seconds) as child:
        session = child.load_tflite(model, "preserving")
        child.ask(session.request, "allocate", {at: tuple(shape) for at, shape in inputs.items()})
        child.ask(session.request, "invoke_on_zeros", dict(given))
        return dict(zip(tensors, child.ask(session.request, "elements", tuple(tensors)), strict=True))
