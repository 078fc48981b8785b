"""A runtime or a tool in a process apart: a model on which it aborts or hangs is refused, and nothing else is lost."""

from __future__ import annotations

import itertools
import os
import subprocess
import tempfile
from collections.abc import Mapping
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias

from graphfix.results.faults import InternalError
from graphfix.results.records import dataclass, field
from graphfix.runtimes.more_outputs import more_outputs
from graphfix.runtimes.pipes import GONE, AskedProcess, cause, environment, module
from graphfix.runtimes.session import RefusedError
from graphfix.runtimes.watch import Watch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from graphfix.runtimes.session import ModelDetails, TensorDetails

Runtime: TypeAlias = Literal["onnxruntime", "LiteRT"]

LONGEST_SECONDS = 600.0
"""How long one request may take before the process is stopped."""
FED = 1024
"""How many times the bytes of its inputs a run may take, where a request has a limit of memory."""
RUNTIME = 160 << 20
OF_A_THREAD = 24 << 20
"""Bytes of data of a process that has imported a runtime, and of each of its threads: measured are 110 and 8 MiB."""
_NO_MEMORY = ("bad_alloc", "Failed to allocate memory", "there is no more memory")
"""How runtimes, and the worker, say that there is none: within a limit the machine may have more."""
_PACKAGES: Mapping[Runtime, str] = {"onnxruntime": "onnxruntime", "LiteRT": "ai_edge_litert.interpreter"}
_LONGEST_LINE = 4096
"""Of a line only so much is read: MLIR's notes print whole weights."""


class Child:
    """One process with one loaded model at a time, or more; started when it is needed and again after an abort."""

    def __init__(self, seconds: float = LONGEST_SECONDS) -> None:
        self.seconds = seconds
        """How long one request may take."""
        self.memory: int | None = None
        """Bytes of memory that a request may take, beside `FED` times those that a run is fed; None for no limit."""
        self._began_with: int | None = None
        """The bytes of data that the process had before its first request with a limit of memory."""
        self._process: AskedProcess | None = None
        self.kept = 1
        """How many models are loaded at a time. If there is room for more than one, a model is loaded once; with one
        each load is a fresh one, since what a runtime does may depend on what it did before."""
        self._loaded: dict[LoadRequest, tuple[int, Any]] = {}
        """By request: the number that the process knows the session by, and its interface."""
        self._numbers = itertools.count()
        self._scratch = tempfile.TemporaryDirectory(prefix="graphfix-")
        """Its temporary files: they go with it, however it ends."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def start(self, runtime: Runtime, *modules: str) -> None:
        """Start the process, and have it import a runtime, and modules, while this one goes on."""
        with suppress(*GONE):  # the first request meets the same fault
            (self._process or self._started()).tell(("import", _PACKAGES[runtime], *modules))

    def close(self) -> None:
        """End the process at once, since it holds nothing that is wanted, and remove its files."""
        try:
            if self._process is not None:
                self._process.kill()
            self._stop()
        finally:
            self._scratch.cleanup()

    def begin(self, module: str, function: str, *arguments: object) -> None:
        """Have the process call a function of this package, while this one goes on."""
        with suppress(*GONE):  # `finish` meets the same fault
            (self._process or self._started()).tell(("call", module, function, *arguments))

    def finish(self) -> Any:  # noqa: ANN401 - whatever the function returns
        """Return what the function returned that was called last. Raises RefusedError if the process ended."""
        process = self._process or self._started()
        watch = Watch(process.kill, self.seconds)
        try:
            with watch:
                kind, *answer = process.answer()
        except GONE:
            raise RefusedError(f"the process ended ({cause(self._stop())})", aborted=True) from None
        if kind == "fault":
            raise InternalError(answer[0])
        return answer[0]

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
        """Load an ONNX model as runtimes.onnxruntime does, in the place of the model before. Raises RefusedError.

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
        """Load a TFLite model as graphfix.runtimes.litert_session does, likewise. Raises RefusedError."""
        options = {"kernels": kernels, "signature": signature, "expose": tuple(expose)}
        request = LoadRequest("LiteRT", model, tuple(options.items()))
        interface: ModelDetails = self._load(request)
        return LitertSession(self, request, interface)

    def run(self, request: LoadRequest, feeds: Mapping[str, object]) -> list[object]:
        """Run the model of a load request once. Raises RefusedError, also where the process aborts."""
        outputs: list[object] = self.ask(request, "run", dict(feeds))
        return outputs

    def _limited(self, pid: int, arguments: Sequence[object]) -> AbstractContextManager[None]:
        """Limit the memory of a process during a request with these arguments."""
        if self.memory is None:
            return nullcontext()
        from graphfix.runtimes.memory import data_of, limited  # psutil: `doctor` answers without any package

        if self._began_with is None:
            self._began_with = data_of(pid)
        fed = (value for each in arguments if isinstance(each, dict) for value in each.values())
        own = self._began_with + RUNTIME + OF_A_THREAD * (os.cpu_count() or 1)
        inputs = sum(int(getattr(value, "nbytes", 0)) for value in fed)
        return limited(pid, own + self.memory + FED * inputs)

    def ask(self, request: LoadRequest, method: str, *arguments: object) -> Any:  # noqa: ANN401 - the session's own answer
        """Call a method of the session of a load request, loading it again where another took its place."""
        if request not in self._loaded:
            self._load(request)
        try:
            return self._answer(request.runtime, ("ask", self._loaded[request][0], method, *arguments))
        except RefusedError as error:
            if not self._may_lack_memory(error):
                raise
        with self._unlimited():
            self._load(request)
            return self._answer(request.runtime, ("ask", self._loaded[request][0], method, *arguments))

    def _load(self, request: LoadRequest) -> Any:  # noqa: ANN401 - the session's interface
        if self.kept > 1 and request in self._loaded:
            return self._loaded[request][1]
        dropped = [self._loaded.pop(each)[0] for each in list(self._loaded)[: len(self._loaded) + 1 - self.kept]]
        number = next(self._numbers)
        message = "load", number, dropped, request.runtime, request.model, dict(request.options)
        try:
            interface = self._answer(request.runtime, message)
        except RefusedError as error:
            if not self._may_lack_memory(error):
                raise
            with self._unlimited():
                interface = self._answer(request.runtime, message)
        self._loaded[request] = number, interface
        return interface

    def _may_lack_memory(self, error: RefusedError) -> bool:
        """Return whether the process ended, perhaps because of the limit of memory: not every runtime says so."""
        return error.aborted and not error.stopped and self.memory is not None

    @contextmanager
    def _unlimited(self) -> Iterator[None]:
        memory, self.memory = self.memory, None
        try:
            yield
        finally:
            self.memory = memory

    def _answer(self, runtime: str, message: tuple[object, ...]) -> Any:  # noqa: ANN401 - see above
        process = self._process or self._started()
        watch = Watch(process.kill, self.seconds)
        try:
            with watch, self._limited(process.pid, message):
                kind, *answer = process.ask(message)
        except GONE:
            why = f"{runtime} aborts the process ({cause(self._stop())})"
            stopped = f"{runtime} was stopped: no answer within {self.seconds:g} seconds"
            raise RefusedError(stopped if watch.expired else why, aborted=True, stopped=watch.expired) from None
        if kind == "refused":
            text, missing, custom = answer
            lacking = self.memory is not None and any(words in str(text) for words in _NO_MEMORY)
            raise RefusedError(str(text), missing_kernel=bool(missing), custom=str(custom), stopped=lacking)
        if kind == "fault":
            raise InternalError(answer[0])
        return answer[0]

    def _started(self) -> AskedProcess:
        folder = self._scratch.name
        self._process = AskedProcess(module("graphfix.runtimes.worker"), {"TMPDIR": folder, "TEMP": folder})
        self._began_with = None
        return self._process

    def _stop(self) -> int:
        process, self._process = self._process, None
        self._loaded.clear()
        return 0 if process is None else process.end()


class Here(Child):
    """What a child does, in this process: a runtime that aborts ends it."""

    def __init__(self) -> None:
        super().__init__()
        self._sessions: dict[int, Any] = {}

    def _answer(self, runtime: str, message: tuple[object, ...]) -> Any:  # noqa: ANN401 - the session's own answer
        from graphfix.runtimes.worker import answered

        kind, *arguments = message
        try:
            with self._limited(os.getpid(), arguments):
                return answered(self._sessions, str(kind), *arguments)
        except MemoryError:
            raise RefusedError(f"{runtime}: there is no more memory", stopped=self.memory is not None) from None
        except RefusedError as error:
            if self.memory is not None and any(words in str(error) for words in _NO_MEMORY):
                raise RefusedError(str(error), stopped=True) from None
            raise


@dataclass(frozen=True, slots=True)
class LoadRequest:
    """What a child is asked to load: the runtime's name, the model, and the options of its `load`."""

    runtime: str
    model: Path | bytes = field(repr=False)
    options: tuple[tuple[str, object], ...]


@dataclass(frozen=True, slots=True)
class OnnxSession:
    """An ONNX model in the child, with the names of its outputs."""

    child: Child = field(repr=False)
    request: LoadRequest
    outputs: tuple[str, ...]

    def run(self, feeds: Mapping[str, object]) -> list[object]:
        """Run once. Raises RefusedError, also where the process aborts."""
        return self.child.run(self.request, feeds)

    def run_observed(self, feeds: Mapping[str, object]) -> tuple[list[object], list[tuple[int, ...]]]:
        """Run once; return the shapes of the observed values too, in that order. Raises RefusedError."""
        answer: tuple[list[object], list[tuple[int, ...]]] = self.child.ask(self.request, "run_observed", dict(feeds))
        return answer


@dataclass(frozen=True, slots=True)
class LitertSession:
    """A TFLite model in the child, with what LiteRT reports of its inputs and outputs."""

    child: Child = field(repr=False)
    request: LoadRequest
    interface: ModelDetails

    @property
    def inputs(self) -> tuple[TensorDetails, ...]:
        """What must be fed, in the model's order."""
        return self.interface.inputs

    @property
    def outputs(self) -> tuple[str, ...]:
        """The names of what `run` returns, in that order; the exposed tensors come behind the model's own."""
        return tuple(spec.name for spec in self.interface.outputs)

    def tensors(self) -> list[str]:
        """Return the names of all tensors of the subgraph that is run, each once, by index. Raises RefusedError."""
        names: list[str] = self.child.ask(self.request, "tensors")
        return names

    def run(self, feeds: Mapping[str, object]) -> list[object]:
        """Run once on values by input name. Raises RefusedError, also where the process aborts."""
        return self.child.run(self.request, feeds)

    def run_observed(
        self, feeds: Mapping[str, object], tensors: Sequence[int]
    ) -> tuple[list[object], list[tuple[int, ...]]]:
        """Run once; return the shapes that these tensors have then, in that order. Raises RefusedError."""
        answer: tuple[list[object], list[tuple[int, ...]]] = self.child.ask(
            self.request, "run_observed", dict(feeds), tuple(tensors)
        )
        return answer


@dataclass(frozen=True, slots=True)
class Ended:
    """A process that has ended."""

    cause: str
    """Why it ended badly: a signal's name or an exit status; empty where it ended well."""
    killed: bool
    """Whether a signal ended it."""
    errors: tuple[str, ...]
    """What it complained of on its standard error, each complaint once, in order."""
    last: str
    """The last line it printed."""


def finished(
    tool: str,
    command: Sequence[str],
    complaint: Callable[[str], str],
    *,
    given: bytes = b"",
    folder: Path | None = None,
    seconds: float,
) -> Ended:
    """Run a command to its end, in `folder` or nowhere. Raises RefusedError, `aborted`, after `seconds`.

    `complaint` returns what a line of its output complains of, or nothing. Its PATH is an empty folder: the
    reference model calls a debugger on a core dump, LLVM a symbolizer.
    """
    with tempfile.TemporaryDirectory() as scratch:
        log = Path(scratch) / "log"
        with log.open("wb") as printed:
            try:
                ended = subprocess.run(  # noqa: S603 - programs that this package or its tools installed
                    command,
                    input=given,
                    stdout=printed,
                    stderr=printed,
                    cwd=folder or scratch,
                    env={**environment(), "PATH": scratch},
                    timeout=seconds,
                    check=False,
                )
            except subprocess.TimeoutExpired:
                stopped = f"{tool} was stopped: no answer within {seconds:g} seconds"
                raise RefusedError(stopped, aborted=True) from None
        errors, last = _complaints(log, complaint)
    return Ended(cause(ended.returncode) if ended.returncode else "", ended.returncode < 0, errors, last)


def _complaints(log: Path, complaint: Callable[[str], str]) -> tuple[tuple[str, ...], str]:
    """Read what a log complains of, each complaint once, and its last line."""
    last, found = "", []
    with log.open(encoding="utf-8", errors="replace") as printed:
        for line in printed:
            last = line[:_LONGEST_LINE].strip() or last
            found.append(complaint(line[:_LONGEST_LINE]))
    return tuple(dict.fromkeys(filter(None, found))), last
