"""Call onnx's shape inference in a child process, which is kept for further calls.

Its native code trusts the model: it asserts that no Slice reads a negative size, it reads operands that a node may
lack, and it never ends on an Einsum equation with a digit. Such a file must not end the process of graphfix.
"""

from __future__ import annotations

import atexit
import threading
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from onnx import ModelProto

    from graphfix.runtimes.pipes import AskedProcess

SECONDS = 10.0
"""How long the inference may take, and one second more for each `BYTES_A_SECOND` of the model."""
BYTES_A_SECOND = 20_000
"""A hundredth of what was measured on 2 slow cores."""
TIMEOUT_STATUS = 1
"""The exit status with which `faulthandler` ends the process when the time is over."""


class InferenceError(Exception):
    """Why onnx's inference returns no shapes."""

    def __init__(self, message: str, *, aborted: bool = False) -> None:
        super().__init__(message)
        self.aborted = aborted
        """Whether its process ended, or was stopped: nothing is known about the model then."""


def infer_shapes(model: ModelProto, *, strict: bool = False, data_prop: bool = False) -> ModelProto:
    """Return a copy of a model with the shapes that onnx infers; see onnx.shape_inference.infer_shapes.

    `strict`: an error of a node is raised, where otherwise nothing is inferred of its results. `data_prop`: the
    elements of small integer values are computed, too. Raises InferenceError.
    """
    content = model.SerializeToString()
    objects, answer = _KEPT.ask(content, SECONDS + len(content) // BYTES_A_SECOND, strict, data_prop)
    if objects:
        raise InferenceError(answer.decode(errors="replace"))
    inferred: ModelProto = type(model).FromString(answer)
    return inferred


def start() -> None:
    """Start the process that `infer_shapes` will ask, so that the caller does other work meanwhile."""
    _KEPT.start()


class _KeptProcess:
    """The process: one for all questions, since its start takes longer than most answers. Threads take turns."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._process: AskedProcess | None = None
        atexit.register(self._end)

    def start(self) -> None:
        with self._turn:
            self._running()

    def ask(self, model: bytes, seconds: float, *flags: bool) -> tuple[bool, bytes]:
        """Return whether onnx objects, and its error's text or the model with shapes. Raises InferenceError."""
        from graphfix.runtimes.pipes import GONE, cause

        with self._turn:
            process = self._running()
            begun = time.monotonic()
            try:
                answer: tuple[bool, bytes] = process.ask((model, seconds, *flags))
            except GONE:
                status = self._end()
                if status == TIMEOUT_STATUS and time.monotonic() - begun >= seconds:
                    why = f"onnx's inference was stopped: no answer within {seconds:g} seconds"
                else:
                    why = f"onnx's inference aborts its process ({cause(status)})"
                raise InferenceError(why, aborted=True) from None
            except BaseException:  # an interrupt: the next caller must not read the answer to this question
                process.kill()
                self._end()
                raise
            return answer

    def _running(self) -> AskedProcess:
        from pathlib import Path

        import onnx

        from graphfix.runtimes.pipes import AskedProcess, script

        # the system may end one that waits, and a fork is told so of the one that it did not start
        if self._process is not None and self._process.has_ended:
            self._end()
        if self._process is None:
            worker = Path(__file__).with_name("shape_inference_worker.py")
            self._process = AskedProcess(script(worker, str(Path(onnx.__file__).parent)))
        return self._process

    def _end(self) -> int:
        process, self._process = self._process, None
        return 0 if process is None else process.end()


_KEPT = _KeptProcess()
