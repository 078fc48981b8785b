"""A runtime or a tool in a process apart: a model on which it aborts or hangs is refused, and nothing else is lost."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from graphfix.results.faults import InternalError
from graphfix.results.records import dataclass
from graphfix.runtimes.pipes import GONE, AskedProcess, Watch, cause, environment, module
from graphfix.runtimes.session import RefusedError
from graphfix.runtimes.sessions import LONGEST_SECONDS, Sessions

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Runtime: TypeAlias = Literal["onnxruntime", "LiteRT"]

_PACKAGES: Mapping[Runtime, str] = {"onnxruntime": "onnxruntime", "LiteRT": "ai_edge_litert.interpreter"}
_LONGEST_LINE = 4096
"""Of a line only so much is read: MLIR's notes print whole weights."""


class Child(Sessions):
    """The sessions of another process, which is started when it is needed, and again after a runtime has aborted it."""

    def __init__(self, seconds: float = LONGEST_SECONDS) -> None:
        super().__init__(seconds)
        self._process: AskedProcess | None = None
        self._scratch = tempfile.TemporaryDirectory(prefix="graphfix-")
        """Its temporary files: they go with it, however it ends."""

    def start(self, runtime: Runtime, *modules: str) -> None:
        """Start the process, and have it import a runtime, and modules, while this one goes on."""
        self._tell(("import", _PACKAGES[runtime], *modules))

    def close(self) -> None:
        """End the process at once, since it holds nothing that is wanted, and remove its files."""
        try:
            if self._process is not None:
                self._process.kill()
            self._stop()
        finally:
            self._scratch.cleanup()

    def begin(self, module: str, function: str, *arguments: object) -> None:
        """Have the process call a function of this package, while this one goes on; `finish` returns its result."""
        self._tell(("call", module, function, *arguments))

    def finish(self) -> Any:  # noqa: ANN401 - whatever the function returns
        """Return what the function returned that was called last. Raises RefusedError if the process ended."""
        return self._received(self._process or self._started(), "the runtime")

    def _tell(self, message: tuple[object, ...]) -> None:
        with suppress(*GONE):  # whoever waits for the answer, or asks next, meets the same fault
            (self._process or self._started()).tell(message)

    def _answer(self, runtime: str, message: tuple[object, ...]) -> Any:  # noqa: ANN401 - of the worker's messages
        process = self._process or self._started()
        with self._limited(process.pid, message):
            return self._received(process, runtime, message)

    def _received(self, process: AskedProcess, runtime: str, message: tuple[object, ...] | None = None) -> Any:  # noqa: ANN401 - see above
        """Return the answer to a message, or to the one that was sent before if there is none. Raises RefusedError."""
        watch = Watch(process.kill, self.seconds)
        try:
            with watch:
                kind, *answer = process.answer() if message is None else process.ask(message)
        except GONE:
            why = f"{runtime} aborts the process ({cause(self._stop())})"
            stopped = f"{runtime} was stopped: no answer within {self.seconds:g} seconds"
            raise RefusedError(stopped if watch.expired else why, aborted=True, stopped=watch.expired) from None
        if kind == "refused":
            text, missing, custom = answer
            raise self._refusal(str(text), missing_kernel=bool(missing), custom=str(custom))
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
