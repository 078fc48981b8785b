"""Ask onnx's shape inference in a process apart.

Its native code trusts the model: it asserts that no Slice reads a negative size, it reads operands that a node may
lack, and it never ends on an Einsum equation with a digit. Such a file must not end the process of graphfix.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from graphfix.runtimes.onnx_inference_worker import OBJECTS

if TYPE_CHECKING:
    from onnx import ModelProto

SECONDS = 10.0
"""How long the inference may take, and one second more for each `BYTES_A_SECOND` of the model."""
BYTES_A_SECOND = 20_000
"""A hundredth of what was measured on 2 slow cores."""


class InferenceError(Exception):
    """Why onnx's inference returns no shapes."""

    def __init__(self, message: str, *, aborted: bool = False) -> None:
        super().__init__(message)
        self.aborted = aborted
        """Whether its process ended, or was stopped: nothing is known about the model then."""


def infer_shapes(model: ModelProto, *, strict: bool = False, data_prop: bool = False) -> ModelProto:
    """Return a copy of a model with the shapes that onnx infers; see onnx.shape_inference.infer_shapes.

    `strict`: an error of a node is raised, where otherwise nothing is inferred of its results. `data_prop`: the
    elements of small integer values are computed, too. Raises InferenceError.
    """
    import subprocess  # few models need this

    import onnx

    from graphfix.runtimes.pipes import cause

    content = model.SerializeToString()
    seconds = SECONDS + len(content) // BYTES_A_SECOND
    folder = str(Path(onnx.__file__).parent)
    worker = Path(__file__).with_name("onnx_inference_worker.py")
    try:
        ended = subprocess.run(  # noqa: S603 - our own module
            [sys.executable, "-I", "-S", str(worker), folder, *(str(int(flag)) for flag in (strict, data_prop))],
            input=content,
            capture_output=True,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        why = f"onnx's inference was stopped: no answer within {seconds:g} seconds"
        raise InferenceError(why, aborted=True) from None
    if ended.returncode == OBJECTS:
        raise InferenceError(ended.stdout.decode(errors="replace"))
    if ended.returncode:
        raise InferenceError(f"onnx's inference aborts its process ({cause(ended.returncode)})", aborted=True)
    inferred: ModelProto = onnx.ModelProto.FromString(ended.stdout)
    return inferred
