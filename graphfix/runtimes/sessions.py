"""Sessions of loaded models in this process or in a child process.

Each session is found by the request that loaded it.
"""

from __future__ import annotations

import itertools
import os
from abc import ABC, abstractmethod
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any, Self, TypeVar

from graphfix.results.records import dataclass, field
from graphfix.runtimes.session import RefusedError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from graphfix.runtimes.session import ModelDetails, TensorDetails

    _Answer = TypeVar("_Answer")

LONGEST_SECONDS = 600.0
"""The default time limit of one request, after which its process is stopped."""
FED = 1024
"""A run with a limit of memory may use this multiple of its inputs' bytes in addition to the limit."""
RUNTIME = 160 << 20
OF_A_THREAD = 24 << 20
"""Bytes of data memory of each thread; `RUNTIME` are those of a process that has imported a runtime.

Measured: 110 MiB for a process, and 8 MiB for a thread.
"""
_NO_MEMORY = ("bad_alloc", "Failed to allocate memory", "there is no more memory")
"""Parts of the messages of runtimes, and of the worker, that mean: no more memory.

If a limit is set, the machine may still have more memory.
"""


class Sessions(ABC):
    """The sessions of one process: loads models and runs them, with a limit of memory if `memory` is set."""

    def __init__(self, seconds: float = LONGEST_SECONDS) -> None:
        self.seconds = seconds
        """The time limit of one request, if another process answers it."""
        self.memory: int | None = None
        """Bytes of memory that a request may use; None for no limit.

        A run may also use `FED` times the bytes of its inputs.
        """
        self.kept = 1
        """The maximum number of models that are loaded at the same time. A further model replaces the oldest one.

        If it is 1, `load` loads a model again even if it is already loaded, because a runtime may behave differently
        after earlier runs. If it is more, `load` returns the session that already exists.
        """
        self._loaded: dict[LoadRequest, tuple[int, Any]] = {}
        """Load request -> (number of its session in the process, the session's interface)."""
        self._numbers = itertools.count()
        self._began_with: int | None = None
        """The bytes of data memory that the process used before its first request with a limit of memory."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @abstractmethod
    def close(self) -> None:
        """Drop all sessions."""

    @abstractmethod
    def _answer(self, runtime: str, message: tuple[object, ...]) -> Any:  # noqa: ANN401 - of the worker's messages
        """Return the answer of graphfix.runtimes.worker to a message. Raises RefusedError."""

    def load(
        self,
        model: Path | bytes,
        *,
        optimized: bool = False,
        expose: Sequence[str] = (),
        observe: Sequence[tuple[str, str]] = (),
        folder: Path | None = None,
        arena: bool = True,
    ) -> OnnxSession:
        """Load an ONNX model in onnxruntime, and return its session. Raises RefusedError.

        `expose` lists values of the main graph that become outputs after the model's own. `observe` lists pairs (value,
        name for its shape); `run_observed` returns these shapes. `folder` contains the external data of a model that is
        passed as bytes. Without an `arena`, onnxruntime keeps no memory from one run to the next. `optimized` is
        described in graphfix.runtimes.onnx.onnxruntime.load.
        """
        shapes = tuple(shape for _, shape in observe)
        more = more_outputs(expose, observe)
        options = {"optimized": optimized, "more": more, "shapes": shapes, "folder": folder, "arena": arena}
        request = LoadRequest("onnxruntime", model, tuple(options.items()))
        outputs: tuple[str, ...] = self._load(request)
        return OnnxSession(self, request, outputs)

    def load_tflite(
        self, model: Path | bytes, kernels: str, *, signature: str | None = None, expose: Sequence[str] = ()
    ) -> LitertSession:
        """Load a TFLite model in LiteRT, and return its session. Raises RefusedError.

        The parameters are those of graphfix.runtimes.litert.interpreter.load.
        """
        options = {"kernels": kernels, "signature": signature, "expose": tuple(expose)}
        request = LoadRequest("LiteRT", model, tuple(options.items()))
        interface: ModelDetails = self._load(request)
        return LitertSession(self, request, interface)

    def run(self, request: LoadRequest, feeds: Mapping[str, object]) -> list[object]:
        """Run the model of a load request once, and return the outputs.

        Raises RefusedError, also if the process aborts.
        """
        outputs: list[object] = self.ask(request, "run", dict(feeds))
        return outputs

    def ask(self, request: LoadRequest, method: str, *arguments: object) -> Any:  # noqa: ANN401 - the session's own answer
        """Call a method of the session of a load request, and return its result.

        If another model has replaced this one, the model is loaded again first. Raises RefusedError.
        """
        return self._retried(partial(self._ask_once, request, method, *arguments))

    def _ask_once(self, request: LoadRequest, method: str, *arguments: object) -> Any:  # noqa: ANN401 - see above
        """Load the model if it is not loaded, and call a method of its session."""
        if request not in self._loaded:
            self._load_once(request)
        return self._answer(request.runtime, ("ask", self._loaded[request][0], method, *arguments))

    def _load(self, request: LoadRequest) -> Any:  # noqa: ANN401 - the session's interface
        """Return the interface of the request's session.

        The model is loaded, unless `kept` permits to reuse a loaded one.
        """
        if self.kept > 1 and request in self._loaded:
            return self._loaded[request][1]
        return self._retried(partial(self._load_once, request))

    def _load_once(self, request: LoadRequest) -> Any:  # noqa: ANN401 - the session's interface
        """Load a model, and return its session's interface.

        If `kept` models are already loaded, the oldest ones are dropped first.
        """
        dropped = [self._loaded.pop(each)[0] for each in list(self._loaded)[: len(self._loaded) + 1 - self.kept]]
        number = next(self._numbers)
        message = "load", number, dropped, request.runtime, request.model, dict(request.options)
        interface = self._answer(request.runtime, message)
        self._loaded[request] = number, interface
        return interface

    def _retried(self, attempt: Callable[[], _Answer]) -> _Answer:
        """Call `attempt`. If the process aborts in that call, call it again without the limit of memory.

        The second call is necessary because not every runtime reports that it got no memory.
        """
        try:
            return attempt()
        except RefusedError as error:
            if not error.aborted or error.stopped or self.memory is None:
                raise
        memory, self.memory = self.memory, None
        try:
            return attempt()
        finally:
            self.memory = memory

    def _limited(self, pid: int, arguments: Sequence[object]) -> AbstractContextManager[None]:
        """Return a context that limits the memory of a process during one request.

        The limit depends on the size of the inputs, which are found in `arguments` (the arguments of the message).
        """
        if self.memory is None:
            return nullcontext()
        from graphfix.runtimes.memory import data_of, limited

        if self._began_with is None:
            self._began_with = data_of(pid)
        fed = (value for each in arguments if isinstance(each, dict) for value in each.values())
        own = self._began_with + RUNTIME + OF_A_THREAD * (os.cpu_count() or 1)
        inputs = sum(int(getattr(value, "nbytes", 0)) for value in fed)
        return limited(pid, own + self.memory + FED * inputs)

    def _refusal(self, text: str, *, missing_kernel: bool = False, custom: str = "") -> RefusedError:
        """Return a runtime's message as a RefusedError.

        It is `stopped` if the runtime found no memory within the limit.
        """
        lacking = self.memory is not None and any(words in text for words in _NO_MEMORY)
        return RefusedError(text, missing_kernel=missing_kernel, custom=custom, stopped=lacking)


class InThisProcess(Sessions):
    """Sessions in the calling process. A runtime that aborts ends that process."""

    def __init__(self) -> None:
        super().__init__()
        self._sessions: dict[int, Any] = {}

    def close(self) -> None:
        """Drop all sessions."""
        self._loaded.clear()
        self._sessions.clear()

    def _answer(self, runtime: str, message: tuple[object, ...]) -> Any:  # noqa: ANN401 - of the worker's messages
        from graphfix.runtimes.worker import answered

        kind, *arguments = message
        try:
            with self._limited(os.getpid(), arguments):
                return answered(self._sessions, str(kind), *arguments)
        except MemoryError:
            raise self._refusal(f"{runtime}: there is no more memory") from None
        except RefusedError as error:
            raise self._refusal(str(error), missing_kernel=error.missing_kernel, custom=error.custom) from None


@dataclass(frozen=True, slots=True)
class LoadRequest:
    """A request to load a model: the runtime's name, the model, and the options for the runtime's `load`."""

    runtime: str
    model: Path | bytes = field(repr=False)
    options: tuple[tuple[str, object], ...]


@dataclass(frozen=True, slots=True)
class OnnxSession:
    """A loaded ONNX model, with the names of its outputs."""

    sessions: Sessions = field(repr=False)
    request: LoadRequest
    outputs: tuple[str, ...]

    def run(self, feeds: Mapping[str, object]) -> list[object]:
        """Run the model once on `feeds` (by input name). Raises RefusedError, also if the process aborts."""
        return self.sessions.run(self.request, feeds)

    def run_observed(self, feeds: Mapping[str, object]) -> tuple[list[object], list[tuple[int, ...]]]:
        """Run the model once; return the outputs, and the shapes of the observed values in the order of `observe`.

        Raises RefusedError.
        """
        answer: tuple[list[object], list[tuple[int, ...]]] = self.sessions.ask(
            self.request, "run_observed", dict(feeds)
        )
        return answer


@dataclass(frozen=True, slots=True)
class LitertSession:
    """A loaded TFLite model, with the details of its inputs and outputs that LiteRT reports."""

    sessions: Sessions = field(repr=False)
    request: LoadRequest
    interface: ModelDetails

    @property
    def inputs(self) -> tuple[TensorDetails, ...]:
        """The inputs of the model, in the model's order."""
        return self.interface.inputs

    @property
    def outputs(self) -> tuple[str, ...]:
        """The names of the values that `run` returns, in the same order.

        Exposed tensors follow the outputs of the model.
        """
        return tuple(spec.name for spec in self.interface.outputs)

    def tensors(self) -> list[str]:
        """Return a unique name for each tensor of the subgraph that is run, in the order of tensor indices.

        Raises RefusedError.
        """
        names: list[str] = self.sessions.ask(self.request, "tensors")
        return names

    def run(self, feeds: Mapping[str, object]) -> list[object]:
        """Run the model once on `feeds` (by input name). Raises RefusedError, also if the process aborts."""
        return self.sessions.run(self.request, feeds)

    def run_observed(
        self, feeds: Mapping[str, object], tensors: Sequence[int]
    ) -> tuple[list[object], list[tuple[int, ...]]]:
        """Run the model once; return the outputs, and the shapes of the tensors with these indices after the run.

        Raises RefusedError.
        """
        answer: tuple[list[object], list[tuple[int, ...]]] = self.sessions.ask(
            self.request, "run_observed", dict(feeds), tuple(tensors)
        )
        return answer


def more_outputs(expose: Sequence[str], observe: Sequence[tuple[str, str]]) -> bytes:
    """Return a serialized ModelProto that adds outputs to a model: the values `expose`, then shapes.

    `observe` contains pairs (value, name of the output for its shape). A caller appends the returned bytes to the bytes
    of a model. Protobuf merges concatenated messages, so the nodes and outputs are added, and the model need not be
    parsed. The result is empty if there is nothing to add.
    """
    if not (expose or observe):
        return b""
    # The import is here so that a run of a TFLite model imports no protobuf.
    from graphfix.results.onnx_messages import ModelProto

    model = ModelProto()
    for name in expose:
        model.graph.output.add().name = name
    for value, shape in observe:
        model.graph.node.add(op_type="Shape", input=[value], output=[shape])
        model.graph.output.add().name = shape
    serialized: bytes = model.SerializeToString()
    return serialized
