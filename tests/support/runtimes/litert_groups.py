"""LiteRT for the fuzz: many small models run in forks of one child, each on all kernel sets, with the shapes they met.

A fork answers a whole group of runs; where a kernel ends it, that run is answered by its signal and a new fork goes on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.support import child

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy as np

KERNELS = ("BUILTIN_REF", "BUILTIN_WITHOUT_DEFAULT_DELEGATES", "AUTO")
"""The reference kernels, the optimized ones, and these with XNNPACK."""
WITH_SHAPES = KERNELS[1]
"""The kernel set whose runs tell the shapes of the tensors too."""


@dataclass(frozen=True)
class Job:
    """One run of one model."""

    file: bytes
    kernels: str
    feeds: tuple[np.ndarray, ...]
    """In the order of the model's inputs."""


@dataclass(frozen=True)
class Ran:
    """The outputs in the model's order, or what LiteRT said, or the signal that ended its process."""

    outputs: tuple[np.ndarray, ...] = ()
    error: str = ""
    signal: str = ""
    shapes: tuple[tuple[tuple[int, ...], ...], ...] = ()
    """By subgraph, by tensor, after the run (of a loop's body: after its last turn); on kernels WITH_SHAPES only."""

    @property
    def fine(self) -> bool:
        return not self.error and not self.signal


def run(groups: Sequence[Sequence[Job]]) -> list[list[Ran]]:
    """Answer every group, in order."""
    ran: list[list[Ran]] = child.asked(__name__, [list(group) for group in groups])
    return ran


# --- in the other process ---------------------------------------------------------------------------------------------


def serve(groups: Sequence[Sequence[Job]]) -> list[list[Ran]]:
    """Run each group in a fork of its own, and what stands behind an abort in the next one."""
    return [[ran or Ran(signal=ended) for ran, ended in child.in_forks(group, _ran)] for group in groups]


def _ran(job: Job) -> Ran:
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    shapes_too = job.kernels == WITH_SHAPES
    try:
        made = Interpreter(
            model_content=job.file,
            experimental_op_resolver_type=OpResolverType[job.kernels],
            num_threads=1,
            experimental_preserve_all_tensors=shapes_too,
        )
        inputs = made.get_input_details()
        for detail, array in zip(inputs, job.feeds, strict=True):
            if tuple(detail["shape"]) != array.shape:
                made.resize_tensor_input(detail["index"], array.shape)
        made.allocate_tensors()
        for detail, array in zip(inputs, job.feeds, strict=True):
            made.set_tensor(detail["index"], array)
        made.invoke()
        outputs = tuple(_value(made, detail) for detail in made.get_output_details())
    except (RuntimeError, ValueError) as error:  # how LiteRT reports what it refuses
        return Ran(error=str(error) or type(error).__name__)
    return Ran(outputs, shapes=tuple(_shapes(made._interpreter)) if shapes_too else ())


def _value(made: Any, detail: dict[str, Any]) -> np.ndarray:  # noqa: ANN401 -- LiteRT has no types
    """One without elements may have no memory: LiteRT refuses to hand it out."""
    import numpy as np

    size = tuple(made._interpreter.TensorSize(detail["index"], 0))
    return np.empty(size, detail["dtype"]) if 0 in size else made.get_tensor(detail["index"])


def _shapes(inside: Any) -> Iterator[tuple[tuple[int, ...], ...]]:  # noqa: ANN401 -- LiteRT has no types
    """By subgraph, by tensor; kernels' own tensors, which stand behind those of the file, may have none yet."""
    for at in range(inside.NumSubgraphs()):
        found = []
        for tensor in range(inside.NumTensors(at)):
            try:
                found.append(tuple(map(int, inside.TensorSize(tensor, at))))
            except ValueError:
                found.append(())
        yield tuple(found)
