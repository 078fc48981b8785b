"""LiteRT for the fuzz: many small models run in forks of one child, each on all kernel sets, with the shapes they met.

A fork answers a whole group of runs; where a kernel ends it, that run is answered by its signal and a new fork goes on.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.support import child

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy as np

KERNELS = ("BUILTIN_REF", "BUILTIN_WITHOUT_DEFAULT_DELEGATES", "AUTO")
"""The reference kernels, the optimized ones, and these with XNNPACK."""
TOLD = KERNELS[1]
"""The kernel set whose runs tell the shapes of the tensors too."""
PATIENCE = 600
"""Seconds after which the child counts as hung."""


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
    """By subgraph, by tensor, after the run (of a loop's body: after its last turn); on the kernel set TOLD only."""

    @property
    def fine(self) -> bool:
        return not self.error and not self.signal


def run(groups: Sequence[Sequence[Job]]) -> list[list[Ran]]:
    """Answer every group, in order."""
    done = subprocess.run(
        child.command(__name__),
        env=child.environment(),
        input=pickle.dumps([[(job.file, job.kernels, job.feeds) for job in group] for group in groups]),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        timeout=PATIENCE,
        check=True,
    )
    return [[Ran(*told) for told in group] for group in pickle.loads(done.stdout)]  # noqa: S301 -- our own child's


# --- in the child -----------------------------------------------------------------------------------------------------


def _told(runtime: Any, file: bytes, kernels: str, feeds: Sequence[Any]) -> tuple[Any, ...]:  # noqa: ANN401 -- no types
    told = kernels == TOLD
    try:
        made = runtime.Interpreter(
            model_content=file,
            experimental_op_resolver_type=runtime.OpResolverType[kernels],
            num_threads=1,
            experimental_preserve_all_tensors=told,
        )
        inputs = made.get_input_details()
        for detail, array in zip(inputs, feeds, strict=True):
            if tuple(detail["shape"]) != array.shape:
                made.resize_tensor_input(detail["index"], array.shape)
        made.allocate_tensors()
        for detail, array in zip(inputs, feeds, strict=True):
            made.set_tensor(detail["index"], array)
        made.invoke()
        outputs = tuple(made.get_tensor(detail["index"]) for detail in made.get_output_details())
    except (RuntimeError, ValueError) as error:  # how LiteRT reports what it refuses
        return (), str(error) or type(error).__name__
    return outputs, "", "", tuple(_shapes(made._interpreter)) if told else ()


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


def _answered(runtime: Any, group: Sequence[Any]) -> list[tuple[Any, ...]]:  # noqa: ANN401 -- LiteRT has no types
    answers: list[tuple[Any, ...]] = []
    while len(answers) < len(group):
        reading, writing = os.pipe()
        process = os.fork()
        if process == 0:
            with os.fdopen(writing, "wb") as sink:
                for job in group[len(answers) :]:
                    pickle.dump(_told(runtime, *job), sink)
                    sink.flush()
            os._exit(0)
        os.close(writing)
        answers += _received(reading)
        status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        if status > 0:
            raise RuntimeError(f"a fork ended with status {status}: no kernel did that")
        if status:
            answers.append(((), "", signal.Signals(-status).name))
    return answers


def _received(source: int) -> list[tuple[Any, ...]]:
    answers = []
    with os.fdopen(source, "rb") as pipe:
        while True:
            try:
                answers.append(pickle.load(pipe))  # noqa: S301 -- the fork's
            except (EOFError, pickle.UnpicklingError):  # the end, or the fork's in the middle of an answer
                return answers


def serve() -> None:
    """Answer what stands on standard input."""
    groups = pickle.load(sys.stdin.buffer)  # noqa: S301 -- the test's own
    from ai_edge_litert import interpreter

    sys.stdout.buffer.write(pickle.dumps([_answered(interpreter, group) for group in groups]))


if __name__ == "__main__":
    serve()
