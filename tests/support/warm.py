"""The checker's runtime processes as forks of one that has the runtimes loaded: importing them is most of a start.

`started` stands for `subprocess.Popen` in graphfix.runtimes.pipes. The tests of those processes start real ones.
"""

from __future__ import annotations

import array
import atexit
import os
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from tests.support import child

WORKER = "graphfix.runtimes.worker"
_LONGEST = 4096
"""Bytes of a request: the working folder."""
_RIGHTS = 3
"""File descriptors of a request: where the worker reads, where it writes, where its pid and its end are written."""


class Forked:
    """A worker in a fork, with what graphfix.runtimes.pipes asks of a `subprocess.Popen`."""

    def __init__(self) -> None:
        read, self._stdin = os.pipe()
        self._stdout, write = os.pipe()
        self._ended, ended = socket.socketpair()
        with ended:
            socket.send_fds(_server(), [os.fsencode(Path.cwd())], [read, write, ended.fileno()])
        os.close(read)
        os.close(write)
        self.stdin, self.stdout = os.fdopen(self._stdin, "wb"), os.fdopen(self._stdout, "rb")
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


def started(command: list[str], **options: Any) -> Forked | subprocess.Popen[bytes]:  # noqa: ANN401 -- Popen's
    """What `subprocess.Popen` returns, or a fork where the command is the worker."""
    return Forked() if command[-1] == WORKER else subprocess.Popen(command, **options)


@cache
def _server() -> socket.socket:
    mine, its = socket.socketpair(type=socket.SOCK_SEQPACKET)
    with its:
        server = subprocess.Popen(
            child.command(__name__, str(its.fileno())),
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
    watching = 0
    while True:
        folder, rights, _, _ = socket.recv_fds(asked, _LONGEST, _RIGHTS)
        while watching and os.waitpid(-1, os.WNOHANG)[0]:  # what has ended leaves nothing behind
            watching -= 1
        if not folder:
            return
        watching += 1
        if not os.fork():
            asked.close()
            os.chdir(folder)
            _watch(*rights)
        for each in rights:
            os.close(each)


def _watch(read: int, write: int, ended: int) -> None:
    """Fork the worker, and tell its pid and its end."""
    pid = os.fork()
    if not pid:
        os.dup2(read, 0)
        os.dup2(write, 1)
        os.closerange(3, max(read, write, ended) + 1)
        _work()
    os.close(read)
    os.close(write)
    os.write(ended, array.array("i", [pid]))
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    os.write(ended, array.array("i", [status]))
    os._exit(0)


def _work() -> None:
    status = 1
    try:
        from graphfix.runtimes import worker

        sys.argv[1:] = []  # what the worker would be asked for instead of requests
        worker.main()
        status = 0
    finally:
        os._exit(status)


if __name__ == "__main__":
    import onnxruntime  # noqa: F401 -- loaded once, before the forks

    import graphfix.runtimes.litert.interpreter
    import graphfix.runtimes.onnx.onnxruntime
    import graphfix.runtimes.worker  # noqa: F401

    _serve(socket.socket(fileno=int(sys.argv[1])))
