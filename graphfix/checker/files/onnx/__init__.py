"""The checker's reader of ONNX files: without weights, and where each payload lies."""
