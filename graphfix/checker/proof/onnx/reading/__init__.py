"""Read an ONNX model into terms: the file's inputs and constants, its nodes as calls, bodies, loops and functions."""
