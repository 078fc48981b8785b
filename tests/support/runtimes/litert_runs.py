"""LiteRT in children: every run of a model in a process of its own, since its kernels may end the one that they are in.

    python -m tests.support.runtimes.litert_runs < jobs.json > answers.json

It shares nothing with graphfix's own runtime: what the committed models are is told without it.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tests.support import child

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

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
    """Run each job in its own fork of one child that has LiteRT loaded; answers stand in the order of the jobs."""
    asked = [
        {"path": str(job.path), "kernels": job.kernels, "feeds": {name: _told(it) for name, it in job.feeds.items()}}
        for job in jobs
    ]
    done = subprocess.run(
        child.command(__name__),
        env=child.environment(),
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    return [_answer(answer) for answer in json.loads(done.stdout)]


def _answer(told: dict[str, Any]) -> Ran:
    return Ran(tuple(_array(it) for it in told.get("outputs", ())), told.get("error", ""), told.get("signal", ""))


def _told(array: np.ndarray) -> dict[str, Any]:
    content = [text.decode() for text in array.ravel()] if array.dtype.hasobject else array.tobytes().hex()
    return {"dtype": array.dtype.str, "shape": array.shape, "content": content}


def _array(told: dict[str, Any]) -> np.ndarray:
    if isinstance(told["content"], list):
        return np.array([text.encode() for text in told["content"]], object).reshape(told["shape"])
    return np.frombuffer(bytes.fromhex(told["content"]), told["dtype"]).reshape(told["shape"])


# --- in the child -----------------------------------------------------------------------------------------------------


def _outputs(job: dict[str, Any]) -> list[np.ndarray]:
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    resolver = OpResolverType[KERNELS[job["kernels"]]]
    made = Interpreter(model_path=job["path"], experimental_op_resolver_type=resolver, num_threads=1)
    feeds = {name: _array(told) for name, told in job["feeds"].items()}
    for detail in made.get_input_details():
        if tuple(detail["shape"]) != feeds[detail["name"]].shape:
            made.resize_tensor_input(detail["index"], feeds[detail["name"]].shape)
    made.allocate_tensors()
    for detail in made.get_input_details():
        made.set_tensor(detail["index"], feeds[detail["name"]])
    made.invoke()
    return [made.get_tensor(detail["index"]) for detail in made.get_output_details()]


def _forked(job: dict[str, Any]) -> dict[str, Any]:
    reading, writing = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            answer: dict[str, Any] = {"outputs": [_told(array) for array in _outputs(job)]}
        except (RuntimeError, ValueError) as error:  # how LiteRT reports what it refuses
            answer = {"error": str(error)}
        with os.fdopen(writing, "w") as pipe:
            json.dump(answer, pipe)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        text = pipe.read()
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return json.loads(text) if text else {"signal": signal.Signals(-status).name if status < 0 else f"exit {status}"}


if __name__ == "__main__":
    import ai_edge_litert.interpreter  # noqa: F401 -- loaded once, before the forks

    json.dump([_forked(job) for job in json.load(sys.stdin)], sys.stdout)
