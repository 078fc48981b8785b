"""onnxruntime, onnx's reference evaluator, and onnx's shape inference, which runs in a child process."""
