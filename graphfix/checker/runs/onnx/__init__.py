"""Runs of ONNX models: onnxruntime runs both models, or onnx's reference evaluator if onnxruntime lacks a kernel."""
