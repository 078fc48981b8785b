"""The child process for `graphfix.batch.process.child`; it reads pickled messages and writes pickled answers.

A message is a Locations or a LocalJob. An answer is ("done", the locations or the entry), ("raised", an OSError of the
system, or an error about all jobs), or ("fault", the Fault of an unexpected exception). The end of the input kills the
process and all processes that it has started.
"""

from __future__ import annotations

import gc
import os
import pickle
import select
import sys
import tempfile
from collections.abc import Sequence
from typing import BinaryIO

from graphfix.batch.process import sessions
from graphfix.batch.process.messages import LocalJob, Locations
from graphfix.report.text import Entry, Failure
from graphfix.results import GraphfixError, Outcome, OverwriteError
from graphfix.results.faults import Fault


def main() -> None:
    """Answer messages until the input ends."""
    _end_with_parent()
    # what native code or a rewrite prints must not get between the answers
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    gc.disable()
    _serve(sys.stdin.buffer, answers)


def _end_with_parent() -> None:
    """Fork a process that waits for the end of the input and then kills the session.

    A thread could not do that, because native code or a regular expression may hold the interpreter's lock while it
    hangs.
    """
    if os.fork():
        return
    waiting = select.poll()
    waiting.register(0, select.POLLHUP)
    while not any(event & select.POLLHUP for _, event in waiting.poll()):
        pass
    sessions.kill(os.getsid(0))
    os._exit(0)


def _serve(messages: BinaryIO, answers: BinaryIO) -> None:
    from graphfix.api.loading import forget_models

    while True:
        try:
            message = pickle.load(messages)  # noqa: S301 - the parent process writes them
        except EOFError:
            return
        try:
            answer: tuple[str, object] = ("done", _answer(message))
        except (OSError, OverwriteError) as error:
            answer = ("raised", error)
        except Exception as error:  # noqa: BLE001 - the parent counts a fault of graphfix as one
            answer = ("fault", Fault.of(error))
        pickle.dump(answer, answers, protocol=5)
        answers.flush()
        forget_models()


def _answer(message: Locations | LocalJob) -> object:
    return _locations(message) if isinstance(message, Locations) else _entry(message)


def _locations(message: Locations) -> Sequence[str]:
    from graphfix import formats

    try:
        if formats.format_of(message.model) != "onnx":
            return ()
        from graphfix.formats.onnx.file.container import external_locations

        return external_locations(message.model, message.data_root)
    except GraphfixError:  # it is said where the model is done
        return ()


def _entry(job: LocalJob) -> Entry:
    os.chdir(job.folder)
    tempfile.tempdir = os.environ["TMPDIR"] = os.environ["TEMP"] = str(job.scratch)
    try:
        return _outcome(job)
    except (OSError, OverwriteError):
        raise
    except Exception as error:  # noqa: BLE001 - a fault of graphfix is a failure of this model alone
        return Failure.of(job.command, str(job.source), error)


def _outcome(job: LocalJob) -> Outcome:
    if job.command == "tosa":
        from graphfix.tosa import command

        return command.fix_and_convert(job.source, job.output, job.request)
    from graphfix.api import pipeline

    if job.command == "check":
        return pipeline.check(job.source, job.request)
    return pipeline.fix_file(job.source, job.output, job.request)


if __name__ == "__main__":
    main()
