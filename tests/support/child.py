"""LiteRT in other processes: a session has one that has it loaded, and its forks run what may end a process.

A module of tests/support asks by `asked(__name__, question)`; its own `serve(question)` answers there.
"""

from __future__ import annotations

import atexit
import importlib
import os
import pickle
import signal
import struct
import subprocess
import sys
import traceback
from functools import cache
from typing import IO, TYPE_CHECKING, Any, TypeVar

from tests.support.places import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

Job = TypeVar("Job")
Answer = TypeVar("Answer")

PATIENCE = 600
"""Seconds after which a fork counts as hung: a signal ends it."""
_SIZE = struct.Struct("<Q")


def command(module: str, *arguments: str) -> list[str]:
    """Run a module of the tests, by its dotted name."""
    return [sys.executable, "-m", module, *arguments]


def environment() -> dict[str, str]:
    """This process's variables, with the folders from which the tests and the scripts are imported."""
    folders = [str(ROOT), str(ROOT / "scripts"), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, folders))}


# --- asked from a test ------------------------------------------------------------------------------------------------


def asked(module: str, question: object) -> Any:  # noqa: ANN401 -- whatever the module's `serve` returns
    """What `serve` of a module returns in the server of this session. Raises RuntimeError with what it raised."""
    server = _server()
    assert server.stdin is not None
    assert server.stdout is not None
    _send(server.stdin, (module, question))
    answer, error = _received(server.stdout)
    if error:
        raise RuntimeError(error)
    return answer


@cache
def _server() -> subprocess.Popen[bytes]:
    server = subprocess.Popen(
        command(__name__),
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    atexit.register(server.communicate)  # an end of its input ends it
    return server


# --- in the server ----------------------------------------------------------------------------------------------------


def in_forks(
    jobs: Sequence[Job], work: Callable[[Job], Answer], patience: int = PATIENCE
) -> list[tuple[Answer | None, str]]:
    """Each job's answer, or the signal that ended the fork it was done in: a new one goes on with the next job."""
    answers: list[tuple[Answer | None, str]] = []
    while len(answers) < len(jobs):
        reading, writing = os.pipe()
        process = os.fork()
        if not process:
            _work(jobs[len(answers) :], work, writing, patience)
        os.close(writing)
        with os.fdopen(reading, "rb") as pipe:
            answers += [(answer, "") for answer in _all(pipe)]
        status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        if status:
            answers.append((None, signal.Signals(-status).name if status < 0 else f"exit {status}"))
    return answers


def _work(jobs: Sequence[Job], work: Callable[[Job], object], writing: int, patience: int) -> None:
    with os.fdopen(writing, "wb") as pipe:
        for job in jobs:
            signal.alarm(patience)
            try:
                answer, error = work(job), ""
            except Exception:  # noqa: BLE001 -- a test's own fault: it is raised where the test has asked
                answer, error = None, traceback.format_exc()
            _send(pipe, (answer, error))
    os._exit(0)


def _all(pipe: IO[bytes]) -> Iterator[Any]:
    """The answers of a fork up to its end, which may come in the middle of one."""
    while True:
        try:
            answer, error = _received(pipe)
        except (EOFError, pickle.UnpicklingError, struct.error):
            return
        if error:
            raise RuntimeError(error)
        yield answer


def _serve(source: IO[bytes], sink: IO[bytes]) -> None:
    while True:
        try:
            module, question = _received(source)
        except struct.error:  # the end of the session
            return
        try:
            answer, error = importlib.import_module(module).serve(question), ""
        except Exception:  # noqa: BLE001 -- as above
            answer, error = None, traceback.format_exc()
        _send(sink, (answer, error))


# --- on both sides ----------------------------------------------------------------------------------------------------


def _send(pipe: IO[bytes], value: object) -> None:
    data = pickle.dumps(value)
    pipe.write(_SIZE.pack(len(data)) + data)
    pipe.flush()


def _received(pipe: IO[bytes]) -> Any:  # noqa: ANN401 -- whatever was sent
    (size,) = _SIZE.unpack(pipe.read(_SIZE.size))
    return pickle.loads(pipe.read(size))  # noqa: S301 -- the tests' own


if __name__ == "__main__":
    import ai_edge_litert.interpreter  # noqa: F401 -- loaded once, before the forks

    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what libraries print goes where it does no harm to an answer
    _serve(sys.stdin.buffer, answers)
