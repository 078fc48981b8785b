"""The process in which `onnx_inference` asks onnx: a model in on the standard input, the model with shapes out.

It is run as a file, without the site's packages, and imports onnx's native module alone: that takes 0.06 seconds where
the whole package takes 0.5. The arguments: the folder of that module, then 0 or 1 for `strict` and for `data_prop`.
"""

from __future__ import annotations

import os
import sys
from types import ModuleType

OBJECTS = 3
"""The exit status where onnx's inference raises an error: its text is the answer."""


def main(folder: str, strict: str, data_prop: str) -> int:
    """Answer on the standard output, and return the exit status."""
    package = ModuleType("onnx")
    package.__path__ = [folder]
    sys.modules["onnx"] = package
    from onnx.onnx_cpp2py_export import shape_inference

    # what native code prints must not get into the answer
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    status = 0
    try:
        answer = shape_inference.infer_shapes(sys.stdin.buffer.read(), False, strict == "1", data_prop == "1")
    except (shape_inference.InferenceError, RuntimeError, ValueError) as error:
        answer, status = str(error).encode(), OBJECTS
    with answers:
        answers.write(answer)
    return status


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
