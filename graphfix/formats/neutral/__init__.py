"""Code that the ONNX and the TFLite format share: carrying out edits, ordering new nodes, reading and writing files."""
