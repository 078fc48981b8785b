"""The checker's reader of ONNX files. It reads messages without weights, and where the bytes of each weight are."""
