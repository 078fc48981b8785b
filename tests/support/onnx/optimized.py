"""What onnxruntime makes of a model with all optimizations on: the operators of the graph that it runs."""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path

import onnx
import onnxruntime

MOVEMENT = frozenset(
    "Reshape Unsqueeze Squeeze Expand Tile Identity Shape Gather"
    " Concat Slice Constant ReorderInput ReorderOutput".split()
)
"""What moves data or asks for sizes: fused or not, there may be more or fewer of it."""


def operators(model: bytes) -> Counter[str]:
    """Count the operators of the optimized graph that compute something."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    with tempfile.TemporaryDirectory() as folder:
        options.optimized_model_filepath = str(Path(folder, "optimized.onnx"))
        onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        optimized = onnx.load(options.optimized_model_filepath)
    return Counter(node.op_type for node in optimized.graph.node if node.op_type not in MOVEMENT)
