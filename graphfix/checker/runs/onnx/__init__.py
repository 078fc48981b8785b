"""The ONNX side of the runs: onnxruntime, or onnx's reference evaluator where it lacks a kernel, runs both models."""
