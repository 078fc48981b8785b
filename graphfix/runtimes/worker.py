"""The process that holds an onnxruntime session for graphfix.runtimes.child: pickles in, pickles out.

Messages: ("load", model, optimized, expose, folder) -> ("done", output names); ("run", feeds) -> ("done",
outputs); either may answer ("refused", message, missing_kernel). The end of the input ends the process.
"""

from __future__ import annotations

import os
import pickle
import sys
from typing import TYPE_CHECKING, BinaryIO

from graphfix.runtimes import RefusedError, ort

if TYPE_CHECKING:
    from graphfix.runtimes.ort import OrtSession


def main() -> None:
    """Serve requests until there are no more."""
    # what native code prints must not get between the answers
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    serve(sys.stdin.buffer, answers)


def serve(requests: BinaryIO, answers: BinaryIO) -> None:
    """Answer each request of a stream, with one session at a time."""
    session: OrtSession | None = None
    while True:
        try:
            kind, *arguments = pickle.load(requests)  # noqa: S301 - the parent process writes them
        except EOFError:
            return
        try:
            if kind == "load":
                session = None  # the old model goes before the new one comes
                model, optimized, expose, folder = arguments
                session = ort.load(model, optimized=optimized, expose=expose, folder=folder)
                answer: tuple[object, ...] = ("done", session.outputs)
            elif session is None:
                answer = ("refused", "no model is loaded", False)
            else:
                answer = ("done", session.run(arguments[0]))
        except RefusedError as error:
            answer = ("refused", str(error), error.missing_kernel)
        pickle.dump(answer, answers, protocol=5)
        answers.flush()


if __name__ == "__main__":
    main()
