"""The ONNX models: a transformer encoder, the combinations of two documents, and one feature a model."""
