"""Read and write ONNX files as bytes: large payloads stay in the source file and are copied from there."""
