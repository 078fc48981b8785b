"""The child process of `shape_inference`: it reads pickled requests and writes pickled answers.

A request is a serialized model, the time limit in seconds, and the flags `strict` and `data_prop`. An answer is (True,
the text of onnx's error) or (False, the serialized model with shapes).

A watchdog thread of the interpreter (`faulthandler`) ends the process with status 1 when the time is over. The thread
is native code. So it works on every system, also while onnx's native code holds the interpreter lock, and also after
the parent process has ended.

This file is run as a script, without site packages, and imports only onnx's native module: that takes 0.05 seconds,
while the whole package takes 0.5 seconds. The command-line argument is the folder of that module.
"""

from __future__ import annotations

import faulthandler
import os
import pickle
import sys
from types import ModuleType


def main(folder: str) -> None:
    """Answer requests from the standard input on the standard output, until the input ends."""
    package = ModuleType("onnx")
    package.__path__ = [folder]
    sys.modules["onnx"] = package
    from onnx.onnx_cpp2py_export import defs, shape_inference

    # Text that native code prints must not appear between the answers, so it is redirected to the standard error.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    defs.has_schema("Relu")  # The first use of a schema registers all operators, which takes 0.02 seconds.
    while True:
        try:
            model, seconds, strict, data_prop = pickle.load(sys.stdin.buffer)  # noqa: S301 - the parent writes them
        except EOFError:
            return
        faulthandler.dump_traceback_later(seconds, exit=True)
        try:
            answer = False, shape_inference.infer_shapes(model, False, strict, data_prop)
        except (shape_inference.InferenceError, RuntimeError, ValueError) as error:
            answer = True, str(error).encode()
        faulthandler.cancel_dump_traceback_later()
        pickle.dump(answer, answers, protocol=5)
        answers.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
