"""Run onnx's shape inference in a child process, which is reused for further calls.

onnx's native code trusts the model. It asserts that no Slice reads a negative size, reads operands that a node may
lack, and never ends on an Einsum equation that contains a digit. A model with such a fault must not end or stop
graphfix itself.
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
"""The time limit of an inference, to which one second is added for every `BYTES_A_SECOND` bytes of the model."""
BYTES_A_SECOND = 20_000
"""The assumed speed of the inference: a hundredth of the speed that was measured on 2 slow cores."""
TIMEOUT_STATUS = 1
"""The exit status of the process when `faulthandler` ends it after the time limit."""


class InferenceError(Exception):
    """Raised with the reason if onnx's shape inference returns no model."""

    def __init__(self, message: str, *, aborted: bool = False) -> None:
        super().__init__(message)
        self.aborted = aborted
        """Whether the child process ended or was stopped. In that case the error is no statement about the model."""


def infer_shapes(model: ModelProto, *, strict: bool = False, data_prop: bool = False) -> ModelProto:
    """Return a copy of the model with the shapes that onnx infers; see onnx.shape_inference.infer_shapes.

    `strict`: an error in a node raises InferenceError. Otherwise nothing is inferred for the results of that node.
    `data_prop`: elements of small integer values are computed, too. Raises InferenceError.
    """
    content = model.SerializeToString()
    objects, answer = _KEPT.ask(content, SECONDS + len(content) // BYTES_A_SECOND, strict, data_prop)
    if objects:
        raise InferenceError(answer.decode(errors="replace"))
    inferred: ModelProto = type(model).FromString(answer)
    return inferred


def start() -> None:
    """Start the child process that `infer_shapes` uses, so that the caller can do other work meanwhile."""
    _KEPT.start()


class _KeptProcess:
    """The child process for all inferences. It is kept because its start takes longer than most inferences.

    Only one thread at a time can use it.
    """

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._process: AskedProcess | None = None
        atexit.register(self._end)

    def start(self) -> None:
        """Start the child process if it does not run."""
        with self._turn:
            self._running()

    def ask(self, model: bytes, seconds: float, *flags: bool) -> tuple[bool, bytes]:
        """Return (True, the text of onnx's error) or (False, the serialized model with shapes).

        `seconds` is the time limit; `flags` are `strict` and `data_prop`. Raises InferenceError if the process ended.
        """
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
            except BaseException:  # After an interrupt, the next caller must not read the answer to this request.
                process.kill()
                self._end()
                raise
            return answer

    def _running(self) -> AskedProcess:
        """Return the child process; start it if there is none or it has ended."""
        from pathlib import Path

        import onnx

        from graphfix.runtimes.pipes import AskedProcess, script

        # The system may end an idle process. A fork of this process learns in the same way that the child is not the
        # fork's own.
        if self._process is not None and self._process.has_ended:
            self._end()
        if self._process is None:
            worker = Path(__file__).with_name("shape_inference_worker.py")
            self._process = AskedProcess(script(worker, str(Path(onnx.__file__).parent)))
        return self._process

    def _end(self) -> int:
        """End the child process if there is one, and return its exit status (0 without a process)."""
        process, self._process = self._process, None
        return 0 if process is None else process.end()


_KEPT = _KeptProcess()
