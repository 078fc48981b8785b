"""LiteRT in another process, since its kernels may end the one that they are in.

It shares nothing with graphfix's own runtime: what the committed models are is found without it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.support import child

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import numpy as np

KERNELS = {"reference": "BUILTIN_REF", "optimized": "BUILTIN_WITHOUT_DEFAULT_DELEGATES", "xnnpack": "AUTO"}


@dataclass(frozen=True, slots=True)
class Job:
    """One run: a file, a kernel set of KERNELS, and the inputs by their tensors' names."""

    path: Path
    kernels: str
    feeds: Mapping[str, np.ndarray]


@dataclass(frozen=True, slots=True)
class Ran:
    """The outputs in the model's order, or what LiteRT said, or the signal that ended its process."""

    outputs: tuple[np.ndarray, ...] = ()
    error: str = ""
    signal: str = ""

    @property
    def fine(self) -> bool:
        return not self.error and not self.signal


def run(jobs: Sequence[Job]) -> list[Ran]:
    """Run each job; answers stand in the order of the jobs."""
    ran: list[Ran] = child.asked(__name__, list(jobs))
    return ran


# --- in the other process ---------------------------------------------------------------------------------------------


def serve(jobs: Sequence[Job]) -> list[Ran]:
    """Run each job where an abort ends a fork and no more."""
    return [ran or Ran(signal=ended) for ran, ended in child.in_forks(jobs, _ran)]


def _ran(job: Job) -> Ran:
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    resolver = OpResolverType[KERNELS[job.kernels]]
    try:
        made = Interpreter(model_path=str(job.path), experimental_op_resolver_type=resolver, num_threads=1)
        for detail in made.get_input_details():
            if tuple(detail["shape"]) != job.feeds[detail["name"]].shape:
                made.resize_tensor_input(detail["index"], job.feeds[detail["name"]].shape)
        made.allocate_tensors()
        for detail in made.get_input_details():
            made.set_tensor(detail["index"], job.feeds[detail["name"]])
        made.invoke()
        return Ran(tuple(made.get_tensor(detail["index"]) for detail in made.get_output_details()))
    except (RuntimeError, ValueError) as error:  # how LiteRT reports what it refuses
        return Ran(error=str(error) or type(error).__name__)
