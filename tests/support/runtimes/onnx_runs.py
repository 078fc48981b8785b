"""An ONNX model run by onnxruntime as it is written: no optimizations, one thread."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import onnxruntime

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from onnx import ModelProto


def run(proto: ModelProto, **feeds: NDArray[np.generic]) -> list[Any]:
    """Give the outputs."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return list(session.run(None, feeds))
