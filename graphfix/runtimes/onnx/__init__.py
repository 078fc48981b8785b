"""onnxruntime, onnx's reference evaluator, and onnx's shape inference in a process of its own."""
