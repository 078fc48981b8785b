"""Run a TFLite model in LiteRT, and return the shapes or the elements of its tensors after the run.

LiteRT's kernels abort the process on some models (on an ADD of rank 9, for example). So LiteRT runs only in a child
process (`graphfix.runtimes.process.Child`).
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
"""LiteRT's kernel sets: reference kernels, optimized kernels without a delegate, and optimized kernels with XNNPACK."""

Given: TypeAlias = "Mapping[int, np.ndarray[Any, Any]]"
"""The values of inputs of subgraph 0, by tensor index."""
NOTHING_GIVEN: Given = MappingProxyType({})
Shapes = tuple[tuple[tuple[int, ...], ...], ...]
"""The shapes of all tensors: by subgraph, then by tensor index, the sizes of the axes."""


@dataclass(frozen=True, slots=True)
class RunShapes:
    """The shapes of all tensors after the inputs were resized and the model was run on zeros."""

    invoked: Shapes | None
    """The shapes of all tensors after the run, or None if the model does not run."""
    reason: str | None = None
    """The reason why the model does not run, or None if it runs."""


def shapes(
    model: Path | bytes,
    inputs: Mapping[int, Sequence[int]],
    given: Given = NOTHING_GIVEN,
    *,
    seconds: float = LONGEST_SECONDS,
) -> RunShapes:
    """Return the shape of every tensor after one run in a child process, with the builtin kernels and no delegate.

    `inputs` maps tensor indices of inputs of subgraph 0 to their shapes; other inputs keep their stored shapes. `given`
    maps tensor indices to the values of inputs; all other inputs are zeros. If the run fails, the result contains the
    reason in place of the shapes. Raises RefusedError if the model does not load or its tensors can't be allocated.
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
    """Return, by tensor index, the bytes of `tensors` of subgraph 0 after a run on inputs of the shapes `inputs`.

    `given` maps tensor indices to the values of inputs. All other inputs are zeros, so a result is only meaningful if
    it does not depend on them. Raises RefusedError if the model does not run.
    """
    with Child(seconds) as child:
        session = child.load_tflite(model, "preserving")
        child.ask(session.request, "allocate", {at: tuple(shape) for at, shape in inputs.items()})
        child.ask(session.request, "invoke_on_zeros", dict(given))
        return dict(zip(tensors, child.ask(session.request, "elements", tuple(tensors)), strict=True))
