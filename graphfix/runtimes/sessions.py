"""Sessions of loaded models, in this process or in another one, each known by the request that loaded it."""

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
"""How long one request may take before its process is stopped."""
FED = 1024
"""How many times the bytes of its inputs a run may take, where a request has a limit of memory."""
RUNTIME = 160 << 20
OF_A_THREAD = 24 << 20
"""Bytes of data of a process that has imported a runtime, and of each of its threads: measured are 110 and 8 MiB."""
_NO_MEMORY = ("bad_alloc", "Failed to allocate memory", "there is no more memory")
"""How runtimes, and the worker, say that there is none: within a limit the machine may have more."""


class Sessions(ABC):
    """The sessions of one process. It loads models and runs them, within a limit of memory if there is one."""

    def __init__(self, seconds: float = LONGEST_SECONDS) -> None:
        self.seconds = seconds
        """How long one request may take, where another process answers it."""
        self.memory: int | None = None
        """Bytes of memory that a request may take, beside `FED` times those that a run is fed; None for no limit."""
        self.kept = 1
        """The most models that are loaded at the same time; one more takes the place of the one that was loaded first.

        If it is 1, `load` loads a model again even if it is loaded, since what a runtime does may depend on what it did
        before. If it is more, `load` returns the session that is there."""
        self._loaded: dict[LoadRequest, tuple[int, Any]] = {}
        """By request: the number of its session in the process, and the session's interface."""
        self._numbers = itertools.count()
        self._began_with: int | None = None
        """The bytes of data that the process had before its first request with a limit of memory."""

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
        """Load an ONNX model as graphfix.runtimes.onnx.onnxruntime does. Raises RefusedError.

        `expose` names values of the main graph that become outputs, behind the model's own; `observe` pairs values
        with names for their shapes, which `run_observed` returns. `folder` contains the external data of a
        model that is given as bytes. Without an `arena` onnxruntime keeps no memory from one run to the next.
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
        """Load a TFLite model as graphfix.runtimes.litert.interpreter does. Raises RefusedError."""
        options = {"kernels": kernels, "signature": signature, "expose": tuple(expose)}
        request = LoadRequest("LiteRT", model, tuple(options.items()))
        interface: ModelDetails = self._load(request)
        return LitertSession(self, request, interface)

    def run(self, request: LoadRequest, feeds: Mapping[str, object]) -> list[object]:
        """Run the model of a load request once. Raises RefusedError, also where the process aborts."""
        outputs: list[object] = self.ask(request, "run", dict(feeds))
        return outputs

    def ask(self, request: LoadRequest, method: str, *arguments: object) -> Any:  # noqa: ANN401 - the session's own answer
        """Call a method of the session of a load request; load the model again if another one took its place.

        Raises RefusedError.
        """
        return self._retried(partial(self._ask_once, request, method, *arguments))

    def _ask_once(self, request: LoadRequest, method: str, *arguments: object) -> Any:  # noqa: ANN401 - see above
        if request not in self._loaded:
            self._load_once(request)
        return self._answer(request.runtime, ("ask", self._loaded[request][0], method, *arguments))

    def _load(self, request: LoadRequest) -> Any:  # noqa: ANN401 - the session's interface
        if self.kept > 1 and request in self._loaded:
            return self._loaded[request][1]
        return self._retried(partial(self._load_once, request))

    def _load_once(self, request: LoadRequest) -> Any:  # noqa: ANN401 - the session's interface
        dropped = [self._loaded.pop(each)[0] for each in list(self._loaded)[: len(self._loaded) + 1 - self.kept]]
        number = next(self._numbers)
        message = "load", number, dropped, request.runtime, request.model, dict(request.options)
        interface = self._answer(request.runtime, message)
        self._loaded[request] = number, interface
        return interface

    def _retried(self, attempt: Callable[[], _Answer]) -> _Answer:
        """Make an attempt, and another without the limit of memory if the process aborted in the first one.

        Not every runtime says that it got no memory.
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
        """Limit the memory of a process during a request with these arguments."""
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
        """Return what a runtime refused as an error, `stopped` if it found no memory within the limit."""
        lacking = self.memory is not None and any(words in text for words in _NO_MEMORY)
        return RefusedError(text, missing_kernel=missing_kernel, custom=custom, stopped=lacking)


class InThisProcess(Sessions):
    """The sessions of the calling process: a runtime that aborts ends it."""

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
    """A request to load a model: the runtime's name, the model, and the options of its `load`."""

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
        """Run once. Raises RefusedError, also where the process aborts."""
        return self.sessions.run(self.request, feeds)

    def run_observed(self, feeds: Mapping[str, object]) -> tuple[list[object], list[tuple[int, ...]]]:
        """Run once; return the shapes of the observed values too, in that order. Raises RefusedError."""
        answer: tuple[list[object], list[tuple[int, ...]]] = self.sessions.ask(
            self.request, "run_observed", dict(feeds)
        )
        return answer


@dataclass(frozen=True, slots=True)
class LitertSession:
    """A loaded TFLite model, with what LiteRT reports of its inputs and outputs."""

    sessions: Sessions = field(repr=False)
    request: LoadRequest
    interface: ModelDetails

    @property
    def inputs(self) -> tuple[TensorDetails, ...]:
        """The inputs of the model, in its order."""
        return self.interface.inputs

    @property
    def outputs(self) -> tuple[str, ...]:
        """The names of the outputs of `run`, in its order; the exposed tensors follow the outputs of the model."""
        return tuple(spec.name for spec in self.interface.outputs)

    def tensors(self) -> list[str]:
        """Return the names of all tensors of the subgraph that is run, each once, by index. Raises RefusedError."""
        names: list[str] = self.sessions.ask(self.request, "tensors")
        return names

    def run(self, feeds: Mapping[str, object]) -> list[object]:
        """Run once on values by input name. Raises RefusedError, also where the process aborts."""
        return self.sessions.run(self.request, feeds)

    def run_observed(
        self, feeds: Mapping[str, object], tensors: Sequence[int]
    ) -> tuple[list[object], list[tuple[int, ...]]]:
        """Run once; return the shapes that these tensors have then, in that order. Raises RefusedError."""
        answer: tuple[list[object], list[tuple[int, ...]]] = self.sessions.ask(
            self.request, "run_observed", dict(feeds), tuple(tensors)
        )
        return answer


def more_outputs(expose: Sequence[str], observe: Sequence[tuple[str, str]]) -> bytes:
    """Return a serialized ModelProto with the outputs `expose`, then shapes; `observe`: (value, name of its shape).

    Appended to the bytes of a model, it makes these inner values come out, and the model need not be read: protobuf
    merges concatenated messages, so a second ModelProto adds its nodes and outputs to those of the file.
    """
    if not (expose or observe):
        return b""
    from graphfix.results.onnx_messages import ModelProto  # a run of TFLite imports no protobuf

    model = ModelProto()
    for name in expose:
        model.graph.output.add().name = name
    for value, shape in observe:
        model.graph.node.add(op_type="Shape", input=[value], output=[shape])
        model.graph.output.add().name = shape
    serialized: bytes = model.SerializeToString()
    return serialized
