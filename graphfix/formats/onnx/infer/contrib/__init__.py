"""Shapes and element types of the operators that onnxruntime adds, and of ONNX's classical machine learning."""
