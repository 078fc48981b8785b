"""Run a runtime or a tool in a child process. If it aborts or hangs on a model, only that model is refused."""

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
"""The number of characters that are read of each line, because MLIR's notes print all elements of weights."""


class Child(Sessions):
    """Sessions of a child process.

    The process starts at the first request, and again after a runtime has aborted it.
    """

    def __init__(self, seconds: float = LONGEST_SECONDS) -> None:
        super().__init__(seconds)
        self._process: AskedProcess | None = None
        self._scratch = tempfile.TemporaryDirectory(prefix="graphfix-")
        """The temporary files of the process. They are removed even if the process is killed."""

    def start(self, runtime: Runtime, *modules: str) -> None:
        """Start the process, and have it import a runtime and more modules.

        This method does not wait for the imports.
        """
        self._tell(("import", _PACKAGES[runtime], *modules))

    def close(self) -> None:
        """Kill the process, because its sessions are not needed any more, and remove its temporary files."""
        try:
            if self._process is not None:
                self._process.kill()
            self._stop()
        finally:
            self._scratch.cleanup()

    def begin(self, module: str, function: str, *arguments: object) -> None:
        """Have the process call a function of this package, and do not wait; `finish` returns the function's result."""
        self._tell(("call", module, function, *arguments))

    def finish(self) -> Any:  # noqa: ANN401 - whatever the function returns
        """Return the result of the function that `begin` called last. Raises RefusedError if the process ended."""
        return self._received(self._process or self._started(), "the runtime")

    def _tell(self, message: tuple[object, ...]) -> None:
        """Send a message to the process; start the process first if it does not run."""
        with suppress(*GONE):  # If the process has ended, the next request or the wait for an answer raises the error.
            (self._process or self._started()).tell(message)

    def _answer(self, runtime: str, message: tuple[object, ...]) -> Any:  # noqa: ANN401 - of the worker's messages
        process = self._process or self._started()
        with self._limited(process.pid, message):
            return self._received(process, runtime, message)

    def _received(self, process: AskedProcess, runtime: str, message: tuple[object, ...] | None = None) -> Any:  # noqa: ANN401 - see above
        """Send a message and return its answer; with None, return the answer to the message that was sent before.

        Raises RefusedError, also if the process ends or does not answer in time. Raises InternalError if graphfix
        itself failed in the process.
        """
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
        """Start a process that uses the scratch folder for its temporary files, and return it."""
        folder = self._scratch.name
        self._process = AskedProcess(module("graphfix.runtimes.worker"), {"TMPDIR": folder, "TEMP": folder})
        self._began_with = None
        return self._process

    def _stop(self) -> int:
        """End the process if there is one, drop its sessions, and return its exit status (0 without a process)."""
        process, self._process = self._process, None
        self._loaded.clear()
        return 0 if process is None else process.end()


@dataclass(frozen=True, slots=True)
class Ended:
    """The result of a process that has ended."""

    cause: str
    """Why the process failed: a signal's name or an exit status; empty if the process succeeded."""
    killed: bool
    """Whether a signal ended the process."""
    errors: tuple[str, ...]
    """The error messages in the output of the process, each once, in order."""
    last: str
    """The last line of the output that is not empty."""


def finished(
    tool: str,
    command: Sequence[str],
    complaint: Callable[[str], str],
    *,
    given: bytes = b"",
    folder: Path | None = None,
    seconds: float,
) -> Ended:
    """Run a command to its end, in `folder` or in an empty folder. Raises RefusedError (`aborted`) after `seconds`.

    `complaint` returns the error message that a line of the output contains, or an empty text. `given` is written to
    the command's standard input. PATH is an empty folder, because the reference model would start a debugger on a core
    dump, and LLVM a symbolizer.
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
    """Return the error messages of a log, each once and in order, and its last line that is not empty."""
    last, found = "", []
    with log.open(encoding="utf-8", errors="replace") as printed:
        for line in printed:
            last = line[:_LONGEST_LINE].strip() or last
            found.append(complaint(line[:_LONGEST_LINE]))
    return tuple(dict.fromkeys(filter(None, found))), last
