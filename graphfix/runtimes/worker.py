"""The process that holds a runtime's session for graphfix.runtimes.process: pickles in, pickles out.

Messages: ("load", runtime, model, options) -> ("done", the session's face); ("ask", method, arguments ...) ->
("done", what the session's method gives); either may answer ("refused", message, missing_kernel, custom). The
end of the input ends the process.
"""

from __future__ import annotations

import importlib
import os
import pickle
import sys
from typing import Any, BinaryIO

from graphfix.runtimes.session import RefusedError

_MODULES = {"onnxruntime": "graphfix.runtimes.onnxruntime", "LiteRT": "graphfix.runtimes.litert_session"}


def main() -> None:
    """Serve requests until there are no more."""
    # what native code prints must not get between the answers
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    serve(sys.stdin.buffer, answers)


def serve(requests: BinaryIO, answers: BinaryIO) -> None:
    """Answer each request of a stream, with one session at a time."""
    session: Any = None
    while True:
        try:
            kind, *arguments = pickle.load(requests)  # noqa: S301 - the parent process writes them
        except EOFError:
            return
        try:
            if kind == "load":
                session = None  # the old model goes before the new one comes
                runtime, model, options = arguments
                session = importlib.import_module(_MODULES[runtime]).load(model, **options)
                answer: tuple[object, ...] = ("done", session.face)
            elif session is None:
                answer = ("refused", "no model is loaded", False, "")
            else:
                method, *values = arguments
                answer = ("done", getattr(session, method)(*values))
        except RefusedError as error:
            answer = ("refused", str(error), error.missing_kernel, error.custom)
        pickle.dump(answer, answers, protocol=5)
        answers.flush()


if __name__ == "__main__":
    main()
