"""The process that `shape_inference` starts: it reads pickled questions and writes pickled answers.

A question is a serialized model, the seconds that the inference may take, and the flags `strict` and `data_prop`. An
answer says whether onnx objects, and has the text of its error or the model with shapes.

A watchdog thread of the interpreter ends the process with status 1 when the time is over. The thread is native code: it
works on every system, while onnx's native code keeps the interpreter's lock, and after the process that asked is gone.

It is run as a file, without the site's packages, and imports onnx's native module alone: that takes 0.05 seconds where
the whole package takes 0.5. The argument is the folder of that module.
"""

from __future__ import annotations

import faulthandler
import os
import pickle
import sys
from types import ModuleType


def main(folder: str) -> None:
    """Answer on the standard output."""
    package = ModuleType("onnx")
    package.__path__ = [folder]
    sys.modules["onnx"] = package
    from onnx.onnx_cpp2py_export import defs, shape_inference

    # what native code prints must not get between the answers
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    defs.has_schema("Relu")  # the first request registers all operators, which takes 0.02 seconds
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
