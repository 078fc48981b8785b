"""onnxruntime in a child process: a model on which it aborts is refused, and nothing else is lost."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING, Self

from graphfix.runtimes import RefusedError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

_ABORTED = (EOFError, BrokenPipeError, ConnectionError, pickle.UnpicklingError)


class Child:
    """One process with one loaded model at a time, started when it is needed and again after an abort."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._loaded: tuple[object, ...] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()

    def load(
        self, model: Path, *, optimized: bool = False, expose: Sequence[str] = (), folder: Path | None = None
    ) -> ChildSession:
        """Load a file as graphfix.runtimes.ort does, in the place of the one before. Raises RefusedError."""
        request = ("load", model, optimized, tuple(expose), folder)
        outputs = self._load(request)
        return ChildSession(self, request, tuple(map(str, outputs)))

    def run(self, request: tuple[object, ...], feeds: Mapping[str, object]) -> list[object]:
        """Run the model of a load request, loading it again where another took its place."""
        if self._loaded != request:
            self._load(request)
        return self._answer(("run", dict(feeds)))

    def _load(self, request: tuple[object, ...]) -> list[object]:
        self._loaded = None
        outputs = self._answer(request)
        self._loaded = request
        return outputs

    def _answer(self, request: tuple[object, ...]) -> list[object]:
        process = self._process or self._started()
        if process.stdin is None or process.stdout is None:
            raise RefusedError("onnxruntime: its process has no pipes")
        try:
            pickle.dump(request, process.stdin, protocol=5)
            process.stdin.flush()
            kind, *answer = pickle.load(process.stdout)  # noqa: S301 - our own child writes them
        except _ABORTED:
            status = self._stop()
            raise RefusedError(f"onnxruntime aborts the process ({_cause(status)})") from None
        if kind == "refused":
            raise RefusedError(str(answer[0]), missing_kernel=bool(answer[1]))
        return list(answer[0])

    def _started(self) -> subprocess.Popen[bytes]:
        # -P and PYTHONPATH: the child imports what this process would, whatever lies in the working folder
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "graphfix.runtimes.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, map(os.path.abspath, sys.path)))},
        )
        return self._process

    def _stop(self) -> int:
        process, self._process, self._loaded = self._process, None, None
        if process is None:
            return 0
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                _close(pipe)
        try:
            return process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            process.kill()
            return process.wait()


@dataclass(frozen=True, slots=True)
class ChildSession:
    """A model in the child, with the names of its outputs."""

    child: Child = field(repr=False)
    request: tuple[object, ...]
    outputs: tuple[str, ...]

    def run(self, feeds: Mapping[str, object]) -> list[object]:
        """Run once. Raises RefusedError, also where the process aborts."""
        return self.child.run(self.request, feeds)


def _close(pipe: IO[bytes]) -> None:
    try:
        pipe.close()
    except BrokenPipeError:
        return  # the child is gone, and what was left for it


def _cause(status: int) -> str:
    if status >= 0:
        return f"exit status {status}"
    try:
        return signal.Signals(-status).name
    except ValueError:
        return f"signal {-status}"
