"""A runtime in a child process: a model on which it aborts or hangs is refused, and nothing else is lost."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING, Any, Self

from graphfix.runtimes.session import RefusedError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from graphfix.runtimes.litert import Face, Port

_ABORTED = (EOFError, BrokenPipeError, ConnectionError, pickle.UnpicklingError)
LONGEST_SECONDS = 600.0
"""How long one request may take before the process is stopped."""


class Child:
    """One process with one loaded model at a time, started when it is needed and again after an abort."""

    def __init__(self, seconds: float = LONGEST_SECONDS) -> None:
        self._seconds = seconds
        self._process: subprocess.Popen[bytes] | None = None
        self._loaded: Request | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()

    def load(
        self, model: Path, *, optimized: bool = False, expose: Sequence[str] = (), folder: Path | None = None
    ) -> ChildSession:
        """Load an ONNX file as runtimes.onnxruntime does, in the place of the model before. Raises RefusedError."""
        options = {"optimized": optimized, "expose": tuple(expose), "folder": folder}
        request = Request("onnxruntime", model, tuple(options.items()))
        outputs: tuple[str, ...] = self._load(request)
        return ChildSession(self, request, outputs)

    def load_tflite(
        self, model: Path | bytes, kernels: str, *, signature: str | None = None, expose: Sequence[str] = ()
    ) -> LitertSession:
        """Load a TFLite model as graphfix.runtimes.litert_session does, likewise. Raises RefusedError."""
        options = {"kernels": kernels, "signature": signature, "expose": tuple(expose)}
        request = Request("LiteRT", model, tuple(options.items()))
        face: Face = self._load(request)
        return LitertSession(self, request, face)

    def ask(self, request: Request, method: str, *arguments: object) -> Any:  # noqa: ANN401 - the session's own answer
        """Call a method of the session of a load request, loading it again where another took its place."""
        if self._loaded != request:
            self._load(request)
        return self._answer(request.runtime, ("ask", method, *arguments))

    def _load(self, request: Request) -> Any:  # noqa: ANN401 - the session's own face
        self._loaded = None
        face = self._answer(request.runtime, ("load", request.runtime, request.model, dict(request.options)))
        self._loaded = request
        return face

    def _answer(self, runtime: str, message: tuple[object, ...]) -> Any:  # noqa: ANN401 - see above
        process = self._process or self._started()
        if process.stdin is None or process.stdout is None:
            raise RefusedError(f"{runtime}: its process has no pipes")
        watch = _Watch(process, self._seconds)
        try:
            with watch:
                pickle.dump(message, process.stdin, protocol=5)
                process.stdin.flush()
                kind, *answer = pickle.load(process.stdout)  # noqa: S301 - our own child writes them
        except _ABORTED:
            status = self._stop()
            cause = f"{runtime} aborts the process ({_cause(status)})"
            stopped = f"{runtime} was stopped: no answer within {self._seconds:g} seconds"
            raise RefusedError(stopped if watch.expired else cause, aborted=True) from None
        if kind == "refused":
            text, missing, custom = answer
            raise RefusedError(str(text), missing_kernel=bool(missing), custom=str(custom))
        return answer[0]

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
class Request:
    """What a child is asked to load: the runtime's name, the model, and the options of its `load`."""

    runtime: str
    model: Path | bytes = field(repr=False)
    options: tuple[tuple[str, object], ...]


@dataclass(frozen=True, slots=True)
class ChildSession:
    """An ONNX model in the child, with the names of its outputs."""

    child: Child = field(repr=False)
    request: Request
    outputs: tuple[str, ...]

    def run(self, feeds: Mapping[str, object]) -> list[object]:
        """Run once. Raises RefusedError, also where the process aborts."""
        outputs: list[object] = self.child.ask(self.request, "run", dict(feeds))
        return outputs


@dataclass(frozen=True, slots=True)
class LitertSession:
    """A TFLite model in the child, with what LiteRT says of its inputs and outputs."""

    child: Child = field(repr=False)
    request: Request
    face: Face

    @property
    def inputs(self) -> tuple[Port, ...]:
        """What must be fed, in the model's order."""
        return self.face.inputs

    @property
    def outputs(self) -> tuple[Port, ...]:
        """What `run` answers, in that order; the exposed tensors come behind the model's own."""
        return self.face.outputs

    def run(self, feeds: Mapping[str, object]) -> list[object]:
        """Run once on values by input name. Raises RefusedError, also where the process aborts."""
        outputs: list[object] = self.child.ask(self.request, "run", dict(feeds))
        return outputs


class _Watch:
    """Kills a process that takes too long, so that its pipe ends."""

    def __init__(self, process: subprocess.Popen[bytes], seconds: float) -> None:
        self.expired = False
        self._process = process
        self._timer = threading.Timer(seconds, self._expire)
        self._timer.daemon = True

    def __enter__(self) -> Self:
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()

    def _expire(self) -> None:
        self.expired = True
        self._process.kill()


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
