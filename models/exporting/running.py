"""The check of an exported model: ONNX's full check, and ONNX Runtime with each set of sizes. Needs no PyTorch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import onnx
import onnxruntime as ort

from models.exporting.feeds import Array, Feed, Sizes


def run(data: bytes, inputs: Mapping[str, Feed], sets: Sequence[Sizes]) -> list[list[Array]]:
    """Return the outputs for each set of sizes.

    Raises what the check or the runtime raises.
    """
    model = onnx.load_from_string(data)
    onnx.checker.check_model(model, full_check=True)
    options = ort.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(data, options, ["CPUExecutionProvider"])
    asked = {each.name for each in session.get_inputs()}
    if asked != set(inputs):
        raise ValueError(f"the inputs are {sorted(asked)}, not {sorted(inputs)}")
    return [session.run(None, {name: feed.numbers(sizes) for name, feed in inputs.items()}) for sizes in sets]


def fault(found: Sequence[Sequence[Array]]) -> str | None:
    """Return what is wrong with outputs: a number that is not finite, or numbers that are all the same."""
    for number, outputs in enumerate(found, 1):
        for place, each in enumerate(outputs):
            if not np.isfinite(each).all():
                return f"output {place} of run {number} is not finite"
        if all(each.size > 1 and (each == each.flat[0]).all() for each in outputs):
            return f"the outputs of run {number} are all the same number"
    return None
