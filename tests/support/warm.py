"""The processes of runtimes and TOSA tools as forks of one that has them loaded: importing them is most of a start.

`started` stands for `subprocess.Popen` in graphfix.runtimes.pipes, `ran` for `subprocess.run` in
graphfix.runtimes.process. The tests of those processes start real ones.
"""

from __future__ import annotations

import array
import atexit
import gc
import os
import pickle
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from graphfix.runtimes import pipes
from tests.support import child

WORKER, INTERPRETER = "graphfix.runtimes.worker", sys.executable
RUNTIMES, TOOLS = "runtimes", "tools"
"""What a server loads: onnxruntime and LiteRT, or torch-mlir."""
LENGTH = 3
"""The words of a tool's command from the worker's name on: the name, what is done, the file of the answer."""
_LONGEST = 1 << 16
"""Bytes of a request."""
_MODELS = Path(__file__).parents[2] / "models"
_RIGHTS = 3
"""File descriptors of a request: where the worker reads, where it writes, where its pid and its end are written."""


class Request(NamedTuple):
    """How a worker is started."""

    folder: str
    """Where it works."""
    words: tuple[str, ...]
    """Its command line; empty for one that serves requests."""
    path: str
    """Its PATH, if it has a command line."""


class Fork:
    """A worker in a fork of the server that has loaded what it needs, with what is asked of a `subprocess.Popen`."""

    def __init__(self, server: socket.socket, read: int, write: int, request: Request) -> None:
        self._ended, ended = socket.socketpair()
        with ended:
            socket.send_fds(
                server,
                [pickle.dumps(tuple(request))],  # a fork need not import this module again
                [read, write, ended.fileno()],
            )
        self.pid = self._number()

    def kill(self) -> None:
        """End it, if it has not ended yet."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)

    def wait(self, timeout: float | None = None) -> int:
        """Its status, as `Popen.wait` says it. Raises TimeoutExpired."""
        self._ended.settimeout(timeout)
        try:
            status = self._number()
        except TimeoutError:
            raise subprocess.TimeoutExpired(WORKER, timeout or 0) from None
        self._ended.close()
        return status

    def _number(self) -> int:
        return array.array("i", self._ended.recv(array.array("i").itemsize, socket.MSG_WAITALL))[0]


class Piped(Fork):
    """A worker that answers requests: its standard input and output are pipes."""

    def __init__(self) -> None:
        read, stdin = os.pipe()
        stdout, write = os.pipe()
        super().__init__(_server(RUNTIMES), read, write, Request(str(Path.cwd()), (), ""))
        os.close(read)
        os.close(write)
        self.stdin, self.stdout = os.fdopen(stdin, "wb"), os.fdopen(stdout, "rb")


def started(command: list[str], **options: Any) -> Piped | subprocess.Popen[bytes]:  # noqa: ANN401 -- Popen's
    """What `subprocess.Popen` returns, or a fork where the command is the worker."""
    return Piped() if command[-1] == WORKER else subprocess.Popen(command, **options)


def ran(
    first: Mapping[str, str],
    command: list[str],
    **options: Any,  # noqa: ANN401 -- run's
) -> subprocess.CompletedProcess[bytes]:
    """What `subprocess.run` returns; a fork runs the command where it is the worker, and no test changed a variable.

    `first` is what `variables` returned when the session began.
    """
    name, *words = command[-LENGTH:]
    if name != WORKER or command[0] != INTERPRETER or variables() != first:
        return subprocess.run(command, **options)  # noqa: PLW1510 -- an option, as the caller has it
    with tempfile.TemporaryFile() as given:
        given.write(options["input"])
        given.seek(0)
        request = Request(str(options["cwd"]), tuple(words), options["env"]["PATH"])
        fork = Fork(_server(TOOLS), given.fileno(), options["stdout"].fileno(), request)
        try:
            return subprocess.CompletedProcess(command, fork.wait(options["timeout"]))
        except subprocess.TimeoutExpired:
            fork.kill()
            fork.wait()
            raise


def variables() -> dict[str, str]:
    """The variables that a worker would get, but for those that differ anyhow."""
    return {name: value for name, value in pipes.environment().items() if name not in {"PATH", "PYTEST_CURRENT_TEST"}}


@cache
def _server(loads: str) -> socket.socket:
    mine, its = socket.socketpair(type=socket.SOCK_SEQPACKET)
    with its:
        server = subprocess.Popen(
            child.command(__name__, str(its.fileno()), loads),
            env=child.environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=[its.fileno()],
        )
    atexit.register(server.wait)
    atexit.register(mine.close)  # which ends it
    return mine


# --- in the server ----------------------------------------------------------------------------------------------------


def _serve(asked: socket.socket) -> None:
    """Fork a worker for each request, and report its pid and its status over the socket that came with the request."""
    ended: dict[int, int] = {}
    woken, wakes = socket.socketpair()
    for each in (woken, wakes):
        each.setblocking(False)
    signal.set_wakeup_fd(wakes.fileno())
    signal.signal(signal.SIGCHLD, lambda *_: None)  # without a handler nothing is written to `wakes`
    with selectors.DefaultSelector() as selector:
        selector.register(asked, selectors.EVENT_READ)
        selector.register(woken, selectors.EVENT_READ)
        while True:
            ready = {key.fileobj for key, _ in selector.select()}
            if woken in ready:
                woken.recv(_LONGEST)
                _reap(ended)
            if asked in ready:
                message, rights, _, _ = socket.recv_fds(asked, _LONGEST, _RIGHTS)
                if not message:
                    return
                read, write, end = rights
                pid = _forked(message, read, write)
                os.write(end, array.array("i", [pid]))
                ended[pid] = end


def _forked(message: bytes, read: int, write: int) -> int:
    """Fork a worker that reads and writes these pipes; return its pid."""
    pid = os.fork()
    if not pid:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.dup2(read, 0)
        os.dup2(write, 1)
        os.closerange(3, os.sysconf("SC_OPEN_MAX"))
        _work(Request(*pickle.loads(message)))  # noqa: S301 -- the tests' own
    os.close(read)
    os.close(write)
    return pid


def _reap(ended: dict[int, int]) -> None:
    """Report the status of each worker that has ended."""
    while ended:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if not pid:
            return
        end = ended.pop(pid)
        with suppress(BrokenPipeError):  # the test that asked for it is gone
            os.write(end, array.array("i", [os.waitstatus_to_exitcode(status)]))
        os.close(end)


def _work(request: Request) -> None:
    status = 1
    try:
        from graphfix.runtimes import worker

        os.chdir(request.folder)
        sys.argv[1:] = request.words
        if request.words:  # a tool, and what it prints
            os.environ["PATH"] = request.path
            os.dup2(1, 2)
        worker.main()
        status = 0
    except BaseException:
        traceback.print_exc()
        raise
    finally:
        os._exit(status)


def _load(what: str) -> None:
    """Import what the forks need, and use it once, so that each fork has it."""
    from graphfix.runtimes import worker

    if what == RUNTIMES:
        for runtime, name, options in (
            ("onnxruntime", "matmul.onnx", {}),
            ("LiteRT", "prelu.tflite", {"kernels": "reference"}),
            ("LiteRT", "prelu.tflite", {"kernels": "xnnpack"}),
        ):
            worker.answered({}, "load", 0, (), runtime, _MODELS / name, options)
    else:
        with suppress(ImportError):  # the tools need not be installed
            import torch_mlir.extras.onnx_importer  # noqa: F401 -- as said
    gc.freeze()


if __name__ == "__main__":
    _load(sys.argv[2])
    _serve(socket.socket(fileno=int(sys.argv[1])))
